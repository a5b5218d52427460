"""Motor set-points of a position servo, modelled as a motor behind a spring and a damper.

    tau = k (theta - q) + d (theta' - q')     =>     theta = q + tau/k - (d/k^2) tau',     theta' = q' + tau'/k

to first order in d/k, with tau and its rate tau' from the model's inverse dynamics along the wanted motion and its
first derivative (Mueller & Kumar). A move command consists of a position and a duration: theta + theta' duration.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.se3 import exp


class TorqueRates:
    """Time derivative of a `Feedforward`'s torques along the commanded motion.

    Central difference of the compiled model along the motion q + s q' + s^2/2 q'', with a constant body twist and with
    the present share of each foot in the load. Equal to the analytic first derivative (`formulations.nth_order`) to
    1e-6 at a hundredth of its cost. limit [N m/s] bounds the rates when the set of standing feet changes.
    """

    def __init__(self, feedforward: Feedforward, *, step: float = 1e-4, limit: float = 20.0) -> None:
        self._feedforward, self._step, self._limit = feedforward, step, limit
        n = feedforward.robot.joint_count
        self._torques, self.rates = np.zeros((2, n)), np.zeros(n)

    def solve(
        self,
        rotation: np.ndarray,
        twist: np.ndarray,
        joints: np.ndarray,
        rates: np.ndarray,
        accelerations: np.ndarray,
    ) -> np.ndarray:
        """Compute the rates (n,) [N m/s]; call it after `Feedforward.solve`, whose standing feet and damage it uses.

        rotation (3, 3) world <- base_link; twist (6,); joints, rates, accelerations (n,) as commanded.
        """
        turn = np.zeros(6)
        for row, s in enumerate((-self._step, self._step)):
            turn[3:] = s * np.asarray(twist)[3:]
            self._feedforward.solve_with_present_load(
                rotation @ exp(turn)[:3, :3],
                twist,
                joints + s * rates + s * s / 2 * accelerations,
                rates + s * accelerations,
                accelerations,
                self._torques[row],
            )
        np.subtract(self._torques[1], self._torques[0], out=self.rates)
        self.rates /= 2 * self._step
        return np.clip(self.rates, -self._limit, self._limit, out=self.rates)
