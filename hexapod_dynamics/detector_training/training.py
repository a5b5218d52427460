"""Training of the damage detector's network: examples from random walks, AdamW, thresholds on other walks.

Examples are what a DamageDetector itself gives to its network in a DamageWalk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.detection.detector import SETTLES, DamageDetector
from hexapod_dynamics.detection.features import COUNT, OF_JOINT, OF_LEG, STEP, are_setpoints_moving
from hexapod_dynamics.detection.network import CLASSES, INTACT, Network, Weights
from hexapod_dynamics.detection.posterior import Posterior
from hexapod_dynamics.detector_training.gradients import AdamW, compute_gradients, random_layers
from hexapod_dynamics.detector_training.walks import DamageWalk
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Robot

WINDOW = 66  # steps of an example
HELD_OUT = 10  # of so many walks, one is not trained on
LEFT = 3 * len(OF_JOINT) + list(OF_LEG).index("what is left of the leg")
LEAST = 2.2  # the lowest threshold


class Example(NamedTuple):
    """A walk: features (T, legs, COUNT), times (T,) [s], pieces between restarts (T,), classes (T, legs)."""

    features: np.ndarray
    times: np.ndarray
    pieces: np.ndarray
    classes: np.ndarray
    changes: np.ndarray  # times [s] at which the classes change
    kind: str
    seed: int

    def save(self, path: Path) -> None:
        """Write a file."""
        np.savez(path, **self._asdict() | {"features": self.features.astype(np.float16)})

    @classmethod
    def load(cls, path: Path) -> Example:
        """Read a file of `save`."""
        with np.load(path) as file:
            values = {name: file[name] for name in cls._fields}
        return cls(**values | {"kind": str(values["kind"]), "seed": int(values["seed"])})


class FeatureRecorder:
    """Stands in for a Network: records the features, and says that all legs are intact."""

    def __init__(self, legs: int) -> None:
        self.features: list[np.ndarray] = []
        self.times: list[float] = []
        self.pieces: list[int] = []
        self.time, self._piece = 0.0, 0
        self._intact = np.zeros((legs, CLASSES))
        self._intact[:, INTACT] = 1.0

    def step(self, features: np.ndarray) -> np.ndarray:
        """Record the features (legs, COUNT)."""
        self.features.append(features)
        self.times.append(self.time)
        self.pieces.append(self._piece)
        return self._intact

    def reset(self) -> None:
        """Begin a new piece."""
        self._piece += 1


class _Recorded(DamageDetector):
    """Asks for contact probes at random times, since its network never suspects a leg."""

    def __init__(self, robot: Robot, seed: int, recorder: FeatureRecorder) -> None:
        super().__init__(robot, weights=Weights({}, np.zeros(2), {}), network=recorder)
        self._random = np.random.default_rng((6, seed))

    def probe(self, time: float) -> str | None:
        """Return a leg whose foot is to be pressed down now; None: none."""
        asks = self._random.random() < 6e-4  # of the updates: one walk in six has a contact probe
        return str(self._random.choice(self.robot.leg_names)) if asks else None


def make_example(robot: Robot, seed: int, physics: str) -> Example:
    """Simulate a DamageWalk, and return what the detector's network would see in it."""
    recorder = FeatureRecorder(len(robot.legs))
    walk = DamageWalk(robot, seed, physics, _Recorded(robot, seed, recorder))
    with closing(walk.walk.onboard):
        for recorder.time in walk.simulate():
            pass
    times = np.array(recorder.times)
    classes = np.zeros((len(times), len(robot.legs)), np.int8)
    for change in walk.changes:
        classes[times >= change.t] = change.classes
    changes = np.array([change.t for change in walk.changes])
    features = np.array(recorder.features, np.float32).reshape(len(times), len(robot.legs), COUNT)
    return Example(features, times, np.array(recorder.pieces), classes, changes, walk.kind, seed)


def has_mirrored_front(robot: Robot) -> bool:
    """Return whether the places of the front legs are those of the rear ones, mirrored."""
    hips = {tuple(np.round(leg.mount_position[:2], 3).tolist()) for leg in robot.legs}
    return hips == {(-x, y) for x, y in hips}


# ---- training --------------------------------------------------------------------------------------------------------


