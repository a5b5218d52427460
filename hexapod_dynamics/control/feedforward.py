"""Joint torques that the commanded motion needs: inverse dynamics with the contact forces of the standing legs.

h = ID(R, q, nu, nudot) is the wrench on the base and the joint torques without contact, f the feet's forces that make
up h_base, and tau_i = h_i - J_tip,i^T f_i: the leg rows of Farghdani & Chhabra 2025, eq. (6), with tip wrenches.
f solves a non-negative least-squares problem (FootForces):

    minimise  | W (S_i A_i f_i - F) |^2 + r |f|^2 / weight      over f_i in the friction pyramid of a standing leg

with `A_i = [I; [p_i]] R^T` the map from a force at tip i (world axes) to a wrench on the body (body axes, force first).
The pyramid is spanned by four edges, so that `f_i = E x_i` with `x_i >= 0`.

A position servo, modelled as a motor behind a spring and a damper, needs their rates, too:

    tau = k (theta - q) + d (theta' - q')     =>     theta = q + tau/k - (d/k^2) tau',     theta' = q' + tau'/k

to first order in d/k, with tau and tau' from the wanted motion and its first derivative (Mueller & Kumar). A move
command consists of a position and a duration: theta + theta' duration.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.core import _core
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import exp
from hexapod_dynamics.simulation.predictor import Predictor

ROUNDS = 3  # changes of the set of edges in use, for each edge; Lawson and Hanson need about one


class FootForces(_core.FootForces):
    """Distributes a body wrench over the standing feet: Lawson and Hanson, compiled (core/foot_forces.h).

    Args:
        legs: number of legs.
        friction: half opening of the friction pyramid (its edges lie in the cone), dimensionless.
        regularisation: cost of a foot force relative to an error of the wrench, dimensionless.

    length [m] converts moments to forces in the residual: about the feet's distance from the body.
    """

    def __init__(self, legs: int, *, friction: float = 0.6, regularisation: float = 1e-2) -> None:
        self.legs, self.length, self.regularisation = legs, 0.15, regularisation
        side = friction / np.sqrt(2.0)
        self.edges = np.array([[side, side, -side, -side], [side, -side, side, -side], [1.0, 1.0, 1.0, 1.0]])
        super().__init__(self.edges, legs, self.length, regularisation, ROUNDS * self.edges.shape[1] * legs)


class Feedforward:
    """Feed-forward torques of a robot under changing morphologies.

    Args:
        robot: Robot.
        model: a Predictor of the same robot, whose compiled model and morphology are used, so that prediction and
            torques assume the same damage; by default one of its own.

    """

    def __init__(self, robot: Robot, *, model: Predictor | None = None) -> None:
        self.robot, self._model = robot, model or Predictor(robot)
        feet = FootForces(len(robot.legs))
        self._memory, self._memory_beside = (_core.CommandedTorques(self._model, feet) for _ in range(2))
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
        # From 4 mm above the ground, where a foot carries no load, the load capacity increases linearly downwards, so
        # that torques change continuously from one tripod to the other.
        memory.set_load(memory.joints, along_x, along_y, height, 0.004)
        return _solve(memory, rotation, twist, joints, rates, accelerations)

    def solve_rates(
        self,
        rotation: np.ndarray,
        twist: np.ndarray,
        joints: np.ndarray,
        rates: np.ndarray,
        accelerations: np.ndarray,
    ) -> np.ndarray:
        """Compute the time derivative (n,) [N m/s] of the torques along the commanded motion, after `solve`, whose
        standing feet and damage it uses; `tips`, `load`, `forces` and `torques` do not change.

        Central difference of the compiled model along the motion q + s q' + s^2/2 q'', with a constant body twist and
        with the present share of each foot in the load. Equal to the analytic first derivative (papers/nth_order.py) to
        1e-6 at a hundredth of its cost.

        rotation (3, 3) world <- base_link; twist (6,); joints, rates, accelerations (n,) as commanded.
        """
        memory, step = self._memory_beside, 1e-4  # [s]
        turn, difference = np.zeros(6), np.zeros(self.robot.joint_count)
        memory.load[:] = self.load
        for s in (-step, step):
            turn[3:] = s * np.asarray(twist)[3:]
            there = joints + s * rates + s * s / 2 * accelerations
            torques = _solve(
                memory, rotation @ exp(turn)[:3, :3], twist, there, rates + s * accelerations, accelerations
            )
            difference += torques / (2 * s)
        return np.clip(difference, -20.0, 20.0)  # [N m/s] when the set of standing feet changes


def _solve(
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
