"""The bars of the damage detector: order, words, what was suspected and is no longer."""

import re

from hexapod_dynamics.view.panel import HYPOTHESES_SHOWN, NO_HYPOTHESES, RULED_OUT_FOR, Entry, HypothesisBars


def words(drawn):
    return re.findall(r"<span>([^<]*)</span>.*?<b[^>]*>([^<]*)</b> (\d+) %", drawn)


def test_the_most_probable_entries_are_shown_with_their_states():
    entries = [Entry(f"part {k}", k / 10, "why", "possible") for k in range(HYPOTHESES_SHOWN + 2)]
    entries.append(Entry("RM missing", 0.95, "sag", "declared"))
    drawn = words(HypothesisBars().draw(entries, 0.0))
    assert drawn[0] == ("RM missing", "declared", "95") and drawn[1] == ("part 6", "possible", "60")
    assert len(drawn) == HYPOTHESES_SHOWN


def test_a_suspicion_that_is_dropped_is_ruled_out_for_a_while_and_a_declaration_is_not():
    bars = HypothesisBars()
    bars.draw([Entry("LF limp", 0.5, "sag", "suspected"), Entry("LM locked", 0.1, "", "possible")], 0.0)
    assert words(bars.draw([], 1.0)) == [("LF limp", "ruled out", "0")]
    assert bars.draw([], 1.0 + RULED_OUT_FOR) == NO_HYPOTHESES
    bars.draw([Entry("LF limp", 0.5, "sag", "suspected")], 20.0)
    assert words(bars.draw([Entry("LF limp", 0.99, "sag", "declared")], 21.0)) == [("LF limp", "declared", "99")]
    assert bars.draw([], 22.0) == NO_HYPOTHESES  # restored by a person


def test_text_of_the_robot_is_no_markup():
    drawn = HypothesisBars().draw([Entry("<b>", 0.5, '"><script>', "suspected")], 0.0)
    assert "<script>" not in drawn and "&lt;b&gt;" in drawn
