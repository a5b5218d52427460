"""Tracking errors of joints on soft servos with and without feed-forward, for tests and benchmarks."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pinocchio as pin
from support.pinocchio_chain import pinocchio_model

from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.papers.chain.chain import Chain
from hexapod_dynamics.papers.nth_order import recursive
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.simulation import Ground, Simulator

ROBOT = Robot.jethexa()
PERIOD = 0.02


def motor_motion(
    q: np.ndarray,
    qdot: np.ndarray,
    torque: np.ndarray,
    torque_rate: np.ndarray,
    stiffness: float,
    damping: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return motor angle and rate (n,) [rad, rad/s] for joints at q, qdot, torques [N m] and their rates [N m/s]."""
    return (q + torque / stiffness - damping / stiffness**2 * torque_rate), qdot + torque_rate / stiffness


def servo_move(angle: np.ndarray, rate: np.ndarray, duration: float) -> np.ndarray:
    """Return the positions (n,) [rad] to command so that the motors move uniformly at these rates for `duration`
    [s].
    """
    return angle + rate * duration


def soft(stiffness: float) -> Robot:
    """Return the JetHexa with servos of this stiffness [N m/rad]."""
    return dataclasses.replace(ROBOT, servo=dataclasses.replace(ROBOT.servo, stiffness=stiffness))


def tracking_error(stiffness: float, mode: str, seconds: float = 3.25) -> float:
    """Return the root mean square of joint positions minus the gait's positions [rad] in a simulated walk.

    stiffness: of the servos [N m/rad]; mode: "plain" sends the positions of the gait, "torques" adds the deflection by
    the predicted torques, "rates" also their first derivative.
    """
    robot = soft(stiffness)
    gait = TripodGait().bind(robot)
    gait.reset(walking=True)
    # Feet that slide: those that stick (Coulomb) hold the joints against each other, and no torque of the model knows
    # it; there the feed-forward leaves 29 % less at 30 N m/rad, 22 % at 15 and 46 % at 8.
    simulator, feedforward = Simulator(robot, ground=Ground.viscous()), Feedforward(robot)
    simulator.reset(joints=gait.position.copy())
    twist = np.array([gait.nominal_velocity, 0, 0, 0, 0, 0])
    before, rate_before, errors = gait.position.copy(), gait.velocity.copy(), []
    for k in range(round(seconds / PERIOD)):
        wanted, rate = (array.copy() for array in gait.step(PERIOD))
        target = wanted
        if mode != "plain":
            acceleration = (rate - rate_before) / PERIOD
            torque = feedforward.solve(
                simulator.rotation, simulator.position[2], twist, wanted, rate, acceleration, wanted
            )
            torque_rate = (
                feedforward.solve_rates(simulator.rotation, twist, wanted, rate, acceleration)
                if mode == "rates"
                else np.zeros(18)
            )
            target, _ = motor_motion(wanted, rate, torque, torque_rate, stiffness, robot.servo.damping)
        simulator.command(target, PERIOD)
        for step in range(20):
            simulator.step()
            if k * PERIOD > 1.3:
                errors.append(simulator.q - (before + (wanted - before) * (step + 1) / 20))
        before, rate_before = wanted, rate
    return float(np.sqrt(np.mean(np.square(errors))))


def leg_error(mode: str, stiffness: float = 2.0, damping: float = 0.02, frequency: float = 2.5) -> float:
    """Return the root mean square error [rad] of a leg in the air that follows sines on very soft servos.

    Commands come at 50 Hz; the leg is simulated by Pinocchio. mode: as in `tracking_error`; stiffness [N m/rad],
    damping [N m s/rad], frequency [Hz].
    """
    chain = Chain.from_leg(ROBOT, "RF")
    w, amplitude = 2 * np.pi * frequency, np.array([0.5, 0.5, 0.7])

    def wanted(t: float, order: Any) -> Any:
        k = np.arange(order + 1)[:, None]
        return amplitude * w**k * np.sin(w * t + np.array([0, 0.7, 1.9]) + k * np.pi / 2)

    def target(t: float) -> Any:
        """Return the command of time t, valid until t + PERIOD, from the motion and its torques at t."""
        motion = wanted(t, 3)
        torque, torque_rate = recursive(chain, motion, 1).forces
        if mode == "plain":
            return servo_move(motion[0], motion[1], PERIOD)
        angle, rate = motor_motion(motion[0], motion[1], torque, torque_rate * (mode == "rates"), stiffness, damping)
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
    return float(np.sqrt(np.mean(np.square(errors))))
