"""CMA-ES with the default parameters and the equation numbers of Hansen, The CMA Evolution Strategy: A Tutorial, arXiv
1604.00772.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def minimise(
    function: Callable[..., object], start: np.ndarray, sigma: float, generations: int, *, seed: int = 1
) -> tuple[np.ndarray, float]:
    """Minimise a function of some ten numbers without derivatives; return the best point (n,) found and its value.

    function(generation (population, n), values (population,)): writes the values of a whole generation. start (n,);
    sigma: first step size.
    """
    rng = np.random.default_rng(seed)
    n = len(start)
    population = 4 + int(3.0 * np.log(n))
    parents = population // 2
    weights = np.log(0.5 * (population + 1.0)) - np.log(np.arange(1, parents + 1))
    weights /= weights.sum()
    effective = 1.0 / np.square(weights).sum()
    c_sigma = (effective + 2.0) / (n + effective + 5.0)
    d_sigma = 1.0 + 2.0 * max(0.0, np.sqrt((effective - 1.0) / (n + 1.0)) - 1.0) + c_sigma
    c_c = (4.0 + effective / n) / (n + 4.0 + 2.0 * effective / n)
    c_1 = 2.0 / ((n + 1.3) ** 2 + effective)
    c_mu = min(1.0 - c_1, 2.0 * (effective - 2.0 + 1.0 / effective) / ((n + 2.0) ** 2 + effective))
    expected = np.sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n))
    mean, covariance = np.array(start, float), np.eye(n)
    path_sigma, path_c = np.zeros(n), np.zeros(n)
    axes, lengths = np.eye(n), np.ones(n)
    values = np.zeros(population)
    best, least = mean.copy(), np.inf
    every = max(1, int(0.5 / ((c_1 + c_mu) * n * 5.0)))  # generations between two decompositions
    for generation in range(generations):
        if generation % every == 0:
            lengths, axes = np.linalg.eigh(covariance)
            lengths = np.sqrt(np.maximum(lengths, 1e-20))
        steps = (rng.standard_normal((population, n)) * lengths) @ axes.T  # (38), (39)
        points = mean + sigma * steps  # (40)
        function(points, values)
        order = np.argsort(values)
        if values[order[0]] < least:
            best, least = points[order[0]].copy(), float(values[order[0]])
        chosen = steps[order[:parents]]
        step = weights @ chosen  # (41)
        mean = mean + sigma * step  # (42)
        whitened = axes @ ((axes.T @ step) / lengths)
        path_sigma = (1.0 - c_sigma) * path_sigma + np.sqrt(c_sigma * (2.0 - c_sigma) * effective) * whitened  # (43)
        size = np.linalg.norm(path_sigma)
        going = size / np.sqrt(1.0 - (1.0 - c_sigma) ** (2 * generation + 2)) < (1.4 + 2.0 / (n + 1.0)) * expected
        path_c = (1.0 - c_c) * path_c  # (45)
        if going:
            path_c += np.sqrt(c_c * (2.0 - c_c) * effective) * step
        missing = 0.0 if going else c_1 * c_c * (2.0 - c_c)
        covariance *= 1.0 - c_1 - c_mu + missing  # (47)
        covariance += c_1 * np.outer(path_c, path_c) + c_mu * (chosen.T * weights) @ chosen
        sigma *= float(np.exp(min(1.0, c_sigma / d_sigma * (size / expected - 1.0))))  # (44)
        if sigma * lengths.max() < 1e-5:
            break
    return best, least
