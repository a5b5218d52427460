"""Tells a servo that has fallen silent from a line that loses answers of all."""

import math

import numpy as np

_MEMORY = 0.03              # weight of the newest exchange in the line's loss
_CHANCE = 1e-3              # that so many failures in a row are the line's doing


class SilenceJudge:
    """Counts failures in a row of n joints and the line's recent loss 0..1, silent servos left out."""

    def __init__(self, n: int, silent_after: int):
        self.loss = 0.0
        self._silent_after = silent_after           # failures in a row, on a line that loses nothing
        self._failures = np.zeros(n, np.int64)

    def forget(self, joints: np.ndarray | None = None) -> None:
        """No failures of these joints (mask); without a mask, of all joints and of the line."""
        if joints is None:
            self._failures[:], self.loss = 0, 0.0
        else:
            self._failures[joints] = 0

    def note(self, index: int, answered: bool, silent: bool) -> None:
        """Take an exchange with a joint that was silent before or not."""
        if not silent:
            self.loss += _MEMORY * ((not answered) - self.loss)
        self._failures[index] = 0 if answered else self._failures[index] + 1

    def is_silent(self, index: int) -> bool:
        """Whether the joint has failed more often in a row than the line's present loss explains."""
        if self.loss >= 0.9:
            return False            # nobody answers: that is not this servo's fault
        explained = math.ceil(math.log(_CHANCE) / math.log(max(self.loss, _CHANCE)))
        return self._failures[index] >= max(self._silent_after, explained)
