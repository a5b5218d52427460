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


@dataclass(frozen=True, eq=False)
class Loads:
    """Result of `identify_loads`: servos; mass [kg] and centre (3,) [m] of the body; standard deviations of the
    stiffnesses (n,), of the friction's share of the load, of mass and centre.
    """

    servos: Servos
    mass: float
    centre: Array
    stiffness_deviation: Array
    friction_deviation: float
    mass_deviation: float
    centre_deviation: Array


def identify_loads(robot: Robot, means: Means, servos: Servos, zone_deviation: Array, weighed: float | None) -> Loads:
    """Identify stiffness, zone, friction, mass and centre of the body of a robot that stands and moves slowly.

    servos: with the zones, lags and kinds of the suspended exercise, zone_deviation (n,) [rad] of them; weighed [kg]:
    mass of the robot on a scale, None: the file's within 10 %. The file's masses of the legs are used as they are.
    Without a scale all torques, stiffnesses and masses may be wrong by a common factor, and the deviations include
    this.
    """
    model = WholeBodyModel(robot)
    means = means.select(means.complete())
    if len(means.time) < 50:
        raise IdentificationError(f"loads: {len(means.time)} complete samples, 50 needed: stand and move longer")
    up = means.specific_force / np.linalg.norm(means.specific_force, axis=1, keepdims=True)
    statics = BodyStatics(robot, model).at(means.angle, up)
    good = np.asarray(np.isfinite(statics.A).all(axis=(1, 2)), np.bool_)
    statics = Statics(statics.A[good], statics.joints[good], statics.body[good], up[good])
    means = means.select(good)
    n, g, k, total = robot.joint_count, robot.gravity, robot.servo.stiffness, model.total_mass()
    legs, old = total - robot.body.mass, robot.body.mass * np.asarray(robot.body.com)
    weight, known = (total, 0.1) if weighed is None else (weighed, 0.005)  # relative error of a scale
    # Common log stiffness, log stiffness of each, zones, friction [N m] and its share of the load, log of the total
    # mass, centre [m]: prior and its standard deviation.
    parts = (
        ([0.0], [0.5]),
        (np.zeros(n), np.full(n, 0.08)),
        (servos.zone, np.maximum(zone_deviation, 1e-4)),
        ([0.0, 0.0], [0.05, 0.1]),
        ([np.log(weight / total)], [known]),
        (robot.body.com, np.full(3, 0.02)),
    )
    prior, width = (np.concatenate(column) for column in zip(*parts, strict=True))
    ends = np.cumsum([len(mean) for mean, _ in parts])[:-1]

    def laws(values: Array) -> Servos:
        common, each, zone, friction, _, _ = np.split(values, ends)
        stiffness, (coulomb, loaded) = k * np.exp(common + each), friction.tolist()
        return replace(servos, stiffness=stiffness, zone=np.maximum(zone, 0.0), coulomb=coulomb, loaded=loaded)

    def body(values: Array) -> tuple[float, Array]:
        *_, log_mass, centre = np.split(values, ends)
        return total * float(np.exp(log_mass.item())) - legs, centre

    # [rad] a mean lead is noisy, in addition to its resolution.
    spread = 1.5e-3**2 + robot.servo.resolution**2 / 12.0 / np.maximum(means.count, 1.0)
    whiten = np.linalg.inv(np.linalg.cholesky(np.einsum("bij,bj,bkj->bik", statics.A, k**2 * spread, statics.A)))

    def residuals(values: Array) -> Array:
        mass, centre = body(values)
        needed = statics.body.copy()
        needed[:, :3] += g * (mass - robot.body.mass) * statics.up
        needed[:, 3:] += g * np.cross(mass * centre - old, statics.up)
        left = needed - statics.carried(laws(values).torques(means.lead, means.rate))
        # Divided by the stiffness, because leads are noisy and weights are known; otherwise the fit would favour too
        # small a stiffness.
        return np.clip(np.einsum("bij,bj->bi", whiten, left * np.exp(-values[0])), -10 * CLIP, 10 * CLIP)

    values, information = prior.copy(), np.diag(width**-2.0)
    for _ in range(8):
        r = residuals(values)
        share = robust_share(r)
        J = slopes(residuals, values, 1e-4 * np.maximum(1.0, np.abs(values))).reshape(-1, len(values))
        weighted = J.T * share.ravel() / _inflation(r * share)
        information = weighted @ J + np.diag(width**-2.0)
        values = values - np.linalg.solve(information, weighted @ r.ravel() + (values - prior) / width**2)
    posterior = np.linalg.inv(information)
    _, of_each, _, of_friction, of_mass, of_centre = np.split(np.sqrt(np.diag(posterior)), ends)
    of_each = np.sqrt(posterior[0, 0] + of_each**2 + 2.0 * posterior[0, 1 : 1 + n])
    found, (mass, centre) = laws(values), body(values)
    return Loads(
        found, mass, centre, found.stiffness * of_each, float(of_friction[1]), total * of_mass.item(), of_centre
    )


def _inflation(residuals: Array) -> float:
    """Return a factor on the variance: from the size of the normalised residuals (B, 6) and the correlation of
    consecutive ones.
    """
    power = float(np.mean(residuals**2))
    return inflation(power, float(np.mean(residuals[1:] * residuals[:-1])) / max(power, 1e-12))
