"""Bounds the commands to the servos in angle, speed and step, starting from the measured joints.

Arrays (n,) are in joint order [rad]; time is given as intervals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import DeviceError, require_positive

if TYPE_CHECKING:
    from hexapod_dynamics.robot import Robot

# Time [s] without commands after which the servos, by default, approach the next ones slowly (`PoseGuard.pause`). The
# models that execute the same commands assume it.
COMMAND_TIMEOUT = 0.3
CLAMPS = ("angle", "speed", "step", "not finite")


@dataclass
class GuardSettings:
    """Bounds of the commands to the servos.

    speed_limit [rad/s]: of any joint. approach_speed [rad/s]: of a joint that has not reached its command yet (after a
    start, a pause, a jump of the command). step_limit [rad]: a command that differs from the previous one by more
    than this is a jump. meeting_distance [rad]: distance at which a joint has reached its command. feedforward_limit
    [rad] and offset_speed [rad/s] bound the feed-forward offset.
    """

    speed_limit: float = 5.82
    approach_speed: float = 0.8
    step_limit: float = 0.5
    meeting_distance: float = 0.02
    feedforward_limit: float = 0.1
    offset_speed: float = 1.0

    def __post_init__(self) -> None:
        require_positive(self.__dict__, DeviceError)


class PoseGuard:
    """Turns commanded joint angles and feed-forward torques into set-points that are safe to send.

    lower, upper: joint limits (n,) [rad]. stiffness: servo stiffness [N m/rad]; a torque tau becomes the offset
    tau / stiffness of the set-point.
    """

    def __init__(
        self, lower: npt.ArrayLike, upper: npt.ArrayLike, stiffness: float, settings: GuardSettings | None = None
    ) -> None:
        self.lower, self.upper = np.array(lower, float), np.array(upper, float)
        self._lower, self._upper = self.lower.tolist(), self.upper.tolist()
        n = len(self.lower)
        self.settings = settings or GuardSettings()
        self.clamped = dict.fromkeys(CLAMPS, 0)
        self.following = np.zeros(n, bool)  # has reached its command since the start
        self.unused = 0.0  # [s] of the last interval: what its fastest joint has not needed
        self.setpoint = np.full(n, np.nan)  # without the offset; NaN: the joint's pose is not known
        self._compliance = 1.0 / stiffness
        self._offset = np.zeros(n)
        self._command = np.full(n, np.nan)  # the last accepted command
        self._generation = np.full(n, -1, np.int64)

    @classmethod
    def from_robot(cls, robot: Robot, settings: GuardSettings | None = None) -> PoseGuard:
        """Make the guard of a robot's joints and servos, by default for their speed."""
        lower, upper = np.array([(joint.lower, joint.upper) for joint in robot.joints]).T
        settings = settings or GuardSettings(speed_limit=robot.servo.speed_limit)
        return cls(lower, upper, robot.servo.stiffness, settings)

    def synchronise_setpoint(self, generation: np.ndarray, start_angle: np.ndarray, known: np.ndarray) -> None:
        """Start joints from `start_angle` (n,) [rad] when they are measured again; see ChainState for the arguments."""
        fresh = known & (generation != self._generation)
        if fresh.any():
            self.setpoint[fresh] = start_angle[fresh]
            self.following[fresh] = False
            self._offset[fresh] = 0.0
            self._generation[fresh] = generation[fresh]

    def pause(self) -> None:
        """Hold after commands stopped; the next ones are approached at the bounded speed."""
        self.following[:] = False
        self._command[:] = np.nan

    @property
    def speed_bound(self) -> np.ndarray:
        """The speed (n,) [rad/s] that the set-points returned last may have: of the joint, and of its offset if any."""
        settings = self.settings
        fast, slow, more = settings.speed_limit, settings.approach_speed, settings.offset_speed
        return np.array(
            [
                (fast if follows else slow) + (more if offset else 0.0)
                for follows, offset in zip(self.following.tolist(), self._offset.tolist(), strict=True)
            ]
        )

    def update(self, command: np.ndarray, torque: np.ndarray, interval: float) -> np.ndarray:
        """Return the set-points (n,) [rad] to send for the next interval [s].

        command: joint angles (n,) [rad], NaN for a joint without a command (it holds). torque: feed-forward (n,)
        [N m]. A joint whose pose is not known stays NaN.
        """
        # A loop over numbers: numpy takes three times as long for 18.
        settings, count = self.settings, self.clamped
        fast, slow = settings.speed_limit * interval, settings.approach_speed * interval
        change = settings.offset_speed * interval
        setpoints, offsets, following = self.setpoint.tolist(), self._offset.tolist(), self.following.tolist()
        before, torques, out, used = self._command.tolist(), torque.tolist(), [], 0.0
        for j, (asked, low, high) in enumerate(zip(command.tolist(), self._lower, self._upper, strict=True)):
            if math.isfinite(asked):
                bounded = _clip(asked, low, high)
                count["angle"] += bounded != asked
                if abs(bounded - before[j]) > settings.step_limit:  # false if one of them is NaN
                    count["step"] += following[j]
                    following[j] = False
                before[j] = bounded
                distance = bounded - setpoints[j]
                if abs(distance) < settings.meeting_distance:
                    following[j] = True
                reach = fast if following[j] else slow
                count["speed"] += following[j] and abs(distance) > reach + 1e-9
                setpoints[j] += _clip(distance, -reach, reach)
                used = 1.0 if abs(distance) >= reach else max(used, abs(distance) / reach)
            elif math.isinf(asked):
                count["not finite"] += 1
            wanted = torques[j] * self._compliance if math.isfinite(torques[j]) else 0.0
            wanted = _clip(wanted, -settings.feedforward_limit, settings.feedforward_limit)
            offsets[j] += _clip(wanted - offsets[j], -change, change)
            out.append(_clip(setpoints[j] + offsets[j], low, high))
        self.unused = (1.0 - used) * interval
        self.setpoint[:], self._offset[:], self.following[:], self._command[:] = setpoints, offsets, following, before
        return np.array(out)


class MotionTime:
    """The time that the joints have for each motion to commands `period` [s] apart, which come late and then soon.

    What the motions before have left unused, at most one period, counts for the next one: else a command that comes
    soon after a late one would be taken for one that is too fast. In any time joints move no further than with the
    guard's speed in that time and one period.
    """

    def __init__(self, period: float) -> None:
        self._period, self._last = period, -math.inf

    def since(self, t: float) -> float:
        """Return the time [s] from the last motion to `t`."""
        return t - self._last

    def begin_motion(self, t: float, unused: float, pause: float) -> float:
        """Return the time [s] for the motion at `t`; unused: of the last one; pause: from which it begins anew, [s]."""
        since, self._last = self.since(t), t
        return self._period if since > pause else min(since + min(unused, self._period), 2.0 * self._period)


def _clip(value: float, lower: float, upper: float) -> float:
    """Bound a value; NaN stays NaN."""
    return lower if value < lower else upper if value > upper else value
