"""Deadlines of a periodic task: calls that come too late, and a rate that the machine holds.

Detects that a periodic task is called less often than required, because the machine is too slow or too busy.

Halves the rate of a periodic task on a machine that cannot hold it, and tries the full rate again later.

A task at a regular half rate is better than one that misses calls at random, because the age of its results is
known.
"""

from __future__ import annotations


class DeadlineMonitor:
    """Counts the calls that a task of a fixed period [s] has missed."""

    def __init__(self, period: float) -> None:
        self._period = period
        self._last: float | None = None
        self._calls = self._missed = 0
        self.missed = 0  # since the start

    def set_period(self, period: float) -> None:
        """Set the period [s] from the next call on."""
        self._period, self._last = period, None

    def call(self, now: float) -> None:
        """Register a call at monotonic time `now` [s]; a call two periods after the previous one means one missed
        call.
        """
        if self._last is not None:
            missed = max(0, round((now - self._last) / self._period) - 1)
            self._missed += missed
            self.missed += missed
        self._last = now
        self._calls += 1

    def assess(self, what: str) -> str:
        """Return a message, with the name `what` of the calls, if too many were missed since the last assessment; else
        empty.
        """
        calls, missed = self._calls, self._missed
        self._calls = self._missed = 0
        if missed <= 0.1 * (calls + missed):  # no fault
            return ""
        return f"this machine is too slow or too busy: {missed} of {calls + missed} {what} were left out"


_RETRY = 20.0  # [s] first wait at half the rate, after which the full rate is tried


class AutomaticRate:
    """Chooses between the full rate [1/s] of a task and half of it; times are monotonic seconds.

    Each try that fails doubles the wait for the next one. A full rate that lasts as long as the wait is held, and
    the first wait applies again.
    """

    def __init__(self, rate: float) -> None:
        self.full, self.halved = rate, False
        self._retry = _RETRY  # [s] the present wait
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
            self._since, self._calls = now, 0
        if now - self._since < 1.0:
            self._calls += 1
            return ""
        enough = self._calls >= 0.95 * self.rate * (now - self._since)
        self._since, self._calls = now, 1
        if self.halved:
            if now - self._changed >= self._retry:
                self._change_rate(now, halved=False)
                self._trial = True
            return ""
        if enough:
            self._slow = 0
            if self._trial and now - self._changed >= self._retry:
                self._trial, self._retry = False, _RETRY
                return f"{self.full:g} a second again"
            return ""
        self._slow += 1
        if self._slow < 5:  # any stall counts as one
            return ""
        failed = self._trial
        self._retry = min(2.0 * self._retry, 16.0 * _RETRY) if failed else _RETRY
        self._change_rate(now, halved=True)
        return "" if failed else self.assess(now)

    def pause(self, now: float) -> None:
        """Count no calls until the next one, as nobody needs the full rate; a halved one is tried in full then."""
        if self.halved:
            self._change_rate(now, halved=False)
            self._trial = True
        self._since, self._slow = None, 0

    def assess(self, now: float) -> str:
        """Return a message while the rate is halved, else an empty text."""
        if not self.halved:
            return ""
        wait = max(0.0, self._changed + self._retry - now)
        return (
            f"this machine is too slow or too busy for {self.full:g} a second: {self.rate:g} a second, "
            f"the full rate is tried again in {wait:.0f} s"
        )

    def _change_rate(self, now: float, *, halved: bool) -> None:
        self.halved, self._changed, self._slow, self._trial = halved, now, 0, False
