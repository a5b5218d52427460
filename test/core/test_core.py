"""The compiled core with each width of lanes that this processor has, and what its structs are for numpy."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from support.jethexa import ROBOT
from support.random_robots import FAMILIES, random_damage, random_robot, rotation

from hexapod_dynamics.core import _core
from hexapod_dynamics.dynamics.formulas import Body

LANES = [lanes for lanes in (2, 4, 8) if lanes <= _core.widest()]


@pytest.mark.parametrize("family", [None, *range(len(FAMILIES))])
def test_every_width_of_registers_gives_the_plain_recursion(family):
    """formulas.py on numbers; JetHexa, and random robots with legs of one to six joints of all kinds, damaged."""
    rng = np.random.default_rng(0 if family is None else family)
    robot = ROBOT if family is None else random_robot(rng, family, 4)
    for _ in range(3):
        morphology = random_damage(rng, robot)
        n = int(morphology.moving_mask.sum())
        R, q, tau = rotation(rng), rng.normal(size=robot.joint_count), rng.normal(size=n)
        nu, nudot = rng.normal(size=(2, 6 + n))
        plain = Body(morphology, R.tolist(), q.tolist(), nu.tolist(), math.sin, math.cos)
        for lanes in LANES:
            model = _core.Model(robot, lanes=lanes)
            assert model.lanes == lanes
            for given, expected in (
                (model.forward_dynamics(R, q, nu, tau, morphology), plain.forward_dynamics(tau.tolist())),
                (model.inverse_dynamics(R, q, nu, nudot, morphology), plain.inverse_dynamics(nudot.tolist())),
            ):
                np.testing.assert_allclose(given, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


UNSEEN = """
import sys, time
import numpy as np
from support.random_robots import random_robot
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.robot import Robot
WholeBodyModel(Robot.jethexa()).mass_matrix(np.zeros(18))
times = []
for seed in range(5):
    robot = random_robot(np.random.default_rng(seed), 5, 6)
    begin = time.thread_time()
    n = robot.joint_count
    WholeBodyModel(robot).forward_dynamics(np.eye(3), np.zeros(n), np.zeros(6 + n), np.zeros(n))
    times.append(time.thread_time() - begin)
print(min(times))
"""


def test_a_robot_that_was_never_seen_needs_no_compiler_and_no_time(tmp_path):
    """Construction and first call, of legs of six joints, with nothing in PATH."""
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", UNSEEN], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 5e-3
    assert not any(tmp_path.iterdir())
