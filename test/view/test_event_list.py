"""What happened, with times: changes only, the newest first."""

import re

from hexapod_dynamics.view.panel import EVENTS_SHOWN, NO_EVENTS, EventList


def test_changes_are_listed_with_their_times_the_newest_first():
    events = EventList()
    events.note_parts(0.0, "declared", [])
    events.note(0.0, "gait", "walking")
    assert events.draw() == NO_EVENTS
    events.note_parts(3.2, "declared", ["RM", "LM"])
    events.note(3.2, "gait", "walking")
    events.note(5.4, "gait", "sitting: <RM>")
    drawn = events.draw()
    assert re.findall(r"\d\d:\d\d:(\d\d)<", drawn)[:2] == ["05", "03"]  # the computer's clock
    assert "declared: RM, LM" in drawn and "gait: sitting: &lt;RM&gt;" in drawn
    events.note_parts(9.0, "declared", [])
    assert "declared: nothing" in events.draw()


def test_only_the_newest_are_kept():
    events = EventList()
    for k in range(2 * EVENTS_SHOWN + 1):
        events.note(float(k), "gait", str(k))
    assert events.draw().count("gait: ") == EVENTS_SHOWN
