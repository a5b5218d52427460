"""The eliminated feet and constants are those of the whole least-squares problem."""

import numpy as np
import pytest

from hexapod_dynamics.identification.geometry import solve_chain


def test_the_chain_solves_the_whole_problem():
    random = np.random.default_rng(3)
    F, G, B = 3, 2, 5
    weights = np.array([[4.0, 1.0, 0.0], [2.0, 3.0, 5.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
    moved = random.normal(size=(B - 1, F))
    rows, residuals = random.normal(size=(B, 6, F + G)), random.normal(size=(B, 6))
    information, pull = np.einsum("bki,bkj->bij", rows, rows), np.einsum("bki,bk->bi", rows, residuals)
    whole, right = np.zeros((B * F + G, B * F + G)), np.zeros(B * F + G)
    for b in range(B):
        if b:
            change = np.zeros((F, B * F + G))
            change[:, b * F : (b + 1) * F], change[:, (b - 1) * F : b * F] = np.eye(F), -np.eye(F)
            whole += change.T @ (weights[b - 1][:, None] * change)
            right -= change.T @ (weights[b - 1] * moved[b - 1])
        here = np.concatenate([np.arange(b * F, (b + 1) * F), B * F + np.arange(G)])
        whole[np.ix_(here, here)] += information[b]
        right[here] += pull[b]
    constants, covariance, feet = solve_chain(information, pull, moved, weights)
    wanted = np.linalg.solve(whole, right)
    assert constants == pytest.approx(wanted[-G:], abs=1e-10)
    assert feet.ravel() == pytest.approx(wanted[:-G], abs=1e-10)
    assert covariance == pytest.approx(np.linalg.inv(whole)[-G:, -G:], abs=1e-10)
