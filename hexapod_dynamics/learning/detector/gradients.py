"""Gradients of network.py for many windows at once, by hand in numpy, and AdamW with one cycle of its rate.

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

    h: np.ndarray
    pooled: np.ndarray
    largest: np.ndarray  # leg with the largest of each pooled number
    shared: np.ndarray
    active: np.ndarray  # where its rectifier lets through


def _later(x: np.ndarray, steps: int) -> np.ndarray:
    """Return x (windows, T, ...) later by some steps, 0 before."""
    found = np.zeros_like(x)
    found[:, steps:] = x[:, : x.shape[1] - steps]
    return found


def _earlier(x: np.ndarray, steps: int) -> np.ndarray:
    """Return x (windows, T, ...) earlier by some steps, 0 after: the transpose of `_later`."""
    found = np.zeros_like(x)
    found[:, : x.shape[1] - steps] = x[:, steps:]
    return found


def loss_and_gradients(
    layers: Layers, features: np.ndarray, classes: np.ndarray, weights: np.ndarray
) -> tuple[float, Layers]:
    """Return the mean cross entropy and its gradients.

    Args:
        layers: weights of the network.
        features: (windows, T, legs, COUNT).
        classes: (windows, T, legs) whole numbers.
        weights: (windows, T, legs) of each in the mean.

    """
    first = features @ layers["encoder.weight"].T + layers["encoder.bias"]
    h = np.maximum(first, 0.0)
    blocks = []
    for k, dilation in enumerate(DILATIONS):
        pooled = np.maximum(h @ layers[f"pool.{k}.weight"].T + layers[f"pool.{k}.bias"], 0.0)
        largest = pooled.argmax(axis=2)
        shared = np.concatenate([pooled.mean(axis=2), np.take_along_axis(pooled, largest[:, :, None], 2)[:, :, 0]], -1)
        w = layers[f"convolution.{k}.weight"]
        z = h @ w[:, 2 * HIDDEN : 3 * HIDDEN].T + layers[f"convolution.{k}.bias"]
        z += _later(h @ w[:, :HIDDEN].T, 2 * dilation) + _later(h @ w[:, HIDDEN : 2 * HIDDEN].T, dilation)
        z += (shared @ w[:, 3 * HIDDEN :].T)[:, :, None]
        active = z > 0.0
        blocks.append(_Block(h, pooled, largest, shared, active))
        h = h + z * active
    odds = h @ layers["output.weight"].T + layers["output.bias"]
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
    w, dilation, legs = layers[f"convolution.{k}.weight"], DILATIONS[k], d.shape[2]
    dz = d * block.active
    one, two = _earlier(dz, dilation), _earlier(dz, 2 * dilation)
    of_legs = dz.sum(axis=2)
    flat = block.h.reshape(-1, HIDDEN)
    parts = [part.reshape(-1, HIDDEN).T @ flat for part in (two, one, dz)]
    parts.append(of_legs.reshape(-1, HIDDEN).T @ block.shared.reshape(-1, 2 * POOLED))
    gradients[f"convolution.{k}.weight"] = np.concatenate(parts, axis=1)
    gradients[f"convolution.{k}.bias"] = of_legs.sum(axis=(0, 1))
    before = d + two @ w[:, :HIDDEN] + one @ w[:, HIDDEN : 2 * HIDDEN] + dz @ w[:, 2 * HIDDEN : 3 * HIDDEN]
    d_shared = of_legs @ w[:, 3 * HIDDEN :]
    d_pooled = np.repeat(d_shared[:, :, None, :POOLED] / legs, legs, axis=2)
    at = block.largest[:, :, None]
    largest = np.take_along_axis(d_pooled, at, 2) + d_shared[:, :, None, POOLED:]
    np.put_along_axis(d_pooled, at, largest, 2)
    d_pooled *= block.pooled > 0.0
    _add(gradients, f"pool.{k}", d_pooled, block.h)
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
