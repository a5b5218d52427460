"""The search of manoeuvres: what a trial costs in MuJoCo, and that the search lowers a cost and ends."""

import dataclasses

import numpy as np

from hexapod_dynamics.bench.get_up.search import FIRST, RollTrial, search_manoeuvre
from hexapod_dynamics.gait.get_up_manoeuvre import poses_of
from hexapod_dynamics.robot import Robot

ROBOT = Robot.jethexa()


def test_the_first_manoeuvre_turns_the_whole_robot_over_and_one_that_does_nothing_does_not():
    trial = RollTrial(ROBOT, (), 2.0, ["friction=0.7"])
    assert trial.passes(FIRST)
    lazy = dataclasses.replace(FIRST, poses=poses_of(np.tile([0.0, 0.0, 1.0, 0.0, 0.0, 1.0], (4, 1))))
    assert trial.cost(lazy) > 2.5  # one condition is left, and the robot lies on its back


class Bowl:
    """A trial whose cost is the distance from one manoeuvre, below 0.45 within 0.45 of it."""

    def __init__(self, goal):
        self.goal, self.asked = goal, 0

    def cost(self, manoeuvre):
        self.asked += 1
        return float(np.linalg.norm(manoeuvre.numbers() - self.goal))


def test_the_search_ends_at_the_first_manoeuvre_that_serves_and_counts_the_tried():
    bowl = Bowl(FIRST.numbers() + 0.15)
    found, tried = search_manoeuvre(bowl, FIRST, generations=200)
    assert found is not None and np.linalg.norm(found.numbers() - bowl.goal) < 0.45
    assert tried == bowl.asked


def test_a_search_without_success_returns_none():
    found, tried = search_manoeuvre(Bowl(FIRST.numbers() + 5.0), FIRST, generations=2)
    assert found is None and tried > 10
