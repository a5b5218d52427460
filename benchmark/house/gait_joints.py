"""A robot whose file counts joints in its own way, in the convention of the gaits, and the map between the two."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.robot import Joint, Leg, Robot
from hexapod_dynamics.robot.urdf_legs import standard_leg


@dataclasses.dataclass(frozen=True)
class JointMap:
    """Map between the joint angles of a file and of the gaits: file = sign * gait + offset, each (n,), [rad]."""

    sign: np.ndarray
    offset: np.ndarray

    def to_file(self, angles: npt.ArrayLike) -> np.ndarray:
        """Convert angles (n,) [rad] of the gait to the convention of the robot's file."""
        return self.sign * np.asarray(angles, float) + self.offset

    def to_gait(self, angles: npt.ArrayLike) -> np.ndarray:
        """Convert angles (n,) [rad] of the file to the convention of the gait."""
        return self.sign * (np.asarray(angles, float) - self.offset)


def with_gait_joints(robot: Robot) -> tuple[Robot, JointMap]:
    """Return the same Robot in the convention of the gaits, and the map between it and the file's.

    Raises RobotError, which names the leg, if a leg is none as `standard_leg` needs it.
    """
    legs: list[Leg] = []
    joints: list[Joint] = []
    for leg in robot.legs:
        made = standard_leg(leg, exact=True)
        joints += made.joints
        kept = [
            dataclasses.replace(
                joint, servo_id=own.servo_id, servo_direction=own.servo_direction, servo_zero=own.servo_zero
            )
            for joint, own in zip(made.joints, leg.joints, strict=True)
        ]
        legs.append(dataclasses.replace(made, joints=tuple(kept), module=f"{leg.module} gait joints"))
    sign = np.array([joint.servo_direction for joint in joints], dtype=float)
    offset = sign * np.array([joint.servo_zero for joint in joints])
    return dataclasses.replace(robot, legs=tuple(legs)), JointMap(sign, offset)
