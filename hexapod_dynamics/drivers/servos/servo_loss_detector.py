"""Distinguishes servos that no longer answer from a line that loses answers of all servos."""

from __future__ import annotations

import math

import numpy as np

_CHANCE = 1e-5  # probability that failures in a row are caused by the line
_WITNESSES = 3  # answers of other servos that prove that the line works


class ServoLossDetector:
    """Counts consecutive failures of n joints and compares them with the answers of the other joints in the same time.

    While joint j fails, the other joints show the loss rate of the line: S of their answers arrived, F requests
    were lost, counting only joints that answered at least once. With the loss rate of the line p = (F + 1/2) / (S
    + F + 1), j is silent after k failures in a row where p^k < 1e-5. Joints that never answer in this time are not
    counted: nine servos behind a broken cable do not increase the loss rate. Consecutive failures without an
    answer of another joint in between count as one: while a computer stands still, every request fails.
    """

    def __init__(self, n: int, silent_after: int) -> None:
        self._silent_after = silent_after  # consecutive failures, on a line without losses
        self._failures = np.zeros(n, np.int64)
        self._good, self._lost = np.zeros(n, np.int64), np.zeros(n, np.int64)  # numbers of answers and failures so far
        self._answers = 0  # number of answers of all joints so far
        self._answers_then = np.zeros(n, np.int64)  # `_answers` at the last failure that counted
        self._good_before = np.zeros((n, n), np.int64)  # row j: `_good` when j's failures began
        self._lost_before = np.zeros((n, n), np.int64)

    @property
    def failing(self) -> np.ndarray:
        """Consecutive failures of each joint (n,)."""
        return self._failures

    def forget(self, joints: np.ndarray | None = None) -> None:
        """Reset the failures of these joints (mask, default all)."""
        self._failures[slice(None) if joints is None else joints] = 0

    def note(self, index: int, answered: bool) -> None:
        """Register an exchange with a joint."""
        if answered:
            self._failures[index] = 0
            self._good[index] += 1
            self._answers += 1
            return
        if self._failures[index] == 0:
            self._good_before[index], self._lost_before[index] = self._good, self._lost
        elif self._answers == self._answers_then[index]:
            return
        self._answers_then[index] = self._answers
        self._failures[index] += 1
        self._lost[index] += 1

    def loss(self, index: int) -> float:
        """Loss rate 0..1 of the line while this joint was failing, from the answers of the others; 1 without
        answers.
        """
        good = self._good - self._good_before[index]
        good[index] = 0
        answers = int(good.sum())
        if answers < _WITNESSES:
            return 1.0
        lost = int((self._lost - self._lost_before[index])[good > 0].sum())
        return (lost + 0.5) / (answers + lost + 1.0)

    def is_silent(self, index: int) -> bool:
        """Whether the joint has more consecutive failures than the loss rate of the line explains."""
        failures = int(self._failures[index])
        if failures < self._silent_after:
            return False
        loss = self.loss(index)
        return loss < 1.0 and failures * math.log(loss) < math.log(_CHANCE)
