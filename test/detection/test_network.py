"""The network step by step against the same layers written out over a whole walk; files of weights are checked."""

import json

import numpy as np
import pytest

from hexapod_dynamics.detection.features import COUNT
from hexapod_dynamics.detection.network import CLASSES, DILATIONS, PACKAGED, Network, Weights
from hexapod_dynamics.detector_training.gradients import random_layers
from hexapod_dynamics.errors import HexapodError
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
