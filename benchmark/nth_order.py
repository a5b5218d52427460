"""Cost of the n-th derivative of inverse dynamics, three ways: python benchmark/nth_order.py."""

import time

import mpmath as mp
import numpy as np
from support.extended_precision import ExtendedChain, derivatives
from support.pinocchio_chain import random_chain

from hexapod_dynamics.papers.franka import franka, franka_trajectory
from hexapod_dynamics.papers.nth_order import closed_form, recursive
from hexapod_dynamics.papers.second_order import second_order


def seconds(function, *arguments, budget=0.2):
    laps, until = [], time.perf_counter() + budget
    while time.perf_counter() < until or len(laps) < 3:
        start = time.perf_counter()
        function(*arguments)
        laps.append(time.perf_counter() - start)
    return float(np.median(laps))


def differences(chain, t, order, h):
    """Central differences, error h^2, of the forces along the trajectory."""
    nodes = range(-order, order + 1, 2)
    weights = [(-1) ** k * mp.binomial(order, k) for k in range(order + 1)]
    return (
        sum(
            float(w) * recursive(chain, franka_trajectory(t - k * h / 2, 2), 0).forces[0]
            for w, k in zip(weights, nodes, strict=True)
        )
        / h**order
    )


def extended(chain, t, order, digits):
    """The same in `digits` digits."""
    model = ExtendedChain(chain)

    def forces(t):
        return model.forces(*mp_trajectory(t))

    with mp.workdps(digits):
        return derivatives(forces, mp.mpf(t), order)


def mp_trajectory(t):
    """q, qdot, qddot of sines at the arm's frequencies: the cost does not ask for more."""
    base = [2 * mp.pi * mp.mpf(v) for v in ("0.1", "0.1", "0.15", "0.15", "0.2", "0.2", "0.25")]
    return [[w**k * mp.sin(w * t + k * mp.pi / 2) for w in base] for k in range(3)]


def main():
    print("ms a call; by order (7 joints: the Franka arm), and by joints (order 3)")
    chain = franka()
    for order in range(7):
        motion = franka_trajectory(0.7, order + 2)
        one, other = seconds(recursive, chain, motion, order), seconds(closed_form, chain, motion, order)
        print(f"  order {order}: recursive {1e3 * one:6.2f}, closed form {1e3 * other:6.2f}, ratio {other / one:.2f}")
    motion = franka_trajectory(0.7, 4)
    by_hand, general = second_order(chain, motion), recursive(chain, motion, 2).forces
    apart = np.abs(by_hand - general).max() / np.abs(general).max()
    one, other = seconds(second_order, chain, motion), seconds(recursive, chain, motion, 2)
    print(
        f"  order 2 by hand: {1e3 * one:.2f} ms, the recursion for any order {1e3 * other:.2f} ms, {other / one:.2f} "
        f"times; they differ by {apart:.0e}"
    )
    for n in (1, 2, 4, 8, 16, 32):
        random = random_chain(np.random.default_rng(n), n)
        motion = np.random.default_rng(n).normal(size=(6, n))
        one, other = seconds(recursive, random, motion, 3), seconds(closed_form, random, motion, 3)
        print(
            f"  {n:2d} joints: recursive {1e3 * one:6.2f} ({1e3 * one / n:.2f} a joint), "
            f"closed form {1e3 * other:7.2f} ({1e3 * other / n:.2f} a joint)"
        )
    print("numerical differentiation, Franka arm")
    for order in range(1, 5):
        exact = recursive(chain, franka_trajectory(0.7, order + 2), order).forces[order]
        errors = {h: np.abs(differences(chain, 0.7, order, h) / exact - 1).max() for h in np.logspace(-5, -0.5, 30)}
        h = min(errors, key=errors.get)
        cost = seconds(recursive, chain, franka_trajectory(0.7, order + 2), order)
        naive, precise = seconds(differences, chain, 0.7, order, h), seconds(extended, chain, 0.7, order, 40)
        print(
            f"  order {order}: doubles reach {errors[h]:.0e} at best (h = {h:.1e}) for {naive / cost:.1f} times the "
            f"cost of the recursion; equal accuracy (1e-13) takes extended precision: {precise / cost:.0f} times"
        )


if __name__ == "__main__":
    main()
