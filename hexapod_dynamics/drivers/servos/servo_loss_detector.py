"""Tells servos that have fallen silent from a line that loses answers of all, however many are silent."""

import math

import numpy as np

_CHANCE = 1e-3  # that so many failures in a row are the line's doing
_WITNESSES = 3  # answers of other servos that show that the line was there


class ServoLossDetector:
    """Counts failures in a row of n joints and weighs them against what the others answered meanwhile.

    While joint j fails, the other joints witness what the line loses: S of their answers came, F of the questions to
    those of them that answered at least once were lost. With the line's loss p = (F + 1/2) / (S + F + 1), j is silent
    after k failures in a row where p^k < 1/1000. Joints that never answer meanwhile are no witnesses: nine servos
    behind one broken cable do not make the line look lossy.
    """

    def __init__(self, n: int, silent_after: int):
        self._silent_after = silent_after  # failures in a row, on a line that loses nothing
        self._failures = np.zeros(n, np.int64)
        self._good, self._lost = np.zeros(n, np.int64), np.zeros(n, np.int64)  # so far
        self._good_before = np.zeros((n, n), np.int64)  # row j: those counts when j's failures began
        self._lost_before = np.zeros((n, n), np.int64)

    @property
    def failing(self) -> np.ndarray:
        """Failures in a row of each joint (n,)."""
        return self._failures

    def forget(self, joints: np.ndarray | None = None) -> None:
        """No failures of these joints (mask); without a mask, of all."""
        self._failures[slice(None) if joints is None else joints] = 0

    def note(self, index: int, answered: bool) -> None:
        """Take an exchange with a joint."""
        if answered:
            self._failures[index] = 0
            self._good[index] += 1
            return
        if self._failures[index] == 0:
            self._good_before[index], self._lost_before[index] = self._good, self._lost
        self._failures[index] += 1
        self._lost[index] += 1

    def loss(self, index: int) -> float:
        """Share 0..1 that the line lost while this joint was failing, by what the others answered; 1 without any."""
        good = self._good - self._good_before[index]
        good[index] = 0
        answers = int(good.sum())
        if answers < _WITNESSES:
            return 1.0
        lost = int((self._lost - self._lost_before[index])[good > 0].sum())
        return (lost + 0.5) / (answers + lost + 1.0)

    def is_silent(self, index: int) -> bool:
        """Whether the joint has failed more often in a row than the line's present loss explains."""
        failures = int(self._failures[index])
        if failures < self._silent_after:
            return False
        loss = self.loss(index)
        return loss < 1.0 and failures * math.log(loss) < math.log(_CHANCE)
