import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from pinocchio_chain import pinocchio_model

from hexapod_dynamics.dynamics.chain import Chain
from hexapod_dynamics.dynamics.nth_order import FloatingBase, recursive
from hexapod_dynamics.estimation.feedforward import Feedforward
from hexapod_dynamics.estimation.soft_servo import TorqueRates, motor_motion, servo_move
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.se3 import exp
from hexapod_dynamics.simulation import Simulator

ROBOT = Robot.jethexa()
PERIOD = 0.02


def soft(stiffness):
    return dataclasses.replace(ROBOT, servo=dataclasses.replace(ROBOT.servo, stiffness=stiffness))


def test_rates_equal_the_analytic_first_derivative_of_the_whole_robot():
    rng = np.random.default_rng(0)
    chain = Chain.from_robot(ROBOT)
    body = np.zeros((6, 6))
    body[:3, :3], body[3:, 3:] = ROBOT.body.mass * np.eye(3), ROBOT.body.inertia
    for _ in range(5):
        rotation, twist = exp(np.r_[0, 0, 0, rng.normal(size=3)])[:3, :3], rng.normal(size=6)
        q, qdot, qddot = rng.uniform(-0.5, 0.5, 18), rng.normal(size=18), rng.normal(size=18)
        motion = np.array([q, qdot, qddot, np.zeros(18)])
        base = FloatingBase(body, rotation, np.array([twist, np.zeros(6), np.zeros(6)]))
        analytic = recursive(chain, motion, 1, base).forces
        feedforward = Feedforward(ROBOT)
        torques = feedforward.solve(rotation, 5.0, twist, q, qdot, qddot, q)        # high up: no foot carries
        assert np.allclose(torques, analytic[0], rtol=1e-9, atol=1e-9)
        rates = TorqueRates(feedforward).solve(rotation, twist, q, qdot, qddot)
        assert np.allclose(rates, analytic[1], rtol=1e-6, atol=1e-6)                # h^2 of the central difference


def test_rates_equal_differences_while_feet_carry():
    gait = TripodGait(swing='minimum_jerk').bind(ROBOT)
    gait.reset(walking=True, phase=0.13)
    feedforward = Feedforward(ROBOT)
    rates = TorqueRates(feedforward)
    q, qdot = (array.copy() for array in gait.step(PERIOD))
    still, twist = np.zeros(18), np.array([0.077, 0, 0, 0, 0, 0])
    feedforward.solve(np.eye(3), 0.12, twist, q, qdot, still, q)
    ours = rates.solve(np.eye(3), twist, q, qdot, still)
    h = 1e-3
    there, here = (feedforward.solve(np.eye(3), 0.12, twist, q + s * qdot, qdot, still, q).copy() for s in (h, -h))
    assert np.allclose(ours, (there - here) / (2 * h), atol=0.02 * np.abs(ours).max())
    assert feedforward.load.sum() > 2.9 and np.abs(ours).max() > 0.05


def tracking_error(stiffness, mode, seconds=3.25):
    """Root mean square of joints less where the gait wants them [rad], walking on servos of this stiffness."""
    robot = soft(stiffness)
    gait = TripodGait().bind(robot)
    gait.reset(walking=True)
    simulator, feedforward = Simulator(robot), Feedforward(robot)
    rates = TorqueRates(feedforward)
    simulator.reset(joints=gait.position.copy())
    twist = np.array([gait.nominal_velocity, 0, 0, 0, 0, 0])
    before, rate_before, errors = gait.position.copy(), gait.velocity.copy(), []
    for k in range(round(seconds / PERIOD)):
        wanted, rate = (array.copy() for array in gait.step(PERIOD))
        target = wanted
        if mode != 'plain':
            acceleration = (rate - rate_before) / PERIOD
            torque = feedforward.solve(simulator.rotation, simulator.position[2], twist, wanted, rate, acceleration,
                                       wanted)
            torque_rate = (rates.solve(simulator.rotation, twist, wanted, rate, acceleration) if mode == 'rates'
                           else np.zeros(18))
            target, _ = motor_motion(wanted, rate, torque, torque_rate, stiffness, robot.servo.damping)
        simulator.command(target, PERIOD)
        for step in range(20):
            simulator.step()
            if k * PERIOD > 1.3:
                errors.append(simulator.q - (before + (wanted - before) * (step + 1) / 20))
        before, rate_before = wanted, rate
    return np.sqrt(np.mean(np.square(errors)))


@pytest.mark.parametrize('stiffness', [30.0, 15.0, 8.0])
def test_feed_forward_more_than_halves_the_tracking_error_of_soft_servos(stiffness):
    plain, rates = (tracking_error(stiffness, mode) for mode in ('plain', 'rates'))
    assert rates < 0.4 * plain        # measured: 67 % less at 30 N m/rad, 72 % at 15, 78 % at 8


def leg_error(mode, stiffness=2.0, damping=0.02, frequency=2.5):
    """Error [rad] of a leg in the air on very soft servos following sines, commands at 50 Hz, by its own simulation."""
    chain = Chain.from_leg(ROBOT, 'RF')
    w, amplitude = 2 * np.pi * frequency, np.array([0.5, 0.5, 0.7])

    def wanted(t, order):
        k = np.arange(order + 1)[:, None]
        return amplitude * w ** k * np.sin(w * t + np.array([0, 0.7, 1.9]) + k * np.pi / 2)

    def target(t):
        """What is sent at t for the time until t + PERIOD: from what is known of the motion and its torques at t."""
        motion = wanted(t, 3)
        torque, torque_rate = recursive(chain, motion, 1).forces
        if mode == 'plain':
            return servo_move(motion[0], motion[1], PERIOD)
        angle, rate = motor_motion(motion[0], motion[1], torque, torque_rate * (mode == 'rates'), stiffness, damping)
        return servo_move(angle, rate, PERIOD)

    model = pinocchio_model(chain)
    data = model.createData()
    q, qdot = wanted(0.0, 1)
    theta, h, errors = target(-PERIOD), 2e-4, []
    for k in range(60):
        goal, start = target(k * PERIOD), theta
        rate = (goal - start) / PERIOD
        for step in range(round(PERIOD / h)):
            theta = start + rate * (step + 1) * h
            mass_matrix, bias = pin.crba(model, data, q), pin.nonLinearEffects(model, data, q, qdot)
            torque = stiffness * (theta - q - h * qdot) + damping * (rate - qdot)
            qdot = qdot + h * np.linalg.solve(mass_matrix + h * (damping + h * stiffness) * np.eye(3), torque - bias)
            q = q + h * qdot
            if k > 20:
                errors.append(q - wanted(k * PERIOD + (step + 1) * h, 0)[0])
    return np.sqrt(np.mean(np.square(errors)))


def test_the_first_derivative_halves_once_more_what_fast_motion_leaves():
    plain, torques, rates = (leg_error(mode) for mode in ('plain', 'torques', 'rates'))
    assert torques < plain and rates < 0.5 * plain and rates < 0.6 * torques, (plain, torques, rates)


def test_a_motor_that_turns_as_told_gives_the_torque_that_is_needed():
    k, d, torque, torque_rate, q, qdot = 8.0, 0.3, 0.7, 2.0, 0.4, 1.5
    angle, rate = motor_motion(q, qdot, torque, torque_rate, k, d)
    assert np.isclose(k * (angle - q) + d * (rate - qdot), torque)
    assert np.isclose(servo_move(angle, rate, 0.02), angle + 0.02 * rate)
