"""Time of the six formulations against the number of joints: python benchmark/hollerbach.py [--joints 16]."""

import argparse
import time

import numpy as np

from hexapod_dynamics.dynamics.chain import Chain
from hexapod_dynamics.dynamics.hollerbach import FORMULATIONS
from hexapod_dynamics.dynamics.hollerbach_operations import count_operations

ORDERS = {'uicker_kahn': 4, 'waters': 2, 'recursive_4x4': 1, 'recursive_3x3': 1, 'newton_euler': 1}


def arm(n):
    """Serial arm of n equal links whose axes alternate."""
    rows = [(0, 0.1, 0.3, np.pi / 2 * (i % 2)) for i in range(n)]
    return Chain.from_denavit_hartenberg(rows, [1] * n, [[-0.15, 0, 0]] * n, [np.diag([0.002, 0.01, 0.01])] * n)


def seconds(torques, n):
    """Median time of one call, table generation included for the configuration space."""
    chain, state = arm(n), np.random.default_rng(n).normal(size=(3, n))
    laps = []
    until = time.perf_counter() + 0.25
    while len(laps) < 3 or (time.perf_counter() < until and len(laps) < 200):
        start = time.perf_counter()
        torques(chain, *state)
        laps.append(time.perf_counter() - start)
    return float(np.median(laps))


def order(sizes, values):
    """Slope of log(value) against log(n) over the upper half of the sizes."""
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(values[half:]), 1)[0])


def measure(joints=16):
    """{method: (sizes, seconds, multiplications)}."""
    sizes = sorted({2, 3, 4, 6, 8, 11, joints})
    results = {}
    for name in ORDERS:
        chosen = sizes if name == 'uicker_kahn' else [2, 4, 8, 16, 32, 64]
        results[name] = (chosen, [seconds(FORMULATIONS[name], n) for n in chosen],
                         [count_operations(name, n).multiplications for n in chosen])
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--joints', type=int, default=16, help='largest chain for Uicker/Kahn')
    for name, (sizes, times, products) in measure(parser.parse_args().joints).items():
        print(f'{name:16s} ' + '  '.join(f'n={n}: {1e3 * t:.3g} ms' for n, t in zip(sizes, times, strict=True)))
        print(f'{"":16s} order in n: measured {order(sizes, times):.2f}, counted {order(sizes, products):.2f}, '
              f'leading power {ORDERS[name]}')


if __name__ == '__main__':
    main()
