"""A leg that the gait holds up is put down beside the walk, where no foot comes near, and goes back smoothly."""

import itertools

import numpy as np
import pytest
from support.walks import FORWARD, ROBOT, WHOLE

from hexapod_dynamics.gait.adaptive import AdaptiveGait
from hexapod_dynamics.gait.foot_trial import SPEED, FootTrial
from hexapod_dynamics.gait.interface import PUT_DOWN
from hexapod_dynamics.kinematics import LegKinematics

TICK = 0.02  # [s]
RM = list(ROBOT.leg_joints("RM"))
OTHERS = [joint for joint in range(ROBOT.joint_count) if joint not in RM]
KINEMATICS = {name: LegKinematics.from_robot(ROBOT, name) for name in ROBOT.leg_names}


def walking_without(*feet):
    """An AdaptiveGait that walks without some feet, which were declared lost, and a FootTrial."""
    morphology = WHOLE
    for leg in feet:
        morphology = morphology.broken(f"{leg}.tibia", 0.5)
    gait, trial = AdaptiveGait().bind(ROBOT, morphology), FootTrial(ROBOT)
    trial.set_morphology(morphology)
    gait.command(*FORWARD)
    for _ in range(150):
        gait.step(TICK)
    return gait, trial


def foot(leg, positions):
    """Place (3,) [m] of a leg's foot in base_link."""
    return KINEMATICS[leg].to_base(KINEMATICS[leg].forward(positions[list(ROBOT.leg_joints(leg))]))


def run(gait, trial, seconds, begin=0.0):
    """Set-points (ticks, n) [rad] and rates [rad/s] of the trial, set-points of the gait."""
    rows = []
    for k in range(round(seconds / TICK)):
        positions, velocities = gait.step(TICK)
        tried = trial.step(begin + k * TICK, TICK, gait, positions, velocities)
        rows.append((tried[0].copy(), tried[1].copy(), positions.copy()))
    return map(np.array, zip(*rows, strict=True))


def test_the_foot_is_put_down_beside_the_walk_and_held_up_again():
    gait, trial = walking_without("RM")
    assert trial.start(0.0, "RM", gait) and not trial.start(0.0, "RM", gait)
    positions, rates, given = run(gait, trial, 4.6)
    assert np.array_equal(positions[:, OTHERS], given[:, OTHERS])
    assert np.abs(np.diff(positions[:, RM], axis=0)).max() <= SPEED * TICK + 1e-12
    assert np.diff(positions[:, RM], axis=0) == pytest.approx(TICK * rates[1:, RM], abs=1e-12)
    heights = np.array([foot("RM", row)[2] for row in positions])
    ground = np.array([min(foot(leg, row)[2] for leg in ROBOT.leg_names if leg != "RM") for row in given])
    up, down = (round((until - 0.1) / TICK) for until, _ in PUT_DOWN[:2])
    assert heights[[up, down]] - ground[[up, down]] == pytest.approx([each for _, each in PUT_DOWN[:2]], abs=1e-3)
    assert trial.leg is None and np.array_equal(positions[-1], given[-1])
    place = foot("RM", positions[down])
    assert min(np.hypot(*(foot(leg, row) - place)[:2]) for leg in ("RR", "RF") for row in given) > 0.06


def test_a_trial_that_is_stopped_goes_back_at_once_and_that_of_a_leg_that_is_gone_ends():
    for stop in (FootTrial.stop, lambda trial: trial.set_morphology(WHOLE)):
        gait, trial = walking_without("RM")
        trial.start(0.0, "RM", gait)
        run(gait, trial, 1.2)
        stop(trial)
        positions, _, given = run(gait, trial, 1.6, begin=1.2)
        assert np.abs(np.diff(positions[:, RM], axis=0)).max() <= SPEED * TICK + 1e-12
        assert trial.leg is None and np.array_equal(positions[-1], given[-1])
    trial.start(0.0, "RM", gait)
    trial.set_morphology(WHOLE.without("RM"))
    assert trial.leg is None


def test_a_leg_that_walks_that_is_damaged_or_that_another_foot_comes_near_is_not_put_down():
    gait, trial = walking_without("RM")
    assert not trial.start(0.0, "LM", gait) and not trial.start(0.0, "XX", gait)
    trial.set_morphology(WHOLE.broken("RM.tibia", 0.5).limp("RM.femur"))
    assert not trial.start(0.0, "RM", gait)
    started = []
    for pair in itertools.pairwise(ROBOT.leg_names):
        gait, trial = walking_without(*pair)
        for leg in pair:
            if trial.start(0.0, leg, gait):
                started.append(leg)
                positions, _, given = run(gait, trial, 4.6)
                down = min((foot(leg, row) for row in positions), key=lambda place: place[2])
                near = [np.hypot(*(foot(each, row) - down)[:2]) for each in gait.plan.legs for row in given]
                assert min(near) > 0.06, pair
    assert 2 <= len(started) < 10


def test_a_robot_that_stands_puts_no_leg_down():
    gait, trial = walking_without("RM")
    gait.command(0.0, 0.0, 0.0)
    for _ in range(200):
        gait.step(TICK)
    assert not trial.start(0.0, "RM", gait)
