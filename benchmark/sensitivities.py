"""Analytic gradients against differences and against Pinocchio: python benchmark/sensitivities.py [--skip-examples]."""

import argparse
import time

import numpy as np
import pinocchio as pin
from support.pinocchio_chain import pinocchio_model, random_chain, random_state

from hexapod_dynamics.dynamics.chain.sensitivities import inverse_dynamics, sensitivities
from hexapod_dynamics.dynamics.chain.trajectory_optimisation import MotionProblem, predict_motion
from hexapod_dynamics.papers.two_link_arm import tip_load, two_link_arm


def seconds(function, *arguments, budget=0.3):
    laps, until = [], time.perf_counter() + budget
    while time.perf_counter() < until or len(laps) < 3:
        start = time.perf_counter()
        function(*arguments)
        laps.append(time.perf_counter() - start)
    return float(np.median(laps))


def gradient_costs():
    print("one gradient (three Jacobians) of a serial chain; batch: per sample, of 100 samples at once")
    for n in (2, 3, 6, 12):
        chain = random_chain(np.random.default_rng(n), n)
        state = random_state(np.random.default_rng(n), n)
        batch = [np.tile(vector, (100, 1)) for vector in state]
        model = pinocchio_model(chain)
        data = model.createData()
        torques, ours = seconds(inverse_dynamics, chain, *state), seconds(sensitivities, chain, *state)
        each = seconds(sensitivities, chain, *batch) / 100
        theirs = seconds(lambda *s, m=model, d=data: pin.computeRNEADerivatives(m, d, *s), *state)
        print(
            f"  n={n:2d}: gradient {1e3 * ours:.2f} ms = {ours / torques:.1f} torque evaluations "
            f"(differences: {6 * n}); batch {1e6 * each:.0f} us; Pinocchio {1e6 * theirs:.1f} us: "
            f"{each / theirs:.0f} times less"
        )


def examples():
    for name, problem in (
        ("example 1", MotionProblem(two_link_arm(), [0, -2], [1, -1], torque_bound=10)),
        (
            "example 2",
            MotionProblem(
                two_link_arm(9.8062), [1.32, -2.37], [2.8, -2.37], torque_bound=10, effort=0.01, loads=(tip_load(10),)
            ),
        ),
    ):
        for gradients in ("analytic", "differences"):
            start = time.perf_counter()
            motion = predict_motion(problem, gradients=gradients)
            print(
                f"{name}, {gradients:11s}: T = {motion.duration:.5f} s, cost {motion.cost:.6f}, "
                f"bound crossed by {motion.crossing:.1e}, {motion.iterations} iterations, "
                f"{time.perf_counter() - start:.2f} s"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skip-examples", action="store_true")
    gradient_costs()
    if not parser.parse_args().skip_examples:
        examples()


if __name__ == "__main__":
    main()
