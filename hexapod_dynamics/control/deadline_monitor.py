"""Detects that a periodic task is called less often than required, because the machine is too slow or too busy."""

from __future__ import annotations

_SHARE = 0.1  # of missed calls above which a fault is reported


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
        if missed <= _SHARE * (calls + missed):
            return ""
        return f"this machine is too slow or too busy: {missed} of {calls + missed} {what} were left out"
