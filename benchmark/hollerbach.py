"""Time of the six formulations against the number of joints: python benchmark/hollerbach.py [--joints 32]."""

import argparse
import time

import numpy as np

from hexapod_dynamics.dynamics.chain.chain import Chain
from hexapod_dynamics.papers.hollerbach import TERMS, link_terms
from hexapod_dynamics.papers.hollerbach_operations import count_operations

ORDERS = {"uicker_kahn": 4, "waters": 2, "recursive_4x4": 1, "recursive_3x3": 1, "newton_euler": 1}


def arm(n):
    """Serial arm of n equal links whose axes alternate."""
    rows = [(0, 0.1, 0.3, np.pi / 2 * (i % 2)) for i in range(n)]
    return Chain.from_denavit_hartenberg(rows, [1] * n, [[-0.15, 0, 0]] * n, [np.diag([0.002, 0.01, 0.01])] * n)


def seconds(formulation, n):
    """Least time of one call, the terms that depend on the posture given as in Table I."""
    q, qdot, qddot = np.random.default_rng(n).normal(size=(3, n))
    terms = link_terms(arm(n), q)
    laps = []
    until = time.perf_counter() + 0.25
    while len(laps) < 3 or (time.perf_counter() < until and len(laps) < 200):
        start = time.perf_counter()
        formulation(terms, qdot, qddot)
        laps.append(time.perf_counter() - start)
    return min(laps)


def order(sizes, values):
    """Slope of log(value) against log(n) over the two largest sizes."""
    return float(np.polyfit(np.log(sizes[-2:]), np.log(values[-2:]), 1)[0])


def measure(joints=32):
    """{method: (sizes, seconds, multiplications)}."""
    sizes = {"uicker_kahn": sorted({2, 4, 8, 16, joints}), "waters": [2, 4, 8, 16, 32, 64, 128, 256]}
    results = {}
    for name in ORDERS:
        chosen = sizes.get(name, [2, 4, 8, 16, 32, 64, 128])
        results[name] = (
            chosen,
            [seconds(TERMS[name], n) for n in chosen],
            [0] * (len(chosen) - 2) + [count_operations(name, n).multiplications for n in chosen[-2:]],
        )
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--joints", type=int, default=32, help="largest chain for Uicker/Kahn")
    for name, (sizes, times, products) in measure(parser.parse_args().joints).items():
        print(f"{name:16s} " + "  ".join(f"n={n}: {1e3 * t:.3g} ms" for n, t in zip(sizes, times, strict=True)))
        print(
            f"{'':16s} order in n: measured {order(sizes, times):.2f}, counted {order(sizes, products):.2f}, "
            f"leading power {ORDERS[name]}"
        )


if __name__ == "__main__":
    main()
