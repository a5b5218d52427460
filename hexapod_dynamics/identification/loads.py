"""Loads of the feet, from the angles by which servos lag behind their set-points: stiffness, zones, friction,
weight.

Statics of a body on legs whose joints give the torques tau, with the feet's forces eliminated (a leg has three joints):

    G(phi) = sum over legs A_i (g_i - tau_i),   A_i = [J_i^-T; r_i x J_i^-T]

G (6,): wrench that the body needs against gravity, force first, base_link axes; g_i: gravity on the leg's joints; J_i:
Jacobian of its foot at r_i. A leg in the air contributes nothing, because its torques are those of its own weight.
A servo's torque from its lead e over the measured angle, and its set-point's rate w (servo_response.py):

    tau = (k dz(e - (1 - f) T w) - c s) / (1 + l s sign(tau)),   s = w / sqrt(w^2 + SLOW^2)

Friction grows with the load: a servo that lifts it gives (1 + l) times its torque, one that lowers it (1 - l) times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.identification.recording import Means
from hexapod_dynamics.robot import Morphology, Robot

Array = NDArray[np.float64]
SLOW = 0.02  # [rad/s]
LEAD_NOISE = 1.5e-3  # [rad] of a mean lead, in addition to its resolution
STRAIGHTEST = 40.0  # condition number of a foot's Jacobian beyond which its bin is left out
CLIP = 4.0  # standard deviations at which a residual is limited
# Standard deviations before anything is known: stiffness of all servos and of one from the others (relative), friction
# [N m] and its share of the load, mass (relative) if the robot was not weighed and if it was, centre of mass [m].
ALL_STIFFNESS, ONE_STIFFNESS, COULOMB, LOADED, UNWEIGHED, SCALE_ERROR, CENTRE = 0.5, 0.08, 0.05, 0.1, 0.1, 0.005, 0.02
ROUNDS = 8


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

    @classmethod
    def of(
        cls,
        robot: Robot,
        angles: Array,
        up: Array,
        model: WholeBodyModel | None = None,
        morphology: Morphology | None = None,
    ) -> Statics:
        """At angles (B, n) [rad] and upward directions (B, 3) in base_link; NaN if a leg is nearly straight.

        A leg with a missing link or an immobile joint contributes only its weight, as if it did not stand. Raises
        IdentificationError for legs that have not three joints.
        """
        return BodyStatics(robot, model, morphology).at(angles, up)

    def carried(self, torques: Array) -> Array:
        """Wrench (B, 6) with which the feet lift the body and what it carries, at joint torques (B, n) [N m]."""
        return np.einsum("bij,bj->bi", self.A, self.joints - torques)


class BodyStatics:
    """Computes the Statics of a robot with a morphology.

    Raises IdentificationError for legs that have not three joints.
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
        """See `Statics.of`."""
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
            if (sizes[:, 0] > STRAIGHTEST * sizes[:, -1]).any():
                A[b] = np.nan
                continue
            forces = np.linalg.inv(jacobians)  # a row for each joint: the foot's force at a torque of 1 N m
            A[b, :3, self._joints] = forces.reshape(-1, 3)
            A[b, 3:, self._joints] = np.cross(feet, forces).reshape(-1, 3)
        return Statics(A, gravity[:, 6:], gravity[:, :6], up)


@dataclass(frozen=True, eq=False)
class Loads:
    """Result of `identify_loads`: servos; mass [kg] and centre (3,) [m] of the body; standard deviations of the
    stiffnesses and zones (n,), of friction (2,), of mass and centre; noise before and after, of the weight [N].
    """

    servos: Servos
    mass: float
    centre: Array
    stiffness_deviation: Array
    zone_deviation: Array
    friction_deviation: Array
    mass_deviation: float
    centre_deviation: Array
    common_deviation: float
    noise: float
    before: float


