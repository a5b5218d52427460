"""Halves the rate of a periodic task on a machine that cannot hold it, and tries the full rate again later.

A task at a regular half rate is better than one that misses calls at random, because the age of its results is
known.
"""

from __future__ import annotations

_SECOND = 1.0  # [s] period over which calls are counted


class AutomaticRate:
    """Chooses between the full rate of a task and half of it; times are monotonic seconds.

    Args:
        rate: full rate [1/s].
        share: of the calls, 0..1; the full rate is held while at least this share is made.
        patience: number of consecutive seconds with too few calls after which the rate is halved; a stall counts
            as one, however long it is.
        retry: time at half the rate after which the full rate is tried [s]; each try that fails doubles it, up to
            `longest` [s]. A full rate that lasts as long as `retry` is held, and the doubling is forgotten.

    """

    def __init__(
        self,
        rate: float,
        *,
        share: float = 0.95,
        patience: int = 5,
        retry: float = 20.0,
        longest: float = 320.0,
    ) -> None:
        self.full, self.halved = rate, False
        self._share, self._patience, self._first, self._longest = share, patience, retry, longest
        self._retry = retry
        self._since: float | None = None  # time from which the calls are counted
        self._calls = 0
        self._slow = 0  # consecutive seconds with too few calls
        self._changed = 0.0  # time of the last change of the rate
        self._trial = False  # the full rate has not lasted yet

    @property
    def rate(self) -> float:
        """The rate at which the task is to be called now [1/s]."""
        return 0.5 * self.full if self.halved else self.full

    def call(self, now: float) -> str:
        """Register a call and update `rate`; return a message for the log if it has changed, else an empty text."""
        if self._since is None:
            self._since = self._changed = now
        if now - self._since < _SECOND:
            self._calls += 1
            return ""
        enough = self._calls >= self._share * self.rate * (now - self._since)
        self._since, self._calls = now, 1
        if self.halved:
            if now - self._changed >= self._retry:
                self._turn(now, halved=False)
                self._trial = True
            return ""
        if enough:
            self._slow = 0
            if self._trial and now - self._changed >= self._retry:
                self._trial, self._retry = False, self._first
                return f"{self.full:g} a second again"
            return ""
        self._slow += 1
        if self._slow < self._patience:
            return ""
        failed = self._trial
        self._retry = min(2.0 * self._retry, self._longest) if failed else self._first
        self._turn(now, halved=True)
        return "" if failed else self.assess(now)

    def assess(self, now: float) -> str:
        """Return a message while the rate is halved, else an empty text."""
        if not self.halved:
            return ""
        wait = max(0.0, self._changed + self._retry - now)
        return (
            f"this machine is too slow or too busy for {self.full:g} a second: {self.rate:g} a second, "
            f"the full rate is tried again in {wait:.0f} s"
        )

    def _turn(self, now: float, *, halved: bool) -> None:
        self.halved, self._changed, self._slow, self._trial = halved, now, 0, False
