"""Feet are held, or a warning says that they are not: straight legs, moving or still, against Pinocchio.

Bent legs of robots with any damage: test_link_quantities.py.
"""

import re
import warnings

import numpy as np
import pinocchio as pin
import pytest
from support.jethexa import ROBOT, WHOLE
from support.pinocchio_robot import PinocchioRobot
from support.random_robots import rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.dynamics.held_tips import TOLERANCE
from hexapod_dynamics.errors import HeldTipsWarning

MODEL = WholeBodyModel(ROBOT)
PEER = PinocchioRobot(WHOLE)
STRAIGHT = np.tile([0.0, 0.0, np.pi / 2], 6)  # the tibia points straight down at zero
FRAMES = pin.LOCAL_WORLD_ALIGNED


def state(seed, bend, speed):
    """Legs that are bent by `bend` [rad] at the knee; joints and body move with `speed`, the servos push."""
    rng = np.random.default_rng(seed)
    q = STRAIGHT + np.tile([0.0, bend, -bend], 6)
    return rotation(rng), q, speed * rng.normal(size=24), rng.normal(size=18)


def tip_accelerations(rotation, q, nu, nudot, legs):
    """Classical accelerations (k, 3) [m/s^2] of the tips in the world, by Pinocchio."""
    pin.forwardKinematics(PEER.model, PEER.data, PEER.configuration(rotation, q), nu, nudot)
    pin.updateFramePlacements(PEER.model, PEER.data)
    frames = [PEER.tips[leg] for leg in legs]
    return np.array([pin.getFrameClassicalAcceleration(PEER.model, PEER.data, f, FRAMES).linear for f in frames])


def pinocchio_solution(rotation, q, nu, tau, legs, settings):
    """Accelerations by Pinocchio's constraintDynamics with proximal settings."""
    model, data = PEER.model, PEER.model.createData()
    contacts, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for leg in legs:
        frame = model.frames[PEER.tips[leg]]
        where = frame.parentJoint, frame.placement
        contacts.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *where, FRAMES))
    for contact in contacts:
        datas.append(contact.createData())
    pin.initConstraintDynamics(model, data, contacts, datas)
    torque = np.concatenate([np.zeros(6), tau])
    where = PEER.configuration(rotation, q)
    return pin.constraintDynamics(model, data, where, nu, torque, contacts, datas, settings).copy()


@pytest.mark.parametrize("speed", [0.0, 1.0])
@pytest.mark.parametrize("bend", [1.0, 0.1, *(10.0**-k for k in range(2, 15)), 0.0])
def test_the_tips_are_held_or_a_warning_says_what_remains(bend, speed):
    given = state(1, bend, speed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nudot, forces = MODEL.constrained_forward_dynamics(*given, ROBOT.leg_names)
    remaining = np.linalg.norm(tip_accelerations(*given[:3], nudot, ROBOT.leg_names), axis=1).max()
    said = [str(warning.message) for warning in caught if warning.category is HeldTipsWarning]
    if not said:
        assert remaining < 1e-3  # of some 1e4 m/s^2 that the servos would give the tips
        again = MODEL.forward_dynamics(*given, None, forces)
        assert np.abs(again - nudot).max() < 1e-6 * np.abs(nudot).max() or bend < 1e-5
        return
    assert bend < 1e-6, "legs that are bent as much can be held"
    assert float(re.search(r"up to (\S+) m/s", said[0])[1]) == pytest.approx(remaining, rel=0.01)
    for word in ("cannot be held", "rank", "info=True", "LF, LM"):
        assert word in said[0]


@pytest.mark.parametrize("speed", [0.0, 1.0])
@pytest.mark.parametrize("bend", [0.7, 1e-3, 1e-8, 0.0])
@pytest.mark.parametrize("legs", [ROBOT.leg_names, ROBOT.leg_names[:3], ("LM", "RM")])
def test_info_tells_what_remains(legs, bend, speed):
    given = state(2, bend, speed)
    nudot, forces, info = MODEL.constrained_forward_dynamics(*given, legs, info=True)
    remaining = np.linalg.norm(tip_accelerations(*given[:3], nudot, legs), axis=1).max()
    assert info.residual == pytest.approx(remaining, rel=1e-6, abs=1e-4)
    assert info.are_held == (info.residual <= info.tolerance) and info.tolerance >= TOLERANCE
    assert info.rows == 3 * len(legs) and 0 < info.rank <= info.rows
    assert info.damping > 0 and info.iterations >= 1
    assert tuple(forces) == tuple(legs)
    if bend == 0.7:
        assert info.rank == info.rows and info.are_held
    if bend == 0.0:
        lost = np.linalg.matrix_rank(np.concatenate([tip_rows(given[1], leg) for leg in legs]), tol=1e-8)
        assert info.rank == lost
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(MODEL.constrained_forward_dynamics(*given, legs)) == 2
    assert bool(caught) == (not info.are_held)


def tip_rows(q, leg):
    return MODEL.point_jacobian(f"{leg}.tibia", [ROBOT.leg(leg).links[-1].length, 0.0, 0.0], q)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [2, 4, 6])
def test_straight_legs_move_as_pinocchios_proximal_solver_says(seed, count):
    given, legs = state(seed, 0.0, 0.0), ROBOT.leg_names[:count]
    theirs = pinocchio_solution(*given, legs, pin.ProximalSettings(1e-10, 1e-7, 200))
    ours, forces, info = MODEL.constrained_forward_dynamics(*given, legs, info=True)
    assert info.are_held and all(np.linalg.norm(force) < 1e3 for force in forces.values())
    assert np.abs(ours - theirs).max() < 1e-5 * np.abs(theirs).max()


def test_a_stance_of_nobody_has_nothing_to_hold():
    given = state(0, 0.5, 1.0)
    nudot, forces, info = MODEL.constrained_forward_dynamics(*given, [], info=True)
    assert np.array_equal(nudot, MODEL.forward_dynamics(*given)) and forces == {}
    assert (info.residual, info.rank, info.rows, info.are_held) == (0.0, 0, 0, True)
