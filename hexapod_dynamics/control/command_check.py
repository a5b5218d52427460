"""Rejects all joints of a command together: far beyond the joint limits, too old, or from a second source.

The nodes that execute `joint_commands` (`servos`, `dynamics`) use the same check, so that they execute the same
commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.robot import Robot

Number = TypeVar("Number", int, float)

POSITION_MARGIN = 0.5  # [rad] beyond a joint's limits: up to here a command is clamped, beyond it is rejected
SPEED_MARGIN = 3.0  # multiple of the servo's speed limit


class CommandCheck:
    """Checks the joint commands of one robot.

    Args:
        names: joint names (n,), for the messages.
        lower, upper: joint limits (n,) [rad].
        speed_limit: of a servo [rad/s].

    """

    def __init__(self, names: Iterable[str], lower: npt.ArrayLike, upper: npt.ArrayLike, speed_limit: float) -> None:
        self.names, self.lower, self.upper = list(names), np.asarray(lower, float), np.asarray(upper, float)
        self.speed_limit = float(speed_limit)
        self._least = (self.lower - POSITION_MARGIN).tolist()
        self._most = (self.upper + POSITION_MARGIN).tolist()
        self._fastest = SPEED_MARGIN * self.speed_limit

    @classmethod
    def of_robot(cls, robot: Robot) -> CommandCheck:
        """Take the limits of a `hexapod_dynamics.robot.Robot`."""
        joints = [joint for leg in robot.legs for joint in leg.joints]
        return cls(robot.joint_names, [j.lower for j in joints], [j.upper for j in joints], robot.servo.speed_limit)

    def refusal(
        self,
        joints: Sequence[int] | np.ndarray,
        positions: Sequence[float] | np.ndarray,
        velocities: Sequence[float] | np.ndarray = (),
    ) -> str:
        """Return the reason to reject a command as a whole; empty if it is accepted.

        Args:
            joints: indices (k,) of the joints that are commanded.
            positions: (k,) [rad]; NaN: the joint holds.
            velocities: (k,) [rad/s], or empty where none are given; NaN is no velocity.

        """
        if len(positions) != len(joints):
            return f"it has {len(joints)} joints and {len(positions)} positions: one position for each is needed"
        if len(velocities) not in (0, len(joints)):
            return f"it has {len(joints)} joints and {len(velocities)} velocities: one for each, or none, is needed"
        # A loop over numbers: numpy takes three times as long for 18.
        for joint, position in zip(_numbers(joints), _numbers(positions), strict=True):
            if position < self._least[joint] or position > self._most[joint]:  # NaN is neither
                return (
                    f"it asks {position:.6g} rad of {self.names[joint]}, whose limits are "
                    f"{self.lower[joint]:g}..{self.upper[joint]:g} rad: more than {POSITION_MARGIN} rad beyond"
                )
        for place, velocity in enumerate(_numbers(velocities)):
            if abs(velocity) > self._fastest:
                return (
                    f"it asks {velocity:.6g} rad/s of {self.names[joints[place]]}: more than "
                    f"{SPEED_MARGIN:g} times the servo's {self.speed_limit:g} rad/s"
                )
        return ""


def _numbers(values: Sequence[Number] | np.ndarray) -> Sequence[Number]:
    """Return Python numbers: access to an element of an array takes three times as long."""
    return values.tolist() if isinstance(values, np.ndarray) else values


def stamp_refusal(age: float, limit: float) -> str:
    """Return the reason to reject a command stamped `age` [s] ago; empty if |age| is within `limit` [s]."""
    if age > limit:
        return f"it is {age:.3g} s old, {limit:g} s are allowed: an old recording, or clocks that differ"
    if age < -limit:
        return f"its stamp is {-age:.3g} s in the future: the clocks of sender and receiver differ (is chrony running?)"
    return ""


class SourceLock:
    """Accepts one source of commands at a time: the first, until it has not published for `timeout` [s]."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.source: str | None = None
        self._last = -np.inf

    def accepts(self, source: str, t: float) -> bool:
        """Whether to execute a command of `source` at monotonic time t [s]."""
        if source != self.source and t - self._last <= self.timeout:
            return False
        self.source, self._last = source, t
        return True
