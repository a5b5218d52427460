"""The search of manoeuvres: what a trial costs in MuJoCo, and that the search lowers a cost and ends."""

from dataclasses import replace

import numpy as np
import pytest

from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.tools import plan
from hexapod_dynamics.tools.get_up_search import search
from hexapod_dynamics.tools.get_up_search.roll_trial import FALLS_BACK, SERVES, Condition, RollTrial
from hexapod_dynamics.tools.get_up_search.search import (
    GENTLE_COST,
    Effort,
    find_manoeuvre,
    find_opposite_legs,
    find_starts,
    first_manoeuvre,
    make_get_up_library,
    search_manoeuvre,
    with_numbers,
)

ROBOT = Robot.jethexa()
FIRST = first_manoeuvre(ROBOT)
EASY = Condition("friction=0.7")
FEW = FIRST.without(("LM", "LR", "RR", "RM"))  # with as few numbers as a search needs to be one


def test_the_first_manoeuvre_turns_the_whole_robot_over_and_one_that_does_nothing_does_not():
    trial = RollTrial(ROBOT, (), 2.0, [EASY])
    assert trial.cost(FIRST) < SERVES
    nothing = np.tile([0.0, 0.0, 1.0], 24)
    assert trial.cost(with_numbers(FIRST, [*nothing, *FIRST.times])) > 2.5  # one condition is left, it lies on its back


def test_a_condition_may_have_a_speed_of_its_own():
    slow, fast = (RollTrial(ROBOT, (), 2.0, [Condition("friction=0.7", speed=speed)]) for speed in (None, 5.0))
    assert slow.cost(FIRST) < SERVES and fast.cost(FIRST) < SERVES
    took = [trial._starts[0][0].time for trial in (slow, fast)]
    assert took[1] < 0.85 * took[0]  # in the roll the joints have 3 rad/s instead of 2, when it tucks its legs 5


def test_under_a_condition_that_is_only_for_its_margins_a_manoeuvre_need_not_serve_but_falling_back_costs():
    weak = Condition("friction=0.7,stiffness=0.05", must=False)  # no servo lifts the body
    alone, easy, hard = (RollTrial(ROBOT, (), 2.0, [EASY, *more]) for more in ([], [replace(EASY, must=False)], [weak]))
    assert hard.cost(FIRST) < SERVES and hard.cost(FIRST) == pytest.approx(alone.cost(FIRST) + FALLS_BACK)
    assert easy.cost(FIRST) == pytest.approx(alone.cost(FIRST), abs=0.05)


def test_a_search_goes_on_from_the_start_that_costs_least_of_those_that_serve():
    nothing = with_numbers(FIRST, [*np.tile([0.0, 0.0, 1.0], 24), *FIRST.times])
    slow = with_numbers(FIRST, [*FIRST.numbers[:-4], *(2.0 * time for time in FIRST.times)])
    for starts in ([nothing, slow, FIRST], [slow, FIRST, nothing]):
        found, _ = find_manoeuvre(ROBOT, (), starts, Effort(refine=0, conditions=(EASY,)))
        assert found == FIRST


class Bowl:
    """A trial whose cost is the distance of the angles from those of one manoeuvre."""

    def __init__(self, goal):
        self.goal, self.asked = goal, 0

    def cost(self, manoeuvre, least=np.inf):
        self.asked += 1
        return float(np.linalg.norm((manoeuvre.numbers - self.goal)[:-4]))


def test_the_search_ends_after_as_many_manoeuvres_from_the_first_that_serves_on_as_are_wanted():
    bowl = Bowl(np.array(FEW.numbers) + 0.15)
    found, cost, tried = search_manoeuvre(bowl, FEW, Effort(most=5000, refine=0))
    assert found is not None and np.linalg.norm((found.numbers - bowl.goal)[:-4]) == cost < 0.9
    assert tried == bowl.asked
    _, better, more = search_manoeuvre(Bowl(bowl.goal), FEW, Effort(most=5000, refine=300))
    assert better < cost and tried < more <= tried + 300


