"""What the detector works with: the network step by step against the same layers written out over a whole walk; files
of weights; features, alike for all legs and learnt of this robot; the model that runs beside the robot and executes
commands as its servos do; signs of late commands and readings (walks with them: test_loaded_computer.py).
"""

import json
import math

import numpy as np
import pytest
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.control.pose_guard import GuardSettings
from hexapod_dynamics.detection.features import (
    COUNT,
    JOINTS,
    OF_JOINT,
    OF_LEG,
    STEP,
    FeatureExtractor,
    are_setpoints_moving,
    find_joint_slots,
)
from hexapod_dynamics.detection.network import CLASSES, DILATIONS, PACKAGED, Network, Weights
from hexapod_dynamics.detection.running_model import RunningModel
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.detection.timing import LAG, Timing, find_lag
from hexapod_dynamics.detector_training.gradients import random_layers
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Robot

STEPS, LEGS = 50, 6
MEMORY = 1 + 2 * sum(DILATIONS)  # steps that an output depends on


def written_out(w, x):
    """Probabilities (T, legs, CLASSES) of features (T, legs, COUNT), each output from the whole past by indices."""

    def linear(name, row):
        return w[f"{name}.weight"].astype(float) @ row + w[f"{name}.bias"]

    h = np.array([[np.maximum(linear("encoder", leg), 0.0) for leg in row] for row in x.astype(float)])
    for k, dilation in enumerate(DILATIONS):
        after = h.copy()
        for t in range(len(h)):
            pooled = np.array([np.maximum(linear(f"pool.{k}", leg), 0.0) for leg in h[t]])
            for leg in range(h.shape[1]):
                taps = [h[t - n, leg] if t >= n else np.zeros(h.shape[2]) for n in (2 * dilation, dilation, 0)]
                seen = np.concatenate([*taps, pooled.mean(axis=0), pooled.max(axis=0)])
                after[t, leg] = h[t, leg] + np.maximum(linear(f"convolution.{k}", seen), 0.0)
        h = after
    odds = np.array([[linear("output", leg) for leg in row] for row in h])
    p = np.exp(odds)
    return p / p.sum(axis=-1, keepdims=True)


@pytest.fixture(scope="module")
def weights():
    """Two networks."""
    some = [{name: array[None] for name, array in random_layers(seed).items()} for seed in (3, 4)]
    return Weights.join([Weights(layers, np.array([4.0, 5.0]), {"seed": 3}) for layers in some])


@pytest.fixture(scope="module")
def features():
    return np.random.default_rng(0).normal(size=(STEPS, LEGS, COUNT)).astype(np.float32)


def test_step_by_step_it_computes_what_is_written_out(weights, features):
    """float32 against float64: 1e-5 is a hundred times the rounding of its sums of 120 products."""
    network = Network(weights, LEGS)
    found = np.array([network.step(row) for row in features])
    assert found.shape == (STEPS, LEGS, CLASSES)
    of_each = [written_out({name: array[k] for name, array in weights.layers.items()}, features) for k in (0, 1)]
    np.testing.assert_allclose(found, np.mean(of_each, axis=0), atol=1e-5)
    assert weights.made["networks"] == 2


def test_what_is_longer_ago_than_its_memory_changes_nothing(weights, features):
    one, other = Network(weights, LEGS), Network(weights, LEGS)
    for row in features[:10]:
        one.step(row)
    last = [(one.step(row), other.step(row)) for row in np.concatenate([features, features])[:MEMORY]][-1]
    np.testing.assert_allclose(*last, atol=1e-6)
    one.reset()
    np.testing.assert_array_equal(one.step(features[0]), Network(weights, LEGS).step(features[0]))


@pytest.mark.parametrize("legs", [1, 4, 8])
def test_the_order_of_the_legs_does_not_matter(weights, features, legs):
    x = np.concatenate([features, features], axis=1)[:, :legs]
    one, other = Network(weights, legs), Network(weights, legs)
    for row in x:
        a, b = one.step(row), other.step(row[::-1])
    np.testing.assert_allclose(a, b[::-1], atol=1e-6)


def test_a_file_has_what_was_written(tmp_path, weights):
    path = tmp_path / "weights.npz"
    weights.save(path)
    again = Weights.load(path)
    assert again.thresholds.tolist() == [4.0, 5.0] and again.made["seed"] == 3
    np.testing.assert_allclose(again.layers["output.weight"], weights.layers["output.weight"], atol=1e-3)


