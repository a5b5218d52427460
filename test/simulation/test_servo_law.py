"""Servos that are not springs, in both physics: lag, dead zone, play, mounting errors, friction; the IMU's mounting."""

import math
from pathlib import Path

import numpy as np
import pytest
from support.jethexa import ROBOT, STAND, standing

from hexapod_dynamics.robot import Robot
from hexapod_dynamics.simulation import MujocoSimulator, Predictor, Simulator, TripodGait, Truth
from hexapod_dynamics.simulation.servo_law import MODELS, ServoLaw
from hexapod_dynamics.simulation.truth import RANGES, radii_of_gyration

COXA = 0  # turns about the vertical: no load in the air


PHYSICS = pytest.mark.parametrize("physics", [Simulator, MujocoSimulator])


def hanging(text, physics):
    """The robot far above the ground, at STAND."""
    sim = physics(ROBOT, truth=Truth.parse(text))
    sim.reset(position=[0.0, 0.0, 50.0], joints=STAND)
    return sim


def sweep(sim, amplitude, seconds=1.0, period=1.0):
    """Command a coxa a sine; returns set-points, joint angles and readings (T,) of its last `seconds`."""
    rows = []
    for k in range(round((period + seconds) / 0.02)):
        target = STAND.copy()
        target[COXA] += amplitude * math.sin(2.0 * math.pi * 0.02 * (k + 1) / period)
        sim.command(target, 0.02)
        for _ in range(20):
            sim.step()
            rows.append((sim.setpoints[COXA], sim.q[COXA], sim.readings[COXA]))
    return np.array(rows).T[:, -round(seconds / sim.timestep) :]


def lag_of(text, physics):
    """By how much [s] a coxa is behind its set-point."""
    setpoint, angle, _ = sweep(hanging(text, physics), 0.3)
    rate = np.gradient(setpoint, 1e-3)
    return float(rate @ (setpoint - angle) / (rate @ rate))


@PHYSICS
def test_a_servo_that_damps_against_zero_rate_is_later_by_damping_over_stiffness(physics):
    model = ROBOT.servo.damping / ROBOT.servo.stiffness
    assert lag_of("ff=1,hysteresis=0.001", physics) == pytest.approx(0.0, abs=1.5e-3)
    assert lag_of("ff=0", physics) == pytest.approx(model, abs=1.5e-3)
    assert lag_of("ff=0,lag=0.02", physics) == pytest.approx(model + 0.02, abs=2e-3)


@PHYSICS
def test_an_encoder_with_play_stays_where_it_is_until_the_play_is_used_up(physics):
    _, angle, reading = sweep(hanging("hysteresis=0.5", physics), 0.1)
    apart = np.degrees(reading - angle)
    between_loops = math.degrees(0.1 * 2.0 * math.pi * 2e-3) + 0.05  # how far the joint turns until the next one
    assert apart.max() == pytest.approx(0.5, abs=between_loops)
    assert apart.min() == pytest.approx(-0.5, abs=between_loops)
    still = np.abs(np.diff(reading)) == 0.0
    assert np.abs(np.diff(angle))[still].sum() > 0.9 * 2 * np.radians(1.0)  # twice a cycle, both edges apart


@PHYSICS
def test_a_servo_in_its_dead_zone_gives_no_torque(physics):
    sim = hanging("zone=1,ff=0", physics)
    target = STAND.copy()
    target[COXA] += math.radians(0.9)
    sim.command(target, 0.02)
    sim.step(300)
    assert sim.q[COXA] == pytest.approx(STAND[COXA], abs=1e-3)


@PHYSICS
def test_a_horn_mounted_off_moves_the_joint_and_not_the_reading(physics):
    sim = hanging("zero=2,seed=3", physics)
    sim.command(STAND, 0.02)
    sim.step(600)
    zeros = np.degrees(sim.readings - sim.q)
    assert 1.0 < np.abs(zeros).max() <= 2.0 and len(set(zeros.round(6))) == 18
    assert sim.readings[::3] == pytest.approx(STAND[::3], abs=2e-3)  # the coxae carry nothing
    again, other = Truth.parse("zero=2,seed=3").zeros(18), Truth.parse("zero=2,seed=4").zeros(18)
    assert np.degrees(again) == pytest.approx(zeros) and np.abs(other - again).max() > 0.01


