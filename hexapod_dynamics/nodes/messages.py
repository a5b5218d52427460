"""Plain data into messages and out of them: times, IMU samples, points, quaternions, poses.

The predicted pose is in the diagnostics of `dynamics`, for the status line: a subscription to `predicted_state` for one
line a second would make `dynamics` publish a hundred messages a second.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import numpy as np

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import Point, Quaternion, TransformStamped, Vector3
from hexapod_dynamics.onboard.inputs import Faults, ImuInput, ImuReading, stamp_refusal
from hexapod_dynamics.ros.node_functions import stamp_seconds
from hexapod_dynamics.se3 import quaternion_from_rotation, rotation_from_quaternion
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu

TIME, PLACE, TURN = "time of the predicted pose [s]", "predicted position [m]", "predicted quaternion (x y z w)"


def put(point: Point | Vector3, place: Sequence[float]) -> None:
    """Write place (3,) into a Point or Vector3."""
    point.x, point.y, point.z = place


def turn(quaternion: Quaternion, rotation: np.ndarray) -> None:
    """Write rotation (3, 3) into a Quaternion."""
    quaternion.x, quaternion.y, quaternion.z, quaternion.w = quaternion_from_rotation(rotation)


def rotation_of(quaternion: Quaternion) -> np.ndarray:
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
    put(message.transform.translation, position.tolist())
    turn(message.transform.rotation, rotation)


def fill_odometry(message: Odometry, position: np.ndarray, rotation: np.ndarray, twist: np.ndarray) -> None:
    """Write position (3,) [m], rotation (3, 3) and body twist (6,) [m/s, rad/s] into an Odometry message."""
    pose, speed = message.pose.pose, twist.tolist()
    put(pose.position, position.tolist())
    turn(pose.orientation, rotation)
    put(message.twist.twist.linear, speed[:3])
    put(message.twist.twist.angular, speed[3:])


def pose_values(seconds: float, position: np.ndarray, rotation: np.ndarray) -> dict[str, str]:
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


NOT_GIVEN = -1.0  # first variance of a quantity that the IMU does not measure (REP-145)


def age_of(stamp: Time) -> float:
    """Return the age [s] of a stamp; 0 if there is none."""
    seconds = stamp_seconds(stamp)
    return time.time() - seconds if seconds else 0.0


def stamp_to_monotonic(topic: str, stamp: Time, faults: Faults) -> float | None:
    """Return the monotonic time of a stamp, or of the arrival if there is none; None if it is more than half a second
    old, or as far in the future, so that the message is rejected.
    """
    age = age_of(stamp)
    refusal = stamp_refusal(age, 0.5)
    if refusal:
        faults.add(topic, f"{topic} is refused: {refusal}")
        return None
    return time.monotonic() - max(age, 0.0)


def read_imu(imu: ImuInput, message: Imu, now: float) -> ImuReading:
    """Return what a sensor_msgs/Imu tells; a first covariance of -1: the quantity is not given (REP-145)."""
    o, a, w = message.orientation, message.linear_acceleration, message.angular_velocity
    imu.check_clock(now, age_of(message.header.stamp))
    return imu.read(
        now,
        None if message.orientation_covariance[0] == NOT_GIVEN else (o.x, o.y, o.z, o.w),
        None if message.linear_acceleration_covariance[0] == NOT_GIVEN else (a.x, a.y, a.z),
        None if message.angular_velocity_covariance[0] == NOT_GIVEN else (w.x, w.y, w.z),
    )
