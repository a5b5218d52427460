"""Joint torques that the commanded motion needs: inverse dynamics with the contact forces of the standing legs.

h = ID(R, q, nu, nudot) is the wrench on the base and the joint torques without contact, f the feet's forces that make
up h_base (FootForces: non-negative least squares), and tau_i = h_i - J_tip,i^T f_i: the leg rows of Farghdani & Chhabra
2025, eq. (6), with tip wrenches.

A position servo, modelled as a motor behind a spring and a damper, needs their rates, too:

    tau = k (theta - q) + d (theta' - q')     =>     theta = q + tau/k - (d/k^2) tau',     theta' = q' + tau'/k

to first order in d/k, with tau and tau' from the wanted motion and its first derivative (Mueller & Kumar). A move
command consists of a position and a duration: theta + theta' duration.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.control.foot_forces import FootForces
from hexapod_dynamics.core import _core
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import exp
from hexapod_dynamics.simulation.predictor import Predictor


class Feedforward:
    """Feed-forward torques of a robot under changing morphologies.

    Args:
        robot: Robot.
        friction: coefficient of the feet's friction pyramid.
        clearance: height above the ground at which a foot carries no load [m]; below it, the load capacity
            increases linearly, so that torques change continuously from one tripod to the other.
        model: a Predictor of the same robot, whose compiled model and morphology are used, so that prediction and
            torques assume the same damage; by default one of its own.

    """

    def __init__(
        self, robot: Robot, *, friction: float = 0.6, clearance: float = 0.004, model: Predictor | None = None
    ) -> None:
        self.robot, self.clearance, self._model = robot, clearance, model or Predictor(robot)
        feet = FootForces(len(robot.legs), friction=friction)
        self._memory, self._memory_ahead = (_core.CommandedTorques(self._model, feet) for _ in range(2))
        memory = self._memory
        self.tips, self.load, self.forces, self.torques = memory.tips, memory.load, memory.forces, memory.torques

    def set_morphology(self, morphology: Morphology) -> None:
        """Set the Morphology of the model."""
        self._model.set_morphology(morphology)

    def solve(
        self,
        rotation: np.ndarray,
        height: float,
        twist: np.ndarray,
        joints: np.ndarray,
        rates: npt.ArrayLike,
        accelerations: npt.ArrayLike,
        predicted_joints: np.ndarray,
    ) -> np.ndarray:
        """Compute the torques (n,) [N m]; zero for joints that are missing, locked or limp.

        Args:
            rotation: (3, 3) world <- base_link, as predicted.
            height: of base_link over the ground below it, as predicted [m].
            twist: (6,) body twist, linear first.
            joints: (n,) as commanded [rad].
            rates: (n,) as commanded [rad/s].
            accelerations: (n,) as commanded [rad/s^2].
            predicted_joints: (n,) [rad], which decide which feet are on the ground.

        Raises HexapodError where no foot forces are found.
        """
        memory = self._memory
        along_x, along_y = self._model.slope.tolist()  # as estimated by the Observer
        memory.rotation[:], memory.joints[:] = rotation, predicted_joints
        memory.set_load(memory.joints, along_x, along_y, height, self.clearance)
        return self._solve(memory, rotation, twist, joints, rates, accelerations)

    def solve_with_present_load(
        self,
        rotation: np.ndarray,
        twist: np.ndarray,
        joints: np.ndarray,
        rates: np.ndarray,
        accelerations: np.ndarray,
    ) -> np.ndarray:
        """Compute the torques (n,) [N m] of another state, with the load of the feet from the last call of `solve`.

        Arguments as for `solve`; `tips`, `load`, `forces` and `torques` do not change.
        """
        memory = self._memory_ahead
        memory.load[:] = self.load
        return self._solve(memory, rotation, twist, joints, rates, accelerations)

    def _solve(
        self,
        memory: _core.CommandedTorques,
        rotation: np.ndarray,
        twist: np.ndarray,
        joints: np.ndarray,
        rates: npt.ArrayLike,
        accelerations: npt.ArrayLike,
    ) -> np.ndarray:
        memory.nu[:6], memory.nu[6:], memory.nudot[6:] = twist, rates, accelerations
        memory.rotation[:], memory.joints[:] = rotation, joints
        return memory.solve()


class TorqueRates:
    """Time derivative of a `Feedforward`'s torques along the commanded motion.

    Central difference of the compiled model along the motion q + s q' + s^2/2 q'', with a constant body twist and with
    the present share of each foot in the load. Equal to the analytic first derivative (papers/nth_order.py) to 1e-6 at
    a hundredth of its cost. limit [N m/s] bounds the rates when the set of standing feet changes.
    """

    def __init__(self, feedforward: Feedforward, *, step: float = 1e-4, limit: float = 20.0) -> None:
        self._feedforward, self._step, self._limit = feedforward, step, limit
        self.rates = np.zeros(feedforward.robot.joint_count)

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
        self.rates[:] = 0.0
        for s in (-self._step, self._step):
            turn[3:] = s * np.asarray(twist)[3:]
            torques = self._feedforward.solve_with_present_load(
                rotation @ exp(turn)[:3, :3],
                twist,
                joints + s * rates + s * s / 2 * accelerations,
                rates + s * accelerations,
                accelerations,
            )
            self.rates += torques / (2 * s)
        return np.clip(self.rates, -self._limit, self._limit, out=self.rates)
