"""The list of events, with times: parts lost, declared and restored, stops, changes of the gait."""

from __future__ import annotations

import datetime
import html
from collections import deque
from collections.abc import Sequence

SHOWN = 8
NOTHING = '<div style="font-size:12px;margin:6px 8px">nothing yet</div>'


def _clock(time: float) -> str:
    return datetime.datetime.fromtimestamp(time).strftime("%H:%M:%S")


class EventList:
    """Notes changes of named states, with times [s] of the computer's clock, as the terminal has it.

    The first value of a state is what the robot was before, not an event.
    """

    def __init__(self) -> None:
        self._events: deque[tuple[float, str]] = deque(maxlen=SHOWN)
        self._states: dict[str, str] = {}

    def note(self, time: float, what: str, state: str) -> None:
        """Note a state at a time [s]; add the event "what: state" if the state has changed."""
        before = self._states.get(what)
        self._states[what] = state
        if before is not None and before != state:
            self._events.appendleft((time, f"{what}: {state}"))

    def note_parts(self, time: float, what: str, parts: Sequence[str]) -> None:
        """Note a list of parts, such as those declared missing; an empty list is noted as "nothing"."""
        self.note(time, what, ", ".join(parts) or "nothing")

    def draw(self) -> str:
        """Return the HTML of the list, the newest event first."""
        rows = (
            f'<div style="font-size:12px;margin:3px 8px;display:flex;gap:8px"><span style="min-width:4.6em;'
            f'text-align:right;opacity:0.7">{_clock(time)}</span><span>{html.escape(text)}</span></div>'
            for time, text in self._events
        )
        return "".join(rows) or NOTHING
