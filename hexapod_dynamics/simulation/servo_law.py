"""Servos that are not springs: a position loop at 500 Hz with a dead zone, play, lag and mounting errors.

    e   = setpoint - y,    y: angle of the encoder, which follows the joint with play of +-hysteresis
    tau = clip(k (e - clip(e, -zone, zone)) + d (ff d setpoint/dt - qdot), +- torque limit),    d = d_model + k lag

The loop computes its stiff part every LOOP_PERIOD and holds it in between; the damping is back-EMF and acts all
the time. With ff = 0 the damping acts against zero rate, so that a joint follows its set-point by d / k later. A
mounting error `zero` of the horn shifts the servo's reading: reading = y + zero. Friction: servo_friction.py.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.robot.parts import Servo
from hexapod_dynamics.simulation.servo_friction import MODELS
from hexapod_dynamics.simulation.truth import Truth

LOOP_PERIOD = 2e-3  # [s]


class ServoLaw:
    """State of the position loops of n servos, with numbers of a Truth."""

    def __init__(self, truth: Truth, servo: Servo, count: int) -> None:
        self.zone = np.radians(truth.zone) + truth.deadband * servo.resolution
        self.play = np.radians(truth.hysteresis)
        self.stiffness = servo.stiffness * truth.stiffness_factors(count)  # (n,)
        self.damping = servo.damping + servo.stiffness * truth.lag
        self.feed = truth.ff
        self.scale, self._friction = truth.servo_friction, MODELS[truth.friction_model]
        self.viscous = self.scale * self._friction.viscous  # [N m s/rad]
        self.encoder = np.zeros(count)

    def reset(self, q: np.ndarray) -> None:
        """Start with joints q (n,) [rad] in the middle of their play."""
        self.encoder[:] = q

    def follow(self, q: np.ndarray) -> None:
        """Let the encoders follow the joints q (n,) [rad]; NaN for missing joints."""
        low, high = q - self.play, q + self.play
        np.clip(self.encoder, low, high, out=self.encoder)

    def drive(self, setpoints: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return the torques (n,) [N m] of the loop without its damping, at set-points (n,) [rad] and rates (n,)."""
        error = setpoints - self.encoder
        return self.stiffness * (error - np.clip(error, -self.zone, self.zone)) + self.damping * self.feed * rates

    def dry_friction(self, motor: np.ndarray, external: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return the limit (n,) [N m] of dry friction, at torques (n,) [N m] and rates (n,) [rad/s] of the joints."""
        return self.scale * self._friction.dry(motor, external, rates)
