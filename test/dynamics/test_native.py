"""Compiled functions as Python builtins: what they take, what they refuse, and that they keep nothing."""

import pickle
import resource
import sys

import numpy as np
import pytest

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Robot

MODEL = WholeBodyModel(Robot.jethexa())
FORWARD = MODEL._forward


def arguments():
    return [MODEL._whole.memory, np.eye(3), np.zeros(18), np.zeros(24), np.zeros(18)]


def test_the_builtins_are_those_of_the_table():
    assert FORWARD.__name__ == "forward"
    assert set(MODEL._kernels.functions) >= {"forward", "inverse", "gravity", "mass", "held", "poses", "place"}


@pytest.mark.parametrize("argument", [0, 1, 2, 3])
def test_an_array_out_of_a_pickle_or_a_copy_of_it_is_taken(argument):
    """Its dtype is equal to float64's but another object: so is every argument of multiprocessing, joblib and dask."""
    given = arguments()
    expected = FORWARD(*given)
    given[1 + argument] = pickle.loads(pickle.dumps(given[1 + argument]))
    np.testing.assert_array_equal(FORWARD(*given), expected)
    np.testing.assert_array_equal(MODEL.forward_dynamics(*given[1:]), expected)
    given[1 + argument] = given[1 + argument].copy()
    np.testing.assert_array_equal(FORWARD(*given), expected)


def test_a_wrong_number_out_of_a_pickle_is_refused_by_its_own_name():
    q = pickle.loads(pickle.dumps(np.full(18, np.nan)))
    with pytest.raises(DynamicsError, match="q: .*not finite"):
        MODEL.forward_dynamics(np.eye(3), q, np.zeros(24), np.zeros(18))


@pytest.mark.parametrize("given", [[], [None], [np.zeros(3)], [np.zeros(3, int)], arguments()[:4], [*arguments(), 1]])
def test_a_call_without_its_memory_or_with_another_number_of_arguments_is_a_type_error(given):
    with pytest.raises(TypeError):
        FORWARD(*given)


@pytest.mark.parametrize(
    "stranger",
    [
        None,
        7,
        2.5,
        "q",
        [0.0] * 18,
        np.float64(3.0),
        np.array(3.0),
        np.zeros(18, np.float32),
        np.zeros(18, ">f8"),
        np.zeros(18, int),
        np.zeros((18, 1)),
        np.zeros(36)[::2],
        np.zeros(18).view(np.recarray),
        np.frombuffer(bytes(145), np.uint8)[1:].view(np.float64),  # not aligned
    ],
    ids=str,
)
@pytest.mark.parametrize("place", [1, 2, 3, 4])
def test_what_is_no_array_of_that_kind_is_refused(stranger, place):
    given = arguments()
    assert FORWARD(*given).shape == (24,)
    given[place] = stranger
    assert FORWARD(*given) is None


def test_calls_keep_no_references():
    given, bad = arguments(), arguments()
    bad[1] = np.ones((3, 3))
    counts = [sys.getrefcount(item) for item in (*given, *bad)]
    results = [FORWARD(*given) for _ in range(1000)]
    assert {sys.getrefcount(result) for result in results} == {3}  # the list's, the loop's, the call's
    for _ in range(1000):
        FORWARD(*bad)
    assert [sys.getrefcount(item) for item in (*given, *bad)] == counts


def test_what_is_made_is_given_up_again():
    """Memory of a loop over every call that makes arrays, numbers, tuples, or gives them up halfway."""
    q, nu, tau, R, p = np.zeros(18), np.ones(24), np.ones(18), np.eye(3), np.zeros(3)
    huge = np.full(24, 1e300)  # finite, but the result is not

    def tick():
        MODEL.link_poses(R, p, q)
        MODEL.kinetic_energy(q, nu)
        MODEL.forward_dynamics_derivatives(R, q, nu, tau)
        MODEL.constrained_forward_dynamics(R, q, nu, tau, ["LF", "RM"])
        for call in (MODEL._forward, MODEL._forward_derivatives):
            assert call(MODEL._whole.memory, R, q, huge, tau) is None
        assert MODEL._inverse_derivatives(MODEL._whole.memory, R, q, huge, huge) is None
        assert MODEL._held(MODEL._whole.memory, R, q, huge, tau, MODEL._legs["LF"]) is None
        assert MODEL._poses(MODEL._whole.memory, R, p, huge, MODEL._whole.links) is None

    def grown():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(20000):
            tick()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    grown()
    assert grown() < 1000  # kB; one array of 24 numbers kept by each tick would be 6000
