"""The robot on MuJoCo: the same walks as the built-in physics, damage at run time, truths that differ, refusals; what
the gyroscope feels between two samples.
"""

import sys
from dataclasses import replace

import numpy as np
import pytest
from support.jethexa import MASS, ROBOT, STAND, WHOLE, standing

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.se3 import rotation_from_vector, rotation_vector
from hexapod_dynamics.simulation import Ground, MujocoSimulator, Readings, Simulator, TripodGait, Truth

# At the paper's 1e4 N/m the built-in ground gives way by 0.8 mm under each foot, and with Coulomb's friction the ways
# differ by 12 %.
STIFF = replace(ROBOT, contact=replace(ROBOT.contact, stiffness=1e5, damping=500.0))


@pytest.mark.parametrize("robot, ground", [(ROBOT, Ground.viscous()), (STIFF, Ground())], ids=["viscous", "Coulomb"])
@pytest.mark.parametrize("lost", [(), ("RM", "LM"), ("LM.femur", "RR.femur")])
def test_both_physics_agree_within_a_tenth(robot, ground, lost):
    """With the paper's friction; with Coulomb's on a ground as stiff as MuJoCo's."""
    moves = []
    for physics, each in ((Simulator, robot), (MujocoSimulator, ROBOT)):
        hurt = Morphology.whole(each).without(*lost)
        sim = physics(each, hurt, gait=TripodGait(), ground=ground, command_period=0.02)
        log = sim.run(3.9, log_every=20)
        way = log.position[-1] - log.position[65]  # after the first cycle
        yaw = log.euler_zyx[-1, 0] - log.euler_zyx[65, 0]
        moves.append(np.array([*way[:2], 0.1 * yaw, np.ptp(log.euler_zyx[65:, 2])]))
    # Distances in metres, yaw weighted with 0.1 m; 2 mm are below what the feet's size makes.
    assert np.abs(moves[1] - moves[0]).max() < 0.1 * np.abs(moves[0]).max() + 0.002


def test_damage_at_run_time_and_limp_servos():
    sim = MujocoSimulator(ROBOT, gait=TripodGait())
    sim.step(500)
    before = sim.position.copy()
    sim.set_morphology(WHOLE.without("RM").limp("LR.femur").locked("RF.tibia", float(sim.q[17])))
    assert np.array_equal(sim.position, before)
    sim.step(1300)
    assert sim.joint_torques[ROBOT.joint_names.index("femur_joint_LR")] == 0.0
    assert sim.q[17] == sim.morphology.locked_positions[17] and sim.position[2] > 0.05
    assert sim.foot_forces[ROBOT.leg_names.index("RM")].tolist() == [0.0, 0.0, 0.0]
    sim.set_morphology(WHOLE)
    sim.step(1300)
    assert 0.10 < sim.position[2] < 0.13


@pytest.mark.parametrize("physics", [Simulator, MujocoSimulator])
def test_a_truth_is_what_the_physics_simulates(physics):
    truth = Truth.parse("mass=1.1,payload=0.2,payload_x=0.05,stiffness=0.8,friction=0.5")
    sim = standing(physics(ROBOT, truth=truth), 1500)
    plain = standing(physics(ROBOT), 1500)
    assert sim.ground_force[2] == pytest.approx((1.1 * MASS + 0.2) * ROBOT.gravity, rel=0.01)
    sag = np.abs(sim.q - STAND).max() / np.abs(plain.q - STAND).max()
    assert 1.15 * 1.1 / 0.8 * 0.8 < sag < 2.5
    # The payload is 5 cm in front of the body's centre: the front legs carry more.
    assert sim.foot_forces[[0, 5], 2].sum() - sim.foot_forces[[2, 3], 2].sum() > 0.5


@pytest.mark.parametrize("physics", [Simulator, MujocoSimulator])
def test_commands_start_after_the_truth_s_delay_and_stop_in_its_dead_band(physics):
    sim = physics(ROBOT, truth=Truth(delay=0.03, deadband=2.0))
    sim.reset(position=[0.0, 0.0, 1.0], joints=STAND)
    sim.command(STAND + 0.2, 0.02)
    sim.step(29)
    assert np.array_equal(sim.setpoints, STAND)
    sim.step(60)
    assert sim.setpoints == pytest.approx(STAND + 0.2)
    held = standing(physics(ROBOT, truth=Truth(deadband=2.0)))
    held.command(STAND + 0.5 * ROBOT.servo.resolution, 0.02)
    held.step(500)
    band = 2.0 * ROBOT.servo.resolution
    stretched = np.abs(held.setpoints - held.q) - band
    torque = 24.0 / 0.8 * np.maximum(stretched, 0.0)
    assert np.abs(held.joint_torques) == pytest.approx(torque, abs=0.03)


