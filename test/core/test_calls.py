"""The call gate of the core: what it takes, converts and refuses, and that it keeps nothing."""

import pickle
import resource
import sys

import numpy as np
import pytest

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.se3 import rotation_z

MODEL = WholeBodyModel(Robot.jethexa())


def arguments():
    return [rotation_z(0.3), np.zeros(18), np.zeros(24), np.zeros(18)]


@pytest.mark.parametrize("argument", [0, 1, 2, 3])
def test_an_array_out_of_a_pickle_a_copy_and_one_that_is_read_only_are_taken(argument):
    """The dtype out of a pickle is equal to float64's but another object: so is every argument of multiprocessing."""
    given = arguments()
    expected = MODEL.forward_dynamics(*given)
    given[argument] = pickle.loads(pickle.dumps(given[argument]))
    np.testing.assert_array_equal(MODEL.forward_dynamics(*given), expected)
    given[argument] = given[argument].copy()
    given[argument].flags.writeable = False
    np.testing.assert_array_equal(MODEL.forward_dynamics(*given), expected)


@pytest.mark.parametrize(
    "stranger",
    [
        [0.5] * 18,
        np.full(18, 0.5, np.float32),
        np.full(18, 0.5, ">f8"),
        np.full(36, 0.5)[::2],
        np.full(18, 0.5).view(np.recarray),
        np.frombuffer(b" " + np.full(18, 0.5).tobytes(), np.uint8)[1:].view(np.float64),  # not aligned
        (0.5,) * 18,
    ],
    ids=str,
)
@pytest.mark.parametrize("place", [1, 3])
def test_what_can_be_converted_is(stranger, place):
    given = arguments()
    given[place] = np.full(18, 0.5)
    expected = MODEL.forward_dynamics(*given)
    given[place] = stranger
    np.testing.assert_array_equal(MODEL.forward_dynamics(*given), expected)
    given[0] = np.asfortranarray(given[0])
    np.testing.assert_array_equal(MODEL.forward_dynamics(*given), expected)
    np.testing.assert_array_equal(MODEL.mass_matrix([0] * 18), MODEL.mass_matrix(np.zeros(18)))


def test_calls_keep_no_references():
    given, bad = arguments(), arguments()
    bad[0] = np.ones((3, 3))
    counts = [sys.getrefcount(item) for item in (*given, *bad)]
    results = [MODEL.forward_dynamics(*given) for _ in range(1000)]
    assert {sys.getrefcount(result) for result in results} == {3}  # the list's, the loop's, the call's
    for _ in range(100):
        with pytest.raises(DynamicsError):
            MODEL.forward_dynamics(*bad)
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
        assert MODEL._hold(R, q, huge, tau, ["LF"], None) is None

    def grown():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(6000):
            tick()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    grown()
    assert grown() < 1000  # kB; one array of 24 numbers kept by each tick would be 1800
