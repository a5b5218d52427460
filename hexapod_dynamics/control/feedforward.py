"""Joint torques that the commanded motion needs: inverse dynamics with the contact forces of the standing legs.

h = ID(R, q, nu, nudot) is the wrench on the base and the joint torques without contact, f the feet's forces that make
up h_base (FootForces: non-negative least squares), and tau_i = h_i - J_tip,i^T f_i: the leg rows of Farghdani & Chhabra
2025, eq. (6), with tip wrenches.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.control.foot_forces import FootForces
from hexapod_dynamics.core import _core
from hexapod_dynamics.robot import Morphology, Robot
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
        legs = len(robot.legs)
        self._morphology: Morphology | None = None
        self._leg_of_joint = np.repeat(np.arange(legs), [len(leg.joints) for leg in robot.legs])
        self._feet = FootForces(legs, friction=friction)
        memory = self._memory = _core.CommandedTorques(self._model, self._feet.memory)
        self.tips, self.load, self.forces, self.torques = memory.tips, memory.load, memory.forces, memory.torques
        self._other_tips = np.zeros((legs, 3))

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
        if self._model.morphology is not self._morphology:
            self._morphology = self._model.morphology
            memory.driven[:] = self._morphology.driven_mask
        memory.nu[:6], memory.nu[6:], memory.nudot[6:] = twist, rates, accelerations
        memory.rotation[:], memory.joints[:], memory.predicted[:] = rotation, joints, predicted_joints
        along_x, along_y = self._model.slope.tolist()  # as estimated by the Observer
        outcome = memory.solve(along_x, along_y, height, self.clearance)
        self._feet.check(outcome, memory.needs[:6])
        return self.torques

    def solve_with_present_load(
        self,
        rotation: np.ndarray,
        twist: np.ndarray,
        joints: np.ndarray,
        rates: np.ndarray,
        accelerations: np.ndarray,
        out: np.ndarray,
    ) -> None:
        """Write the torques (n,) [N m] of another state to out, with the load of the feet from the last call of
        `solve`.

        Arguments as for `solve`; `tips`, `load`, `forces` and `torques` do not change. Limp joints are treated as
        if they gave torque.
        """
        memory = self._memory
        memory.nu[:6], memory.nu[6:], memory.nudot[6:] = twist, rates, accelerations
        memory.rotation[:], memory.joints[:] = rotation, joints
        state = memory.rotation, memory.joints, memory.nu, memory.nudot
        self._model.needs(*state, self._other_tips, memory.columns, memory.needs)
        forces = self._feet.solve(memory.needs[:6], rotation, self._other_tips, self.load) @ rotation
        np.einsum("jc,jc->j", memory.columns, forces[self._leg_of_joint], out=out)
        np.subtract(memory.needs[6:], out, out=out)
