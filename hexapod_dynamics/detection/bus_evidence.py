"""Evidence from the servo bus: servos that do not answer, the innermost silent link of each leg, servos without
torque.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.robot import Robot

# Limits in multiples of `silent_after` (SILENCES) and of the time of a polling round (ROUNDS), whichever is longer:
# after them a servo is silent; one that the driver reports so; the servos of a chain, which do not fail together by
# chance; a servo is late.
SILENT_SILENCES, REPORTED_SILENCES, CHAIN_SILENCES, OVERDUE_SILENCES = 5.0, 1.95, 1.3, 0.75
REPORTED_ROUNDS, CHAIN_ROUNDS, OVERDUE_ROUNDS = 5.0, 4.5, 2.2
FIRST_ROUND = 2.0  # [s] in which every servo answers for the first time


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
    the first 0.2 s, so that servos are not silent because the computer stands still.
    """

    def __init__(self, robot: Robot, silent_after: float) -> None:
        n = robot.joint_count
        self.robot, self._after = robot, silent_after
        self.answered_at = np.full(n, -np.inf)  # time of the last reading
        self._first = np.inf  # time of the first reading of any servo
        # time of the latest reading; value of the clock of readings at that time [s]
        self._latest, self._clock = -np.inf, 0.0
        self._clock_answered = np.full(n, FIRST_ROUND)  # value of that clock at the last reading of each servo
        self._readings = 0  # number of readings of all servos so far
        self._reading = np.zeros(n, np.int64)  # number of the last reading of each servo
        self._reported = np.zeros(n, bool)  # whether the driver reports the servo as silent
        self._torque_off = np.zeros(n, bool)
        self._torque_off_since = np.full(n, np.inf)
        self._back = np.zeros(n, np.int64)  # answers of servos that are declared missing

    def add_reading(self, time: float, joint: int) -> None:
        """Register a reading of a joint."""
        self._first = min(self._first, time)
        self._clock = self._clock_at(time)
        self._latest = max(self._latest, time)
        self.answered_at[joint] = max(self.answered_at[joint], time)
        self._clock_answered[joint] = self._clock
        self._readings += 1
        self._reading[joint] = self._readings
        self._reported[joint] = False

    def expect(self, time: float, joints: np.ndarray) -> None:
        """Allow time for the first answer of joints (n,) bool that were attached again."""
        self.answered_at[joints] = time + FIRST_ROUND
        self._clock_answered[joints] = self._clock_at(time) + FIRST_ROUND
        self._reading[joints] = self._readings
        self._reported[joints] = False
        self._back[joints] = 0

    def _clock_at(self, time: float) -> float:
        """Return the value [s] of the clock of readings at a time."""
        if self._latest == -np.inf:
            return self._clock
        return self._clock + min(max(time - self._latest, 0.0), 0.2)

    def silence(self, time: float, joints: Sequence[int]) -> float:
        """Return for how long [s] none of these servos has answered, by the clock of readings."""
        return self._clock_at(time) - float(self._clock_answered[list(joints)].max())

    def report(self, time: float, silent: np.ndarray, torque_off: np.ndarray) -> None:
        """Register a report of the driver: silent servos, servos whose torque is off, each (n,) bool."""
        self._reported[:] = silent
        self._torque_off_since = np.where(torque_off, np.minimum(self._torque_off_since, time), np.inf)
        self._torque_off[:] = torque_off

    def add_answers_of_missing(self, answering: np.ndarray) -> None:
        """Register which of the servos that are declared missing answered (n,) bool in one polling round."""
        self._back = np.where(answering, self._back + 1, 0)

    def find_answering_again(self) -> np.ndarray:
        """Servos (n,) bool that have answered in two reports although they are declared missing."""
        return self._back >= 2

    def torque_off(self, time: float) -> np.ndarray:
        """Servos (n,) bool whose torque has been off for 0.2 s."""
        return self._torque_off & (time - self._torque_off_since > 0.2)

    def pace(self, time: float, expected: np.ndarray) -> float:
        """Time [s] within which half of the expected servos (n,) bool were read; 0 if none was.

        If nearly half of them are reported as silent, as after the loss of three legs, only the others are
        counted.
        """
        if not np.isfinite(self._first) or not expected.any():
            return 0.0
        answering = expected & ~self._reported
        if 0.3 * expected.sum() <= answering.sum() <= 0.6 * expected.sum():  # half of the legs are left
            expected = answering
        answered = np.where(np.isfinite(self.answered_at), self.answered_at, self._first + FIRST_ROUND)
        return float(np.median(time - answered[expected]))

    def find_passed_over(self, expected: np.ndarray) -> np.ndarray:
        """Servos (n,) bool that were left out of the last one and a half polling rounds.

        Since the last reading of such a servo at least a third of the expected ones were read, 1.5 times on average.
        Time alone is no proof: while six torn-off servos are read in vain, or the machine stands still, no servo
        is read for half a second; after that, the servos that are read last would look silent in comparison with
        the first.
        """
        others = (self._reading[expected] > self._reading[:, None]).sum(axis=1)
        over = self._readings - self._reading >= 1.5 * others
        return (3 * others >= expected.sum()) & over

    def silent(self, time: float, expected: np.ndarray) -> np.ndarray:
        """Servos (n,) bool among the expected ones that do not answer while others do."""
        answered, after = self.answered_at[expected], self._after
        if not np.isfinite(answered).any():
            return np.zeros(len(self.answered_at), bool)
        # For a servo that never answered, the time counts from the first answer of any servo.
        over = expected & self.find_passed_over(expected)
        if not over.any():
            return over
        age = self._clock_at(time) - self._clock_answered
        pace = self.pace(time, expected)
        # 0.585 s after its last answer, because a single torn-off servo must be reported within 0.6 s.
        reported = over & self._reported & (age > max(REPORTED_SILENCES * after, REPORTED_ROUNDS * pace))
        # If readings are late or lost by chance, a servo must fail more often than others, as reported by the driver.
        timely = pace <= 0.15
        silent = reported | (timely & over & (age > SILENT_SILENCES * after))
        # All servos of a chain do not fail together by chance, so a chain is detected sooner than one servo.
        quick = over & (age > max(CHAIN_SILENCES * after, CHAIN_ROUNDS * pace))
        for leg in self.robot.legs:
            joints = np.array(self.robot.leg_joints(leg.name))
            joints = joints[expected[joints]]
            for first in range(len(joints) - 1):
                chain = joints[first:]
                proven = self._reported[chain]
                if quick[chain].all() and (proven.all() or timely and (proven.any() or len(chain) > 2)):
                    silent[chain] = True
                    break
        return silent

    def overdue(self, time: float, expected: np.ndarray) -> np.ndarray:
        """Expected servos (n,) bool whose answer is late."""
        limit = max(OVERDUE_SILENCES * self._after, OVERDUE_ROUNDS * self.pace(time, expected))
        return expected & (time - self.answered_at > limit)

    def is_bus_dead(self, time: float) -> bool:
        """Return True if no servo was read in three times `silent_after`, so that the bus is no evidence."""
        return not np.any(time - self.answered_at < 3.0 * self._after)

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
            since = float(max(self._first, min(self.answered_at[joints[k]] for k in mute)))
            found.append(SilentChain(leg.name, first, not outward, since, tuple(joints[k] for k in mute)))
        return found
