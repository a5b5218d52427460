"""Inverse dynamics of the papers: derivatives of any order, which are each the rate of the one below; the closed form's
Lemma 3; Hollerbach's six formulations and what they cost. Pinocchio is the truth.
"""

from fractions import Fraction

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp
from support.pinocchio_chain import pinocchio_model, random_chain, random_state, rnea
from support.random_robots import random_damage, random_robot

from hexapod_dynamics import se3
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.papers.closed_form import ClosedForm
from hexapod_dynamics.papers.hollerbach import FORMULATIONS
from hexapod_dynamics.papers.hollerbach_operations import (
    TABLE_I,
    TABLE_II,
    count_operations,
    explain_difference,
    polynomial,
    printed_counts,
)
from hexapod_dynamics.papers.nth_order import FloatingBase, closed_form, recursive

TOLERANCE = 1e-8  # relative; observed 1e-11
ORDER = 6
STEP = 0.02  # [s] of central differences of order 8
WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


class Sines:
    """x_i(t) = a sin(w t + p) + c and its derivatives by time."""

    def __init__(self, rng, n):
        self.a, self.w, self.p, self.c = (rng.uniform(*ends, n) for ends in ((0.3, 1), (0.7, 1.6), (0, 3), (-1, 1)))

    def __call__(self, t, order):
        rows = [self.a * self.w**k * np.sin(self.w * t + self.p + k * np.pi / 2) for k in range(order + 1)]
        return np.array([rows[0] + self.c, *rows[1:]])


def rate(at):
    """How fast at(t) changes at 0."""
    return sum(w * (at(k * STEP) - at(-k * STEP)) for k, w in WEIGHTS.items()) / STEP


def assert_each_is_the_rate_of_the_one_below(at):
    """at(t): rows 0 .. ORDER of the forces at a time; row k + 1 is how fast row k changes."""
    given, expected = at(0.0)[1:], rate(at)[:-1]
    assert (np.abs(given - expected).max(axis=1) < TOLERANCE * np.abs(expected).max(axis=1)).all()


@pytest.mark.parametrize("form", [recursive, closed_form])
@pytest.mark.parametrize("n, tree", [(1, False), (3, False), (5, True), (7, True)])
def test_on_the_ground(n, tree, form):
    rng = np.random.default_rng(10 * n + tree)
    chain, path = random_chain(rng, n, tree=tree), Sines(rng, n)

    def at(t):
        return form(chain, path(t, ORDER + 2), ORDER).forces

    np.testing.assert_allclose(at(0.0)[0], rnea(chain, *path(0.0, 2)), rtol=1e-12, atol=1e-12)
    assert_each_is_the_rate_of_the_one_below(at)


@pytest.mark.parametrize("form", [recursive, closed_form])
def test_on_a_floating_base(form):
    rng = np.random.default_rng(3)
    chain, body = random_chain(rng, 4, tree=True), random_chain(rng, 1)
    path, twist, start = Sines(rng, 4), Sines(rng, 6), se3.rotation_from_vector(rng.normal(size=3))

    def attitude(t):
        def field(t, rotation):
            return (rotation.reshape(3, 3) @ se3.skew(twist(t, 0)[0, 3:])).ravel()

        return solve_ivp(field, (0.0, t), start.ravel(), method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1].reshape(3, 3)

    def at(t):
        base = FloatingBase(body.spatial_inertias()[0], attitude(t), twist(t, ORDER + 1))
        return np.hstack(form(chain, path(t, ORDER + 2), ORDER, base)[::-1])

    model = pinocchio_model(chain, body)
    pose = np.concatenate([np.zeros(3), pin.Quaternion(start).coeffs()])
    state = [np.concatenate(parts) for parts in zip((pose, *twist(0.0, 1)), path(0.0, 2), strict=True)]
    np.testing.assert_allclose(at(0.0)[0], pin.rnea(model, model.createData(), *state), rtol=1e-11, atol=1e-11)
    assert_each_is_the_rate_of_the_one_below(at)


@pytest.mark.parametrize("form", [recursive, closed_form])
def test_wrong_input_is_refused_by_name(form):
    chain = random_chain(np.random.default_rng(6), 2)
    motion = np.zeros((5, 2))
    for order, needle in ((-1, "order is -1"), (1.5, "order is 1.5"), (True, "order is True"), (3, "needs q and 5")):
        with pytest.raises(DynamicsError, match=needle):
            form(chain, motion, order)
    with pytest.raises(DynamicsError, match="shape"):
        form(chain, np.zeros((5, 3)), 1)
    motion[2, 1] = np.nan
    with pytest.raises(DynamicsError, match="derivative 2 of q is not finite"):
        form(chain, motion, 1)
    with pytest.raises(DynamicsError, match="the base has twists"):
        form(chain, np.zeros((5, 2)), 2, FloatingBase(np.eye(6), np.eye(3), np.zeros((2, 6))))
    skewed = np.eye(6) + np.diag([0.1] * 5, 1)
    for inertia, rotation, needle in (
        (np.full((6, 6), np.nan), np.eye(3), "inertia: .* not finite"),
        (skewed, np.eye(3), "inertia is not symmetric"),
        (-np.eye(6), np.eye(3), "inertia is not positive"),
        (np.eye(6), np.ones((3, 3)), "rotation: .* is not a rotation"),
    ):
        with pytest.raises(DynamicsError, match=needle):
            form(chain, np.zeros((5, 2)), 1, FloatingBase(inertia, rotation, np.zeros((3, 6))))


