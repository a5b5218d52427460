"""Whether a periodic task is called as often as it should be, or the machine is too slow or too busy for it."""


class DeadlineMonitor:
    """Counts the calls that a task of a fixed period has missed.

    Args:
        period: of the task [s].
        share: of calls missed above which the machine is called too slow, 0..1.

    """

    def __init__(self, period: float, *, share: float = 0.1):
        self._period, self._share = period, share
        self._last: float | None = None
        self._calls = self._missed = 0
        self.missed = 0  # since the start

    def call(self, now: float) -> None:
        """Count a call at monotonic time `now` [s]; one that is two periods after the one before has missed one."""
        if self._last is not None:
            missed = max(0, round((now - self._last) / self._period) - 1)
            self._missed += missed
            self.missed += missed
        self._last = now
        self._calls += 1

    def assess(self, what: str) -> str:
        """Say that too many calls were missed since the last judgement, in words with `what`; empty where not."""
        calls, missed = self._calls, self._missed
        self._calls = self._missed = 0
        if missed <= self._share * (calls + missed):
            return ""
        return f"this machine is too slow or too busy: {missed} of {calls + missed} {what} were left out"
