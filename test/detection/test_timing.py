"""Late commands and readings are no evidence: a loaded computer does not make a healthy robot look damaged."""

import math

import numpy as np
import pytest
from late_walk import KINDS, LateWalk

from hexapod_dynamics.detection.timing import LAG, Timing, common_lag
from hexapod_dynamics.robot import Morphology, Robot

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)


def walk_late(kind, seconds):
    walk, late = LateWalk(kind, 4), 0
    for _ in range(round(seconds * walk.ticks)):
        walk.tick()
        late += any("readings come late: not judged" in text for text in walk.detector.missing_inputs(walk.time))
    assert walk.decisions == [], walk.decisions
    return walk, late / (seconds * walk.ticks)


# The other kinds: more of what late servos and late stamps hold; ten minutes of each are below.
@pytest.mark.parametrize(
    "kind", [kind if kind in ("servos", "stamps") else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def test_a_healthy_robot_with_a_loaded_computer_is_left_alone_and_damage_is_found_afterwards(kind):
    walk, late = walk_late(kind, 8.0)
    assert late > (0.25 if kind == "servos" else 0.5)  # servos that are late by up to 60 ms are judged
    walk.rest()
    walk.run(6.0)
    assert walk.decisions == [] and walk.detector.missing_inputs(walk.time) == []
    walk.damage(WHOLE.broken("RM.tibia", 0.05))
    walk.run(6.0, until=lambda walk: walk.decisions)
    assert [decision.name.partition(" ")[0] for _, decision in walk.decisions] == ["RM.tibia"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ten_minutes_on_a_loaded_computer(kind):
    walk_late(kind, 600.0)


def test_the_lag_of_all_joints_is_found_and_that_of_one_is_not():
    random = np.random.default_rng(0)
    joints, rates = np.arange(36) % 18, random.uniform(-3.0, 3.0, 36)
    assert common_lag(joints, -0.08 * rates + random.normal(0.0, 3e-3, 36), rates) == pytest.approx(0.08, abs=0.01)
    assert abs(common_lag(joints, np.where(joints == 4, 0.5, 0.0), rates)) < 1e-9
    assert math.isnan(common_lag(joints, np.zeros(36), 0.1 * rates))


def test_a_lag_of_all_joints_is_late_and_named():
    timing = Timing()
    assert not timing.check_lag(1.0, 0.9 * LAG) and not timing.check_lag(1.0, math.nan) and not timing.disturbed
    assert timing.check_lag(2.0, 1.1 * LAG) and timing.disturbed and timing.recent(2.1)
    assert "all joints are 0.07 s behind" in timing.why


def test_each_sign_is_named():
    for spoil, words in (
        (lambda one: one.reading(0.7), "a reading came 0.32 s"),
        (lambda one: one.command(0.7), "a command came 0.32 s"),
        (lambda one: one.reading(1.0), "no joint was read for 0.50 s"),
    ):
        timing = Timing()
        timing.reading(0.5)
        timing.update(1.0)
        spoil(timing)
        assert timing.update(1.02) and words in timing.why and timing.recent(1.2) and not timing.recent(1.4)
    timing = Timing()
    assert not timing.update(1.0) and not timing.update(1.02) and timing.update(1.5)
    assert "stood still for 0.48 s" in timing.why
