"""The compiled core: any width of registers, what is handed over, and that nothing is kept."""

import math
import os
import pickle
import resource
import sys

import numpy as np
import pytest
from support.jethexa import ROBOT
from support.programs import python
from support.random_robots import FAMILIES, random_damage, random_robot, rotation

from hexapod_dynamics.core import _core
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.dynamics.formulas import Body
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.se3 import rotation_z

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
            assert pickle.loads(pickle.dumps(model)).lanes == model.lanes == lanes
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
    done = python("-c", UNSEEN, env=environment)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 5e-3
    assert not any(tmp_path.iterdir())


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
