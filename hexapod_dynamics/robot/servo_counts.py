"""The whole numbers (counts) in which the bus servos of a robot take set-points and report positions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.description import Robot

MAX_COUNT, CENTRE_COUNT = 1000, 500
COUNTS_PER_RADIAN = 1000.0 / math.radians(240.0)


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

    def quantise(self, angles: np.ndarray) -> np.ndarray:
        """Angles (n,) [rad] of the nearest set-points; NaN stays NaN."""
        counts = angles * self.per_radian
        counts += self.centre
        counts += 0.5
        np.floor(counts, out=counts)
        np.maximum(counts, 0.0, out=counts)
        np.minimum(counts, self.top, out=counts)
        counts -= self.centre
        counts /= self.per_radian
        return counts


BUS_SERVO = CountScale(CENTRE_COUNT, COUNTS_PER_RADIAN, MAX_COUNT)
# A potentiometer past its ends reads a little below 0 or above 1000; readings outside this range are implausible.
BUS_SERVO_READABLE = BUS_SERVO.angle(-250), BUS_SERVO.angle(1250)


def check_servo_ids(robot: Robot) -> None:
    """Raise RobotError for a leg whose joints have no servo ids: nothing can drive it."""
    for leg in robot.legs:
        if any(joint.servo_id is None or joint.servo_direction is None for joint in leg.joints):
            count = len(leg.joints)
            raise RobotError(
                f"robot {robot.name}: legs.{leg.name}.servo_ids: missing; write its {count} ids and directions, from "
                f"the body outward, as servo_ids: {list(range(1, count + 1))}, servo_directions: {[1] * count} "
                "(`check_robot --only directions` finds the directions)"
            )


class ServoCounts:
    """Joint angles (n,) [rad] <-> counts (n,).

    count = 500 + direction * angle * 1000 / 240 deg, rounded to the nearest.

    directions (n,): +1 or -1, the sign of counts over the joint's angle; zeros (n,) [rad]: what each servo reads at its
    joint's zero.
    """

    def __init__(self, directions: Sequence[int], zeros: Sequence[float] | None = None) -> None:
        self.slope = np.array(directions, float) * COUNTS_PER_RADIAN
        self.zeros = np.zeros(len(directions)) if zeros is None else np.array(zeros, float)

    @classmethod
    def from_robot(cls, robot: Robot) -> ServoCounts:
        """Take the directions of a robot's servos; raises RobotError for a joint without one."""
        check_servo_ids(robot)
        joints = [joint for leg in robot.legs for joint in leg.joints]
        return cls(
            [joint.servo_direction for joint in joints if joint.servo_direction is not None],
            [joint.servo_zero for joint in joints],
        )

    def counts(self, angles: np.ndarray) -> np.ndarray:
        """Nearest commandable counts (n,) int of joint angles (n,) [rad], clamped to 0..1000."""
        counts = self.slope * (angles + self.zeros)
        counts += CENTRE_COUNT
        counts += 0.5
        np.floor(counts, out=counts)
        np.maximum(counts, 0.0, out=counts)
        return np.minimum(counts, MAX_COUNT, out=counts).astype(np.int64)

    def angles(self, counts: np.ndarray) -> np.ndarray:
        """Joint angles (n,) [rad] of counts (n,), which may lie outside 0..1000 when they were measured."""
        return (np.asarray(counts) - CENTRE_COUNT) / self.slope - self.zeros
