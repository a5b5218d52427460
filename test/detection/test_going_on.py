"""After a lost foot is declared the detector's model goes on as if the foot had been lost at its onset."""

import numpy as np
import pytest
from support.blind_walk import BlindWalk

from hexapod_dynamics.detection.baseline import Baseline
from hexapod_dynamics.detection.covariance import covariance
from hexapod_dynamics.detection.running_model import RunningModel
from hexapod_dynamics.detection.scatter import Scatter, kinds_of
from hexapod_dynamics.detection.settling import Settling
from hexapod_dynamics.detection.window import MeasurementWindow
from hexapod_dynamics.estimation import DetectorSettings
from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Simulator

ROBOT = Robot.jethexa()
WHOLE, LOST = Morphology.whole(ROBOT), Morphology.whole(ROBOT).broken("RM.tibia", 0.05)
TICKS, ONSET, SLICES, PERIOD = DetectorSettings().slice_ticks, 3, 7, 0.02
KINDS = kinds_of(ROBOT)


def walked(lost_in=None):
    """A RunningModel after SLICES slices of a tripod gait, and its window; LOST from the start of slice `lost_in` on.

    The readings are those of a robot that does what is commanded, and stays level.
    """
    gait = TripodGait().bind(ROBOT)
    gait.command(0.07, 0.0, 0.0)
    model = RunningModel(ROBOT, PERIOD, 2e-3, TICKS)
    window = MeasurementWindow(model, ROBOT.joint_count)
    model.start(0.0, gait.position.copy(), WHOLE)
    for tick in range(1, SLICES * TICKS):
        if lost_in is not None and tick == lost_in * TICKS:
            snapshots = dict(model.snapshots)
            model.set_morphology(LOST)
            model.snapshots.update(snapshots)
        command = gait.step(PERIOD)[0]
        model.step(PERIOD * tick, command)
        joint = tick % ROBOT.joint_count
        assert window.add_joint(PERIOD * tick - 0.005, joint, command[joint])
        assert window.add_attitude(PERIOD * tick - 0.005, 0.0, 0.0, 0.0)
    return model, window


@pytest.mark.parametrize("morphology, lost_in", [(WHOLE, None), (LOST, ONSET)], ids=["whole", "lost"])
def test_the_ticks_since_the_onset_are_those_of_a_robot_that_was_broken_then(morphology, lost_in):
    """To the bit: both are the same steps of one simulation."""
    model, window = walked()
    expected, measured = walked(lost_in)
    assert model.repeat(ONSET, morphology)
    window.compare_again(ONSET)
    for name in ("q", "tilt", "on_feet", "targets", "time"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name), err_msg=name)
    for one, other in zip(model.model.snapshot(), expected.model.snapshot(), strict=True):
        np.testing.assert_array_equal(one, other)
    seen, wanted = window.view(0, SLICES), measured.view(0, SLICES)
    np.testing.assert_array_equal(seen.residual, wanted.residual)
    np.testing.assert_array_equal(seen.load, wanted.load)
    assert sorted(model.snapshots) == sorted(expected.snapshots)


def test_an_onset_that_is_too_long_ago_is_not_repeated():
    model, _ = walked()
    before = model.q.copy()
    assert not model.repeat(SLICES + 1, LOST)
    np.testing.assert_array_equal(model.q, before)


@pytest.mark.parametrize("first, second", [("RM", "LF"), pytest.param("LM", "RM", marks=pytest.mark.slow)])
def test_a_second_foot_lost_right_after_the_first_was_declared_is_found_within_two_cycles(first, second):
    """Before, what came in the 3 s after a declaration was not evaluated."""
    blind = BlindWalk(ROBOT, Simulator(ROBOT, timestep=2e-3), AdaptiveGait(), seed=1)
    blind.gait.command(0.07, 0.0, 0.0)
    blind.run(6.0)
    one = WHOLE.broken(f"{first}.tibia", 0.05)
    blind.damage(one)
    assert blind.run(2.0, until=lambda blind: not blind.declared.is_intact)
    blind.damage(one.broken(f"{second}.tibia", 0.05))
    blind.run(2.6)
    names = {name for _, decision in blind.decisions for name in decision.values}
    assert names == {f"remaining.{first}.tibia", f"remaining.{second}.tibia"}


