"""Evidence of the servo bus: which servos answer, from which link outward a leg is silent, whose torque is off."""

from dataclasses import dataclass

import numpy as np

_START = 2.0  # [s] in which every servo is to be read for the first time


@dataclass(frozen=True)
class Silence:
    """A leg whose servos do not answer from link `link` outward (alone: only that one), since a time [s]."""

    leg: str
    link: int
    alone: bool
    since: float
    joints: tuple


class BusEvidence:
    """Ages of the readings and reports of the bus; a servo is silent after `silent_after` [s], longer on a slow bus."""

    def __init__(self, robot, silent_after):
        n = robot.joint_count
        self.robot, self._after = robot, silent_after
        self.heard = np.full(n, -np.inf)  # time of the last reading
        self._first = np.inf  # time of the first reading of any
        self._told = np.zeros(n, bool)  # the bus calls it silent
        self._let_go = np.zeros(n, bool)
        self._let_go_since = np.full(n, np.inf)
        self._back = np.zeros(n, np.int64)  # answers of servos that are declared missing

    def measured(self, time, joint):
        """Note a reading of a joint."""
        self._first = min(self._first, time)
        self.heard[joint] = max(self.heard[joint], time)
        self._told[joint] = False

    def expect(self, time, joints):
        """These joints (n,) bool are on the robot again: they have time to answer."""
        self.heard[joints] = time + _START
        self._told[joints] = False
        self._back[joints] = 0

    def told(self, time, silent, let_go):
        """Note what the bus reports: silent servos, servos whose torque went off, each (n,) bool."""
        self._told[:] = silent
        self._let_go_since = np.where(let_go, np.minimum(self._let_go_since, time), np.inf)
        self._let_go[:] = let_go

    def answered(self, answering):
        """Note one round of asking servos that are declared missing: (n,) bool, who answered."""
        self._back = np.where(answering, self._back + 1, 0)

    def back(self):
        """Servos (n,) bool that have answered in two reports although they are declared missing."""
        return self._back >= 2

    def let_go(self, time):
        """Servos (n,) bool whose torque has been off for 0.2 s."""
        return self._let_go & (time - self._let_go_since > 0.2)

    def pace(self, time, expected):
        """The pace of the bus: half of the expected servos (n,) were read within this time [s], 0 where none was."""
        if not np.isfinite(self._first) or not expected.any():
            return 0.0
        return float(np.median(time - np.where(np.isfinite(self.heard), self.heard, self._first + _START)[expected]))

    def silent(self, time, expected):
        """Servos (n,) bool of the expected ones (n,) that do not answer while others do."""
        heard = self.heard[expected]
        if not np.isfinite(heard).any():
            return np.zeros(len(self.heard), bool)
        # One that has never answered counts from when the others began to.
        age = time - np.where(np.isfinite(self.heard), self.heard, self._first + _START)
        pace = self.pace(time, expected)
        told = expected & self._told & (age > max(1.7 * self._after, 4.0 * pace))
        silent = told | (expected & (age > max(5.0 * self._after, 8.0 * pace)))
        # A whole chain is sooner sure than one servo: its servos do not lose readings together by chance.
        quick = expected & (age > max(1.3 * self._after, 4.5 * pace))
        for leg in self.robot.legs:
            joints = np.array(self.robot.leg_joints(leg.name))
            for first in range(len(joints) - 1):
                chain = joints[first:]
                if quick[chain].all() and (self._told[chain].any() or len(chain) > 2):
                    silent[chain] = True
                    break
        return silent

    def dead(self, time):
        """Whether no servo has been read for a while, so that the bus gives no evidence."""
        return not np.any(time - self.heard < 3.0 * self._after)

    def chains(self, silent):
        """Silences of legs, from the innermost silent link outward."""
        found = []
        for leg in self.robot.legs:
            joints = list(self.robot.leg_joints(leg.name))
            mute = [k for k, joint in enumerate(joints) if silent[joint]]
            if not mute:
                continue
            first = mute[0]
            outward = mute == list(range(first, len(joints)))
            since = float(max(self._first, min(self.heard[joints[k]] for k in mute)))
            found.append(Silence(leg.name, first, not outward, since, tuple(joints[k] for k in mute)))
        return found
