"""Evidence from the servo bus: servos that do not answer, the innermost silent link of each leg, servos without
torque.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits
from hexapod_dynamics.robot import Robot


@dataclass(frozen=True)
class SilentChain:
    """Servos of a leg that do not answer, from link `link` outward (alone: only that servo), since a time [s]."""

    leg: str
    link: int
    alone: bool
    since: float
    joints: tuple


class BusEvidence:
    """Stores when each servo answered last; a servo is silent after `silent_after` [s], later on a slow bus.

    Silence is measured by a clock that runs while readings arrive; of a pause without any readings it counts only
    the first `longest_gap` seconds, so that servos are not silent because the computer stands still.
    """

    def __init__(self, robot: Robot, silent_after: Any, limits: DetectorLimits = LIMITS) -> None:
        n = robot.joint_count
        self.robot, self._after, self._limits = robot, silent_after, limits
        self.heard = np.full(n, -np.inf)  # time of the last reading
        self._first = np.inf  # time of the first reading of any servo
        # time of the latest reading; value of the clock of readings at that time [s]
        self._latest, self._clock = -np.inf, 0.0
        self._clock_heard = np.full(n, limits.first_round)  # value of that clock at the last reading of each servo
        self._readings = 0  # number of readings of all servos so far
        self._reading = np.zeros(n, np.int64)  # number of the last reading of each servo
        self._told = np.zeros(n, bool)  # whether the driver reports the servo as silent
        self._let_go = np.zeros(n, bool)
        self._let_go_since = np.full(n, np.inf)
        self._back = np.zeros(n, np.int64)  # answers of servos that are declared missing

    def measured(self, time: float, joint: Any) -> None:
        """Register a reading of a joint."""
        self._first = min(self._first, time)
        self._clock = self._clock_at(time)
        self._latest = max(self._latest, time)
        self.heard[joint] = max(self.heard[joint], time)
        self._clock_heard[joint] = self._clock
        self._readings += 1
        self._reading[joint] = self._readings
        self._told[joint] = False

    def expect(self, time: float, joints: np.ndarray) -> None:
        """Allow time for the first answer of joints (n,) bool that were attached again."""
        self.heard[joints] = time + self._limits.first_round
        self._clock_heard[joints] = self._clock_at(time) + self._limits.first_round
        self._reading[joints] = self._readings
        self._told[joints] = False
        self._back[joints] = 0

    def _clock_at(self, time: float) -> float:
        """Return the value [s] of the clock of readings at a time."""
        if self._latest == -np.inf:
            return self._clock
        return self._clock + min(max(time - self._latest, 0.0), self._limits.longest_gap)

    def silence(self, time: float, joints: Sequence[int]) -> float:
        """Return for how long [s] none of these servos has answered, by the clock of readings."""
        return self._clock_at(time) - float(self._clock_heard[list(joints)].max())

    def told(self, time: float, silent: np.ndarray, let_go: np.ndarray) -> None:
        """Register a report of the driver: silent servos, servos whose torque is off, each (n,) bool."""
        self._told[:] = silent
        self._let_go_since = np.where(let_go, np.minimum(self._let_go_since, time), np.inf)
        self._let_go[:] = let_go

    def answered(self, answering: np.ndarray) -> None:
        """Register which of the servos that are declared missing answered (n,) bool in one polling round."""
        self._back = np.where(answering, self._back + 1, 0)

    def back(self) -> np.ndarray:
        """Servos (n,) bool that have answered in two reports although they are declared missing."""
        return self._back >= self._limits.back_reports

    def let_go(self, time: float) -> np.ndarray:
        """Servos (n,) bool whose torque has been off for 0.2 s."""
        return self._let_go & (time - self._let_go_since > self._limits.let_go_for)

    def pace(self, time: float, expected: np.ndarray) -> float:
        """Time [s] within which half of the expected servos (n,) bool were read; 0 if none was.

        If nearly half of them are reported as silent, as after the loss of three legs, only the others are
        counted.
        """
        if not np.isfinite(self._first) or not expected.any():
            return 0.0
        answering = expected & ~self._told
        limits = self._limits
        if limits.fewest_answer * expected.sum() <= answering.sum() <= limits.most_answer * expected.sum():
            expected = answering
        return float(
            np.median(
                time - np.where(np.isfinite(self.heard), self.heard, self._first + self._limits.first_round)[expected]
            )
        )

    def passed_over(self, expected: np.ndarray) -> np.ndarray:
        """Servos (n,) bool that were left out of the last one and a half polling rounds.

        Since the last reading of such a servo at least a third of the expected ones were read, 1.5 times on average.
        Time alone is no proof: while six torn-off servos are read in vain, or the machine stands still, no servo
        is read for half a second; after that, the servos that are read last would look silent in comparison with
        the first.
        """
        limits = self._limits
        others = (self._reading[expected] > self._reading[:, None]).sum(axis=1)
        over = self._readings - self._reading >= limits.rounds_over * others
        return (others >= limits.over_share * expected.sum()) & over

    def silent(self, time: float, expected: np.ndarray) -> np.ndarray:
        """Servos (n,) bool among the expected ones that do not answer while others do."""
        heard, limits, after = self.heard[expected], self._limits, self._after
        if not np.isfinite(heard).any():
            return np.zeros(len(self.heard), bool)
        # For a servo that never answered, the time counts from the first answer of any servo.
        age = self._clock_at(time) - self._clock_heard
        pace = self.pace(time, expected)
        over = expected & self.passed_over(expected)
        # 0.585 s after its last answer, because a single torn-off servo must be reported within 0.6 s.
        told = over & self._told & (age > max(limits.told_silences * after, limits.told_rounds * pace))
        # If readings are late or lost by chance, a servo must fail more often than others, as reported by the driver.
        timely = pace <= limits.late_round
        silent = told | (timely & over & (age > limits.silent_silences * after))
        # All servos of a chain do not fail together by chance, so a chain is detected sooner than one servo.
        quick = over & (age > max(limits.chain_silences * after, limits.chain_rounds * pace))
        for leg in self.robot.legs:
            joints = np.array(self.robot.leg_joints(leg.name))
            joints = joints[expected[joints]]
            for first in range(len(joints) - 1):
                chain = joints[first:]
                proven = self._told[chain]
                if quick[chain].all() and (proven.all() or timely and (proven.any() or len(chain) > 2)):
                    silent[chain] = True
                    break
        return silent

    def overdue(self, time: float, expected: np.ndarray) -> np.ndarray:
        """Expected servos (n,) bool whose answer is late, but not so late that they count as silent."""
        limits, pace = self._limits, self.pace(time, expected)
        late = time - self.heard > max(limits.overdue_silences * self._after, limits.overdue_rounds * pace)
        return expected & late & ~self.silent(time, expected)

    def dead(self, time: float) -> bool:
        """Return True if no servo was read recently, so that the bus is no evidence."""
        return not np.any(time - self.heard < self._limits.dead_silences * self._after)

    def chains(self, silent: np.ndarray, expected: np.ndarray) -> list[SilentChain]:
        """Return a SilentChain for each leg with silent servos (n,) bool; further out, servos that are not expected to
        answer do not contradict the silence.
        """
        found = []
        for leg in self.robot.legs:
            joints = list(self.robot.leg_joints(leg.name))
            mute = [k for k, joint in enumerate(joints) if silent[joint]]
            if not mute:
                continue
            first = mute[0]
            outward = not any(expected[joint] and not silent[joint] for joint in joints[first:])
            since = float(max(self._first, min(self.heard[joints[k]] for k in mute)))
            found.append(SilentChain(leg.name, first, not outward, since, tuple(joints[k] for k in mute)))
        return found