@pytest.mark.parametrize("family", [1, 3])
def test_lemma_3_is_the_derivative_of_the_mass_matrix(family):
    """For every joint kind and damage."""
    rng = np.random.default_rng(family)
    robot = random_robot(rng, family, 4)
    morphology = random_damage(rng, robot)
    closed, q = ClosedForm(morphology), rng.normal(size=robot.joint_count)
    for joint in np.flatnonzero(morphology.moving_mask):
        way = np.eye(len(q))[joint]
        expected = rate(lambda t, way=way: closed.mass_matrix(q + t * way))
        given = closed.mass_matrix_derivative(q, joint)
        np.testing.assert_allclose(given, expected, rtol=0, atol=1e-10 * max(1e-3, np.abs(expected).max()))


EQUAL = 1e-10  # observed 3e-15


@pytest.mark.parametrize("n", range(1, 13))
def test_six_formulations_equal_pinocchio_and_each_other(n):
    rng = np.random.default_rng(n)
    for prismatic in (0, 0.4, 1) if n < 9 else (0.3,):
        chain = random_chain(rng, n, prismatic=prismatic)
        state = random_state(rng, n)
        reference = rnea(chain, *state)
        for name, torques in FORMULATIONS.items():
            error = np.abs(torques(chain, *state) - reference).max()
            assert error < EQUAL * np.abs(reference).max(), name


@pytest.mark.parametrize("name", FORMULATIONS)
def test_wrong_input_of_a_formulation_is_refused_by_name(name):
    rng = np.random.default_rng(1)
    torques = FORMULATIONS[name]
    with pytest.raises(DynamicsError, match="branches"):
        torques(random_chain(np.random.default_rng(3), 5, tree=True), *random_state(rng, 5))
    with pytest.raises(DynamicsError, match="qdot is not finite"):
        torques(random_chain(rng, 2), [0, 0], [0, np.nan], [0, 0])
    with pytest.raises(DynamicsError, match="this chain has 2 joints"):
        torques(random_chain(rng, 2), [0, 0, 0], [0, 0], [0, 0])


def counted_polynomials(name):
    counts = {n: count_operations(name, n) for n in range(1, 8)}
    return [polynomial({n: counts[n][which] for n in counts}) for which in (0, 1)]


@pytest.mark.parametrize("name", TABLE_I)
def test_counted_operations_grow_as_the_print_says(name):
    for ours, theirs in zip(counted_polynomials(name), TABLE_I[name], strict=True):
        assert len(ours) == len(theirs)  # the same degree, from seven points
        if name in ("uicker_kahn", "configuration_space"):
            assert ours[-1] == theirs[-1] and ours[0] == theirs[0]
        elif name != "waters":  # which forms iW_j twice, see explain
            assert abs(float(ours[-1] / Fraction(theirs[-1])) - 1) < 0.15


@pytest.mark.parametrize("name", ["waters", "recursive_4x4", "newton_euler", "configuration_space", "recursive_3x3"])
def test_every_difference_from_the_print_has_a_name(name):
    for n in range(2, 10):
        _, rest = explain_difference(name, n)
        assert (rest.multiplications, rest.additions) == (2 * n - 7 if name == "recursive_3x3" else 0, 0)


def test_table_two_is_table_one_at_six_joints_but_for_two_rows():
    """Waters' has one more multiplication a link, Uicker and Kahn's is no sum of the polynomials of Table I."""
    differ = {"uicker_kahn", "waters"}
    assert {name for name in TABLE_II if printed_counts(name, 6) != TABLE_II[name]} == differ
    assert (printed_counts("waters", 6)[0] + 6, printed_counts("waters", 6)[1]) == TABLE_II["waters"]
    rest = explain_difference("uicker_kahn", 6)[1].multiplications
    assert (rest, rest + TABLE_II["uicker_kahn"][0] - printed_counts("uicker_kahn", 6)[0]) == (-53, -935)


def test_counting_refuses_what_it_does_not_know():
    with pytest.raises(DynamicsError, match="known: uicker_kahn"):
        count_operations("kane", 3)
    with pytest.raises(DynamicsError, match="0 joints"):
        count_operations("waters", 0)
