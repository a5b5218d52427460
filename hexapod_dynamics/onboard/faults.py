"""Faults in what a node receives: each is counted, and reported for some seconds."""

from __future__ import annotations

import time
from collections import Counter

# A fault is reported for this time [s].
KEPT = 2.5


class Faults:
    """The last fault of each input, and the number of faults of each input."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, str]] = {}
        self._counts: Counter[str] = Counter()

    def add(self, about: str, what: str, now: float | None = None) -> None:
        """Store a fault of the input `about` (a topic) at the monotonic time `now` [s], by default the present."""
        self._last[about] = (time.monotonic() if now is None else now, what)
        self._counts[about] += 1

    def recent(self, now: float) -> list[str]:
        """Return the faults of the last seconds, as texts."""
        self._last = {about: (at, what) for about, (at, what) in self._last.items() if now - at < KEPT}
        return [what for _, what in self._last.values()]

    def counts(self) -> dict[str, int]:
        """Return the number of faults of each input so far, as diagnostic values."""
        return {f"faults of {about}": count for about, count in self._counts.items()}