def identify_loads(robot: Robot, means: Means, servos: Servos, zone_deviation: Array, weighed: float | None) -> Loads:
    """Identify stiffness, zone, friction, mass and centre of the body of a robot that stands and moves slowly.

    servos: with the zones, lags and kinds of the suspended exercise, zone_deviation (n,) [rad] of them; weighed [kg]:
    mass of the robot on a scale, None: the file's within 10 %. The file's masses of the legs are used as they are.
    Without a scale all torques, stiffnesses and masses may be wrong by a common factor, and the deviations include
    this.
    """
    model = WholeBodyModel(robot)
    whole = means.complete()
    means = means.select(whole)
    if len(means.time) < 50:
        raise IdentificationError(f"loads: {len(means.time)} complete samples, 50 needed: stand and move longer")
    up = means.specific_force / np.linalg.norm(means.specific_force, axis=1, keepdims=True)
    statics = Statics.of(robot, means.angle, up, model)
    good = np.asarray(np.isfinite(statics.A).all(axis=(1, 2)), np.bool_)
    statics = Statics(statics.A[good], statics.joints[good], statics.body[good], up[good])
    means = means.select(good)
    n, g = robot.joint_count, robot.gravity
    total = model.total_mass()
    weight, known = (total, UNWEIGHED) if weighed is None else (weighed, SCALE_ERROR)
    # parameters: common log stiffness, log stiffness of each, zones, friction (2), log of the total mass, centre
    prior = np.concatenate([np.zeros(1 + n), servos.zone, [0.0, 0.0], [np.log(weight / total)], robot.body.com])
    width = np.concatenate(
        [
            [ALL_STIFFNESS],
            np.full(n, ONE_STIFFNESS),
            np.maximum(zone_deviation, 1e-4),
            [COULOMB, LOADED, known],
            np.full(3, CENTRE),
        ]
    )
    legs = total - robot.body.mass
    spread = LEAD_NOISE**2 + robot.servo.resolution**2 / 12.0 / np.maximum(means.count, 1.0)

    def laws(values: Array) -> Servos:
        return replace(
            servos,
            stiffness=robot.servo.stiffness * np.exp(values[0] + values[1 : 1 + n]),
            zone=np.maximum(values[1 + n : 1 + 2 * n], 0.0),
            coulomb=float(values[1 + 2 * n]),
            loaded=float(values[2 + 2 * n]),
        )

    def errors(values: Array) -> Array:
        mass = total * np.exp(values[3 + 2 * n]) - legs
        first = mass * values[4 + 2 * n :]
        needed = statics.body.copy()
        old = robot.body.mass * np.asarray(robot.body.com)
        needed[:, :3] += g * (mass - robot.body.mass) * statics.up
        needed[:, 3:] += g * np.cross(first - old, statics.up)
        left = needed - statics.carried(laws(values).torques(means.lead, means.rate))
        # The residuals are divided by the stiffness, because leads are noisy and weights are known; otherwise the fit
        # would favour too small a stiffness.
        return np.asarray(left * np.exp(-values[0]), np.float64)

    k = robot.servo.stiffness
    covariance = np.einsum("bij,bj,bkj->bik", statics.A, k**2 * spread, statics.A)
    whiten = np.linalg.inv(np.linalg.cholesky(covariance))

    def residuals(values: Array) -> Array:
        return np.clip(np.einsum("bij,bj->bi", whiten, errors(values)), -10 * CLIP, 10 * CLIP)

    values = prior.copy()
    information = np.diag(width**-2.0)
    for _ in range(ROUNDS):
        r = residuals(values)
        weight_of = np.minimum(1.0, CLIP / np.maximum(np.abs(r), 1e-9))
        slopes = np.empty((*r.shape, len(values)))
        for p in range(len(values)):
            nearby = values.copy()
            step = 1e-4 * max(1.0, abs(values[p]))
            nearby[p] += step
            slopes[..., p] = (residuals(nearby) - r) / step
        J, flat = slopes.reshape(-1, len(values)), r.ravel()
        robust = weight_of.ravel()
        size = _inflation(r * weight_of)
        information = (J * robust[:, None]).T @ J / size + np.diag(width**-2.0)
        gradient = (J * robust[:, None]).T @ flat / size + (values - prior) / width**2
        values = values - np.linalg.solve(information, gradient)
    posterior = np.linalg.inv(information)
    deviation = np.sqrt(np.diag(posterior))
    of_each = np.sqrt(np.diag(posterior)[0] + np.diag(posterior)[1 : 1 + n] + 2.0 * posterior[0, 1 : 1 + n])
    mass = float(total * np.exp(values[3 + 2 * n]) - legs)
    found = laws(values)
    return Loads(
        servos=found,
        mass=mass,
        centre=values[4 + 2 * n :],
        stiffness_deviation=found.stiffness * of_each,
        zone_deviation=deviation[1 + n : 1 + 2 * n],
        friction_deviation=deviation[1 + 2 * n : 3 + 2 * n],
        mass_deviation=float(total * deviation[3 + 2 * n]),
        centre_deviation=deviation[4 + 2 * n :],
        common_deviation=float(deviation[0]),
        noise=float(np.sqrt(np.mean(errors(values)[:, 2] ** 2))),
        before=float(np.sqrt(np.mean(errors_of_file(robot, statics, means) ** 2))),
    )


def errors_of_file(robot: Robot, statics: Statics, means: Means) -> Array:
    """Return the weight (B,) [N] that the robot file's servos and masses do not explain."""
    torques = Servos.of_robot(robot).torques(means.lead, means.rate)
    return np.asarray((statics.body - statics.carried(torques))[:, 2], np.float64)


def _inflation(residuals: Array) -> float:
    """Return a factor on the variance: from the size of the normalised residuals (B, 6) and the correlation of
    consecutive ones.
    """
    power = float(np.mean(residuals**2))
    alike = float(np.mean(residuals[1:] * residuals[:-1])) / max(power, 1e-12)
    alike = min(max(alike, 0.0), 0.95)
    return max(1.0, power) * (1.0 + alike) / (1.0 - alike)


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
