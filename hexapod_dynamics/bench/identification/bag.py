"""A Recording from a rosbag2 folder with the topics of this package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.identification.recording import Recording
from hexapod_dynamics.identification.score import Log
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.se3 import rotation_from_quaternion

COMMANDS, MEASUREMENTS, JOINTS, RAW, IMU = (
    "joint_commands",
    "servos/measurements",
    "joint_states",
    "imu/data_raw",
    "imu/data",
)
TORQUES = "feedforward_torques"
TOPICS = (COMMANDS, MEASUREMENTS, JOINTS, RAW, IMU, TORQUES)


def read_bag(path: Path, robot: Robot) -> Recording:
    """Read commands, readings and the IMU of a bag, in any namespace; times count from its first command.

    Readings come from servos/measurements, which has the time of each reading, else from joint_states; the IMU's
    come from imu/data_raw, else from imu/data. Raises IdentificationError for a path that is no bag, and for one
    that lacks a topic.
    """
    return _recording(_read(path), robot)


def read_log(path: Path, robot: Robot) -> Log:
    """Read the same as `read_bag`, and also the attitudes of imu/data and feedforward_torques; same errors as
    `read_bag`.
    """
    rows = _read(path)
    recording, start = _recording(rows, robot), _commands(rows, robot)[0][0]
    chip = np.asarray(robot.imu.rotation)
    attitudes = [
        (time - start, rotation_from_quaternion(_quaternion(message.orientation)) @ chip.T)
        for time, message in sorted(rows[IMU], key=lambda row: row[0])
        if message.orientation_covariance[0] != -1.0
    ]
    index = {name: k for k, name in enumerate(robot.joint_names)}
    torques = []
    for time, message in sorted(rows[TORQUES], key=lambda row: row[0]):
        row = np.zeros(robot.joint_count)
        for name, effort in zip(message.name, message.effort, strict=False):
            if name in index:
                row[index[name]] = effort
        torques.append((time - start, row))
    return Log(
        recording,
        np.array([time for time, _ in attitudes]),
        np.array([rotation for _, rotation in attitudes]).reshape(-1, 3, 3),
        np.array([time for time, _ in torques]),
        np.array([row for _, row in torques]).reshape(-1, robot.joint_count),
    )


def _read(path: Path) -> dict[str, list[tuple[float, Any]]]:
    """Read the messages of TOPICS, each with its time [s]."""
    try:
        from rosbags.rosbag2 import Reader, ReaderError
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise IdentificationError("reading a bag needs rosbags: pip install rosbags") from None
    types = get_typestore(Stores.ROS2_HUMBLE)
    rows: dict[str, list[tuple[float, Any]]] = {topic: [] for topic in TOPICS}
    try:
        with Reader(path) as reader:
            chosen = [c for c in reader.connections if _topic(c.topic) is not None]
            for connection, received, raw in reader.messages(connections=chosen):
                message = types.deserialize_cdr(raw, connection.msgtype)
                rows[str(_topic(connection.topic))].append((_stamp(message, received), message))
    except Exception as error:  # rosbags reads YAML, SQLite, zstd and CDR, and each raises its own
        reason = " ".join(str(error).split())[:300]
        reason = reason if isinstance(error, (ReaderError, OSError)) else f"{type(error).__name__}: {reason}"
        raise IdentificationError(f"{path} is no bag that can be read: {reason}") from None
    for needed, others in ((COMMANDS, ()), (MEASUREMENTS, (JOINTS,)), (RAW, (IMU,))):
        if not any(rows[topic] for topic in (needed, *others)):
            raise IdentificationError(f"{path}: no {' or '.join((needed, *others))} in this bag; record it, too")
    return rows


def _topic(name: str) -> str | None:
    """Return which of TOPICS a topic is; the simulator's true joints are not the measured ones."""
    for topic in TOPICS:
        if name.endswith(f"/{topic}") and not name.endswith("simulator/joint_states"):
            return topic
    return None


def _stamp(message: Any, received: int) -> float:
    stamp = message.header.stamp
    return received * 1e-9 if stamp.sec == 0 else stamp.sec + 1e-9 * stamp.nanosec


def _commands(rows: dict[str, list[tuple[float, Any]]], robot: Robot) -> list[tuple[float, np.ndarray]]:
    """Return commands and their times, from the first time at which every joint has been named."""
    index = {name: k for k, name in enumerate(robot.joint_names)}
    commands, last = [], np.full(robot.joint_count, np.nan)
    for time, message in sorted(rows[COMMANDS], key=lambda row: row[0]):
        last = last.copy()
        for name, angle in zip(message.name, message.position, strict=False):
            if name in index and np.isfinite(angle):
                last[index[name]] = angle
        if np.isfinite(last).all():
            commands.append((time, last))
    if not commands:
        raise IdentificationError(f"joint_commands name not all joints of {robot.name}; is this the robot of the bag?")
    return commands


def _recording(rows: dict[str, list[tuple[float, Any]]], robot: Robot) -> Recording:
    index = {name: k for k, name in enumerate(robot.joint_names)}
    commands = _commands(rows, robot)
    readings = [
        (time, index[name], angle)
        for time, message in rows[MEASUREMENTS] or rows[JOINTS]
        for name, angle in zip(message.name, message.position, strict=False)
        if name in index and np.isfinite(angle)
    ]
    readings.sort()
    chip = np.asarray(robot.imu.rotation)
    imu = [
        (time, chip @ _vector(message.linear_acceleration), chip @ _vector(message.angular_velocity))
        for time, message in sorted(rows[RAW] or rows[IMU], key=lambda row: row[0])
    ]
    start = commands[0][0]
    return Recording(
        np.array([time for time, _ in commands]) - start,
        np.array([row for _, row in commands]),
        np.array([time for time, _, _ in readings]) - start,
        np.array([joint for _, joint, _ in readings], np.intp),
        np.array([angle for _, _, angle in readings]),
        np.array([time for time, _, _ in imu]) - start,
        np.array([force for _, force, _ in imu]).reshape(-1, 3),
        np.array([rate for _, _, rate in imu]).reshape(-1, 3),
        float(np.median(np.diff([time for time, _ in commands]))) if len(commands) > 2 else 0.02,
    )


def _quaternion(q: Any) -> tuple[float, float, float, float]:
    return q.x, q.y, q.z, q.w


def _vector(vector: Any) -> np.ndarray:
    return np.array([vector.x, vector.y, vector.z])
