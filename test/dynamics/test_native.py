"""Compiled functions as Python builtins: what they take, what they refuse, and that they keep nothing."""

import resource
import subprocess
import sys

import numpy as np
import pytest

from hexapod_dynamics.dynamics import WholeBodyModel, entry_points
from hexapod_dynamics.dynamics.native import RUNTIME, builtin
from hexapod_dynamics.robot import Robot

MODEL = WholeBodyModel(Robot.jethexa())
FORWARD = builtin(entry_points.forward)


def arguments():
    return [MODEL._whole.memory, np.eye(3), np.zeros(18), np.zeros(24), np.zeros(18)]


def test_all_models_share_one_builtin_which_is_bound_to_the_runtime():
    assert builtin(entry_points.forward) is FORWARD
    assert FORWARD.__self__ is RUNTIME
    assert FORWARD.__name__ == "forward"


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


def test_another_layout_of_arrays_is_refused_when_it_is_imported():
    script = (
        "import numpy as np, ctypes\n"
        "real = np.ctypeslib.as_array\n"
        "np.ctypeslib.as_array = lambda words: np.roll(real(words), 1)\n"
        "import hexapod_dynamics.dynamics\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "ImportError" in done.stderr
    assert "standard 64-bit build of CPython" in done.stderr
