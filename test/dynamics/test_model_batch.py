"""Many states in one call: each as if it were alone, whatever robot, morphology, number of states and cores."""

import cProfile
import os
import pickle
import tracemalloc

import numpy as np
import pinocchio as pin
import pytest
from support.closeness import assert_close
from support.jethexa import ROBOT, WHOLE
from support.pinocchio_robot import PinocchioRobot
from support.random_robots import FAMILIES, leg_count_of, random_damage, random_robot, rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.dynamics.whole_body import FEW_STATES, LEAST_SHARE
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Morphology

MODEL = WholeBodyModel(ROBOT)


def states(rng, robot, n, count):
    turned = np.array([rotation(rng) for _ in range(count)]).reshape(count, 3, 3)
    q, nu = rng.normal(size=(count, robot.joint_count)), rng.normal(size=(count, 6 + n))
    return turned, q, nu, rng.normal(size=(count, n)), rng.normal(size=(count, 6 + n))


def assert_each_is_what_it_is_alone(model, given, morphologies, rows):
    """Both dynamics of a batch with a morphology for each state, and zeros where a joint does not move."""
    R, q, nu, tau, nudot = given
    acceleration = model.forward_dynamics_batch(R, q, nu, tau, morphologies)
    torques = model.inverse_dynamics_batch(R, q, nu, nudot, morphologies)
    for i in rows:
        morphology, moving = morphologies[i], morphologies[i].moving_mask
        body = np.concatenate([np.ones(6, bool), moving])
        alone = model.forward_dynamics(R[i], q[i], nu[i, body], tau[i, moving], morphology)
        assert_close(acceleration[i, body], alone, 1e-12)
        alone = model.inverse_dynamics(R[i], q[i], nu[i, body], nudot[i, body], morphology)
        assert_close(torques[i, body], alone, 1e-12)
        assert not acceleration[i, ~body].any() and not torques[i, ~body].any()


@pytest.mark.parametrize("seed", range(12))
def test_each_state_is_pinocchios(seed):
    """Robots of every family, whole and damaged; 13 states are no multiple of any number of lanes."""
    rng = np.random.default_rng(seed)
    family = seed % len(FAMILIES)
    robot = ROBOT if seed < 2 else random_robot(rng, family, leg_count_of(family, seed))
    morphology = Morphology.whole(robot) if seed % 2 == 0 else random_damage(rng, robot)
    model, n = WholeBodyModel(robot), int(morphology.moving_mask.sum())
    R, q, nu, tau, nudot = states(rng, robot, n, 13)
    driven = morphology.driven_mask[morphology.moving_mask]
    q[:, ~morphology.moving_mask] = np.nan  # must be ignored
    tau[:, ~driven] = np.nan  # a limp joint's torque, too
    acceleration = model.forward_dynamics_batch(R, q, nu, tau, morphology)
    torques = model.inverse_dynamics_batch(R, q, nu, nudot, morphology)
    peer = PinocchioRobot(morphology)
    for i in range(len(q)):
        peer_q = peer.configuration(R[i], q[i])
        motor = np.concatenate([np.zeros(6), np.where(driven, tau[i], 0.0)])
        assert_close(acceleration[i], pin.aba(peer.model, peer.data, peer_q, nu[i], motor))
        assert_close(torques[i], pin.rnea(peer.model, peer.data, peer_q, nu[i], nudot[i]))


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 16, 100, 2 * LEAST_SHARE + 3])
def test_any_number_of_states(count):
    R, q, nu, tau, nudot = states(np.random.default_rng(count), ROBOT, 18, count)
    acceleration, torques = MODEL.forward_dynamics_batch(R, q, nu, tau), MODEL.inverse_dynamics_batch(R, q, nu, nudot)
    assert acceleration.shape == torques.shape == (count, 24)
    for i in range(0, count, 1 if count < 200 else 37):
        assert_close(acceleration[i], MODEL.forward_dynamics(R[i], q[i], nu[i], tau[i]), 1e-12)
        assert_close(torques[i], MODEL.inverse_dynamics(R[i], q[i], nu[i], nudot[i]), 1e-12)


def different(rng, robot, count):
    """So many different morphologies of a robot."""
    found = {}
    while len(found) < count:
        found[random_damage(rng, robot)] = None
    return list(found)