def test_a_robot_that_has_changed_is_as_unknown_as_a_new_one_until_it_has_walked():
    baseline, load, yaw = Baseline(KINDS), np.full(18, 0.05), np.float64(0.0)
    random, noise = np.random.default_rng(0), np.full(21, 1e-3)

    def learn(slices):
        for _ in range(slices):
            baseline.offer(random.normal(1e-3, 2e-3, 21), random.normal(0.0, 0.05, 18), yaw, noise)

    learn(60)
    known, expected = baseline.unknown(load, yaw), baseline.predict(load, yaw)
    baseline.change_robot(unknown=True)
    np.testing.assert_array_equal(baseline.unknown(load, yaw), np.ones(21))
    np.testing.assert_array_equal(baseline.predict(load, yaw), expected)
    learn(60)
    assert baseline.unknown(load, yaw) == pytest.approx(known, abs=0.05)


def test_how_far_a_loss_has_moved_the_model_is_as_uncertain_as_it_was_as_a_hypothesis():
    noise, moved = np.full((2, 21), 1e-3), np.zeros((2, 21))
    moved[1, 18] = 0.1  # [rad] of roll in the second slice
    scatter, members = Scatter(KINDS, np.zeros(21), 0.0), np.random.default_rng(0).normal(0.0, 1e-3, (12, 2, 21))
    plain = covariance(members, members, noise, np.ones((2, 21)), scatter, np.zeros((2, 21)))
    extra = covariance(members, members, noise, np.ones((2, 21)), scatter, moved) - plain
    # 30 % by itself and 30 % together with the slice; 3 rad/s of yaw rate for each rad of roll.
    assert extra[21 + 18, 21 + 18] == pytest.approx(2.0 * 0.03**2, rel=1e-9)
    assert extra[21 + 20, 21 + 20] == pytest.approx(0.3**2, rel=1e-9)
    extra[21 + 18, 21 + 18] = extra[21 + 20, 21 + 20] = 0.0
    assert np.abs(extra).max() < 1e-15  # rounding


def test_a_robot_that_lies_otherwise_than_its_model_is_compared_when_it_stands_again():
    settling, level, apart = Settling(0.32), np.zeros(2), np.array([0.2, 0.0])
    assert settling.settled(10.0) and not settling.skips(10.0, 0.0, 0.5, apart)
    settling.change(10.0)
    assert not settling.settled(10.9) and settling.skips(10.9, 1.0, 0.0, level)
    assert settling.settled(11.0) and not settling.skips(11.1, 1.0, 0.0, level)
    settling.change(20.0)
    for time in (21.0, 21.3, 21.6):
        assert settling.skips(time, 1.0, 0.2, apart) and not settling.settled(time + 0.3)
    assert not settling.skips(21.95, 1.0, 0.0, level) and settling.settled(21.95)
    settling.change(30.0)
    assert settling.skips(37.9, 0.0, 0.0, level) and not settling.skips(39.0, 0.0, 0.0, level)
    settling.clear()
    assert settling.settled(0.0)


def test_a_robot_that_sits_down_after_a_lost_foot_is_compared_when_it_stands_on_its_feet_again():
    """Slices before the declaration count, whatever the model lay on. A healthy leg of a robot that moved its feet on
    its belly was declared 1.3 s after RM.
    """
    settling, level = Settling(0.32), np.zeros(2)
    settling.change(5.0)
    settling.go_on(10.0)
    assert settling.settled(10.0) and not settling.skips(9.9, 0.2, 0.4, level)
    assert not settling.skips(10.3, 1.0, 0.0, level) and settling.settled(10.3)
    for time in (10.62, 10.94, 11.26):
        assert settling.skips(time, 0.4, 0.0, level) and not settling.settled(time + 0.3)
    assert not settling.skips(11.6, 1.0, 0.0, level) and settling.settled(11.6)
    assert not settling.skips(19.0, 0.0, 0.0, level)  # it stays down
