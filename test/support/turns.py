"""Turns of the tests where several processes run them (pytest-xdist): what may run side by side."""

import contextlib
import fcntl
import os
import time
from pathlib import Path

# First the nodes and devices that mostly wait, then what only computes, then of those whose pace is measured as many
# files at a time as the number says.
TURNS = {"waiting": None, "computing": None, "paced": 2, "alone": 1}
LOCKS = "HEXAPOD_DYNAMICS_TEST_TURNS"  # environment variable: the folder of a run's locks
# Environment variable: a file that is there while another run measures paces. A run that computes beside it goes on in
# one process until the file is deleted.
BESIDE = "HEXAPOD_DYNAMICS_TESTS_BESIDE"


def leave_the_processors(item):
    """Wait, in all processes but one, while another run measures paces."""
    first = item.config.workerinput["workerid"] == "gw0"
    while not first and turn_of(item) == [*TURNS].index("computing") and os.path.exists(os.environ.get(BESIDE, "")):
        time.sleep(0.5)


@contextlib.contextmanager
def beside_others(item):
    """Let a test run beside those of other processes, of a run that goes on beside this one, too; one with the marker
    `timed` waits for their end, and none of them begins before its own.
    """
    place = os.environ.get(BESIDE) or os.path.join(os.environ[LOCKS], "running")
    with open(f"{place}.next", "a") as first, open(f"{place}.lock", "a") as running:
        fcntl.flock(first, fcntl.LOCK_EX)  # who waits for the end of the others keeps new ones from beginning
        fcntl.flock(running, fcntl.LOCK_EX if item.get_closest_marker("timed") else fcntl.LOCK_SH)
        fcntl.flock(first, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(running, fcntl.LOCK_UN)  # a process that was forked may have it, too


def turn_of(item):
    """Return the place of a test's turn in TURNS, by its marker."""
    return next((place for place, name in enumerate(TURNS) if item.get_closest_marker(name)), 1)


class Turn:
    """Held while the tests of a file run in one of several processes: no file with another turn runs meanwhile.

    place: of the turn in TURNS.
    """

    held = None  # by this process

    def __init__(self, place):
        name = list(TURNS)[place]
        self._turns = {each: self._file(each) for each in TURNS}
        self._seats = [self._file(f"{name}.{seat}") for seat in range(TURNS[name] or 0)]
        self._choice = self._file("choice")
        while not self._begins(name):
            time.sleep(0.05)

    @staticmethod
    def _file(name):
        return open(Path(os.environ[LOCKS], name), "a")

    def _begins(self, name):
        fcntl.flock(self._choice, fcntl.LOCK_EX)  # one process at a time looks who runs
        try:
            for other in TURNS.keys() - {name}:
                if not self._takes(self._turns[other]):
                    return False
                fcntl.flock(self._turns[other], fcntl.LOCK_UN)
            if self._seats and not any(map(self._takes, self._seats)):
                return False
            fcntl.flock(self._turns[name], fcntl.LOCK_SH)
            return True
        finally:
            fcntl.flock(self._choice, fcntl.LOCK_UN)

    @staticmethod
    def _takes(file):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def end(self):
        """Let others run."""
        for file in (*self._turns.values(), *self._seats, self._choice):
            fcntl.flock(file, fcntl.LOCK_UN)  # a process that was forked may have it, too
            file.close()
