"""Statics of a body on the feet of its legs, and the torques of servos from their leads.

Statics with the feet's forces eliminated (a leg has three joints), at joint torques tau:

    G(phi) = sum over legs A_i (g_i - tau_i),   A_i = [J_i^-T; r_i x J_i^-T]

G (6,): wrench that the body needs against gravity, force first, base_link axes; g_i: gravity on the leg's joints; J_i:
Jacobian of its foot at r_i. A leg in the air contributes nothing, because its torques are those of its own weight.
A servo's torque from its lead e over the measured angle, and its set-point's rate w (identification/servo_response.py):

    tau = (k dz(e - (1 - f) T w) - c s) / (1 + l s sign(tau)),   s = w / sqrt(w^2 + SLOW^2)

Friction grows with the load: a servo that lifts it gives (1 + l) times its torque, one that lowers it (1 - l) times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.robot import Morphology, Robot

Array = NDArray[np.float64]
SLOW = 0.02  # [rad/s]


@dataclass(frozen=True, eq=False)
class Servos:
    """Parameters that determine the torque of each servo: stiffness [N m/rad], zone [rad], lag [s], kind (n,);
    coulomb [N m] and loaded: friction of all, and its share of the load.
    """

    stiffness: Array
    zone: Array
    lag: Array
    kind: Array
    coulomb: float = 0.0
    loaded: float = 0.0

    @classmethod
    def of_robot(cls, robot: Robot) -> Servos:
        """The servos of the robot file."""
        n, servo = robot.joint_count, robot.servo
        if robot.joint_servos:
            laws = robot.joint_servos
            return cls(
                np.array([law.stiffness for law in laws]),
                np.array([law.dead_zone for law in laws]),
                np.array([law.lag for law in laws]),
                np.array([law.feed_forward for law in laws]),
                0.0,
                float(np.mean([law.load_friction for law in laws])),
            )
        one = np.ones(n)
        return cls(servo.stiffness * one, 0.0 * one, servo.damping / servo.stiffness * one, one)

    def torques(self, lead: Array, rate: Array) -> Array:
        """Torques (..., n) [N m] at leads (..., n) [rad] and rates (..., n) [rad/s] of the set-points."""
        e = lead - (1.0 - self.kind) * self.lag * rate
        torque = self.stiffness * (e - np.clip(e, -self.zone, self.zone))
        moves = rate / np.sqrt(rate**2 + SLOW**2)
        return np.asarray((torque - self.coulomb * moves) / (1.0 + self.loaded * np.sign(torque) * moves), np.float64)


@dataclass(frozen=True, eq=False)
class Statics:
    """B samples of a robot at rest: A (B, 6, n), gravity on the joints (B, n), on the body (B, 6) and up (B, 3)."""

    A: Array
    joints: Array
    body: Array
    up: Array

    def carried(self, torques: Array) -> Array:
        """Wrench (B, 6) with which the feet lift the body and what it carries, at joint torques (B, n) [N m]."""
        return np.einsum("bij,bj->bi", self.A, self.joints - torques)


class BodyStatics:
    """Computes the Statics of a robot with a morphology, by default of the intact robot.

    A leg with a missing link or an immobile joint contributes only its weight, as if it did not stand. Raises
    IdentificationError for legs that have not three joints.
    """

    def __init__(self, robot: Robot, model: WholeBodyModel | None = None, morphology: Morphology | None = None) -> None:
        if any(len(leg.joints) != 3 for leg in robot.legs):
            raise IdentificationError("loads: legs of three joints needed, to solve for the force of each foot")
        self.model = WholeBodyModel(robot) if model is None else model
        self.morphology = morphology = Morphology.whole(robot) if morphology is None else morphology
        moving = np.flatnonzero(morphology.moving_mask)
        places = {int(joint): k for k, joint in enumerate(moving)}
        self._rows = np.concatenate([np.arange(6), 6 + moving])
        self._standing = []  # name of a leg, its columns in the Jacobian, its last link, the length of that
        joints: list[int] = []
        for leg in robot.legs:
            indices = robot.leg_joints(leg.name)
            if all(joint in places for joint in indices):
                first, link = 6 + places[indices.start], morphology.links(leg.name)[-1]
                self._standing.append((leg.name, slice(first, first + 3), f"{leg.name}.{link.name}", link.length))
                joints += indices
        self._joints = np.array(joints, np.intp)
        self._level, self._origin = np.eye(3), np.zeros(3)

    def at(self, angles: Array, up: Array) -> Statics:
        """Return the Statics at angles (B, n) [rad] and upward directions (B, 3) in base_link; NaN if a leg is nearly
        straight.
        """
        model, morphology, standing = self.model, self.morphology, self._standing
        B, n = angles.shape
        A, gravity = np.zeros((B, 6, n)), np.zeros((B, 6 + n))
        jacobians, feet = np.empty((len(standing), 3, 3)), np.empty((len(standing), 1, 3))
        for b in range(B):
            gravity[b, self._rows] = model.gravity_force(turn_upright(up[b]), angles[b], morphology)
            poses = model.link_poses(self._level, self._origin, angles[b], morphology)
            for k, (name, columns, link, length) in enumerate(standing):
                turn, start = poses[link]
                jacobians[k] = turn @ model.tip_jacobian(name, angles[b], morphology)[:3, columns]
                feet[k] = start + turn[:, 0] * length
            sizes = np.linalg.svd(jacobians, compute_uv=False)
            if (sizes[:, 0] > 40.0 * sizes[:, -1]).any():  # of the condition: a leg is nearly straight
                A[b] = np.nan
                continue
            forces = np.linalg.inv(jacobians)  # a row for each joint: the foot's force at a torque of 1 N m
            A[b, :3, self._joints] = forces.reshape(-1, 3)
            A[b, 3:, self._joints] = np.cross(feet, forces).reshape(-1, 3)
        return Statics(A, gravity[:, 6:], gravity[:, :6], up)


def turn_upright(up: Array) -> Array:
    """Rotation (3, 3) world <- base_link, without yaw, of a body in whose axes `up` (3,) points upward."""
    a, b, c = up.tolist()
    size = math.sqrt(a * a + b * b + c * c)
    a, b, c = a / size, b / size, c / size
    # Rows: x without its share along the upward direction, the direction across, the upward direction.
    size = math.sqrt(b * b + c * c)
    if size < 1e-9:  # the body stands on its nose or tail: any yaw is valid
        return np.array([[0.0, 1.0, 0.0], [0.0, 0.0, a], [a, 0.0, 0.0]])
    return np.array([[size, -a * b / size, -a * c / size], [0.0, c / size, -b / size], [a, b, c]])
