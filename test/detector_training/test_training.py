"""The training: gradients against finite differences, a loss that falls, walks with labels, thresholds, the command."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.programs import python

from hexapod_dynamics.detection.features import COUNT
from hexapod_dynamics.detection.network import CLASSES, INTACT, LOST, Network, Weights
from hexapod_dynamics.detector_training.gradients import AdamW, compute_gradients, random_layers
from hexapod_dynamics.detector_training.training import LEAST, LEFT, Example, choose_thresholds, make_example, train
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.tools import train_detector as command

ROBOT = Robot.jethexa()
RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("name", sorted(random_layers(0)))
def test_gradients_are_those_of_finite_differences(name):
    """In float64; the step of 1e-6 leaves an error of some 1e-9, the rectifiers have no kink within it here."""
    random = np.random.default_rng(5)
    layers = {key: array.astype(float) for key, array in random_layers(1).items()}
    x = random.normal(size=(2, 40, 3, COUNT))
    classes, weights = random.integers(0, CLASSES, (2, 40, 3)), random.random((2, 40, 3))
    gradient = compute_gradients(layers, x, classes, weights)[1][name]
    for _ in range(3):
        at = tuple(random.integers(0, size) for size in layers[name].shape)
        value, sides = layers[name][at], []
        for step in (1e-6, -1e-6):
            layers[name][at] = value + step
            sides.append(compute_gradients(layers, x, classes, weights)[0])
        layers[name][at] = value
        assert gradient[at] == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-4, abs=1e-8)


def test_its_loss_is_that_of_the_network_step_by_step():
    layers, x = random_layers(2), RANDOM.normal(size=(1, 30, 6, COUNT)).astype(np.float32)
    classes = RANDOM.integers(0, CLASSES, (1, 30, 6))
    network = Network(Weights({name: array[None] for name, array in layers.items()}, np.zeros(2), {}), 6)
    p = np.array([network.step(row) for row in x[0]])
    expected = -np.log(np.take_along_axis(p, classes[0][..., None], -1)).mean()
    assert compute_gradients(layers, x, classes, np.ones((1, 30, 6)))[0] == pytest.approx(expected, rel=1e-5)


def test_adamw_finds_the_minimum_of_a_parabola():
    layers = {"a": np.array([3.0, -2.0], np.float32)}
    optimiser = AdamW(layers, 400, 0.1)
    for _ in range(400):
        optimiser.step({"a": 2.0 * (layers["a"] - 1.0)})
    np.testing.assert_allclose(layers["a"], 1.0, atol=0.02)  # its decay draws toward 0


def made_up(seed, lost_at=None):
    """A walk in which a lost foot shows in one feature."""
    random = np.random.default_rng(seed)
    x = 0.3 * random.normal(size=(120, 6, COUNT)).astype(np.float32)
    x[:, :, LEFT] = 1.0
    classes, changes = np.full((120, 6), INTACT, np.int8), [0.0]
    if lost_at is not None:
        classes[lost_at:, seed % 6] = LOST
        x[lost_at:, seed % 6, 0] += 2.0
        changes.append(0.08 * lost_at)
    return Example(x, 0.08 * np.arange(120), np.zeros(120, int), classes, np.array(changes), "foot", seed)


def test_it_learns_what_shows_and_chooses_thresholds_above_intact_robots():
    examples = [made_up(seed, 60 if seed % 3 else None) for seed in range(30)]
    said = []
    weights = train(examples, 40, 0, lambda share, note: said.append((share, note)), mirrored=False)
    assert said[-1][0] == 1.0 and "loss 0." in said[-1][1]
    weights = choose_thresholds(weights, [made_up(seed) for seed in range(100, 110)])
    assert (weights.thresholds >= LEAST).all() and weights.made["intact minutes"] == 2
    network, walk = Network(weights, 6), made_up(101, 60)
    p = [network.step(row) for row in walk.features]
    leg = 101 % 6
    assert p[50][leg, LOST] < 0.1 and p[100][leg, LOST] > 0.9 and p[100][(leg + 1) % 6, LOST] < 0.1


def test_walks_without_a_window_are_refused():
    short = made_up(0)
    short = short._replace(**{name: getattr(short, name)[:40] for name in ("features", "times", "pieces", "classes")})
    with pytest.raises(HexapodError, match="more or longer ones are needed"):
        train([short], 1, 0)


class Threads(ThreadPoolExecutor):
    """In the place of WorkerProcesses: what they get and give is pickled all the same."""

    def submit(self, function, *arguments):
        given = pickle.dumps((function, arguments))

        def compute():
            function, arguments = pickle.loads(given)
            return pickle.loads(pickle.dumps(function(*arguments)))

        return super().submit(compute)


@pytest.mark.parametrize("seed", [12, 24])
def test_a_walk_has_the_classes_of_what_is_lost_and_not_declared(seed, tmp_path):
    """Seed 12: a foot; 24: a locked joint that is declared after 0.4 s, then another."""
    example = make_example(ROBOT, seed, "built_in")
    assert example.features.shape[1:] == (6, COUNT) and len(example.times) == len(example.classes)
    first = np.searchsorted(example.times, example.changes[1])
    assert not example.classes[:first].any() and example.classes[first + 1].any()
    if seed == 24:
        later = np.searchsorted(example.times, example.changes[2])
        assert not example.classes[later + 1].any() and len(example.changes) == 4
    example.save(tmp_path / "one.npz")
    again = Example.load(tmp_path / "one.npz")
    assert again.seed == seed and again.kind == example.kind
    np.testing.assert_allclose(again.features, example.features, atol=4e-3)  # half precision of numbers up to 6


def test_the_command_simulates_trains_and_goes_on_where_it_was(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    monkeypatch.setattr(command, "WorkerProcesses", Threads)
    # Simulated walks: the test above.
    monkeypatch.setattr(command, "make_example", lambda robot, seed, physics: made_up(seed, 60 if seed % 3 else None))
    arguments = ["--walks", "4", "--steps", "2"]
    assert command.main(arguments) == 0
    assert "4 walks in detector_jethexa_walks" in capsys.readouterr().out
    made = Weights.load(tmp_path / "detector_jethexa.npz").made
    assert made["steps"] == 2 and made["walks"] == 3 and made["networks"] == 2
    walks = {path: path.stat().st_mtime_ns for path in (tmp_path / "detector_jethexa_walks").iterdir()}
    assert command.main(arguments) == 0
    assert walks == {path: path.stat().st_mtime_ns for path in walks}
    with pytest.raises(SystemExit):
        command.main(["--walks", "2"])
    assert "--walks: '2' given, allowed are whole numbers from 4" in capsys.readouterr().err
    for out, why in (("nowhere/weights.npz", "its folder does not exist"), ("weights.bin", "ends with .npz")):
        assert command.main(["--out", out]) == 1
        said = capsys.readouterr().err
        assert f"--out {out}: " in said and why in said


def test_the_command_needs_no_gymnasium():
    program = "import sys; sys.modules['gymnasium'] = None; import hexapod_dynamics.tools.train_detector"
    done = python("-c", program)
    assert done.returncode == 0, done.stderr
