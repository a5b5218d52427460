"""Recordings from public logs of other people's hexapods.

Both formats count joints instead of naming them: their order is `order` (joint names), by default the robot file's.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hexapod_dynamics.errors import HexapodError, IdentificationError, parse_number
from hexapod_dynamics.identification.recording import Recording
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.se3 import rotation_from_quaternion

JOINTS, PERIOD = 18, 0.1  # joints of both robots; [s] between rows


def read_sysid_csv(path: Path, robot: Robot, order: Sequence[str] | None = None) -> Recording:
    """Read a `sysid_*.csv` of lukas/hexapod, a robot with 18 STS3215: t_s, t_send_s, t_recv_s, q0_deg to q17_deg
    (readings), cmd0_deg to cmd17_deg and more, ten rows a second; no IMU. IdentificationError for another shape.
    """
    joints = _columns(robot, order)
    needed = ["t_send_s", "t_recv_s", *(f"{kind}{k}_deg" for kind in ("q", "cmd") for k in joints)]
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        missing = [name for name in needed if not rows or name not in rows[0]]
        values = np.array([[] if missing else [parse_number(row[name]) for name in needed] for row in rows])
    except (OSError, TypeError, ValueError, csv.Error) as error:
        raise IdentificationError(f"{path}: {error}") from None
    if missing:
        raise IdentificationError(f"{path}: no column {missing[0]}; a sysid_*.csv of lukas/hexapod is needed")
    read, commands = np.split(np.radians(values[:, 2:]), 2, axis=1)
    return _recording(values[:, 0], commands, values[:, 1], read)


def read_jethexa_npz(path: Path, robot: Robot, order: Sequence[str] | None = None) -> Recording:
    """Read a `hexapod_data/*.npz` of Mgineer117/jethexa_ws: states (T, 40): quaternion x, y, z, w, 18 joint positions
    [rad], 18 joint rates; controls (T, 18): commanded joints [rad]. IdentificationError for a file of another shape.
    """
    columns = _columns(robot, order)
    try:
        with np.load(path, allow_pickle=False) as archive:
            states, controls = (np.asarray(archive[name], float) for name in ("states", "controls"))
    except Exception as error:  # of a file that is empty, cut off, damaged or one array: each raises its own
        raise IdentificationError(f"{path}: {error}; states and controls of jethexa_ws are needed") from None
    width = 4 + 2 * JOINTS
    if states.ndim != 2 or states.shape[1] != width or controls.shape != (len(states), JOINTS):
        raise IdentificationError(
            f"{path}: states {states.shape}, controls {controls.shape}; (T, {width}) and (T, {JOINTS}), commanded "
            "joints, are needed"
        )
    times = np.asarray(PERIOD * np.arange(len(states)), np.float64)
    try:
        attitudes = np.array([rotation_from_quaternion(row) for row in states[:, :4]])
    except HexapodError as error:
        raise IdentificationError(f"{path}: {error}") from None
    recording = _recording(times, controls[:, columns], times, states[:, 4 : 4 + JOINTS][:, columns])
    return replace(recording, attitude_time=times, attitude=attitudes)


def _columns(robot: Robot, order: Sequence[str] | None) -> list[int]:
    """Which number of a file each joint of the robot has."""
    names = list(robot.joint_names if order is None else order)
    if sorted(names) != sorted(robot.joint_names) or len(names) != JOINTS:
        raise IdentificationError(
            f"joints: {len(names)} names given, the {JOINTS} of {robot.name} in the order of the file are needed"
        )
    return [names.index(name) for name in robot.joint_names]


def _recording(sent: np.ndarray, commands: np.ndarray, times: np.ndarray, read: np.ndarray) -> Recording:
    """Return the Recording of commands (T, n) and readings (T, n) of all joints; readings that are NaN are left out."""
    count, n = read.shape
    good = np.isfinite(read.ravel())
    period = float(np.median(np.diff(sent))) if len(sent) > 2 else PERIOD
    at, joint = np.repeat(times, n)[good], np.tile(np.arange(n), count)[good]
    return Recording(sent, commands, at, joint, read.ravel()[good], command_period=period)