@pytest.mark.parametrize("physics", [Simulator, MujocoSimulator])
def test_a_slope_and_rough_ground_are_the_same_under_both(physics):
    truth = Truth(slope=3.0, slope_yaw=90.0, rough=0.008, seed=7)
    sim = physics(ROBOT, gait=TripodGait(step_height=0.02), command_period=0.02, truth=truth)
    log = sim.run(3.9, log_every=20)
    assert log.position[-1, 0] > 0.2
    assert np.degrees(log.euler_zyx[65:, 2].mean()) == pytest.approx(3.0, abs=0.6)
    x, y, z = log.position[-65:].T
    heights = np.array([sim.ground.height(*point) for point in zip(x, y, strict=True)])
    assert np.mean(z - heights) == pytest.approx(0.119, abs=0.006)


@pytest.mark.parametrize("x", [2.3, 2.8, -40.0])
def test_feet_stand_on_a_rough_ground_far_from_the_start(x):
    """The field of heights follows the robot; beyond 2.5 m the feet, not the body, once fell through it."""
    sim = MujocoSimulator(ROBOT, timestep=2e-3, truth=Truth(rough=0.008, seed=3, slope=1.2, slope_yaw=30.0))
    sim.reset(joints=STAND, position=(x, 0.0, sim.ground.height(x, 0.0) + 0.13))
    sim.run(1.0)
    assert sim.foot_forces[:, 2].sum() == pytest.approx(MASS * ROBOT.gravity, rel=0.05)
    assert sim.position[2] - sim.ground.height(*sim.position[:2]) > 0.1


@pytest.mark.parametrize("physics", [Simulator, MujocoSimulator])
def test_a_push_accelerates_it(physics):
    sim = physics(ROBOT)
    sim.reset(position=[0, 0, 2.0], joints=STAND)
    sim.push([3.0, 0, 0, 0, 0, 0])
    sim.step(100)
    assert (sim.rotation @ sim.nu[:3])[0] * MASS == pytest.approx(0.3, rel=0.2)  # legs follow late
    assert sim.position[0] > 0.0
    assert sim.specific_force == pytest.approx([3.0 / MASS, 0.0, 0.0], abs=0.6)


def test_without_mujoco_the_error_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(HexapodError, match="pip install mujoco"):
        MujocoSimulator(ROBOT)


@pytest.mark.parametrize("physics", [Simulator, MujocoSimulator])
def test_readings_are_those_of_the_devices(physics):
    sim = standing(physics(ROBOT, WHOLE.without("RM")), 1500)
    readings = Readings(sim, seed=1)
    joints = readings.joints()
    assert np.isnan(joints[12:15]).all() and np.isfinite(np.delete(joints, [12, 13, 14])).all()
    assert np.nanmax(np.abs(joints - sim.q)) <= 0.5 * ROBOT.servo.resolution + 1e-12
    force, rate = np.array([np.concatenate(readings.imu()) for _ in range(200)]).mean(axis=0).reshape(2, 3)
    assert force == pytest.approx(sim.rotation.T @ [0, 0, ROBOT.gravity], abs=0.05) and np.abs(rate).max() < 1e-2
    sim.reset(joints=STAND + 0.1)
    assert np.sum(readings.poll(3)[:12] > STAND[:12] + 0.05) == 3  # one servo after the other


@pytest.mark.parametrize("physics", [Simulator, MujocoSimulator])
def test_mean_rates_add_up_to_the_turn_and_rates_of_instants_do_not(physics):
    sim = physics(ROBOT, gait=TripodGait(), command_period=0.02)
    sim.run(1.0)
    turn, instants, start = np.eye(3), np.eye(3), sim.rotation.copy()
    for _ in range(400):
        sim.step(10)
        turn = turn @ rotation_from_vector(0.01 * sim.mean_angular_velocity)
        instants = instants @ rotation_from_vector(0.01 * sim.nu[3:6])
    true = start.T @ sim.rotation
    missed = [np.linalg.norm(rotation_vector(each.T @ true)) for each in (turn, instants)]
    assert missed[0] < np.radians(0.05) and missed[0] < 0.3 * missed[1]


@pytest.mark.parametrize("physics", [Simulator, MujocoSimulator])
def test_a_reset_robot_does_not_turn(physics):
    sim = physics(ROBOT, gait=TripodGait(), command_period=0.02)
    sim.step(500)
    assert np.abs(sim.mean_angular_velocity).max() > 1e-3
    sim.reset()
    assert (sim.mean_angular_velocity == 0.0).all()
