"""Gradients of detection/network.py for many windows at once, by hand in numpy, and AdamW with one cycle of its rate.

A network of 18,000 weights needs no framework: a step of 32 windows takes a tenth of a second on one core.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.detection.network import DILATIONS, layer_sizes

HIDDEN, POOLED = 32, 12  # width of the layers, and of what the legs share

Layers = dict[str, np.ndarray]


def random_layers(seed: int) -> Layers:
    """Return random weights: uniform in +-1 / sqrt(number of inputs), as is usual for linear layers."""
    random, layers = np.random.default_rng(seed), {}
    for name, (outputs, inputs) in layer_sizes(HIDDEN, POOLED).items():
        bound = 1.0 / math.sqrt(inputs)
        layers[f"{name}.weight"] = random.uniform(-bound, bound, (outputs, inputs)).astype(np.float32)
        layers[f"{name}.bias"] = random.uniform(-bound, bound, outputs).astype(np.float32)
    return layers


class _Block(NamedTuple):
    """What a convolution has computed, for its gradient."""

    seen: np.ndarray  # its inputs: two earlier steps, the present one, what the legs share
    pooled: np.ndarray
    largest: np.ndarray  # leg with the largest of each pooled number
    active: np.ndarray  # where its rectifier lets through


def _shift_later(x: np.ndarray, steps: int) -> np.ndarray:
    """Return x (windows, T, ...) later by some steps, or earlier by a negative number of them; 0 where nothing is."""
    found = np.zeros_like(x)
    if steps > 0:
        found[:, steps:] = x[:, :-steps]
    else:
        found[:, :steps] = x[:, -steps:]
    return found


def _linear(layers: Layers, name: str, x: np.ndarray) -> np.ndarray:
    """Return what a linear layer gives for inputs (..., inputs)."""
    return x @ layers[f"{name}.weight"].T + layers[f"{name}.bias"]


def compute_gradients(
    layers: Layers, features: np.ndarray, classes: np.ndarray, weights: np.ndarray
) -> tuple[float, Layers]:
    """Return the mean cross entropy and its gradients.

    Args:
        layers: weights of the network.
        features: (windows, T, legs, COUNT).
        classes: (windows, T, legs) whole numbers.
        weights: (windows, T, legs) of each in the mean.

    """
    first = _linear(layers, "encoder", features)
    h = np.maximum(first, 0.0)
    blocks = []
    for k, dilation in enumerate(DILATIONS):
        pooled = np.maximum(_linear(layers, f"pool.{k}", h), 0.0)
        largest = pooled.argmax(axis=2, keepdims=True)
        shared = np.concatenate([pooled.mean(axis=2, keepdims=True), np.take_along_axis(pooled, largest, 2)], axis=-1)
        shared = np.broadcast_to(shared, (*h.shape[:3], shared.shape[3]))
        seen = np.concatenate([_shift_later(h, 2 * dilation), _shift_later(h, dilation), h, shared], axis=-1)
        z = _linear(layers, f"convolution.{k}", seen)
        blocks.append(_Block(seen, pooled, largest, z > 0.0))
        h = h + np.maximum(z, 0.0)
    odds = _linear(layers, "output", h)
    odds -= odds.max(axis=-1, keepdims=True)
    p = np.exp(odds)
    p /= p.sum(axis=-1, keepdims=True)
    share = weights / weights.sum()
    chosen = np.take_along_axis(p, classes[..., None], -1)[..., 0]
    loss = float(-(share * np.log(np.maximum(chosen, 1e-30))).sum())

    np.put_along_axis(p, classes[..., None], chosen[..., None] - 1.0, -1)
    d = (p * share[..., None]).astype(features.dtype)
    gradients: Layers = {}
    _add(gradients, "output", d, h)
    d = d @ layers["output.weight"]
    for k in reversed(range(len(DILATIONS))):
        d = _through(layers, gradients, k, blocks[k], d)
    d = d * (first > 0.0)
    _add(gradients, "encoder", d, features)
    return loss, gradients


def _add(gradients: Layers, name: str, d: np.ndarray, inputs: np.ndarray) -> None:
    """Store the gradients of a linear layer: d (..., outputs), inputs (..., inputs)."""
    flat = d.reshape(-1, d.shape[-1])
    gradients[f"{name}.weight"] = flat.T @ inputs.reshape(-1, inputs.shape[-1])
    gradients[f"{name}.bias"] = flat.sum(axis=0)


def _through(layers: Layers, gradients: Layers, k: int, block: _Block, d: np.ndarray) -> np.ndarray:
    """Return the gradient before convolution k, of the one after it; add those of its weights."""
    dilation, legs, dz = DILATIONS[k], d.shape[2], d * block.active
    _add(gradients, f"convolution.{k}", dz, block.seen)
    two, one, now, shared = np.split(dz @ layers[f"convolution.{k}.weight"], HIDDEN * np.arange(1, 4), axis=-1)
    d_mean, d_largest = np.split(shared.sum(axis=2, keepdims=True), 2, axis=-1)
    d_pooled = np.repeat(d_mean / legs, legs, axis=2)
    np.put_along_axis(d_pooled, block.largest, np.take_along_axis(d_pooled, block.largest, 2) + d_largest, 2)
    d_pooled *= block.pooled > 0.0
    _add(gradients, f"pool.{k}", d_pooled, block.seen[..., 2 * HIDDEN : 3 * HIDDEN])
    before = d + _shift_later(two, -2 * dilation) + _shift_later(one, -dilation) + now
    return before + d_pooled @ layers[f"pool.{k}.weight"]


class AdamW:
    """Adam with decoupled decay (Loshchilov and Hutter 2019), and one cycle of its rate (Smith 2018).

    The rate rises by a cosine for RISES of the steps and falls by one to 0; gradients longer than 1 are shortened.

    Args:
        layers: what is changed, in place.
        steps: how many steps there will be.
        rate: the largest.

    """

    RISES, FIRST, DECAY, BETAS, LEAST = 0.2, 0.04, 1e-2, (0.9, 0.999), 1e-8

    def __init__(self, layers: Layers, steps: int, rate: float) -> None:
        self._layers, self._steps, self._rate = layers, steps, rate
        self._mean = {name: np.zeros_like(array) for name, array in layers.items()}
        self._square = {name: np.zeros_like(array) for name, array in layers.items()}
        self._step = 0

    def _rate_now(self) -> float:
        rises = self.RISES * self._steps
        if self._step < rises:
            way = 0.5 - 0.5 * math.cos(math.pi * self._step / rises)
            return self._rate * (self.FIRST + (1.0 - self.FIRST) * way)
        return self._rate * (0.5 + 0.5 * math.cos(math.pi * (self._step - rises) / max(self._steps - rises, 1.0)))

    def step(self, gradients: Layers) -> None:
        """Change the layers by their gradients."""
        rate = self._rate_now()
        self._step += 1
        length = math.sqrt(sum(float((g * g).sum()) for g in gradients.values()))
        shorter = min(1.0, 1.0 / max(length, self.LEAST))
        a, b = self.BETAS
        for name, gradient in gradients.items():
            g = gradient * shorter
            mean, square = self._mean[name], self._square[name]
            mean += (1.0 - a) * (g - mean)
            square += (1.0 - b) * (g * g - square)
            size = np.sqrt(square / (1.0 - b**self._step)) + self.LEAST
            self._layers[name] *= 1.0 - rate * self.DECAY
            self._layers[name] -= (rate / (1.0 - a**self._step) * mean / size).astype(np.float32)