def test_a_file_that_does_not_fit_is_refused_with_the_remedy(tmp_path, weights):
    path = tmp_path / "weights.npz"
    with pytest.raises(HexapodError, match=r"weights.npz: No such file or directory; make it by train_detector"):
        Weights.load(path)
    weights.save(path)
    for content in (b"no zip", b"", path.read_bytes()[:3000]):
        path.write_bytes(content)
        with pytest.raises(HexapodError, match=r"weights.npz: no weights .* train_detector"):
            Weights.load(path)
    for made in ("{}", "[1]", "no JSON"):
        np.savez(path, thresholds=weights.thresholds, made=made)
        with pytest.raises(HexapodError, match=r"weights.npz: no weights .* train_detector"):
            Weights.load(path)
    arrays = dict(weights.layers.items())
    for name, wrong in (
        ("output.weight", arrays["output.weight"][:, :, 1:]),
        ("encoder.weight", arrays["encoder.weight"][0]),
        ("pool.3.bias", np.full_like(arrays["pool.3.bias"], np.nan)),
    ):
        Weights(arrays | {name: wrong}, weights.thresholds, {}).save(path)
        with pytest.raises(
            HexapodError, match=r"weights.npz: weights of wrong sizes, or not finite; .* train_detector"
        ):
            Weights.load(path)
    np.savez(path, thresholds=weights.thresholds, made=json.dumps({"digest": "of others"}), **arrays)
    with pytest.raises(HexapodError, match="weights of other features; make them again by train_detector"):
        Weights.load(path)


def test_a_robot_has_the_weights_beside_its_file_and_else_the_packaged_ones(tmp_path, weights):
    own = tmp_path / "jethexa.yaml"
    own.write_text(Robot.jethexa().file.read_text())
    robot = Robot.load(own)
    assert Weights.load_for_robot(robot).made == Weights.load(PACKAGED).made
    weights.save(tmp_path / f"detector_{robot.name}.npz")
    assert Weights.load_for_robot(robot).made["seed"] == 3


LEFT, RIGHT = ("LF", "LM", "LR"), ("RF", "RM", "RR")


def column(name, joint=None):
    """Column of a feature of a leg, or of one of its joints."""
    if joint is None:
        return JOINTS * len(OF_JOINT) + list(OF_LEG).index(name)
    return joint * len(OF_JOINT) + list(OF_JOINT).index(name)


def walked(seconds, roll=0.0, offset=0.0, twist=(0.06, 0.0, 0.0), change=None, speed=1.0):
    """Features (T, legs, COUNT) of a robot that does what is commanded, but leans by `roll`, and reads `offset` more
    at RM's femur [rad]; change: (time [s], Morphology) that is declared.
    """
    gait = AdaptiveGait().bind(ROBOT)
    gait.command(*twist)
    extractor, found, due = FeatureExtractor(ROBOT, DetectorSettings()), [], 0.0
    femur = ROBOT.leg_joints("RM")[1]
    for tick in range(1, round(seconds / 0.02)):
        now = 0.02 * tick
        if change is not None and now >= change[0]:
            extractor.set_morphology(now, change[1])
            change = None
        command = gait.step(0.02)[0] * speed
        extractor.command(now, command)
        extractor.add_attitude(now, roll if now > 0.5 * seconds else 0.0, 0.0, 0.0)
        for joint in (2 * tick % 18, (2 * tick + 1) % 18):
            extractor.add_reading(now, joint, command[joint] + offset * (joint == femur))
        if now >= due:
            due += STEP
            features = extractor.step(now)
            if features is not None:
                found.append(features)
    return np.array(found)


def test_a_robot_that_leans_to_the_right_leans_toward_its_right_legs():
    lean = walked(4.0, roll=math.radians(4.0))[-1, :, column("lean toward the leg")]
    of = dict(zip(ROBOT.leg_names, lean, strict=True))
    assert all(of[leg] > 0.3 for leg in RIGHT) and all(of[leg] < -0.3 for leg in LEFT)


def test_legs_of_both_sides_see_the_same_in_a_mirrored_walk():
    """A walk to the left seen by the left legs is a walk to the right seen by the right ones."""
    left, right = walked(5.0, twist=(0.0, 0.04, 0.0)), walked(5.0, twist=(0.0, -0.04, 0.0))
    names = list(ROBOT.leg_names)
    mine, theirs = ([names.index(leg) for leg in side] for side in (LEFT, RIGHT))
    same = [column(name, joint) for joint in range(JOINTS) for name in ("lead of the set-point", "rate")]
    # The gait starts with the same tripod in both: the means over the walk are alike, not each moment.
    for one in same:
        assert left[20:, mine, one].std() == pytest.approx(right[20:, theirs, one].std(), rel=0.15, abs=0.02)
    np.testing.assert_allclose(left[0][mine][:, column("place along x")], left[0][theirs][:, column("place along x")])


def test_an_offset_of_a_servo_is_learnt_and_what_came_a_moment_ago_is_not():
    features = walked(20.0, offset=math.radians(2.0))
    leg = ROBOT.leg_names.index("RM")
    apart, residual = features[:, leg, column("reading less model", 1)], features[:, leg, column("residual", 1)]
    assert abs(np.mean(apart[-40:])) == pytest.approx(2.0 / 5.0, abs=0.15)  # in its unit
    assert abs(np.mean(residual[:20])) > 0.4 and abs(np.mean(residual[-40:])) < 0.25


