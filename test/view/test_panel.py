"""The panel: what a person changes is sent and not taken back before the robot has answered; bars, events, plots; the
last minute.
"""

import math
import re
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from support.bent_joint import BENT

from hexapod_dynamics.damage import KINDS
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.view import parts_folder
from hexapod_dynamics.view.last_minute import EVERY, LENGTH, TRAIL_STEP, LastMinute, Sample
from hexapod_dynamics.view.panel import (
    EVENTS_SHOWN,
    HYPOTHESES_SHOWN,
    NO_EVENTS,
    NO_HYPOTHESES,
    RULED_OUT_FOR,
    Entry,
    EventList,
    HypothesisBars,
    LivePlots,
)
from hexapod_dynamics.view.parts_folder import PartsFolder

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)


class Control:
    """A control of the page: `press` is what a person does to it on any page."""

    def __init__(self, label, value):
        self.label, self.value = label, value

    def on_update(self, call):
        self._call = call

    on_click = on_update

    def press(self, value=None):
        self.value = value
        self._call(SimpleNamespace(client="a page", target=self))

    def remove(self):
        pass


class Gui:
    """The controls that were added, by kind and label."""

    def __init__(self):
        self.controls, self.menus = {}, []

    def _add(self, kind, label, value=None):
        return self.controls.setdefault((kind, label), Control(label, value))

    def add_checkbox(self, label, value):
        return self._add("box", label, value)

    def add_dropdown(self, label, states):
        self.menus.append(Control(label, states[0]))
        return self.menus[-1]

    def add_button(self, label, hint=""):
        return self._add("button", label)

    def add_folder(self, label, **options):
        return MagicMock()


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(parts_folder.time, "monotonic", lambda: clock.now)
    return clock


@pytest.fixture
def folder(clock):
    gui, sent = Gui(), []
    folder = PartsFolder(gui, "parts", sent.append, expand=True)
    folder.follow(WHOLE.parameters())
    folder.menus = dict(
        zip((f"{leg.name}.{link.name}" for leg in ROBOT.legs for link in leg.links), gui.menus, strict=True)
    )
    return folder, gui.controls, sent


def test_a_change_of_parts_that_are_not_listed_yet_is_sent(clock):
    """A leg may be clicked before its box is drawn."""
    sent = []
    PartsFolder(Gui(), "parts", sent.append, expand=True).change({"legs.RM": False})
    assert sent == [{"legs.RM": False}]


def test_a_change_is_not_taken_back_before_the_robot_has_answered(folder, clock):
    parts, controls, sent = folder
    controls["box", "RM"].press(False)
    assert sent == [{"legs.RM": False}]
    clock.now += 0.5
    parts.follow(WHOLE.parameters())  # the answer is under way
    assert controls["box", "RM"].value is False
    parts.follow(WHOLE.without("RM").parameters())
    assert controls["box", "RM"].value is False and controls["box", "LF"].value is True


def test_a_change_of_mind_is_sent_before_the_robot_has_answered(folder):
    parts, controls, sent = folder
    controls["box", "LF"].press(False)
    parts.follow(WHOLE.parameters())
    controls["box", "LF"].press(True)  # here or on another page
    assert sent == [{"legs.LF": False}, {"legs.LF": True}]


def test_what_the_robot_refused_is_put_back(folder, clock):
    parts, controls, sent = folder
    controls["box", "LF tibia"].press(False)
    parts.follow(WHOLE.parameters())
    clock.now += parts_folder.UNDO_AFTER + 0.1
    parts.follow(WHOLE.parameters())
    assert controls["box", "LF tibia"].value is True
    assert len(sent) == 1


def test_what_happens_to_the_robot_is_shown_at_once(folder):
    parts, controls, sent = folder
    parts.follow(WHOLE.without("LM").parameters())
    assert not controls["box", "LM"].value and not controls["box", "LM tibia"].value
    parts.follow(WHOLE.parameters())
    assert controls["box", "LM"].value and controls["box", "LM tibia"].value
    assert not sent


def test_restore_all_makes_any_robot_whole(folder):
    parts, controls, sent = folder
    hurt = WHOLE.without("RM").without("LM.tibia").locked("RF.tibia", 0.4).limp("LR.femur").broken("RR.tibia", 0.5)
    parts.follow(hurt.parameters())
    controls["button", "restore all"].press()
    assert hurt.updated(sent[-1]) == WHOLE


