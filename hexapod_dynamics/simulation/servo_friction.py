"""Friction of a servo's gear train as Rhoban's BAM identifies it: Coulomb, viscous, Stribeck, load-dependent.

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

import numpy as np


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

    def dry(self, motor: np.ndarray, external: np.ndarray, rate: np.ndarray) -> np.ndarray:
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
