"""Feet are held, or a warning says that they are not: straight legs, moving or still, against Pinocchio. The body's
centre of mass and the rotors, in model, simulator and files.

Bent legs of robots with any damage: test_whole_body.py.
"""

import dataclasses
import re
import warnings

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from support.closeness import assert_close
from support.jethexa import ROBOT, WHOLE
from support.pinocchio_robot import PinocchioRobot
from support.random_robots import rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.dynamics.held_tips import TOLERANCE
from hexapod_dynamics.errors import HeldTipsWarning, RobotError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Ground, Simulator, TripodGait

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


COM = np.array([0.03, -0.02, 0.015])


def with_rotors(robot, com=COM, rotor=2e-3):
    """The robot with that centre of mass of its body, and motors of different rotor inertias."""
    legs, count = [], 0
    for leg in robot.legs:
        joints = []
        for joint in leg.joints:
            joints.append(dataclasses.replace(joint, rotor_inertia=rotor * (1 + 0.1 * count)))
            count += 1
        legs.append(dataclasses.replace(leg, joints=tuple(joints)))
    return dataclasses.replace(robot, body=dataclasses.replace(robot.body, com=com), legs=tuple(legs))


GEARED = with_rotors(ROBOT)
GEARED_WHOLE, GEARED_MODEL = Morphology.whole(GEARED), WholeBodyModel(GEARED)
GEARED_HURT = GEARED_WHOLE.without("RM", "LM.femur").locked("RF.tibia", -0.4).broken("LF.tibia", 0.5)


@pytest.mark.parametrize("morphology", [GEARED_WHOLE, GEARED_HURT], ids=["whole", "hurt"])
def test_mujoco_computes_the_same_accelerations(morphology):
    rng, n = np.random.default_rng(3), int(morphology.moving_mask.sum())
    R, q, nu, tau = rotation(rng), rng.uniform(-0.5, 0.5, 18), rng.normal(size=6 + n), rng.normal(size=n)
    peer = mujoco.MjModel.from_xml_string(GEARED.to_mjcf(morphology))
    off = mujoco.mjtDisableBit
    peer.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_ACTUATION
    data = mujoco.MjData(peer)
    mujoco.mju_mat2Quat(data.qpos[3:7], R.ravel())
    data.qpos[7:] = q[morphology.moving_mask]
    data.qvel[:] = np.concatenate([R @ nu[:3], nu[3:]])  # linear in the world
    data.qfrc_applied[6:] = tau
    mujoco.mj_forward(peer, data)
    full = np.zeros((peer.nv, peer.nv))
    mujoco.mj_fullM(peer, data, full)
    rotors = np.array([joint.rotor_inertia for joint in GEARED.joints])[morphology.moving_mask]
    assert np.array_equal(peer.dof_armature[6:], rotors)
    turn = np.eye(6 + n)
    turn[:3, :3] = R
    assert_close(turn.T @ full @ turn, GEARED_MODEL.mass_matrix(q, morphology))
    ours = GEARED_MODEL.forward_dynamics(R, q, nu, tau, morphology)
    ours[:3] = R @ (ours[:3] + np.cross(nu[3:6], nu[:3]))  # of the origin, in the world
    assert_close(data.qacc, ours)


def test_the_simulated_robot_stands_with_its_weight_where_its_centre_of_mass_is():
    sim = Simulator(GEARED, ground=Ground(friction=0.6))
    sim.reset(joints=TripodGait().bind(GEARED).position.copy())
    sim.step(3000)
    poses = GEARED_MODEL.link_poses(sim.rotation, sim.position, sim.q)
    ends = np.array([p + R[:, 0] * 0.123 for R, p in (poses[f"{leg}.tibia"] for leg in GEARED.leg_names)])
    load = sim.foot_forces[:, 2]
    center = GEARED_MODEL.center_of_mass(sim.rotation, sim.position, sim.q)
    assert load.sum() == pytest.approx(GEARED.gravity * GEARED_MODEL.total_mass(), rel=1e-3)
    np.testing.assert_allclose(load @ ends[:, :2] / load.sum(), center[:2], atol=1e-3)
    assert np.linalg.norm(center[:2] - sim.position[:2]) > 0.01  # the rest of the robot has its own off base_link


def test_rotors_slow_the_simulated_joints_as_the_model_says():
    """In the air: the change of velocity in a short step is forward dynamics under the torques that acted."""
    sim = Simulator(GEARED, timestep=1e-5)
    sim.reset(position=np.array([0.0, 0.0, 1.0]))
    sim.command(np.full(18, 0.2), 0.01)
    sim.step(100)
    before = sim.nu.copy()
    sim.step(1)
    rate = (sim.nu - before) / 1e-5
    assert_close(rate, GEARED_MODEL.forward_dynamics(sim.rotation, sim.q, before, sim.joint_torques), 1e-3)


def test_what_to_urdf_writes_of_them_is_read_back():
    again = Robot.from_urdf(GEARED.to_urdf(), keep_frame=True)
    assert_close(again.body.com, COM)
    q, nu = np.random.default_rng(0).normal(size=18), np.random.default_rng(1).normal(size=24)
    expected = GEARED_MODEL.inverse_dynamics(np.eye(3), q, nu, nu)
    assert_close(WholeBodyModel(again).inverse_dynamics(np.eye(3), q, nu, nu), expected)
    moved = Robot.from_urdf(GEARED.to_urdf())
    assert not moved.body.com.any()
    assert_close(moved.legs[0].mount_position, GEARED.legs[0].mount_position - COM)


def test_a_gear_ratio_counts_squared_and_wrong_rotors_are_refused_by_name():
    text = GEARED.to_urdf().replace('drake:gear_ratio value="1.0"', 'drake:gear_ratio value="-3.0"')
    found = Robot.from_urdf(text).legs[0].joints[1].rotor_inertia
    assert found == pytest.approx(9 * GEARED.legs[0].joints[1].rotor_inertia)
    for wrong in ("x", "nan", "-1"):
        with pytest.raises(RobotError, match=r"coxa_joint_LF.*rotor_inertia"):
            Robot.from_urdf(GEARED.to_urdf().replace('rotor_inertia value="0.002"', f'rotor_inertia value="{wrong}"'))
