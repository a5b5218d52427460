"""Joint torques that the commanded motion needs: inverse dynamics with the contact forces of the standing legs.

h = ID(R, q, nu, nudot) is the wrench on the base and the joint torques without contact, f the feet's forces that make
up h_base (FootForces: non-negative least squares), and tau_i = h_i - J_tip,i^T f_i: the leg rows of Farghdani & Chhabra
2025, eq. (6), with tip wrenches.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.control.foot_force_kernel import foot_forces
from hexapod_dynamics.control.foot_forces import FootForces
from hexapod_dynamics.dynamics.kernels import RobotKernels, inverse, leg_terms, set_state
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Predictor


@kernel
def feet(ws, tips, columns):
    """Write the end of each leg (legs, 3) and its velocity per joint rate (joints, 3), body frame, at the present
    state.

    The end of a missing leg is the origin of the body.
    """
    rows = ws.rows
    columns[:] = 0.0
    tips[:] = 0.0
    for i in range(ws.legs.shape[0]):
        block, lane, first, last = ws.legs[i, 0], ws.legs[i, 1], ws.legs[i, 2], ws.legs[i, 4]
        if last < 0:
            continue
        row = rows.point + 3 * last
        x, y, z = ws.lanes[block, row, lane], ws.lanes[block, row + 1, lane], ws.lanes[block, row + 2, lane]
        tips[i, 0], tips[i, 1], tips[i, 2] = x, y, z
        for k in range(last + 1):
            if ws.moving[first + k] == 0.0:
                continue
            s = rows.screw + 6 * k
            wx, wy, wz = ws.lanes[block, s + 3, lane], ws.lanes[block, s + 4, lane], ws.lanes[block, s + 5, lane]
            columns[first + k, 0] = ws.lanes[block, s, lane] + wy * z - wz * y
            columns[first + k, 1] = ws.lanes[block, s + 1, lane] + wz * x - wx * z
            columns[first + k, 2] = ws.lanes[block, s + 2, lane] + wx * y - wy * x


@kernel
def needed(ws, rotation, q, nu, nudot, no_torque, tips, columns, out):
    """Write inverse dynamics without contact to out (6 + joints,), and the feet's places and Jacobians."""
    set_state(ws, rotation, q, nu, no_torque)
    leg_terms(ws)
    feet(ws, tips, columns)
    inverse(ws, rotation, q, nu, nudot, out)


@kernel
def commanded_torques(
    ws, rotation, slope, height, clearance, predicted, joints, motion, legs, feet_room, tips, columns, load, forces, out
):
    """Write the torques of `Feedforward.solve` to out[1] (joints,); return the outcome of `foot_forces`.

    motion: nu, nudot (6 + joints,), no torque (joints,); legs: which exist (legs,), which joints are driven (joints,),
    the leg of each joint (joints,); out: room for inverse dynamics (6 + joints,), torques (joints,).
    """
    nu, nudot, no_torque = motion
    exists, driven, leg_of_joint = legs
    needs, torques = out
    needed(ws, rotation, predicted, nu, nudot, no_torque, tips, columns, needs)
    for leg in range(tips.shape[0]):
        over_ground = height
        for k in range(3):
            up = rotation[2, k] - slope[0] * rotation[0, k] - slope[1] * rotation[1, k]
            over_ground += tips[leg, k] * up
        load[leg] = min(max(1.0 - over_ground / clearance, 0.0), 1.0) if exists[leg] else 0.0
    needed(ws, rotation, joints, nu, nudot, no_torque, tips, columns, needs)
    outcome = foot_forces(needs[:6], rotation, tips, load, *feet_room)
    if outcome != 0:
        return outcome
    world = feet_room[-1]
    for leg in range(tips.shape[0]):
        for k in range(3):  # body axes
            forces[leg, k] = (
                world[leg, 0] * rotation[0, k] + world[leg, 1] * rotation[1, k] + world[leg, 2] * rotation[2, k]
            )
    for j in range(torques.shape[0]):
        torques[j] = 0.0
        if driven[j]:
            force = forces[leg_of_joint[j]]
            push = columns[j, 0] * force[0] + columns[j, 1] * force[1] + columns[j, 2] * force[2]
            torques[j] = needs[6 + j] - push
    return 0