@PHYSICS
def test_friction_holds_a_joint_that_spring_alone_would_move(physics):
    for factor, moves in ((0.0, True), (1.0, False)):
        sim = hanging(f"servo_friction={factor},friction_model=1,ff=0", physics)
        target = STAND.copy()
        target[COXA] += 0.0515 / ROBOT.servo.stiffness * 0.8  # four fifths of the Coulomb friction of model M1
        sim.command(target, 0.02)
        sim.step(200)
        assert (abs(sim.q[COXA] - STAND[COXA]) > 5e-4) == moves


def test_the_friction_models_are_those_of_the_identification():
    """A joint at rest under 1 N m, and in motion: numbers from the files named in servo_law.py."""
    one, still, fast = np.ones(1), np.zeros(1), np.full(1, 2.0)
    assert MODELS[1].compute_dry_limit(one, -one, still) == pytest.approx(0.0515)
    assert MODELS[4].compute_dry_limit(one, -one, still) == pytest.approx(0.0519 + 0.0111 + 2 * 0.2079)
    assert MODELS[6].compute_dry_limit(one, -one, still) == pytest.approx(0.0533 + 0.2436 + 0.0449 + 0.1423 + 0.0001)
    assert MODELS[6].compute_dry_limit(one, -one, fast) == pytest.approx(0.0533 + 0.2436 + 0.0449)
    assert MODELS[0].compute_dry_limit(one, -one, still) == 0.0


@PHYSICS
def test_an_imu_that_is_mounted_off_shows_a_tilt_of_the_level_body(physics):
    sim = standing(physics(ROBOT, truth=Truth.parse("imu_tilt=2,seed=5")), 1500)
    sim.step(100)
    force = sim.specific_force
    assert math.degrees(math.acos(force[2] / np.linalg.norm(force))) == pytest.approx(2.0, abs=0.15)
    assert math.degrees(math.acos(sim.rotation[2, 2])) < 0.15


def test_servos_and_centres_of_links_differ_as_much_as_the_truth_says():
    truths = [Truth.parse(f"servo_spread=0.08,link_centres=0.15,seed={seed}") for seed in range(60)]
    assert truths[0].servo_law == ["servo_spread"]
    logs = np.log([truth.stiffness_factors(18) for truth in truths])
    assert logs.std() == pytest.approx(0.08, rel=0.1) and abs(logs.mean()) < 0.01
    assert ServoLaw(truths[0], ROBOT.servo, 18).stiffness == pytest.approx(ROBOT.servo.stiffness * np.exp(logs[0]))
    robots = [truth.robot(ROBOT) for truth in truths]
    for k, link in enumerate(ROBOT.legs[0].links):
        shifts = [robot.legs[0].links[k].com - link.com for robot in robots]
        radii = radii_of_gyration(link.mass, link.inertia)
        assert link.mass * (np.trace(radii @ radii.T) * np.eye(3) - radii @ radii.T) == pytest.approx(link.inertia)
        assert np.linalg.solve(radii, np.transpose(shifts)).std() == pytest.approx(0.15, rel=0.15)
    assert Truth().robot(ROBOT) is ROBOT


def test_a_link_that_is_a_thin_rod_has_its_centre_moved_along_it_alone():
    radii = radii_of_gyration(0.03, np.diag([0.0, 2e-5, 2e-5]))
    np.testing.assert_allclose(radii @ radii.T, np.diag([2e-5 / 0.03, 0.0, 0.0]), atol=1e-12)
    Truth.parse("servos=real,seed=1").robot(Robot.load(Path(__file__).parents[2] / "config" / "quadruped.yaml"))


def test_the_preset_draws_all_that_is_not_given_from_its_seed():
    one, same, other = (Truth.parse(f"servos=real,seed={seed}") for seed in (7, 7, 8))
    assert one == same != other and one.servo_law
    assert Truth.parse(one.describe()) == one
    assert Truth.parse("servos=real,seed=7,zone=0.1,rough=0.008").zone == 0.1
    drawn = {name for name in RANGES if getattr(one, name) != getattr(Truth(), name)}
    assert {"zone", "hysteresis", "zero", "servo_friction", "link_masses", "imu_tilt", "gyro_bias"} <= drawn
    half = [Truth.parse(f"servos=half,seed={seed}") for seed in range(40)]
    full = [Truth.parse(f"servos=real,seed={seed}") for seed in range(40)]
    for name in ("zone", "hysteresis", "zero", "payload", "link_masses"):
        ratio = np.mean([getattr(t, name) for t in half]) / np.mean([getattr(t, name) for t in full])
        assert ratio == pytest.approx(0.5, abs=1e-5)


