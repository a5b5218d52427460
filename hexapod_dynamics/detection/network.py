"""The network that tells what each leg has lost: causal convolutions over time, shared by all legs, in numpy.

One encoder for all legs; four convolutions of three taps, dilated by 1, 2, 4 and 8 steps (2.5 s of memory, and no state
that could drift); in each of them every leg sees the mean and the largest of 12 numbers of all legs. Thus the number of
legs is free, and their order does not matter.

The weights, made by `train_detector`, are those of several networks that were trained from different random numbers;
their probabilities are averaged, which makes them less sure where they differ (Lakshminarayanan et al. 2017).
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hexapod_dynamics.detection.features import COUNT, JOINTS, LARGEST, OF_JOINT, OF_LEG, STEP
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.robot_file import find_own_file

DILATIONS = 1, 2, 4, 8
INTACT, LOST, LIMP, LOCKED = 0, 1, 2, 2 + JOINTS  # classes: LIMP + k and LOCKED + k are those of joint k
CLASSES = 2 + 2 * JOINTS
PACKAGED = Path(__file__).parent / "weights.npz"


def compute_digest() -> str:
    """Return a short text that changes with what the features are."""
    text = json.dumps([OF_JOINT, OF_LEG, JOINTS, LARGEST, STEP, DILATIONS])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def layer_sizes(width: int, pooled: int) -> dict[str, tuple[int, int]]:
    """Return (outputs, inputs) of each linear layer; width of the layers, and of what the legs share of each."""
    sizes = {"encoder": (width, COUNT), "output": (CLASSES, width)}
    for k in range(len(DILATIONS)):
        sizes |= {f"pool.{k}": (pooled, width), f"convolution.{k}": (width, 3 * width + 2 * pooled)}
    return sizes


@dataclass(frozen=True)
class Weights:
    """Arrays of the layers, the thresholds of the decision, and what they were made from.

    Each array has a first axis for the networks. thresholds (2,): log odds of a lost foot and of a damaged joint, above
    which they are declared.
    """

    layers: dict[str, np.ndarray]
    thresholds: np.ndarray
    made: dict[str, object]

    @classmethod
    def load(cls, path: Path = PACKAGED) -> Weights:
        """Read a file of weights; HexapodError if it is none, or of other features."""
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            made = json.loads(str(arrays.pop("made")))
            thresholds, of = arrays.pop("thresholds").astype(float), made["digest"]
            layers = {name: array.astype(np.float32) for name, array in arrays.items()}
        except OSError as error:
            raise HexapodError(f"{path}: {error.strerror or error}; make it by train_detector") from None
        except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
            raise HexapodError(f"{path}: no weights of the damage detector; make them by train_detector") from None
        if of != compute_digest():
            raise HexapodError(f"{path}: weights of other features; make them again by train_detector")
        found = cls(layers, thresholds, made)
        if not found.is_consistent():
            raise HexapodError(f"{path}: weights of wrong sizes, or not finite; make them again by train_detector")
        return found

    def is_consistent(self) -> bool:
        """Return whether all layers are there with sizes that fit each other, and all numbers are finite."""
        given = {name: array.shape for name, array in self.layers.items()}
        sizes = given.get("encoder.weight", ()), given.get("pool.0.weight", ())
        if any(len(size) != 3 for size in sizes):
            return False
        (networks, width, _), (_, pooled, _) = sizes
        needed: dict[str, tuple[int, ...]] = {}
        for name, (outputs, inputs) in layer_sizes(width, pooled).items():
            needed |= {f"{name}.weight": (networks, outputs, inputs), f"{name}.bias": (networks, outputs)}
        finite = all(np.isfinite(array).all() for array in (*self.layers.values(), self.thresholds))
        return networks > 0 and given == needed and self.thresholds.shape == (2,) and finite

    def save(self, path: Path) -> None:
        """Write the file."""
        halves: dict[str, Any] = {name: array.astype(np.float16) for name, array in self.layers.items()}
        np.savez_compressed(
            path, thresholds=self.thresholds, made=json.dumps(self.made | {"digest": compute_digest()}), **halves
        )

    @classmethod
    def join(cls, some: Sequence[Weights]) -> Weights:
        """Return the networks of several files as one, with the thresholds of the first."""
        layers = {name: np.concatenate([one.layers[name] for one in some]) for name in some[0].layers}
        return cls(layers, some[0].thresholds, some[0].made | {"networks": len(layers["encoder.bias"])})

    @classmethod
    def load_for_robot(cls, robot: Robot) -> Weights:
        """Return the weights of detector_NAME.npz beside the robot's file, else the packaged ones."""
        own = find_own_file(robot, f"detector_{robot.name}.npz")
        return cls.load(own) if own else cls.load()


class Network:
    """Computes probabilities step by step; it keeps the last values of each layer."""

    def __init__(self, weights: Weights, legs: int) -> None:
        self._w = weights.layers
        networks, width, _ = self._w["encoder.weight"].shape
        self._past = [np.zeros((2 * dilation, networks, legs, width), np.float32) for dilation in DILATIONS]

    def reset(self) -> None:
        """Forget what was before."""
        for past in self._past:
            past[:] = 0.0

    def step(self, features: np.ndarray) -> np.ndarray:
        """Return the probability of each class (legs, CLASSES) after one more vector of features (legs, COUNT)."""
        h = np.maximum(self._linear("encoder", features), 0.0)
        for k, dilation in enumerate(DILATIONS):
            past = self._past[k]
            pooled = np.maximum(self._linear(f"pool.{k}", h), 0.0)
            shared = np.concatenate([pooled.mean(axis=1, keepdims=True), pooled.max(axis=1, keepdims=True)], axis=2)
            shared = np.broadcast_to(shared, (*h.shape[:2], shared.shape[2]))
            seen = np.concatenate([past[0], past[dilation], h, shared], axis=2)
            new = h + np.maximum(self._linear(f"convolution.{k}", seen), 0.0)
            past[:-1] = past[1:]
            past[-1] = h
            h = new
        odds = self._linear("output", h)
        odds = np.exp(odds - odds.max(axis=2, keepdims=True))
        return (odds / odds.sum(axis=2, keepdims=True)).mean(axis=0)

    def _linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self._w[f"{name}.weight"].swapaxes(1, 2) + self._w[f"{name}.bias"][:, None]
