"""Loads of the feet, from the angles by which servos lag behind their set-points: stiffness, zones, friction,
weight. The statics and the servos' law are those of estimation/foot_loads.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.estimation.foot_loads import BodyStatics, Servos, Statics
from hexapod_dynamics.identification.recording import Means
from hexapod_dynamics.identification.robust import CLIP, inflation, robust_share, slopes
from hexapod_dynamics.robot import Robot

Array = NDArray[np.float64]
LEAD_NOISE = 1.5e-3  # [rad] of a mean lead, in addition to its resolution
# Standard deviations before anything is known: stiffness of all servos and of one from the others (relative), friction
# [N m] and its share of the load, mass (relative) if the robot was not weighed and if it was, centre of mass [m].
ALL_STIFFNESS, ONE_STIFFNESS, COULOMB, LOADED, UNWEIGHED, SCALE_ERROR, CENTRE = 0.5, 0.08, 0.05, 0.1, 0.1, 0.005, 0.02
ROUNDS = 8


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
    statics = BodyStatics(robot, model).at(means.angle, up)
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
        weight_of = robust_share(r)
        J = slopes(residuals, values, 1e-4 * np.maximum(1.0, np.abs(values))).reshape(-1, len(values))
        weighted = J.T * weight_of.ravel() / _inflation(r * weight_of)
        information = weighted @ J + np.diag(width**-2.0)
        gradient = weighted @ r.ravel() + (values - prior) / width**2
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
    return inflation(power, float(np.mean(residuals[1:] * residuals[:-1])) / max(power, 1e-12))
