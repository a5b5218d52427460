"""The search of manoeuvres: what a trial costs in MuJoCo, and that the search lowers a cost and ends."""

from dataclasses import replace

import numpy as np

from hexapod_dynamics.bench.get_up.conditions import Condition
from hexapod_dynamics.bench.get_up.roll_trial import RollTrial
from hexapod_dynamics.bench.get_up.search import (
    find_manoeuvre,
    first_manoeuvre,
    make_get_up_library,
)
from hexapod_dynamics.gait.recovery.manoeuvres import find_get_up_library
from hexapod_dynamics.robot import Robot

ROBOT = Robot.jethexa()
FIRST = first_manoeuvre(ROBOT)
EASY = Condition("friction=0.7")


def test_the_first_manoeuvre_turns_the_whole_robot_over_and_one_that_does_nothing_does_not():
    trial = RollTrial(ROBOT, (), 2.0, [EASY])
    assert trial.passes(FIRST)
    nothing = np.tile([0.0, 0.0, 1.0], 24)
    assert trial.cost(FIRST.with_numbers([*nothing, *FIRST.times])) > 2.5  # one condition is left, it lies on its back


def test_a_search_goes_on_from_the_start_that_costs_least_of_those_that_serve():
    nothing = FIRST.with_numbers([*np.tile([0.0, 0.0, 1.0], 24), *FIRST.times])
    slow = replace(FIRST, times=tuple(2.0 * time for time in FIRST.times))
    for starts in ([nothing, slow, FIRST], [slow, FIRST, nothing]):
        found, _ = find_manoeuvre(ROBOT, (), starts, speed=2.0, refine=0, conditions=[EASY])
        assert found == FIRST


def test_a_library_keeps_what_serves_and_improves_it_where_asked():
    library, told = find_get_up_library(ROBOT), {}
    before = library.own(["LM"])[0]

    def make(*sets, improve=False):
        return make_get_up_library(
            ROBOT,
            lambda done, count, lost, what: told.update({lost: (count, what)}),
            library,
            sets=sets,
            improve=improve,
            jobs=1,
            most=5,
            refine=0,
            conditions=[EASY],
        )

    assert make(("LM",)) is library and told == {} and library.own(["LM"])[0] == before
    library.remove(["LF"])
    make(("LM",), ("LF",), improve=True)
    assert list(told) == [("LM",), ("LF",)] and told["LM",][0] == 2
    assert "costs less than the old one" in told["LM",][1] and library.own(["LM"])[0] == before
    assert "fresh falls" not in told["LF",][1]  # there is nothing to compare it with