def test_a_declared_loss_shows_in_what_is_left_and_how_long_ago():
    lost = WHOLE.broken("LM.tibia", 0.5).limp("RF.femur")
    features = walked(5.0, change=(3.0, lost))
    left = dict(zip(ROBOT.leg_names, features[-1, :, column("what is left of the leg")], strict=True))
    assert left == {leg: {"LM": 0.5, "RF": 0.0}.get(leg, 1.0) for leg in ROBOT.leg_names}
    assert features[-1, 0, column("time since a change")] == pytest.approx(2.0 / 3.0, abs=0.05)


def test_a_robot_that_stands_does_not_move():
    assert not are_setpoints_moving(walked(3.0, twist=(0.0, 0.0, 0.0))[-1]) and are_setpoints_moving(walked(3.0)[-1])


def test_after_a_restart_the_model_starts_again_and_what_was_learnt_stays():
    extractor = FeatureExtractor(ROBOT, DetectorSettings())
    for k in range(20):
        extractor.command(0.02 * k, np.zeros(18))
        for joint in range(18):
            extractor.add_reading(0.02 * k, joint, 0.0)
    assert extractor.step(0.4) is None and extractor.model.started
    assert extractor.step(0.48).shape == (6, COUNT)
    extractor.restart()
    assert not extractor.model.started and extractor.step(0.56) is None


@pytest.mark.parametrize("links, slots", [(1, (0,)), (2, (0, 1)), (3, (0, 1, 2)), (4, (0, 2, 3)), (6, (0, 4, 5))])
def test_legs_of_other_shapes_are_seen_by_their_first_and_last_joints(links, slots):
    assert find_joint_slots(links) == slots


def started(settings):
    model = RunningModel(ROBOT, settings)
    model.command(0.0, np.zeros(ROBOT.joint_count))
    assert model.start(0.0, np.zeros(ROBOT.joint_count), WHOLE)
    return model


@pytest.mark.parametrize("approach", [0.2, 0.8])
def test_a_leap_is_approached_at_the_speed_of_the_configured_guard(approach):
    model = started(DetectorSettings(guard=GuardSettings(approach_speed=approach, step_limit=0.1)))
    for k in range(1, 26):
        model.command(0.02 * k, np.full(ROBOT.joint_count, 0.3))
    model.advance(0.6)
    assert model.targets[model.row(model.tick - 1)] == pytest.approx(min(0.3, approach * 0.5), abs=0.02)


@pytest.mark.parametrize("period", [0.02, 0.05, 0.1])
def test_a_command_that_is_punctual_is_never_taken_for_a_missing_one(period):
    model = started(DetectorSettings(command_period=period))
    for k in range(1, 50):
        model.command(period * k, np.full(ROBOT.joint_count, 0.01 * k))
        for part in range(1, 5):
            model.advance(period * (k + 0.25 * part))
    assert model.tick == 50 and np.isfinite(model.targets[:50]).all()


def test_the_lag_of_all_joints_is_found_and_that_of_one_is_not():
    random = np.random.default_rng(0)
    joints, rates = np.arange(36) % 18, random.uniform(-3.0, 3.0, 36)
    assert find_lag(joints, -0.08 * rates + random.normal(0.0, 3e-3, 36), rates) == pytest.approx(0.08, abs=0.01)
    assert abs(find_lag(joints, np.where(joints == 4, 0.5, 0.0), rates)) < 1e-9
    assert math.isnan(find_lag(joints, np.zeros(36), 0.1 * rates))


def test_a_lag_of_all_joints_is_late_and_named():
    timing = Timing()
    assert not timing.check_lag(1.0, 0.9 * LAG) and not timing.check_lag(1.0, math.nan) and not timing.disturbed
    assert timing.check_lag(2.0, 1.1 * LAG) and timing.disturbed and timing.was_late_recently(2.1)
    assert "all joints are 0.07 s behind" in timing.why


def test_each_sign_is_named():
    for spoil, words in (
        (lambda one: one.add_reading(0.7), "a reading came 0.32 s"),
        (lambda one: one.command(0.7), "a command came 0.32 s"),
        (lambda one: one.add_reading(1.0), "no joint was read for 0.50 s"),
    ):
        timing = Timing()
        timing.add_reading(0.5)
        timing.update(1.0)
        spoil(timing)
        assert (
            timing.update(1.02)
            and words in timing.why
            and timing.was_late_recently(1.2)
            and not timing.was_late_recently(1.4)
        )
    timing = Timing()
    assert not timing.update(1.0) and not timing.update(1.02) and timing.update(1.5)
    assert "stood still for 0.48 s" in timing.why
