"""The judge of manoeuvres: the same fresh falls for both, and the one that turns fewer robots over is not taken."""

import numpy as np
import pytest

from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.tools.get_up_search import search
from hexapod_dynamics.tools.get_up_search.search import FIRST, judge, turn_over, with_numbers

ROBOT = Robot.jethexa()
GOOD = GetUpLibrary.load_for_robot(ROBOT).find_all(["LM"])[0]
ANGLES = len(GOOD.numbers) - 4
# One that stays in STAR, and one that differs from the good one by what a file rounds to.
NOTHING = with_numbers(GOOD, [*np.tile([0.0, 0.0, 1.17], ANGLES // 3), *GOOD.times])
LIKE = with_numbers(GOOD, GOOD.numbers + np.where(np.arange(ANGLES + 4) == 1, 0.001, 0.0))


def test_a_manoeuvre_that_does_nothing_turns_no_robot_over_that_lies_on_its_back():
    assert turn_over(ROBOT, GOOD, ["LM"], [1], 2.0)[0] == 1
    assert turn_over(ROBOT, NOTHING, ["LM"], [1], 2.0)[0] == 0


@pytest.fixture
def falls(monkeypatch):
    """Falls that are only noted, as (manoeuvre, lost legs, seeds, speed): the good manoeuvre turns all robots over."""
    noted = []

    def turned(_, manoeuvre, lost, seeds, speed):
        noted.append((manoeuvre, tuple(lost), list(seeds), speed))
        return len(noted[-1][2]) if manoeuvre is GOOD else 0, 0.05

    monkeypatch.setattr(search, "turn_over", turned)
    return noted


def test_both_are_tried_after_the_same_falls_without_the_same_legs(falls):
    judge(ROBOT, NOTHING, GOOD, speed=2.0, falls=4)
    (new, *how), (old, *again) = falls
    assert new is NOTHING and old is GOOD and how == again
    assert how[0] == ("LM",) and len(set(how[1])) == 4 and how[2] == 2.0


def test_what_turns_fewer_over_is_not_taken_and_the_numbers_are_said(falls):
    taken, what = judge(ROBOT, NOTHING, GOOD, speed=2.0, falls=4)
    assert not taken and "of 4 fresh falls it turned 0 over, the old one 4; servos at their limit for 0.05 s" in what
    taken, what = judge(ROBOT, GOOD, NOTHING, speed=2.0, falls=4)
    assert taken and what.startswith("taken")


def test_each_manoeuvre_is_judged_on_falls_of_its_own_which_no_table_has(falls):
    for new in (LIKE, LIKE, NOTHING):
        judge(ROBOT, new, GOOD, speed=2.0, falls=1)
    one, again, other = (seeds for _, _, seeds, _ in falls[::2])
    assert one == again != other and min(one + other) >= FIRST


@pytest.mark.parametrize(
    "new, old, takes",
    [
        ((48, 0.0), (50, 0.0), False),
        ((50, 0.0), (50, 0.0), True),
        ((49, 0.2), (48, 0.0), True),
        ((50, 0.3), (50, 0.0), False),
        ((50, 0.3), (50, 0.4), True),
        ((49, 0.0), (50, 0.4), False),
    ],
)
def test_a_search_replaces_what_there_is_only_by_what_turns_as_many_over(monkeypatch, new, old, takes):
    """What the search found costs less: that alone does not count."""
    monkeypatch.setattr(search, "find_manoeuvre", lambda *_: (LIKE, 7))
    monkeypatch.setattr(search, "turn_over", lambda _, manoeuvre, *__: new if manoeuvre is LIKE else old)
    found, what = search.find_better(ROBOT, search.Effort(falls=50), ("LM",), [GOOD], GOOD)
    assert (found is LIKE) == takes and (found is None) != takes
    assert f"the best of 7; {'taken' if takes else 'the old one is kept'}: of 50 fresh falls it turned {new[0]}" in what