class Feedforward:
    """Feed-forward torques of a robot under changing morphologies.

    Args:
        robot: Robot.
        friction: of the feet's friction pyramid.
        clearance: height above the ground at which a foot carries no load [m]; below it, the load capacity increases
        linearly, so that torques change continuously from one tripod to the other.
        model: a Predictor of the same robot. Its workspace and its morphology are then used, so that prediction and
        torques assume the same damage.

    """

    def __init__(
        self, robot: Robot, *, friction: float = 0.6, clearance: float = 0.004, model: Predictor | None = None
    ) -> None:
        self.robot, self.clearance, self._model = robot, clearance, model
        legs, joints = len(robot.legs), robot.joint_count
        self._kernels = RobotKernels(robot) if model is None else None
        self._workspace = self._kernels.workspace(Morphology.whole(robot)) if model is None else model.workspace
        self._morphology: Morphology | None = None
        self._leg_of_joint = np.repeat(np.arange(legs), [len(leg.joints) for leg in robot.legs])
        self._feet = FootForces(legs, friction=friction)
        self.tips, self._columns = np.zeros((legs, 3)), np.zeros((joints, 3))
        self.load, self.forces = np.zeros(legs), np.zeros((legs, 3))
        self._needed, self._no_torque = np.zeros(6 + joints), np.zeros(joints)
        self._nu, self._nudot = np.zeros(6 + joints), np.zeros(6 + joints)
        self._other_tips, self._level = np.zeros((legs, 3)), np.zeros(2)
        self._exists, self._driven = np.ones(legs, bool), np.ones(joints, bool)
        self.torques = np.zeros(joints)

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt a Morphology; HexapodError if the workspace is that of a model."""
        if self._kernels is None:
            raise HexapodError("set_morphology: these torques use a model's workspace; set the model's morphology")
        self._kernels.set_morphology(self._workspace, morphology)
        self._adopt(morphology)

    def _adopt(self, morphology: Morphology) -> None:
        self._morphology = morphology
        self._exists, self._driven = self._workspace.legs[:, 4] >= 0, morphology.driven_mask

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
        if self._model is not None and self._model.morphology is not self._morphology:
            self._adopt(self._model.morphology)
        self._nu[:6], self._nu[6:], self._nudot[6:] = twist, rates, accelerations
        outcome = commanded_torques(
            self._workspace,
            rotation,
            self._level if self._model is None else self._model.slope,  # as estimated by the Observer
            height,
            self.clearance,
            predicted_joints,
            joints,
            (self._nu, self._nudot, self._no_torque),
            (self._exists, self._driven, self._leg_of_joint),
            self._feet.room,
            self.tips,
            self._columns,
            self.load,
            self.forces,
            (self._needed, self.torques),
        )
        self._feet.check(outcome, self._needed[:6])
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
        """Write the torques (n,) [N m] of another state to out, with the load of the feet that `solve` found last.

        Arguments as for `solve`; `tips`, `load`, `forces` and `torques` stay. Limp joints have their torque here.
        """
        self._nu[:6], self._nu[6:], self._nudot[6:] = twist, rates, accelerations
        needed(
            self._workspace,
            rotation,
            joints,
            self._nu,
            self._nudot,
            self._no_torque,
            self._other_tips,
            self._columns,
            self._needed,
        )
        forces = self._feet.solve(self._needed[:6], rotation, self._other_tips, self.load) @ rotation
        np.einsum("jc,jc->j", self._columns, forces[self._leg_of_joint], out=out)
        np.subtract(self._needed[6:], out, out=out)
