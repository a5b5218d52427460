"""Plain data out of sensor_msgs: what `onboard.inputs` and `onboard.inputs` check."""

from __future__ import annotations

import time

from builtin_interfaces.msg import Time
from hexapod_dynamics.onboard.inputs import NOT_GIVEN, Faults, ImuInput, ImuReading, stamp_refusal
from hexapod_dynamics.ros.node_functions import stamp_seconds
from sensor_msgs.msg import Imu

# A message stamped longer ago than this [s], or as far in the future, is refused.
OLDEST = 0.5


def age_of(stamp: Time) -> float:
    """Return the age [s] of a stamp; 0 if there is none."""
    seconds = stamp_seconds(stamp)
    return time.time() - seconds if seconds else 0.0


def time_of(topic: str, stamp: Time, faults: Faults) -> float | None:
    """Return the monotonic time of a stamp, or of the arrival if there is none; None if it is too old, so that the
    message is rejected.
    """
    age = age_of(stamp)
    refusal = stamp_refusal(age, OLDEST)
    if refusal:
        faults.add(topic, f"{topic} is refused: {refusal}")
        return None
    return time.monotonic() - max(age, 0.0)


def read_imu(imu: ImuInput, message: Imu, now: float) -> ImuReading:
    """Return what a sensor_msgs/Imu tells; a first covariance of -1: the quantity is not given (REP-145)."""
    o, a, w = message.orientation, message.linear_acceleration, message.angular_velocity
    return imu.read(
        now,
        None if message.orientation_covariance[0] == NOT_GIVEN else (o.x, o.y, o.z, o.w),
        None if message.linear_acceleration_covariance[0] == NOT_GIVEN else (a.x, a.y, a.z),
        None if message.angular_velocity_covariance[0] == NOT_GIVEN else (w.x, w.y, w.z),
    )