def test_friction_that_grows_with_the_load_is_that_of_mujoco():
    """The body is held up by a force, femurs lift their legs: the errors of the servos agree within 5 % (rms)."""
    weight = 9.80665 * (ROBOT.body.mass + sum(link.mass for leg in ROBOT.legs for link in leg.links))
    lags = {}
    for factor in (0.0, 1.0):
        for physics in (Simulator, MujocoSimulator):
            sim = hanging(f"servo_friction={factor},friction_model=4,ff=0,hysteresis=0.001", physics)
            sim.push([0.0, 0.0, weight, 0.0, 0.0, 0.0])
            rows = []
            for k in range(200):  # 2 s a cycle: the rotors' inertia, which MuJoCo alone has, is 2 % of the error
                target = STAND.copy()
                target[1::3] += 0.1 * math.sin(math.pi * 0.02 * k)
                sim.command(target, 0.02)
                sim.step(20)
                rows.append((sim.setpoints - sim.q)[1::3])
            lags[factor, physics] = np.array(rows[100:])
    for factor in (0.0, 1.0):
        ours, other = lags[factor, Simulator], lags[factor, MujocoSimulator]
        assert np.sqrt(np.mean((ours - other) ** 2)) < 0.05 * np.sqrt(np.mean(other**2))
    rubs = [np.ptp(lags[factor, Simulator], axis=0).min() for factor in (0.0, 1.0)]
    assert rubs[1] > rubs[0] + 2.0 * 0.05 / ROBOT.servo.stiffness  # both ways, the part without load alone


@PHYSICS
def test_a_servo_gives_no_more_than_its_torque_limit(physics):
    sim = hanging("ff=0,hysteresis=0.001", physics)
    target = STAND.copy()
    target[COXA] += 1.0
    sim.load_joint(COXA, False)
    sim.command_joint(COXA, float(target[COXA]), 0.0)
    sim.step(400)
    assert abs(sim.q[COXA] - STAND[COXA]) < 0.02  # without torque it stays
    assert sim.joint_torques[COXA] == 0.0
    sim.load_joint(COXA, True)
    sim.command_joint(COXA, float(target[COXA]), 0.0)
    largest = 0.0
    for _ in range(300):
        sim.step()
        largest = max(largest, abs(sim.joint_torques[COXA]))
    assert 0.0 < largest <= ROBOT.servo.torque_limit * (1.0 + 1e-12)
    assert sim.q[COXA] == pytest.approx(target[COXA], abs=0.02)


def test_the_steps_of_the_built_in_physics_converge_with_dry_friction():
    """Steps of 2 and of 0.5 ms: the way of 4 s differs by 1 mm at most, of 0.25 m (0.3 mm measured)."""
    ends = []
    for h in (2e-3, 5e-4):
        truth = Truth.parse("servos=real,seed=3")
        sim = Simulator(ROBOT, gait=TripodGait(), timestep=h, command_period=0.02, truth=truth)
        ends.append(sim.run(4.0, log_every=20).position[-1])
    assert ends[0] == pytest.approx(ends[1], abs=1e-3)


def test_both_physics_agree_on_a_walk_on_real_servos():
    """Way within 5 %, lag of the joints within 10 %: contacts and rotors' inertia differ, the servos' law does not."""
    ways, lags = [], []
    for physics in (Simulator, MujocoSimulator):
        sim = physics(ROBOT, gait=TripodGait(), command_period=0.02, truth=Truth.parse("servos=real,seed=4"))
        log = sim.run(5.0, log_every=10)
        ways.append(np.linalg.norm(log.position[-1, :2]))
        lags.append(np.sqrt(np.mean((log.setpoints - log.joint_positions)[100:] ** 2)))
    assert ways[0] == pytest.approx(ways[1], rel=0.05) and lags[0] == pytest.approx(lags[1], rel=0.1)
    assert math.degrees(lags[0]) > 0.5 and min(ways) > 0.25


def test_the_servos_of_a_predictor_that_damp_against_zero_rate_follow_by_damping_over_stiffness_later():
    """In free fall, where no weight loads the joints: all coxae turn at 1 rad/s."""
    angles = {}
    for share in (1.0, 0.0):
        model = Predictor(ROBOT)
        model.set_state(np.array([0.0, 0.0, 10.0]), np.eye(3), np.zeros(18), np.zeros(24))
        model.set_velocity_feed_forward(share)
        target = np.zeros(18)
        for _ in range(15):
            target[::3] += 0.02
            model.advance(0.02, target)
        angles[share] = model.q[::3].copy()
    late = ROBOT.servo.damping / ROBOT.servo.stiffness
    assert angles[1.0] - angles[0.0] == pytest.approx(late, rel=0.05)
