"""The damage detector's hypotheses as bars: declared, suspected, possible, ruled out."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

NONE = '<div style="font-size:12px;margin:6px 8px">it suspects nothing</div>'
SHOWN = 5  # the most probable ones
GONE = 6.0  # [s] for which a dropped suspicion is shown as ruled out
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
            name: (at, entry) for name, (at, entry) in self._dropped.items() if name not in names and now - at < GONE
        }
        shown = sorted(entries, key=lambda entry: -entry.probability)[:SHOWN]
        return "".join(map(_bar, [*shown, *(entry for _, entry in self._dropped.values())])) or NONE


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
