"""The search of manoeuvres: what a trial costs in MuJoCo, and that the search lowers a cost and ends."""

import numpy as np

from hexapod_dynamics.bench.get_up.search import GENTLE, Condition, RollTrial, first_manoeuvre, search_manoeuvre
from hexapod_dynamics.robot import Robot

ROBOT = Robot.jethexa()
FIRST = first_manoeuvre(ROBOT)


def test_the_first_manoeuvre_turns_the_whole_robot_over_and_one_that_does_nothing_does_not():
    trial = RollTrial(ROBOT, (), 2.0, [Condition("friction=0.7")])
    assert trial.passes(FIRST)
    nothing = np.tile([0.0, 0.0, 1.0], 24)
    assert trial.cost(FIRST.with_numbers([*nothing, *FIRST.times])) > 2.5  # one condition is left, it lies on its back


class Bowl:
    """A trial whose cost is the distance of the angles from those of one manoeuvre."""

    def __init__(self, goal):
        self.goal, self.asked = goal, 0

    def cost(self, manoeuvre, least=np.inf):
        self.asked += 1
        return float(np.linalg.norm((manoeuvre.numbers() - self.goal)[:-4]))


def test_the_search_ends_after_as_many_manoeuvres_from_the_first_that_serves_on_as_are_wanted():
    bowl = Bowl(FIRST.numbers() + 0.15)
    found, cost, tried = search_manoeuvre(bowl, FIRST, most=5000)
    assert found is not None and np.linalg.norm((found.numbers() - bowl.goal)[:-4]) == cost < 0.9
    assert tried == bowl.asked
    _, better, more = search_manoeuvre(Bowl(bowl.goal), FIRST, most=5000, refine=300)
    assert better < cost and tried < more <= tried + 300


def test_the_search_ends_where_a_manoeuvre_is_gentle():
    bowl = Bowl(FIRST.numbers() + 0.15)
    _, cost, tried = search_manoeuvre(bowl, FIRST, most=5000, refine=50000)
    assert cost < GENTLE and tried < 20000


def test_a_search_without_success_returns_none():
    found, _, tried = search_manoeuvre(Bowl(FIRST.numbers() + 5.0), FIRST, most=30)
    assert found is None and tried == 30
