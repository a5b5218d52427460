"""A position servo is a motor behind a spring and a damper: where the motor must be for the joint to be right.

    tau = k (theta - q) + d (theta' - q')     =>     theta = q + tau/k - (d/k^2) tau',     theta' = q' + tau'/k

to first order in d/k, with tau and its rate tau' from the model's inverse dynamics along the wanted motion and its
first derivative (Mueller & Kumar). A move command says a position and a duration: theta + theta' times the duration.
"""

import numpy as np

from hexapod_dynamics.estimation.feedforward import needed
from hexapod_dynamics.se3 import exp


def motor_motion(q, qdot, torque, torque_rate, stiffness, damping=0.0):
    """Motor angle and rate (n,) [rad, rad/s] that put joints at q, qdot under torques [N m] and their rates [N m/s]."""
    return (q + torque / stiffness - damping / stiffness ** 2 * torque_rate), qdot + torque_rate / stiffness


def servo_move(angle, rate, duration):
    """Position to send (n,) [rad] so that a servo that moves uniformly for `duration` [s] turns at the motor's rate."""
    return angle + rate * duration


class TorqueRates:
    """Time derivative of a `Feedforward`'s torques along the commanded motion.

    Central difference of the compiled model along the motion q + s q' + s^2/2 q'', the body going on at its twist, the
    feet carrying in the proportion they carry now. Equal to the analytic first derivative (`dynamics.nth_order`) to
    1e-6 at a hundredth of its cost; limit [N m/s] bounds what a changing set of standing feet makes of it.
    """

    def __init__(self, feedforward, *, step=1e-4, limit=20.0):
        self._feedforward, self._step, self._limit = feedforward, step, limit
        n = feedforward.robot.joint_count
        self._nu, self._nudot, self._no_torque = np.zeros(6 + n), np.zeros(6 + n), np.zeros(n)
        self._out, self._torques, self.rates = np.zeros(6 + n), np.zeros((2, n)), np.zeros(n)
        self._tips, self._columns = np.zeros_like(feedforward.tips), np.zeros((n, 3))

    def solve(self, rotation, twist, joints, rates, accelerations):
        """Compute the rates (n,) [N m/s] right after `Feedforward.solve`, whose standing feet and damage count.

        rotation (3, 3) world <- base_link; twist (6,); joints, rates, accelerations (n,) as commanded.
        """
        turn = np.zeros(6)
        for row, s in enumerate((-self._step, self._step)):
            turn[3:] = s * np.asarray(twist)[3:]
            self._at(rotation @ exp(turn)[:3, :3], twist, joints + s * rates + s * s / 2 * accelerations,
                     rates + s * accelerations, accelerations, self._torques[row])
        np.subtract(self._torques[1], self._torques[0], out=self.rates)
        self.rates /= 2 * self._step
        return np.clip(self.rates, -self._limit, self._limit, out=self.rates)

    def _at(self, rotation, twist, joints, rates, accelerations, out):
        """Torques at one moment: as in `Feedforward.solve`, but with the load of the feet as it is."""
        ff = self._feedforward
        self._nu[:6], self._nu[6:], self._nudot[6:] = twist, rates, accelerations
        needed(ff._workspace, rotation, joints, self._nu, self._nudot, self._no_torque, self._tips, self._columns,
               self._out)
        forces = ff._feet.solve(self._out[:6], rotation, self._tips, ff.load) @ rotation
        np.einsum('jc,jc->j', self._columns, forces[ff._leg_of_joint], out=out)
        np.subtract(self._out[6:], out, out=out)
