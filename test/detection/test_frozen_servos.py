"""Servos that do not execute the commands (emergency stop): prediction and detector know, and do not doubt."""

import numpy as np
import pytest
from support.copies import on_a_copy
from support.sensed_walk import SensedWalk, errors
from support.walks import WHOLE, walking


def stopped_and_resumed(told):
    """A walk on MuJoCo that is frozen for three seconds while the gait goes on, and walks on; told: its prediction."""
    walk = SensedWalk("mujoco", seed=3, gait="auto")
    if not told:
        walk.onboard.parts.prediction.set_following = lambda _: None
    walk.run(5.0)
    before = walk.physics.position.copy()
    walk.onboard.emergency_stop(True)
    walk.run(3.0)
    assert np.linalg.norm(walk.physics.position - before) < 0.02  # it stands
    walk.onboard.emergency_stop(False)
    return walk, walk.log(4.0)


@pytest.fixture(scope="module")
def told():
    return stopped_and_resumed(told=True)


def test_an_emergency_stop_is_no_contradiction(told):
    walk, _ = told
    assert walk.said == {}


def test_without_being_told_it_is_one():
    walk, _ = stopped_and_resumed(told=False)
    assert any("contradict" in words for words in walk.said)


def test_the_prediction_stands_still_meanwhile_and_walks_on(told):
    walk, rows = told
    pose, tilt, *_ = errors(rows)
    assert np.linalg.norm(pose[-1, :2]) < 0.015  # [m] of 0.5
    assert np.abs(tilt).max() < np.radians(1.5)
    assert rows[-1, 1] - rows[0, 1] > 0.2  # it walks


@pytest.fixture(scope="module")
def frozen():
    """A walk that is frozen for three seconds while the gait goes on, and whose detector knows."""
    walk = walking(seed=1)
    walk.onboard.emergency_stop(True)
    walk.run(3.0)
    return walk


@on_a_copy
def test_a_leg_that_is_torn_off_a_frozen_robot_is_found_by_its_silence(frozen):
    walk = frozen
    walk.break_parts(WHOLE.without("RM"))
    assert walk.run(2.0, lambda w: not w.declared.has_link("RM", "coxa"))


@on_a_copy
def test_the_detector_finds_nothing_in_a_frozen_robot_and_damage_after_the_stop(frozen):
    walk = frozen
    assert walk.decisions == [] and walk.detector.findings() == []
    assert any("do not execute" in words for words in walk.detector.missing_inputs(walk.time))
    walk.twist[:] = 0.0
    walk.run(2.0)  # the gait stands; its joints are where they are commanded when the servos go on
    walk.onboard.emergency_stop(False)
    walk.twist[0] = 0.077
    walk.run(5.0)
    assert walk.decisions == []
    walk.break_parts(WHOLE.broken("LM.tibia", 0.5))
    assert walk.run(4.0, lambda w: w.declared.remaining("LM", "tibia") < 1.0)
