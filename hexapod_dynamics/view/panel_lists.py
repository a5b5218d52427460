"""The lists of the panel, as HTML: what happened, and the damage detector's hypotheses."""

from __future__ import annotations

import datetime
import html
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

NO_HYPOTHESES = '<div style="font-size:12px;margin:6px 8px">it suspects nothing</div>'
HYPOTHESES_SHOWN = 5  # the most probable ones
NO_EVENTS = '<div style="font-size:12px;margin:6px 8px">nothing yet</div>'
EVENTS_SHOWN = 8
RULED_OUT_FOR = 6.0  # [s] for which a dropped suspicion is shown as ruled out
# Word and colour of each state: red, orange and grey differ in lightness too, for people who do not see red.
STATES = {
    "declared": "#a61e1e",
    "suspected": "#e8700c",
    "possible": "#f0b429",
    "ruled out": "#868e96",
}


@dataclass(frozen=True)
class Entry:
    """One hypothesis: name, probability, evidence in words, and its state, a key of STATES."""

    name: str
    probability: float
    evidence: str
    state: str


class HypothesisBars:
    """Makes the HTML of the bars; remembers the suspicions that were dropped."""

    def __init__(self) -> None:
        self._suspected: dict[str, Entry] = {}
        self._dropped: dict[str, tuple[float, Entry]] = {}  # when [s]

    def draw(self, entries: Sequence[Entry], now: float) -> str:
        """Return the HTML for the present entries at a monotonic time [s]."""
        names = {entry.name for entry in entries}
        for name, entry in self._suspected.items():
            if name not in names:
                self._dropped[name] = now, Entry(name, 0.0, entry.evidence, "ruled out")
        self._suspected = {entry.name: entry for entry in entries if entry.state == "suspected"}
        self._dropped = {
            name: (at, entry)
            for name, (at, entry) in self._dropped.items()
            if name not in names and now - at < RULED_OUT_FOR
        }
        shown = sorted(entries, key=lambda entry: -entry.probability)[:HYPOTHESES_SHOWN]
        return "".join(map(_bar, [*shown, *(entry for _, entry in self._dropped.values())])) or NO_HYPOTHESES


def _bar(entry: Entry) -> str:
    colour, percent = STATES[entry.state], f"{100 * entry.probability:.0f}"
    return (
        f'<div style="font-size:12px;margin:6px 8px" title="{html.escape(entry.evidence)}">'
        '<div style="display:flex;justify-content:space-between;gap:6px">'
        f'<span>{html.escape(entry.name)}</span><span style="white-space:nowrap">'
        f'<b style="color:{colour}">{entry.state}</b> {percent} %</span></div>'
        '<div style="background:#8883;height:6px;border-radius:3px">'
        f'<div style="background:{colour};height:6px;border-radius:3px;width:{percent}%"></div></div></div>'
    )


def _clock(time: float) -> str:
    return datetime.datetime.fromtimestamp(time).strftime("%H:%M:%S")


class EventList:
    """Notes changes of named states, with times [s] of the computer's clock, as the terminal has it.

    The first value of a state is what the robot was before, not an event.
    """

    def __init__(self) -> None:
        self._events: deque[tuple[float, str]] = deque(maxlen=EVENTS_SHOWN)
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
        return "".join(rows) or NO_EVENTS