@pytest.mark.parametrize(
    ("family", "kinds", "each"),
    [(None, 3, 2 * FEW_STATES), (None, 2, 1025), (None, 300, 2), (3, 60, 1)],
    ids=["some", "many", "300", "60"],
)
def test_few_and_many_states_of_a_morphology_are_what_each_is_alone(family, kinds, each):
    """300 are more than a model keeps memories of; many states of a morphology run in lanes."""
    rng = np.random.default_rng(kinds)
    robot = ROBOT if family is None else random_robot(rng, family, 4)
    model, count = WholeBodyModel(robot), kinds * each
    morphologies = [*different(rng, robot, kinds)] * each
    morphologies[-1] = pickle.loads(pickle.dumps(morphologies[-1]))  # equal, but another object
    R, q, nu, tau, nudot = given = states(rng, robot, robot.joint_count, count)
    still = ~np.array([morphology.moving_mask for morphology in morphologies])
    for array in (q, nu[:, 6:], tau, nudot[:, 6:]):
        array[still] = np.nan  # must be ignored
    assert_each_is_what_it_is_alone(model, given, morphologies, [*range(0, count, 1 + count // 200), count - 1])
    q[-3, np.flatnonzero(morphologies[-3].moving_mask)[-1]] = np.nan
    with pytest.raises(DynamicsError, match=f"state {count - 3}: q"):
        model.forward_dynamics_batch(R, q, nu, tau, morphologies)


@pytest.mark.parametrize("count", [64, 400])
def test_another_morphology_in_each_state_gives_what_a_loop_gives_with_no_more_calls(count):
    """Calls of functions, counted: the time depends on the machine."""
    model, rng = WholeBodyModel(ROBOT), np.random.default_rng(count)
    morphologies = [WHOLE.broken("RF.tibia", 0.1 + 0.8 * i / count) for i in range(count)]
    given = states(rng, ROBOT, 18, count)[:4]
    one_by_one, together = cProfile.Profile(), cProfile.Profile()
    loop = one_by_one.runcall(lambda: [model.forward_dynamics(*one) for one in zip(*given, morphologies, strict=True)])
    batch = together.runcall(model.forward_dynamics_batch, *given, morphologies)
    assert_close(batch, np.array(loop), 1e-12)
    calls = [sum(entry.callcount for entry in profile.getstats()) for profile in (together, one_by_one)]
    assert calls[0] < 1.5 * calls[1], calls


def test_one_core_computes_what_all_do():
    given = states(np.random.default_rng(1), ROBOT, 18, 3 * LEAST_SHARE)[:4]
    together, cores = MODEL.forward_dynamics_batch(*given), os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        alone = MODEL.forward_dynamics_batch(*given)
    finally:
        os.sched_setaffinity(0, cores)
    np.testing.assert_array_equal(alone, together)


def test_good_input_is_not_copied():
    given = states(np.random.default_rng(1), ROBOT, 18, LEAST_SHARE)[:4]
    result = MODEL.forward_dynamics_batch(*given)
    tracemalloc.start()
    try:
        MODEL.forward_dynamics_batch(*given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < result.nbytes + given[1].nbytes  # result, indices, a robot's memory


def test_lists_and_other_orders_are_taken():
    R, q, nu, tau, _ = states(np.random.default_rng(2), ROBOT, 18, 9)
    expected = MODEL.forward_dynamics_batch(R, q, nu, tau)
    given = MODEL.forward_dynamics_batch(
        R.tolist(), np.asfortranarray(q), np.repeat(nu, 2, axis=1)[:, ::2], tau.tolist()
    )
    np.testing.assert_array_equal(given, expected)


@pytest.mark.parametrize("place", [0, 3, 17, 19])
@pytest.mark.parametrize(("name", "bad"), [("R", 2.0), ("q", np.nan), ("nu", np.inf), ("tau", np.nan)])
def test_a_state_that_cannot_be_computed_is_named(place, name, bad):
    given = dict(zip(("R", "q", "nu", "tau"), states(np.random.default_rng(4), ROBOT, 18, 20), strict=False))
    given[name].reshape(20, -1)[place, -1] = bad
    for morphology in (None, [WHOLE.without("RM"), WHOLE] * 10):
        if name in ("q", "nu", "tau") and morphology is not None:
            given[name].reshape(20, -1)[place, 3 + 6 * (name == "nu")] = bad  # of a joint that moves
        with pytest.raises(DynamicsError, match=f"state {place}: {name}"):
            MODEL.forward_dynamics_batch(*given.values(), morphology)
