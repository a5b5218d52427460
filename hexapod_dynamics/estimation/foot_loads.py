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
from hexapod_dynamics.robot import Leg, Morphology, Robot
from hexapod_dynamics.se3 import rotation_rpy

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
SLOW_RATE = 0.02  # [rad/s]


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
    def from_robot(cls, robot: Robot) -> Servos:
        """The servos of the robot file."""
        laws = robot.servo_laws
        names = ("stiffness", "dead_zone", "lag", "feed_forward")
        stiffness, zone, lag, kind = (np.array([getattr(law, name) for law in laws]) for name in names)
        return cls(stiffness, zone, lag, kind, loaded=float(np.mean([law.load_friction for law in laws])))

    def torques(self, lead: Array, rate: Array, joints: Indices | slice = slice(None)) -> Array:
        """Torques (..., k) [N m] at leads (..., k) [rad] and rates (..., k) [rad/s] of the set-points.

        joints: whose they are (k,), by default those of all in their order.
        """
        zone = self.zone[joints]
        e = lead - (1.0 - self.kind[joints]) * self.lag[joints] * rate
        torque = self.stiffness[joints] * (e - np.clip(e, -zone, zone))
        moves = rate / np.sqrt(rate**2 + SLOW_RATE**2)
        return np.asarray((torque - self.coulomb * moves) / (1.0 + self.loaded * np.sign(torque) * moves), np.float64)


@dataclass(frozen=True, eq=False)
class Statics:
    """B samples of a robot at rest: A (B, 6, n), gravity on the joints (B, n), on the body (B, 6) and up (B, 3)."""

    A: Array
    joints: Array
    body: Array
    up: Array

    def carried_wrench(self, torques: Array) -> Array:
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
        self.robot, self.model = robot, WholeBodyModel(robot) if model is None else model
        self.morphology = Morphology.whole(robot) if morphology is None else morphology
        self._rows = np.concatenate([np.arange(6), 6 + np.flatnonzero(self.morphology.moving_mask)])

    def compute(self, angles: Array, up: Array) -> Statics:
        """Return the Statics at angles (B, n) [rad] and upward directions (B, 3) in base_link; NaN if a leg is nearly
        straight.
        """
        model, morphology = self.model, self.morphology
        B, n = angles.shape
        gravity = np.zeros((B, 6 + n))
        for b in range(B):
            gravity[b, self._rows] = model.gravity_force(turn_upright(up[b]), angles[b], morphology)
        feet, jacobians = compute_feet(self.robot, model, angles, morphology)
        sizes = np.linalg.svd(jacobians, compute_uv=False)
        bent = (sizes[..., 0] <= 40.0 * sizes[..., -1]).all(axis=1)  # of the condition: else a leg is nearly straight
        forces = np.linalg.inv(jacobians[bent])  # a row for each joint: the foot's force at a torque of 1 N m
        wrenches = np.concatenate([forces, np.cross(feet[bent][:, :, None], forces)], axis=-1)
        A = np.full((B, 6, n), np.nan)
        A[bent] = 0.0
        legs = find_moving_legs(self.robot, morphology)
        joints = np.array([joint for leg in legs for joint in self.robot.leg_joints(leg.name)], np.intp)
        rows = np.ix_(np.flatnonzero(bent), np.arange(6), joints)
        A[rows] = wrenches.reshape(len(wrenches), len(joints), 6).transpose(0, 2, 1)
        return Statics(A, gravity[:, 6:], gravity[:, :6], up)


def find_moving_legs(robot: Robot, morphology: Morphology) -> list[Leg]:
    """Return the legs of which no link is missing and no joint locked."""
    return [leg for leg in robot.legs if morphology.moving_mask[list(robot.leg_joints(leg.name))].all()]


def compute_feet(
    robot: Robot, model: WholeBodyModel, angles: Array, morphology: Morphology | None = None
) -> tuple[Array, Array]:
    """Feet (B, legs, 3) [m] of the `find_moving_legs`, by default of all legs, and their Jacobians by the leg's joints
    (B, legs, 3, joints of a leg), base_link axes, at angles (B, n) [rad].
    """
    morphology = Morphology.whole(robot) if morphology is None else morphology
    columns = 5 + np.cumsum(morphology.moving_mask)  # of each joint in a Jacobian
    ends = [
        (leg.name, morphology.links(leg.name)[-1], columns[list(robot.leg_joints(leg.name))])
        for leg in find_moving_legs(robot, morphology)
    ]
    most = max(len(leg.joints) for leg in robot.legs)
    feet, jacobians = np.empty((len(angles), len(ends), 3)), np.zeros((len(angles), len(ends), 3, most))
    for b, q in enumerate(angles):
        poses = model.link_poses(np.eye(3), np.zeros(3), q, morphology)
        for i, (leg, link, own) in enumerate(ends):
            turn, start = poses[f"{leg}.{link.name}"]
            feet[b, i] = start + turn[:, 0] * link.length
            jacobians[b, i, :, : len(own)] = turn @ model.tip_jacobian(leg, q, morphology)[:3, own]
    return feet, jacobians


def turn_upright(up: Array) -> Array:
    """Rotation (3, 3) world <- base_link, without yaw, of a body in whose axes `up` (3,) points upward."""
    a, b, c = up.tolist()
    return rotation_rpy(math.atan2(b, c), math.atan2(-a, math.hypot(b, c)), 0.0)
