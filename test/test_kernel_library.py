"""Compiled functions from the linked library: without a compiler, with the same numbers, in threads side by side."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_warm_up import BEGIN, PARTS

import hexapod_dynamics
from hexapod_dynamics import shared_library
from hexapod_dynamics.tools.compile_model import main

pytestmark = pytest.mark.skipif(shared_library.linker() is None, reason="there is no linker (package binutils)")
WITHOUT_COMPILER = "import sys\nsys.modules.update(dict.fromkeys(('numba', 'llvmlite', 'scipy', 'casadi')))\n"


@pytest.fixture(scope="module", autouse=True)
def library():
    assert main([]) == 0


def run(script):
    package = str(Path(hexapod_dynamics.__file__).parents[1])
    path = os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("part", PARTS)
def test_a_robot_breaks_in_every_way_without_a_compiler(part):
    """Importing the compiler raises in these processes."""
    assert "late: []" in run(WITHOUT_COMPILER + BEGIN + PARTS[part] + "print('late:', late)")


WALK = """
from hexapod_dynamics import kernel_library
if {numba}:
    kernel_library.covers = lambda module: False
import numpy as np
from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Ground, Predictor
robot = Robot.jethexa()
whole = Morphology.whole(robot)
gait = AdaptiveGait().bind(robot)
gait.reset(walking=True)
model, forward, torques = Predictor(robot, ground=Ground(rough=0.008, seed=7)), Feedforward(robot), []
model.set_state(np.array([0.0, 0.0, 0.13]), np.eye(3), gait.position, np.zeros(24))
for morphology in (whole, whole.without("RM"), whole.locked("RF.tibia", angle=0.4), whole.limp("LR.femur")):
    gait.set_morphology(morphology)
    model.set_morphology(morphology)
    forward.set_morphology(morphology)
    for _ in range(25):
        target, rates = gait.step(0.02)
        model.advance(0.02, target, 0.02)
        torques.append(np.asarray(forward.solve(model.rotation, model.position[2], model.nu[:6], target, rates,
                                                np.zeros(18), model.q)).copy())
import sys
assert ("numba" in sys.modules) == {numba}
print([float(v).hex() for v in (*model.position, *model.q, *model.nu, *np.ravel(torques[::10]))])
"""


def test_the_numbers_are_those_of_numba_to_the_bit():
    """A hundred steps on rough ground under four kinds of damage, chaotic enough to show any difference."""
    assert run(WALK.format(numba=False)) == run(WALK.format(numba=True))


ARGUMENTS = """
import numpy as np
from hexapod_dynamics.simulation.loops import command_all
from hexapod_dynamics.simulation.step import make_world
from hexapod_dynamics.simulation import Ground
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.compiled import LoadedKernel
import sys, copy, pickle
assert isinstance(command_all, LoadedKernel) and "numba" not in sys.modules, type(command_all)
assert pickle.loads(pickle.dumps(command_all)) is command_all and copy.deepcopy(command_all) is command_all
"""


def test_what_fits_no_signature_goes_to_numba_with_its_result():
    script = """
def by_numba(*arguments):
    return command_all.late.made(*arguments)
robot = Robot.jethexa()
def result(function, targets, *more):
    world = make_world(robot, Ground())
    function(world, targets, *more)
    return world.servos.tobytes()
wide = np.linspace(-0.5, 0.5, 36)
frozen = wide[:18].copy()
frozen.setflags(write=False)
cases = {
    "usual": (wide[:18], 0.02, 0.0), "strided": (wide[::2], 0.02, 0.0), "frozen": (frozen, 0.02, 0.0),
    "float32": (wide[:18].astype(np.float32), 0.02, 0.0), "scalars": (wide[:18], np.float64(0.02), np.float64(0.0)),
    "whole": (wide[:18], 1, 0), "swapped": (wide[:18].astype(">f8").astype("<f8"), 0.02, 0.0),
}
for name, case in cases.items():
    assert result(command_all, *case) == result(by_numba, *case), name
usual = wide[:18]
def refusal(function, *arguments):
    try:
        function(make_world(robot, Ground()), *arguments)
    except Exception as error:
        return type(error), str(error)[:60]
for wrong in ((usual,), (usual, 0.02, 0.0, 1.0), (None, 0.02, 0.0), (usual, "a", 0.0), (usual, 2**70, 0.0)):
    assert refusal(command_all, *wrong) == refusal(by_numba, *wrong) != None, wrong
print("good")
"""
    assert run(ARGUMENTS + script) == "good\n"


def test_a_kernel_that_computes_lets_other_threads_run():
    script = """
import threading, time
from hexapod_dynamics.simulation import Predictor
robot = Robot.jethexa()
model = Predictor(robot, horizon_steps=30000, horizon_period=0.02, horizon_timestep=0.002)
model.warm_up()
spent, counted = [], 0
def compute():
    begin = time.monotonic()
    model.roll_out(np.zeros_like(model.path_joints))
    spent.append(time.monotonic() - begin)
thread = threading.Thread(target=compute)
thread.start()
begin, longest = time.monotonic(), 0.0
while thread.is_alive():
    now = time.monotonic()
    longest, begin = max(longest, now - begin), now
    counted += 1
thread.join()
assert spent[0] > 0.1, spent
assert "numba" not in sys.modules and longest < 0.5 * spent[0] and counted > 1000, (longest, spent, counted)
print("good")
"""
    assert run(ARGUMENTS + script) == "good\n"
