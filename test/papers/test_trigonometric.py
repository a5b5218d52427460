"""Lemma 4 as a statement about the generated expressions."""

import math

import numpy as np
import pytest
from support.random_robots import random_robot

from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.papers.closed_form import FUNCTIONS, PAPER_BASIS, TrigonometricLeg
from hexapod_dynamics.robot import Robot

JETHEXA = Robot.jethexa()
LEGS = {  # name of the case: robot, leg, how many independent functions its entries are made of
    "one revolute joint": (random_robot(np.random.default_rng(0), 1, 4), 0, 5),
    "two revolute joints": (random_robot(np.random.default_rng(0), 4, 4), 1, 21),
    "JetHexa": (JETHEXA, 0, 33),
}


@pytest.fixture(params=LEGS, ids=str)
def case(request):
    robot, index, independent = LEGS[request.param]
    return robot, robot.legs[index], TrigonometricLeg(robot, robot.legs[index]), independent


def test_every_entry_is_of_order_two_at_most_in_each_joint(case):
    """Exact at the sampled angles; being exact everywhere means that no higher order is there."""
    _, _, leg, _ = case
    rng = np.random.default_rng(1)
    for q in rng.uniform(-4, 4, size=(20, leg.joint_count)):
        direct = leg.direct(q)
        np.testing.assert_allclose(leg.evaluate(q), direct, rtol=0, atol=1e-13 * np.abs(direct).max())
        for joint in range(leg.joint_count):
            direct = leg.direct_derivative(q, joint)
            np.testing.assert_allclose(leg.evaluate(q, joint), direct, rtol=0, atol=1e-13 * np.abs(direct).max())


def test_the_papers_basis_is_large_enough_and_more_than_is_needed(case):
    _, _, leg, independent = case
    n = leg.joint_count
    assert PAPER_BASIS[n] == math.factorial(2 * n + 1) // math.factorial(n) ** 2
    assert leg.independent == independent <= FUNCTIONS**n <= PAPER_BASIS[n] <= 6**n


def test_a_prismatic_joint_is_refused():
    robot = random_robot(np.random.default_rng(0), 1, 4)
    with pytest.raises(DynamicsError, match="revolute"):
        TrigonometricLeg(robot, robot.legs[1])
