"""Servos that are not springs: a position loop at 500 Hz with a dead zone, play, lag and mounting errors; friction.

    e   = setpoint - y,    y: angle of the encoder, which follows the joint with play of +-hysteresis
    tau = clip(k (e - clip(e, -zone, zone)) + d (ff d setpoint/dt - qdot), +- torque limit),    d = d_model + k lag

The loop computes its stiff part every LOOP_PERIOD and holds it in between; the damping is back-EMF and acts all
the time. With ff = 0 the damping acts against zero rate, so that a joint follows its set-point by d / k later. A
mounting error `zero` of the horn shifts the servo's reading: reading = y + zero.

Friction of a servo's gear train as Rhoban's BAM identifies it: Coulomb, viscous, Stribeck, load-dependent.

The friction is the torque that stops the joint, limited to

    F = b + |l_e tau_e - l_m tau_m| + S (b_s + |s_e tau_e - s_m tau_m|) + v |qdot|,    S = exp(-|qdot / w_s|^a)

tau_m: motor's torque at the output shaft [N m]; tau_e: torque of everything else on the joint [N m]. Duclusaud,
Passault et al. 2024, "Extended friction models for the physics simulation of servo actuators", arXiv 2410.08650,
models M1 (b, v), M4 (one load coefficient for motor and load) and M6 (its quadratic terms, below 0.01 / N m, are left
out). The numbers are those of the Feetech STS3215 at 7.4 V in Rhoban/bam (Apache-2.0), commit 31e5b97, files
bam/params/feetech_sts3215_7_4V/m1.json, m4.json, m6.json. No parameters of LX or HTD servos are published; the
STS3215 is the most similar servo with published parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hexapod_dynamics.robot.parts import Servo

if TYPE_CHECKING:
    from hexapod_dynamics.simulation.truth import Truth

LOOP_PERIOD = 2e-3  # [s]; the physics holds the torque of a loop in between, and treats damping and friction implicitly


@dataclass(frozen=True)
class FrictionModel:
    """base, stribeck [N m]: b, b_s; motor, external: l_m, l_e; motor_stribeck, external_stribeck: s_m, s_e;
    viscous [N m s/rad]: v; speed [rad/s]: w_s; exponent: a.
    """

    base: float = 0.0
    stribeck: float = 0.0
    motor: float = 0.0
    external: float = 0.0
    motor_stribeck: float = 0.0
    external_stribeck: float = 0.0
    viscous: float = 0.0
    speed: float = 1.0
    exponent: float = 1.0

    def compute_dry_limit(self, motor: np.ndarray, external: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return the limit (n,) [N m] of the friction without its viscous part, at torques (n,) and rates (n,)."""
        creeping = np.exp(-(np.abs(rate / self.speed) ** self.exponent))
        load = np.abs(external * self.external - motor * self.motor)
        creep_load = np.abs(external * self.external_stribeck - motor * self.motor_stribeck)
        return self.base + load + creeping * (self.stribeck + creep_load)


# Number of the model: its parameters. Both torques act on the joint: at rest tau_e = -tau_m.
MODELS = {
    0: FrictionModel(),
    1: FrictionModel(base=0.0515, viscous=0.0599),
    4: FrictionModel(
        base=0.0519, stribeck=0.0111, motor=0.2079, external=0.2079, viscous=0.0338, speed=0.4432, exponent=9.99
    ),
    6: FrictionModel(
        base=0.0533,
        motor=0.0449,
        external=0.2436,
        motor_stribeck=0.0001,
        external_stribeck=0.1423,
        viscous=0.0282,
        speed=0.3711,
        exponent=9.93,
    ),
}


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

    def compute_torques(self, setpoints: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return the torques (n,) [N m] of the loop without its damping, at set-points (n,) [rad] and rates (n,)."""
        error = setpoints - self.encoder
        return self.stiffness * (error - np.clip(error, -self.zone, self.zone)) + self.damping * self.feed * rates

    def compute_dry_friction(self, motor: np.ndarray, external: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return the limit (n,) [N m] of dry friction, at torques (n,) [N m] and rates (n,) [rad/s] of the joints."""
        return self.scale * self._friction.compute_dry_limit(motor, external, rates)
