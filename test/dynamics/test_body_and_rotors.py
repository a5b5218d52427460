"""A body whose centre of mass is off base_link, motors with rotors: against MuJoCo, simulated, read and written.

That Pinocchio agrees, the other tests of this directory show: the random robots have both.
"""

import dataclasses

import mujoco
import numpy as np
import pytest
from support.closeness import assert_close
from support.random_robots import rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Ground, Simulator, TripodGait

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


ROBOT = with_rotors(Robot.jethexa())
WHOLE = Morphology.whole(ROBOT)
HURT = WHOLE.without("RM", "LM.femur").locked("RF.tibia", -0.4).broken("LF.tibia", 0.5)
MODEL = WholeBodyModel(ROBOT)


@pytest.mark.parametrize("morphology", [WHOLE, HURT], ids=["whole", "hurt"])
def test_mujoco_computes_the_same_accelerations(morphology):
    rng, n = np.random.default_rng(3), int(morphology.moving_mask.sum())
    R, q, nu, tau = rotation(rng), rng.uniform(-0.5, 0.5, 18), rng.normal(size=6 + n), rng.normal(size=n)
    peer = mujoco.MjModel.from_xml_string(ROBOT.to_mjcf(morphology))
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
    rotors = np.array([joint.rotor_inertia for joint in ROBOT.joints])[morphology.moving_mask]
    assert np.array_equal(peer.dof_armature[6:], rotors)
    turn = np.eye(6 + n)
    turn[:3, :3] = R
    assert_close(turn.T @ full @ turn, MODEL.mass_matrix(q, morphology))
    ours = MODEL.forward_dynamics(R, q, nu, tau, morphology)
    ours[:3] = R @ (ours[:3] + np.cross(nu[3:6], nu[:3]))  # of the origin, in the world
    assert_close(data.qacc, ours)


def test_the_simulated_robot_stands_with_its_weight_where_its_centre_of_mass_is():
    sim = Simulator(ROBOT, ground=Ground(friction=0.6))
    sim.reset(joints=TripodGait().bind(ROBOT).position.copy())
    sim.step(3000)
    poses = MODEL.link_poses(sim.rotation, sim.position, sim.q)
    ends = np.array([p + R[:, 0] * 0.123 for R, p in (poses[f"{leg}.tibia"] for leg in ROBOT.leg_names)])
    load = sim.foot_forces[:, 2]
    center = MODEL.center_of_mass(sim.rotation, sim.position, sim.q)
    assert load.sum() == pytest.approx(ROBOT.gravity * MODEL.total_mass(), rel=1e-3)
    np.testing.assert_allclose(load @ ends[:, :2] / load.sum(), center[:2], atol=1e-3)
    assert np.linalg.norm(center[:2] - sim.position[:2]) > 0.01  # the rest of the robot has its own off base_link


def test_rotors_slow_the_simulated_joints_as_the_model_says():
    """In the air: the change of velocity in a short step is forward dynamics under the torques that acted."""
    sim = Simulator(ROBOT, timestep=1e-5)
    sim.reset(position=np.array([0.0, 0.0, 1.0]))
    sim.command(np.full(18, 0.2), 0.01)
    sim.step(100)
    before = sim.nu.copy()
    sim.step(1)
    rate = (sim.nu - before) / 1e-5
    assert_close(rate, MODEL.forward_dynamics(sim.rotation, sim.q, before, sim.joint_torques), 1e-3)


def test_what_to_urdf_writes_of_them_is_read_back():
    again = Robot.from_urdf(ROBOT.to_urdf(), keep_frame=True)
    assert_close(again.body.com, COM)
    q, nu = np.random.default_rng(0).normal(size=18), np.random.default_rng(1).normal(size=24)
    expected = MODEL.inverse_dynamics(np.eye(3), q, nu, nu)
    assert_close(WholeBodyModel(again).inverse_dynamics(np.eye(3), q, nu, nu), expected)
    moved = Robot.from_urdf(ROBOT.to_urdf())
    assert not moved.body.com.any()
    assert_close(moved.legs[0].mount_position, ROBOT.legs[0].mount_position - COM)


def test_a_gear_ratio_counts_squared_and_wrong_rotors_are_refused_by_name():
    text = ROBOT.to_urdf().replace('drake:gear_ratio value="1.0"', 'drake:gear_ratio value="-3.0"')
    found = Robot.from_urdf(text).legs[0].joints[1].rotor_inertia
    assert found == pytest.approx(9 * ROBOT.legs[0].joints[1].rotor_inertia)
    for wrong in ("x", "nan", "-1"):
        with pytest.raises(RobotError, match=r"coxa_joint_LF.*rotor_inertia"):
            Robot.from_urdf(ROBOT.to_urdf().replace('rotor_inertia value="0.002"', f'rotor_inertia value="{wrong}"'))
