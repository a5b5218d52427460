"""Foot forces: balance where balance is possible, never a pull, smooth in the load."""

import numpy as np
import pytest
from scipy.optimize import nnls
from support.allocations import least_growth

from hexapod_dynamics.control.feedforward import FootForces
from hexapod_dynamics.errors import HexapodError

ANGLES = np.deg2rad([45, 90, 135, -135, -90, -45])
TIPS = np.column_stack([0.2 * np.cos(ANGLES), 0.2 * np.sin(ANGLES), np.full(6, -0.12)])
TRIPOD = np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
WEIGHT = np.array([0.0, 0.0, 25.0, 0.0, 0.0, 0.0])


def wrench_of(forces, rotation, tips):
    body = forces @ rotation
    return np.r_[body.sum(axis=0), np.cross(tips, body).sum(axis=0)]


def tilt(angle):
    return np.array([[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]])


@pytest.mark.parametrize("load", [np.ones(6), TRIPOD, 1.0 - TRIPOD])
@pytest.mark.parametrize("angle", [0.0, 0.1])
def test_a_balanced_stance_carries_the_weight(load, angle):
    rotation = tilt(angle)
    wrench = np.r_[rotation.T @ WEIGHT[:3], 0, 0, 0]
    forces = FootForces(6).solve(wrench, rotation, TIPS, load)
    # The regularisation leaves 1e-4 / (feet + 1e-4) of the wrench uncarried.
    np.testing.assert_allclose(wrench_of(forces, rotation, TIPS), wrench, atol=5e-3)
    assert (forces[load == 0.0] == 0.0).all()


def test_forces_stay_in_the_friction_cone():
    rng = np.random.default_rng(2)
    solver = FootForces(6, friction=0.5)
    for _ in range(200):
        wrench = rng.normal(size=6) * [20, 20, 30, 3, 3, 3]
        forces = solver.solve(wrench, tilt(rng.normal() * 0.3), TIPS, rng.uniform(size=6))
        assert (np.hypot(forces[:, 0], forces[:, 1]) <= 0.5 * forces[:, 2] + 1e-9).all()


def test_a_foot_that_lifts_off_is_unloaded_smoothly():
    solver, before = FootForces(6), None
    for load in np.linspace(1.0, 0.0, 101):
        forces = solver.solve(WEIGHT, np.eye(3), TIPS, np.r_[load, np.ones(5)]).copy()
        if before is not None:
            assert np.abs(forces - before).max() < 0.6
        before = forces
    assert (before[0] == 0.0).all()


@pytest.mark.parametrize(
    "wrench, rounds, words",
    [(np.full(6, np.nan), 3, "not finite"), (np.full(6, np.inf), 3, "not finite"), (WEIGHT, 0, "did not end")],
    ids=["not a number", "infinite", "no convergence"],
)
def test_what_the_solver_cannot_do_is_an_error_of_this_package(monkeypatch, wrench, rounds, words):
    monkeypatch.setattr("hexapod_dynamics.control.feedforward.ROUNDS", rounds)
    with pytest.raises(HexapodError, match=f"no foot forces.*{words}"):
        FootForces(6).solve(wrench, np.eye(3), TIPS, np.ones(6))


def forces_of_scipy(solver, wrench, rotation, tips, load):
    """The minimum of the stated cost by scipy.optimize.nnls, (legs, 3)."""
    legs, edges, r = solver.legs, solver.edges, solver.regularisation
    share, body = np.sqrt(np.clip(load, 0, 1)), rotation.T @ solver.edges
    scale = np.r_[1, 1, 1, np.full(3, 1 / solver.length)]
    top = [
        scale * share[leg] * np.r_[body[:, e], np.cross(tips[leg], body[:, e])] for leg in range(legs) for e in range(4)
    ]
    matrix = np.vstack([np.array(top).T, np.kron(np.eye(legs), r * edges)])
    x, _ = nnls(matrix, np.r_[scale * wrench, np.zeros(3 * legs)])
    return (x.reshape(legs, 4) * share[:, None]) @ edges.T


@pytest.mark.parametrize("legs", [1, 2, 3, 6, 8])
def test_it_is_scipys_solution_whatever_was_solved_before(legs):
    rng = np.random.default_rng(legs)
    warm, worst = FootForces(legs, friction=0.5), 0.0
    tips, wrench, rotation, load = rng.normal(size=(legs, 3)) * 0.2, WEIGHT.copy(), np.eye(3), np.ones(legs)
    for k in range(600):
        if k % 3 == 0:  # another problem; else one a tick later
            tips = np.column_stack([*rng.uniform(-0.25, 0.25, (2, legs)), rng.uniform(-0.15, -0.05, legs)])
            wrench = rng.normal(size=6) * [8, 8, 30, 3, 3, 1]
            load = rng.choice([0.0, 1.0, 0.5, 1e-6, rng.uniform()], legs)
            rotation = tilt(rng.normal() * 0.3)
        else:
            wrench, tips = wrench + rng.normal(size=6) * 0.1, tips + rng.normal(size=(legs, 3)) * 1e-3
        reference = forces_of_scipy(warm, wrench, rotation, tips, load)
        worst = max(worst, np.abs(warm.solve(wrench, rotation, tips, load) - reference).max())
        worst = max(worst, np.abs(FootForces(legs, friction=0.5).solve(wrench, rotation, tips, load) - reference).max())
    assert worst < 1e-9, worst


def test_a_symmetric_stance_without_a_unique_choice_of_edges_is_scipys_too():
    """The four edges of a foot are dependent; on level ground many sets of edges give the same forces."""
    solver = FootForces(6)
    for load in (np.ones(6), TRIPOD, 1.0 - TRIPOD):
        for wrench in (WEIGHT, np.r_[5.0, 0, 25, 0, 0, 0], np.r_[0, 0, 25, 0, 0.5, 0]):
            reference = forces_of_scipy(solver, wrench, np.eye(3), TIPS, load)
            np.testing.assert_allclose(solver.solve(wrench, np.eye(3), TIPS, load), reference, rtol=0, atol=1e-9)


def test_solving_again_and_again_keeps_no_memory():
    solver = FootForces(6)
    assert least_growth(lambda: solver.solve(WEIGHT, np.eye(3), TIPS, TRIPOD)) <= 100
