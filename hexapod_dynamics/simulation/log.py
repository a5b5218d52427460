"""What a simulation run leaves behind."""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np

# The arrays of a log, as the compiled loops write them, one row a logged step.
LogArrays = namedtuple(
    "LogArrays",
    "position rotation joint_positions twist joint_velocities setpoints joint_torques foot_forces ground_force",
)


@dataclass(frozen=True, eq=False)
class Log:
    """States after each logged step of a run of T of them.

    time (T,) [s]; position (T, 3) [m] and rotation (T, 3, 3) of base_link in the world; euler_zyx (T, 3): yaw, pitch,
    roll [rad]; twist (T, 6): body twist, linear first [m/s, rad/s]; joint_positions, joint_velocities, setpoints,
    joint_torques (T, n): all joints, those that are missing stay as they were, without torque; foot_forces (T, legs,
    3) [N, world]: at the end of each leg's last link; ground_force (T, 3) [N, world]: all contacts, body and knees too.
    """

    time: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    joint_positions: np.ndarray
    twist: np.ndarray
    joint_velocities: np.ndarray
    setpoints: np.ndarray
    joint_torques: np.ndarray
    foot_forces: np.ndarray
    ground_force: np.ndarray

    @property
    def euler_zyx(self):
        """Yaw, pitch and roll (T, 3) [rad]; yaw runs on beyond a half turn."""
        yaw = np.unwrap(np.arctan2(self.rotation[:, 1, 0], self.rotation[:, 0, 0]))
        pitch = np.arcsin(np.clip(-self.rotation[:, 2, 0], -1.0, 1.0))
        roll = np.arctan2(self.rotation[:, 2, 1], self.rotation[:, 2, 2])
        return np.stack([yaw, pitch, roll], axis=1)


def make_arrays(rows, joints, legs):
    """Return LogArrays for so many rows."""
    return LogArrays(
        position=np.empty((rows, 3)),
        rotation=np.empty((rows, 3, 3)),
        joint_positions=np.empty((rows, joints)),
        twist=np.empty((rows, 6)),
        joint_velocities=np.empty((rows, joints)),
        setpoints=np.empty((rows, joints)),
        joint_torques=np.empty((rows, joints)),
        foot_forces=np.empty((rows, legs, 3)),
        ground_force=np.empty((rows, 3)),
    )
