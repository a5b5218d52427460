from fractions import Fraction

import numpy as np
import pytest
from support.pinocchio_chain import random_chain, random_state, rnea

from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.papers.hollerbach import FORMULATIONS
from hexapod_dynamics.papers.hollerbach_operations import (
    TABLE_I,
    TABLE_II,
    count_operations,
    explain_difference,
    polynomial,
    printed_counts,
)

TOLERANCE = 1e-10  # the issue's; observed 3e-15


@pytest.mark.parametrize("n", range(1, 13))
def test_six_formulations_equal_pinocchio_and_each_other(n):
    rng = np.random.default_rng(n)
    for prismatic in (0, 0.4, 1) if n < 9 else (0.3,):
        chain = random_chain(rng, n, prismatic=prismatic)
        state = random_state(rng, n)
        reference = rnea(chain, *state)
        for name, torques in FORMULATIONS.items():
            error = np.abs(torques(chain, *state) - reference).max()
            assert error < TOLERANCE * np.abs(reference).max(), name


@pytest.mark.parametrize("name", FORMULATIONS)
def test_wrong_input_is_refused_by_name(name):
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


@pytest.mark.parametrize(
    "name, multiplications, additions",
    [
        ("waters", 0, 0),
        ("recursive_4x4", 0, 0),
        ("newton_euler", 0, 0),
        ("configuration_space", 0, 0),
        ("recursive_3x3", lambda n: 2 * n - 7, 0),
    ],
)
def test_every_difference_from_the_print_has_a_name(name, multiplications, additions):
    for n in range(2, 10):
        _, rest = explain_difference(name, n)
        assert rest.multiplications == (multiplications(n) if callable(multiplications) else multiplications)
        assert rest.additions == additions


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