def test_a_menu_locks_and_makes_limp_and_repairs(folder):
    parts, controls, sent = folder
    menu, morphology = parts.menus["RF.tibia"], WHOLE
    for choice, wanted in (
        ("locked", WHOLE.locked("RF.tibia", 0.3)),
        ("limp", WHOLE.limp("RF.tibia")),
        ("works", WHOLE),
    ):
        menu.press(choice)
        morphology = morphology.updated(sent[-1], {"RF.tibia": 0.3})
        assert morphology == wanted
        parts.follow(morphology.parameters())
        assert menu.value == choice
    assert len(sent) == 3


def test_a_menu_lists_another_kind_of_damage_and_sends_its_value(clock):
    with KINDS.include(BENT):
        gui, sent = Gui(), []
        parts = PartsFolder(gui, "parts", sent.append, expand=True)
        parts.follow(WHOLE.updated({"bent.LF.coxa": -0.2}).parameters())
        menu = gui.menus[0]
        assert menu.value == "bent"
        menu.press("works")
        assert sent.pop() == {"locked.LF.coxa": False, "limp.LF.coxa": False, "bent.LF.coxa": 0.0}
        menu.press("bent")
        assert WHOLE.updated(sent.pop()) == WHOLE.updated({"bent.LF.coxa": BENT.menu_value})


def test_plots_keep_what_came_while_no_page_was_drawn_and_show_no_line_through_a_gap():
    drawn = []
    plots = LivePlots(SimpleNamespace(add_uplot=lambda *given, **options: drawn.append(Control("", None)) or drawn[-1]))
    for handle in drawn:
        handle.visible, handle.data = False, None
    for k in range(100):  # nobody draws
        plots.add(0.2 * k, 1.0, 7.7, math.nan)
    plots.draw()
    time, speed = drawn[1].data
    assert len(time) == 100 and time[-1] == 0.0 and time[0] == pytest.approx(-19.8) and set(speed) == {7.7}
    assert not drawn[2].visible  # the error of the prediction is not known
    plots.add(150.0, 1.0, 0.0, math.nan)
    plots.add(150.2, 1.0, 0.0, math.nan)
    plots.draw()
    assert list(drawn[1].data[1]) == [0.0, 0.0]


def test_undo_takes_back_what_a_person_changed_and_skips_what_the_robot_refused(folder):
    parts, controls, sent = folder
    undo = controls["button", "undo"]
    assert undo.visible is False
    controls["box", "RM"].press(False)
    lost = WHOLE.without("RM")
    parts.follow(lost.parameters())
    controls["box", "LF"].press(False)  # refused: nothing comes of it
    assert undo.visible is True
    undo.press()
    assert lost.updated(sent[-1]).is_intact and sent[-1]["legs.RM"] is True
    assert undo.visible is False
    undo.press()
    assert len(sent) == 3


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


def test_a_lock_whose_reading_flips_is_one_suspicion():
    bars = HypothesisBars()
    for angle in ("0.30", "0.31", "0.30"):
        drawn = bars.draw([Entry(f"RF.femur locked at {angle} rad", 0.5, "", "suspected")], 0.0)
    assert words(drawn) == [("RF.femur locked at 0.30 rad", "suspected", "50")]


def test_text_of_the_robot_is_no_markup():
    drawn = HypothesisBars().draw([Entry("<b>", 0.5, '"><script>', "suspected")], 0.0)
    assert "<script>" not in drawn and "&lt;b&gt;" in drawn


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


def walked(seconds, speed=0.1, rate=25.0):
    past = LastMinute()
    for k in range(int(seconds * rate)):
        t = k / rate
        past.add(Sample(t, np.array([speed * t, 0.0, 0.1]), np.array([0.0, 0.0, 0.0, 1.0]), {"RM_coxa": t}, "urdf"))
    return past


def test_a_time_gets_the_nearest_sample_and_nothing_older_than_a_minute_is_kept():
    past = walked(100.0)
    assert abs(past.find(80.0).time - 80.0) <= EVERY and past.find(80.0).joints["RM_coxa"] == past.find(80.0).time
    assert 100.0 - LENGTH - 2 * EVERY <= past.find(0.0).time <= 100.0 - LENGTH + 2 * EVERY
    assert LastMinute().find(1.0) is None


def test_the_trail_is_the_way_of_a_minute_in_steps():
    trail = walked(100.0).trail()
    steps = np.linalg.norm(np.diff(trail, axis=0), axis=1)
    assert steps.min() > TRAIL_STEP and abs(trail[-1, 0] - trail[0, 0] - 0.1 * LENGTH) < 0.1
    assert len(walked(30.0, speed=0.0).trail()) == 1
    assert len(walked(100.0, speed=0.0).trail()) <= 1