def test_the_search_ends_where_a_manoeuvre_is_gentle():
    bowl = Bowl(np.array(FEW.numbers) + 0.15)
    _, cost, tried = search_manoeuvre(bowl, FEW, Effort(most=5000, refine=50000))
    assert cost < GENTLE_COST and tried < 20000


def test_a_search_without_success_returns_none():
    found, _, tried = search_manoeuvre(Bowl(np.array(FEW.numbers) + 5.0), FEW, Effort(most=30, refine=0))
    assert found is None and tried == 30


def test_a_search_starts_from_what_there_is_for_the_set_and_for_the_set_half_a_turn_away():
    whole, own = FIRST, FIRST.without(("LF", "LM"))
    library = GetUpLibrary(ROBOT, [whole, own])
    assert [one.lost for one in find_starts(ROBOT, library, ["LF", "LM"])] == [("LF", "LM"), (), ()]
    lost = [one.lost for one in find_starts(ROBOT, library, ["LM", "LR"])]
    assert lost == [("LM", "LR"), (), ()]  # RR with RM is half a turn away, its mirror image LM with LR
    assert [one.lost for one in find_starts(ROBOT, library, ["RM"])] == [(), ()]
    assert find_starts(ROBOT, GetUpLibrary(ROBOT), []) == [FIRST]


def test_a_library_keeps_what_serves_and_improves_it_where_asked():
    library, told = GetUpLibrary.load_for_robot(ROBOT), {}
    before = library.find_all(["LM"])[0]

    def make(*sets, improve=False):
        return make_get_up_library(
            ROBOT,
            lambda done, count, lost, what: told.update({lost: (count, what)}),
            library,
            sets=sets,
            improve=improve,
            jobs=1,
            effort=Effort(most=5, refine=0, conditions=(EASY,)),
        )

    assert make(("LM",)) is library and told == {} and library.find_all(["LM"])[0] == before
    library.remove(["LF"])
    make(("LM",), ("LF",), improve=True)
    assert list(told) == [("LM",), ("LF",)] and told["LM",][0] == 2
    assert "costs less than the old one" in told["LM",][1] and library.find_all(["LM"])[0] == before
    assert "fresh falls" not in told["LF",][1]  # there is nothing to compare it with


@pytest.mark.parametrize("words, most", [([], 3), (["--most-lost", "0"], 0)])
def test_the_command_searches_for_as_many_lost_legs_as_are_asked_for(tmp_path, monkeypatch, words, most):
    asked = []
    monkeypatch.setattr(search, "make_get_up_library", lambda *_, most_lost, **__: asked.append(most_lost))
    assert plan.main(["--get-up", "--out", str(tmp_path / "get_up.yaml"), *words]) == 0
    assert asked == [most]


def test_a_manoeuvre_of_the_robot_turned_by_half_a_turn_puts_the_feet_where_the_others_were():
    opposites = find_opposite_legs(ROBOT)
    assert opposites == {"LF": "RR", "LM": "RM", "LR": "RF", "RR": "LF", "RM": "LM", "RF": "LR"}
    own = next(one for one in GetUpLibrary.load_for_robot(ROBOT) if one.lost)
    turned = own.move_to_legs(opposites, 1.0)
    assert turned.pushers != own.pushers and set(turned.lost) == {opposites[name] for name in own.lost}
    for k, name in enumerate(own.legs):
        legs = LegKinematics.from_robot(ROBOT, name), LegKinematics.from_robot(ROBOT, opposites[name])
        for pose, other in zip(own.angles[:, k], turned.angles[:, k], strict=True):
            here, there = legs[0].forward(pose), legs[1].forward(other)
            np.testing.assert_allclose(legs[0].to_base(here), legs[1].to_base(there) * (-1.0, -1.0, 1.0), atol=1e-9)


def test_numbers_of_a_manoeuvre_make_the_same_manoeuvre():
    universal = GetUpLibrary.load_for_robot(ROBOT).universal
    assert len(universal.numbers) == 4 * (18 + 1) and with_numbers(universal, universal.numbers) == universal
    few = universal.without(("LM",))
    assert len(few.numbers) == 4 * (15 + 1) and with_numbers(few, few.numbers) == few
