"""The call gate of the core: what it takes, converts and refuses, and that it keeps nothing."""

import sys

import numpy as np
import pytest

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Robot

MODEL = WholeBodyModel(Robot.jethexa())


def arguments():
    return [np.eye(3), np.zeros(18), np.zeros(24), np.zeros(18)]


@pytest.mark.parametrize(
    "stranger",
    [
        [0.5] * 18,
        np.full(18, 0.5, np.float32),
        np.full(18, 0.5, ">f8"),
        np.full(36, 0.5)[::2],
        np.full(18, 0.5).view(np.recarray),
        np.frombuffer(b" " + np.full(18, 0.5).tobytes(), np.uint8)[1:].view(np.float64),  # not aligned
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


@pytest.mark.parametrize("stranger", [None, 7, 2.5, "q", np.float64(3.0), np.array(3.0), np.zeros((18, 1))], ids=str)
@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_what_cannot_be_converted_is_refused(stranger, place):
    given = arguments()
    given[place] = stranger
    with pytest.raises(DynamicsError, match=("R", "q", "nu", "tau")[place]):
        MODEL.forward_dynamics(*given)


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
