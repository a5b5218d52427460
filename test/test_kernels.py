"""Compiled kernels: they are what runs, their structs are what numpy writes, their sources are not newer than they."""

import copy
import importlib
import pickle
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import AdaptiveGait, TripodGait, adaptive_state, leg_table, plan_numbers, tripod_state
from hexapod_dynamics.gait.gait_memory import WalkMemory
from hexapod_dynamics.gait.planning import evaluation
from hexapod_dynamics.robot import Morphology, Robot

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
KERNELS = runpy.run_path(str(ROOT / "build_kernels.py"))["KERNELS"]
ROBOT = Robot.jethexa()
# Struct of a .pxd: the dtype of the same memory.
STRUCTS = {
    "gait/leg_table.Leg": leg_table.LEG,
    "gait/plan_numbers.Plan": plan_numbers.PLAN,
    "gait/adaptive_state.Settings": adaptive_state.SETTINGS_LAYOUT,
    "gait/adaptive_state.Command": adaptive_state.COMMAND_LAYOUT,
    "gait/adaptive_state.State": adaptive_state.STATE_LAYOUT,
    "gait/adaptive_state.Foot": adaptive_state.FOOT_LAYOUT,
    "gait/tripod_state.Parameters": tripod_state.PARAMETERS_LAYOUT,
    "gait/tripod_state.State": tripod_state.STATE_LAYOUT,
    "gait/tripod_state.Foot": tripod_state.FOOT_LAYOUT,
    "gait/planning/evaluation.Findings": evaluation.FOUND,
    "gait/planning/evaluation.Point": evaluation.POINT,
    "gait/planning/evaluation.Spot": evaluation.SPOT,
    "gait/planning/evaluation.Segment": evaluation.SEGMENT,
    "gait/first_cycle.Found": importlib.import_module("hexapod_dynamics.gait.first_cycle").FOUND,
}


def fields(module, name):
    """The fields of a struct of a .pxd: (name, how many numbers)."""
    text = (ROOT / "hexapod_dynamics" / f"{module}.pxd").read_text()
    body = re.search(rf"cdef struct {name}:\n((?:    .*\n)+)", text)[1]
    found = re.findall(r"^    double (\w+)(?:\[(\d+)\])?$", body, re.MULTILINE)
    assert len(found) == body.count("\n")
    return [(field, int(size or 1)) for field, size in found]


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_is_compiled_and_not_older_than_its_source(name):
    module = Path(importlib.import_module(f"hexapod_dynamics.{name}").__file__)
    assert module.suffix == ".so", f"{module} is not compiled: build the package again"
    source = module.parent / f"{name.rpartition('.')[2]}.py"
    for path in (source, ROOT / "hexapod_dynamics" / f"{name.replace('.', '/')}.pxd"):
        assert path.stat().st_mtime <= module.stat().st_mtime, f"{path} is newer than {module}: build the package again"


@pytest.mark.parametrize("name", STRUCTS)
def test_a_struct_has_the_fields_of_its_array(name):
    module, _, struct = name.rpartition(".")
    layout = STRUCTS[name]
    assert fields(module, struct) == [(field, layout[field].itemsize // 8) for field in layout.names]


def test_the_modes_are_numbered_alike():
    text = (ROOT / "hexapod_dynamics/gait/adaptive_state.pxd").read_text()
    names = re.search(r"cdef enum:\n    (.*)\n", text)[1].split(", ")
    assert [getattr(adaptive_state, name) for name in names] == list(range(len(names)))


SPOILS = {
    "other type": np.float32,
    "too short": lambda array: array[:-1],
    "with gaps": lambda array: np.repeat(array, 2)[::2],
    "list": list,
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
def test_an_array_that_does_not_fit_is_refused(spoil):
    walk = AdaptiveGait().bind(ROBOT).data
    with pytest.raises(HexapodError, match="allowed is a writable, contiguous float64 array of 36 numbers"):
        WalkMemory(walk._replace(state=spoil(walk.state)))


def pickled(gait):
    return pickle.loads(pickle.dumps(gait))


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize("kind", [TripodGait, AdaptiveGait])
def test_a_copy_walks_alike_and_on_its_own(kind, twin):
    gait = kind().bind(ROBOT)
    gait.walk()
    for _ in range(50):
        gait.step(0.02)
    other = twin(gait)
    expected = [gait.step(0.02)[0].copy() for _ in range(20)]
    assert np.array_equal([other.step(0.02)[0].copy() for _ in range(20)], expected)


def test_morphology_changes_reach_the_kernels():
    gait = AdaptiveGait().bind(ROBOT)
    gait.set_morphology(Morphology.whole(ROBOT).without("LF"))
    assert gait.data.legs[ROBOT.leg_names.index("LF"), leg_table.USED] == 0.0
