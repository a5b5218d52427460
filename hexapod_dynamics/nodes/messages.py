"""Plain data into messages and out of them: stamps, points, quaternions, poses.

The predicted pose is in the diagnostics of `dynamics`, for the status line: a subscription to `predicted_state` for one
line a second would make `dynamics` publish a hundred messages a second.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence

import numpy as np

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import Point, Quaternion, TransformStamped, Vector3
from hexapod_dynamics.se3 import quaternion_from_rotation, rotation_from_quaternion
from nav_msgs.msg import Odometry

TIME, PLACE, TURN = "time of the predicted pose [s]", "predicted position [m]", "predicted quaternion (x y z w)"


def fill_vector(point: Point | Vector3, place: Sequence[float]) -> None:
    """Write place (3,) into a Point or Vector3."""
    point.x, point.y, point.z = place


def fill_rotation(quaternion: Quaternion, rotation: np.ndarray) -> None:
    """Write rotation (3, 3) into a Quaternion."""
    quaternion.x, quaternion.y, quaternion.z, quaternion.w = quaternion_from_rotation(rotation)


def read_rotation(quaternion: Quaternion) -> np.ndarray:
    """Return the rotation (3, 3) of a Quaternion; HexapodError if it is none."""
    return rotation_from_quaternion((quaternion.x, quaternion.y, quaternion.z, quaternion.w))


def transform(parent: str, child: str) -> TransformStamped:
    """Return the identity parent <- child without a stamp."""
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id, message.transform.rotation.w = parent, 1.0
    return message


def fill_transform(message: TransformStamped, position: np.ndarray, rotation: np.ndarray, stamp: Time) -> None:
    """Write position (3,) [m], rotation (3, 3) and the stamp into a TransformStamped."""
    message.header.stamp = stamp
    fill_vector(message.transform.translation, position.tolist())
    fill_rotation(message.transform.rotation, rotation)


def fill_odometry(message: Odometry, position: np.ndarray, rotation: np.ndarray, twist: np.ndarray) -> None:
    """Write position (3,) [m], rotation (3, 3) and body twist (6,) [m/s, rad/s] into an Odometry message."""
    pose, speed = message.pose.pose, twist.tolist()
    fill_vector(pose.position, position.tolist())
    fill_rotation(pose.orientation, rotation)
    fill_vector(message.twist.twist.linear, speed[:3])
    fill_vector(message.twist.twist.angular, speed[3:])


def format_pose(seconds: float, position: np.ndarray, rotation: np.ndarray) -> dict[str, str]:
    """Return {key: text} of a pose: its time [s] on the system clock, position (3,) [m], rotation (3, 3)."""
    return {
        TIME: f"{seconds:.3f}",
        PLACE: " ".join(f"{number:.4f}" for number in position.tolist()),
        TURN: " ".join(f"{number:.6f}" for number in quaternion_from_rotation(rotation)),
    }


def read_pose(pairs: Iterable[KeyValue]) -> tuple[float, np.ndarray, np.ndarray] | None:
    """Return time [s], position (3,) and rotation (3, 3) of a status's KeyValues; None if there is no pose in them."""
    given = {pair.key: pair.value for pair in pairs}
    if not given.keys() >= {TIME, PLACE, TURN}:
        return None
    place, quaternion = (np.array(given[key].split(), float) for key in (PLACE, TURN))
    return float(given[TIME]), place, rotation_from_quaternion(quaternion)


class StampConverter:
    """Converts monotonic times [s] to stamps [ns], whose order is kept even when the process is interrupted.

    ROS time is the system clock: `use_sim_time` is refused (ros/node_functions.py).
    """

    def __init__(self) -> None:
        self._offset: int | None = None  # [ns] ROS time minus monotonic time
        self._read = -math.inf

    def write(self, stamp: Time, monotonic: float) -> None:
        """Set a stamp to a monotonic time [s]."""
        stamp.sec, stamp.nanosec = divmod(self.to_nanoseconds(monotonic), 1_000_000_000)

    def to_nanoseconds(self, monotonic: float) -> int:
        """Return the ROS time [ns] of a monotonic time [s]."""
        now = time.monotonic()
        offset = self._offset
        if (
            offset is None
            or now - self._read > 1.0  # the system clock may have been corrected since
            or abs(time.time_ns() - now * 1e9 - offset) > 50e6  # [ns]: it was set
        ):
            self._read = now
            offset = self._offset = self._measure_offset()
        return offset + int(monotonic * 1e9)

    def _measure_offset(self) -> int:
        readings = []
        for _ in range(5):
            before, ros, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
            readings.append((after - before, ros - (before + after) // 2))
        took, offset = min(readings)
        # Corrections of the clock are followed, but not the jitter of its measurement, 0.1 ms.
        if self._offset is not None and abs(offset - self._offset) <= max(took, 100_000):
            return self._offset
        return offset