class _Windows:
    """Draws windows of examples."""

    def __init__(self, examples: Sequence[Example], seed: int, mirrored: bool) -> None:
        self._all = [one for one in examples if len(one.times) > WINDOW + 2]
        if not self._all:
            raise HexapodError(f"no walk has more than {WINDOW} steps: more or longer ones are needed")
        self._ends = np.cumsum([len(one.times) for one in self._all])
        self._changes = {
            hurt: [(k, at) for k, one in enumerate(self._all) for at in one.changes[1:] if self._hurts(one, at) == hurt]
            for hurt in (True, False)
        }
        self._random = np.random.default_rng(seed)
        # Front and rear exchanged: signs of what points along x.
        self._flip = np.ones(COUNT, np.float32)
        names = list(OF_JOINT)
        coxa = ("residual", "lead of the set-point", "rate", "reading less model", "change of the set-point")
        along = ("place along x", "lean across", "change of the lean across", "tilt across", "turn")
        self._flip[[names.index(name) for name in coxa]] = -1.0
        self._flip[[3 * len(names) + list(OF_LEG).index(name) for name in along]] = -1.0
        self._mirrored = mirrored

    @staticmethod
    def _hurts(example: Example, at: float) -> bool:
        row = int(np.searchsorted(example.times, at))
        return row < len(example.times) and bool(example.classes[row].any())

    def draw(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return features (WINDOW, legs, COUNT), classes (WINDOW, legs), weights of the loss (WINDOW, legs)."""
        random, u = self._random, self._random.random()
        # Half of the windows are around a damage, a tenth around its declaration.
        kind = self._changes[u < 0.5] if u < 0.6 else []
        if kind:
            index, at = kind[random.integers(len(kind))]
            one = self._all[index]
            first = int(np.searchsorted(one.times, at)) - int(random.integers(22, 50))
        else:
            one = self._all[int(np.searchsorted(self._ends, random.integers(self._ends[-1]), side="right"))]
            first = int(random.integers(0, len(one.times) - WINDOW + 1))
        first = int(np.clip(first, 0, len(one.times) - WINDOW))
        rows = slice(first, first + WINDOW)
        x, times, pieces = one.features[rows].astype(np.float32), one.times[rows], one.pieces[rows]
        # Of a window with a restart, what follows it: before the restart there is nothing that the network knows.
        begins = int(np.flatnonzero(pieces == pieces[-1])[0])
        starts = first + begins == 0 or one.pieces[first + begins - 1] != pieces[-1]
        weights = np.ones(WINDOW, np.float32)
        weights[: begins + (12 if starts else 24)] = 0.0  # steps in which the network gets warm
        x[:begins] = 0.0
        for at in one.changes[1:]:
            weights[(times >= at) & (times < at + 0.25)] = 0.0  # [s] in which nobody can know the change
        if self._mirrored and random.random() < 0.5:
            x = x * self._flip
        return x, one.classes[rows].astype(np.int64), weights[:, None] * (one.features[rows][:, :, LEFT] == 1.0)


def train(
    examples: Sequence[Example],
    steps: int,
    seed: int,
    report: Callable[[float, str], None] = lambda share, note: None,
    mirrored: bool = True,
) -> Weights:
    """Return the trained weights of one network, with thresholds still at LEAST.

    Args:
        examples: walks to train on.
        steps: of AdamW, with one cycle of its rate.
        seed: of everything random.
        report: called every 100 steps with the completed share of the steps, and the loss in words.
        mirrored: whether the robot's front is its rear's mirror image.

    """
    layers = random_layers(seed)
    optimiser, noise = AdamW(layers, steps, rate=6e-3), np.random.default_rng((1, seed))
    windows, mean = _Windows(examples, seed, mirrored), 0.0
    for step in range(steps):
        parts = zip(*(windows.draw() for _ in range(32)), strict=True)  # a step's examples
        x, classes, weights = (np.array(part) for part in parts)
        x += 0.03 * noise.standard_normal(x.shape, np.float32)
        loss, gradients = compute_gradients(layers, x, classes, weights.astype(np.float32))
        optimiser.step(gradients)
        mean = loss if step == 0 else 0.98 * mean + 0.02 * loss
        if step % 100 == 99 or step == steps - 1:
            report((step + 1) / steps, f"loss {mean:.4f}")
    layers = {name: array[None].astype(np.float16).astype(np.float32) for name, array in layers.items()}
    made: dict[str, object] = {"steps": steps, "seed": seed, "walks": len(examples)}
    return Weights(layers, np.full(2, LEAST), made)


# ---- thresholds ------------------------------------------------------------------------------------------------------


def log_odds(weights: Weights, example: Example) -> np.ndarray:
    """Return the log odds (T, legs, 2) by which a Posterior would decide; -inf where nothing is judged."""
    legs = example.features.shape[1]
    network, posterior = Network(weights, legs), Posterior(legs, weights.thresholds, 0.0)
    odds = np.full((*example.features.shape[:2], 2), -np.inf)
    piece, began = -1, 0.0
    for k, features in enumerate(example.features.astype(np.float32)):
        if example.pieces[k] != piece:
            piece, began = example.pieces[k], example.times[k]
            network.reset()
            posterior.forget()
        p, intact = network.step(features), features[:, LEFT] == 1.0
        posterior.update(example.times[k], p, are_setpoints_moving(features), intact, np.ones(legs, bool))
        if example.times[k] - began >= SETTLES and posterior.is_walking:
            odds[k] = posterior.odds
    return odds


def choose_thresholds(weights: Weights, examples: Sequence[Example]) -> Weights:
    """Return the weights with thresholds that intact robots of other walks exceed once in twenty minutes.

    These walks are harder than those of a user.
    """
    largest, seconds = [], 0.0
    for one in examples:
        intact = ~one.classes.any(axis=1) & (np.cumsum(one.classes.any(axis=1)) == 0)  # until the first damage
        if intact.any():
            largest.append(log_odds(weights, one)[intact].max(axis=(0, 1)))
            seconds += STEP * float(intact.sum())
    ordered = np.sort(np.array(largest), axis=0)[::-1]
    allowed = min(math.floor(seconds / 1200.0), len(ordered) - 1)
    thresholds = np.clip(ordered[allowed], LEAST, 6.0)
    made = weights.made | {"intact minutes": round(seconds / 60.0), "largest log odds": ordered[0].round(2).tolist()}
    return Weights(weights.layers, thresholds, made)
