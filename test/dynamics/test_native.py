"""Compiled functions as Python builtins: what they take, what they refuse, and that they keep nothing."""

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
    return [MODEL._whole.memory, np.eye(3), np.zeros(18), np.zeros(24), np.zeros(18), np.empty(24)]


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
@pytest.mark.parametrize("place", [2, 3, 4, 5])
def test_what_is_no_array_of_that_kind_is_refused(stranger, place):
    given = arguments()
    assert FORWARD(*given) == entry_points.OK
    given[place] = stranger
    assert FORWARD(*given) != entry_points.OK


def test_calls_keep_no_references():
    given, bad = arguments(), arguments()
    bad[1] = np.ones((3, 3))
    counts = [sys.getrefcount(item) for item in (*given, *bad)]
    for _ in range(1000):
        FORWARD(*given)
        FORWARD(*bad)
    assert [sys.getrefcount(item) for item in (*given, *bad)] == counts


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
