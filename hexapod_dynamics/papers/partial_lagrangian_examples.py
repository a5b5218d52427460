"""The pendulums of Kusaka & Tanaka 2022, section 3, free and controlled, and their simulation.

Angles from the horizontal, y = l sin(theta), g = 9.8 m/s^2. The paper prints masses, lengths, friction and gains;
it does not print the initial state (here: all links level, at rest), the third link (here: equal to the second),
and the gains of the slider's PID (here: `SLIDER_GAINS`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.integrate import solve_ivp

from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.papers.partial_lagrangian import Dynamics, PartialLagrangian, revolute_link, sliding_link

LINKS = ((2.0, 3.0, 1.0), (1.0, 1.0, 1.0), (1.0, 1.0, 1.0))  # length [m], mass [kg], friction [N s/m]
SLIDER_GAINS = (200.0, 50.0, 50.0)  # proportional, integral, derivative


class Control(NamedTuple):
    """PID on the joint variables, (n,) each; zero gains leave a joint free."""

    target: np.ndarray
    proportional: np.ndarray
    derivative: np.ndarray
    integral: np.ndarray

    @classmethod
    def pd(cls, target: np.ndarray, proportional: npt.ArrayLike, derivative: npt.ArrayLike) -> Control:
        """PD control."""
        return cls(np.asarray(target), np.asarray(proportional), np.asarray(derivative), np.zeros(len(target)))

    @classmethod
    def free(cls, n: int) -> Control:
        """No control."""
        return cls(*np.zeros((4, n)))


class Example(NamedTuple):
    """A chain, its control, the initial state (n,) at rest and the duration of the simulation [s]."""

    chain: PartialLagrangian
    control: Control
    start: np.ndarray
    duration: float


def pendulum(n: int) -> PartialLagrangian:
    """Return the first n links; links beyond the third are equal to the third."""
    return PartialLagrangian(
        [
            revolute_link(length, mass, damping=friction)
            for length, mass, friction in (LINKS[min(i, 2)] for i in range(n))
        ]
    )


def free_pendulum(n: int, duration: float = 10.0) -> Example:
    """Figures 1a, 2a, 3a and 5a: damped oscillation of n links."""
    return Example(pendulum(n), Control.free(n), np.zeros(n), duration)


def controlled_pendulum(n: int, duration: float = 10.0) -> Example:
    """Figures 1b, 2b, 3b: PD control of 1, 2 or 3 links with the printed targets and gains."""
    targets = {1: (110,), 2: (80, 30), 3: (125, 30, 30)}
    gains = {1: ((200,), (50,)), 2: ((100, 50), (50, 20)), 3: ((1000, 1000, 500), (200, 200, 100))}
    if n not in targets:
        raise DynamicsError(f"the paper controls 1, 2 or 3 links, not {n}")
    return Example(pendulum(n), Control.pd(np.deg2rad(targets[n]), *gains[n]), np.zeros(n), duration)


def slider(duration: float = 10.0) -> Example:
    """Figure 4: the second of three links is replaced by a slider that moves from 1 to 0.1 m; the others are free."""
    _, mass, friction = LINKS[1]
    chain = pendulum(3).replace(1, sliding_link(mass, damping=friction))
    p, i, d = SLIDER_GAINS
    only = np.array([0, 1, 0])
    return Example(chain, Control(0.1 * only, p * only, d * only, i * only), np.array([0, 1.0, 0]), duration)


def simulate(dynamics: Dynamics, example: Example, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Joint variables and rates (T, n) at `times` (T,), integrated with small tolerances; dynamics: of
    example.chain.
    """
    n, control = len(example.start), example.control

    def field(_: float, state: np.ndarray) -> np.ndarray:
        q, qdot, error = state[:n], state[n : 2 * n], control.target - state[:n]
        forces = control.proportional * error + control.integral * state[2 * n :] - control.derivative * qdot
        return np.concatenate((qdot, dynamics.accelerations(q, qdot, forces), error))

    run = solve_ivp(
        field,
        (0, times[-1]),
        np.concatenate((example.start, np.zeros(2 * n))),
        method="DOP853",
        t_eval=times,
        rtol=1e-10,
        atol=1e-11,
    )
    if not run.success:
        raise DynamicsError(f"the integration stopped at {run.t[-1] if len(run.t) else 0:g} s: {run.message}")
    return run.y[:n].T, run.y[n : 2 * n].T
