"""Maps joints to servos: names, ids and directions; joint angles <-> servo angles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_counts import check_servo_ids

HIGHEST_ID = 253  # 254 and 255 name all servos, in every protocol of bus servos


@dataclass(frozen=True)
class ServoMap:
    """Joint names (n) in robot order with servo ids and directions (+1 or -1: the servo's sense of rotation).

    zeros (n) [rad]: what each servo reads at its joint's zero, by default 0; the angle from the servo's centre is
    direction * (joint angle + zero).
    """

    joint_names: tuple[str, ...]
    ids: tuple[int, ...]
    directions: tuple[int, ...]
    zeros: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.joint_names) == len(self.ids) == len(self.directions):
            raise DeviceError(
                f"{len(self.joint_names)} joints, {len(self.ids)} servo ids and {len(self.directions)} "
                "directions: one of each per joint is needed"
            )
        for name, servo_id, direction in zip(self.joint_names, self.ids, self.directions, strict=True):
            if not 0 <= servo_id <= HIGHEST_ID:
                raise DeviceError(f"servo id {servo_id} of {name} is outside 0..253")
            if self.ids.count(servo_id) > 1:
                raise DeviceError(f"servo id {servo_id} of {name} is given to another joint as well")
            if direction not in (-1, 1):
                raise DeviceError(f"servo direction {direction} of {name}: allowed is 1 or -1")
        zeros = self.zeros or (0.0,) * len(self.ids)
        if len(zeros) != len(self.ids):
            raise DeviceError(f"{len(zeros)} zeros of {len(self.ids)} servos: one of each, or none, is needed")
        object.__setattr__(self, "zeros", tuple(zeros))
        object.__setattr__(self, "_signs", np.array(self.directions, float))
        object.__setattr__(self, "_zeros", np.array(zeros, float))

    @classmethod
    def from_robot(cls, robot: Robot) -> ServoMap:
        """Take joint names, ids and directions of a Robot; RobotError names a leg without ids."""
        check_servo_ids(robot)
        joints = [joint for leg in robot.legs for joint in leg.joints]
        return cls(
            tuple(joint.name for joint in joints),
            tuple(joint.servo_id for joint in joints if joint.servo_id is not None),
            tuple(joint.servo_direction for joint in joints if joint.servo_direction is not None),
            tuple(joint.servo_zero for joint in joints),
        )

    @classmethod
    def of_joints(cls, names: Sequence[str]) -> ServoMap:
        """Return a map for joints that are addressed by name: the ids are numbers of joints, directions are +1."""
        return cls(tuple(names), tuple(range(len(names))), (1,) * len(names))

    def __len__(self) -> int:
        return len(self.ids)

    def servo_angles(self, angles: np.ndarray) -> np.ndarray:
        """Convert joint angles (n,) [rad] to angles (n,) [rad] from the servos' centres."""
        return self._signs * (angles + self._zeros)

    def servo_angle(self, index: int, angle: float) -> float:
        """Convert a joint angle [rad] to the angle [rad] from its servo's centre."""
        return (angle + self.zeros[index]) * self.directions[index]

    def angle(self, index: int, servo_angle: float) -> float:
        """Convert the angle [rad] from one servo's centre to the joint angle [rad]."""
        return servo_angle * self.directions[index] - self.zeros[index]
