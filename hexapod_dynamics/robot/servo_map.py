"""Joints and their servos: names, ids, directions, joint angles <-> servo angles, and the whole numbers (counts) in
which servos take set-points and report positions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.errors import DeviceError, RobotError
from hexapod_dynamics.robot.description import Robot
from hexapod_dynamics.robot.parts import SERVO_ID, Servo


@dataclass(frozen=True)
class CountScale:
    """Counts of a kind of servo: `centre` at 0 rad, `per_radian`; set-points go from 0 to `top`."""

    centre: int
    per_radian: float
    top: int

    def angle(self, count: float) -> float:
        """Angle [rad] of a count, which may lie outside 0..top when it was measured."""
        return (count - self.centre) / self.per_radian

    def count(self, angle: float) -> int:
        """Nearest count of an angle [rad]."""
        return math.floor(self.centre + angle * self.per_radian + 0.5)

    def setpoint(self, angle: float) -> int:
        """Nearest set-point of an angle [rad]; DeviceError beyond the servo's travel."""
        count = self.count(angle) if math.isfinite(angle) else -1
        if not 0 <= count <= self.top:
            travel = f"{self.angle(0):.4f}..{self.angle(self.top):.4f}"
            raise DeviceError(f"servo angle {angle:.4f} rad is outside {travel} rad from the centre")
        return count

    def quantise(self, angles: np.ndarray) -> np.ndarray:
        """Angles (n,) [rad] of the nearest set-points; NaN stays NaN."""
        counts = np.floor(angles * self.per_radian + self.centre + 0.5)
        return (np.minimum(np.maximum(counts, 0.0), self.top) - self.centre) / self.per_radian


BUS_SERVO = CountScale(centre=500, per_radian=1000.0 / math.radians(240.0), top=1000)
# A potentiometer past its ends reads a little below 0 or above 1000; readings outside this range are implausible.
BUS_SERVO_READABLE = BUS_SERVO.angle(-250), BUS_SERVO.angle(1250)


def check_servo_ids(robot: Robot) -> None:
    """Raise RobotError for what bus servos, which turn, cannot drive: a sliding joint, a leg without servo ids."""
    for leg in robot.legs:
        if slides := [joint.name for joint in leg.joints if joint.kind == "prismatic"]:
            remedy = "give its leg no servo_ids, and start a driver of its own with hardware:=topics"
            raise RobotError(f"robot {robot.name}: {slides[0]} is prismatic, in m; bus servos turn, in rad: {remedy}")
        if any(joint.servo_id is None or joint.servo_direction is None for joint in leg.joints):
            count = len(leg.joints)
            raise RobotError(
                f"robot {robot.name}: legs.{leg.name}.servo_ids: missing; write its {count} ids and directions, from "
                f"the body outward, as servo_ids: {list(range(1, count + 1))}, servo_directions: {[1] * count} "
                "(`check_robot --only directions` finds the directions)"
            )


HIGHEST_ID = max(SERVO_ID.allowed)


@dataclass(frozen=True)
class ServoMap:
    """Joint names (n) in robot order with servo ids and directions (+1 or -1: the servo's sense of rotation); a Robot
    has checked them.

    zeros (n) [rad]: what each servo reads at its joint's zero, by default 0; the angle from the servo's centre is
    direction * (joint angle + zero). servo: the Servo whose counts `quantise` uses; None: it changes nothing. Raises
    DeviceError unless there is one of each per joint.
    """

    joint_names: tuple[str, ...]
    ids: tuple[int, ...]
    directions: tuple[int, ...]
    zeros: tuple[float, ...] = ()
    servo: Servo | None = None

    def __post_init__(self) -> None:
        zeros = self.zeros or (0.0,) * len(self.joint_names)
        if not len(self.joint_names) == len(self.ids) == len(self.directions) == len(zeros):
            given = f"{len(self.joint_names)} joints, {len(self.ids)} servo ids, {len(self.directions)} directions"
            raise DeviceError(f"{given} and {len(zeros)} zeros given: one of each per joint is needed")
        object.__setattr__(self, "zeros", tuple(zeros))
        object.__setattr__(self, "_signs", np.array(self.directions, float))
        object.__setattr__(self, "_zeros", np.array(zeros, float))

    @classmethod
    def from_robot(cls, robot: Robot) -> ServoMap:
        """Take joint names, ids and directions of a Robot; RobotError names a leg without ids."""
        check_servo_ids(robot)
        return cls(
            robot.joint_names,
            tuple(joint.servo_id for joint in robot.joints if joint.servo_id is not None),
            tuple(joint.servo_direction for joint in robot.joints if joint.servo_direction is not None),
            tuple(joint.servo_zero for joint in robot.joints),
            robot.servo,
        )

    @classmethod
    def from_joint_names(cls, names: Sequence[str]) -> ServoMap:
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

    def quantise(self, angles: np.ndarray) -> np.ndarray:
        """Joint angles (n,) [rad] that the robot's servos take for `angles` (n,) [rad]; NaN stays NaN."""
        return self._signs * self.servo.quantise(self.servo_angles(angles)) - self._zeros if self.servo else angles

    def joint_angle(self, index: int, servo_angle: float) -> float:
        """Convert the angle [rad] from one servo's centre to the joint angle [rad]."""
        return servo_angle * self.directions[index] - self.zeros[index]
