"""Stiffness, friction and masses, from what gravity pulls at the servos; links are always those of possible bodies.

A standing robot shows stiffness, zones and friction of its servos, and mass and centre of its body, by the angles by
which servos lag behind their set-points; the statics and the servos' law are those of estimation/foot_loads.py. A
suspended one shows masses and centres of the links by the gravity load of each joint.

A body is possible if its pseudo-inertia (4, 4) is positive definite (Wensing, Kim & Slotine 2018): then its mass is
positive and its principal moments obey the triangle inequality. Each link's is written relative to the file's, J0 =
U0 U0^T with U0 upper triangular, by ten free numbers theta (log-Cholesky, Rucker & Wensing 2022):

    J = U0 U(theta) U(theta)^T U0^T, U = e^a [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]

so that no fit can leave the possible bodies, and theta = 0 is the file. U0 = sqrt(m0) [[R, c0], [0, 1]] with the
file's mass m0, centre c0 and second moments m0 R R^T about it. Hence the mass is m0 e^(2a), and the centre is c0 + R t:
a alone is the mass, t alone the centre in radii of gyration. Gauss-Newton with the prior WIDTH on theta.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.estimation.foot_loads import BodyStatics, Servos, Statics
from hexapod_dynamics.identification.recording import Bins, Recording
from hexapod_dynamics.identification.robust import CLIP, differentiate, fit, inflation
from hexapod_dynamics.robot import Robot

Array = NDArray[np.float64]
# Standard deviation of theta before anything is known: a mass within 20 %, a centre within 0.15 radii of gyration.
WIDTHS = np.array([0.1, *[0.1] * 3, *[0.1] * 3, *[0.15] * 3])


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


def identify_loads(robot: Robot, means: Bins, servos: Servos, zone_deviation: Array, weighed: float | None) -> Loads:
    """Identify stiffness, zone, friction, mass and centre of the body of a robot that stands and moves slowly.

    servos: with the zones, lags and kinds of the suspended exercise, zone_deviation (n,) [rad] of them; weighed [kg]:
    mass of the robot on a scale, None: the file's within 10 %. The file's masses of the legs are used as they are.
    Without a scale all torques, stiffnesses and masses may be wrong by a common factor, and the deviations include
    this.
    """
    model = WholeBodyModel(robot)
    means = means.select(means.find_complete())
    if len(means.time) < 50:
        raise IdentificationError(f"loads: {len(means.time)} complete samples, 50 needed: stand and move longer")
    up = means.specific_force / np.linalg.norm(means.specific_force, axis=1, keepdims=True)
    statics = BodyStatics(robot, model).compute(means.angle, up)
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
        left = needed - statics.carried_wrench(laws(values).torques(means.lead, means.rate))
        # Divided by the stiffness, because leads are noisy and weights are known; otherwise the fit would favour too
        # small a stiffness.
        return np.clip(np.einsum("bij,bj->bi", whiten, left * np.exp(-values[0])), -10 * CLIP, 10 * CLIP)

    values, information = fit(residuals, prior, width, step=1e-4, rounds=8, inflate=lambda r: inflation(r, r.size))
    posterior = np.linalg.inv(information)
    _, of_each, _, of_friction, of_mass, of_centre = np.split(np.sqrt(np.diag(posterior)), ends)
    of_each = np.sqrt(posterior[0, 0] + of_each**2 + 2.0 * posterior[0, 1 : 1 + n])
    found, (mass, centre) = laws(values), body(values)
    return Loads(
        found, mass, centre, found.stiffness * of_each, float(of_friction[1]), total * of_mass.item(), of_centre
    )


# ---- links -----------------------------------------------------------------------------------------------------------


def pseudo_inertia(parameters: Array) -> Array:
    """Pseudo-inertia (..., 4, 4) of standard parameters (..., 10): [[second moments, m c], [m c, m]]."""
    m, mx, my, mz, xx, xy, yy, xz, yz, zz = np.moveaxis(parameters, -1, 0)
    half = 0.5 * (xx + yy + zz)
    J = [[half - xx, -xy, -xz, mx], [-xy, half - yy, -yz, my], [-xz, -yz, half - zz, mz], [mx, my, mz, m]]
    return np.moveaxis(np.array(J), (0, 1), (-2, -1))


def pseudo_inertia_to_parameters(J: Array) -> Array:
    """Standard parameters (..., 10) of a pseudo-inertia (..., 4, 4): the inverse."""
    second = J[..., :3, :3]
    about = np.trace(second, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - second
    moments = about[..., (0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)]
    return np.concatenate([J[..., 3:, 3], J[..., :3, 3], moments], axis=-1)


def possible_body(parameters: Array, theta: Array) -> Array:
    """Return the standard parameters (..., 10) of the body at theta (..., 10) relative to that of `parameters`;
    theta = 0 is that body itself.

    Raises IdentificationError for parameters that no body has.
    """
    try:
        backward = np.linalg.cholesky(pseudo_inertia(parameters)[..., ::-1, ::-1])
    except np.linalg.LinAlgError:
        raise IdentificationError(
            f"parameters {np.asarray(parameters).tolist()}: no body has them (negative mass, or the moments break the "
            "triangle inequality)"
        ) from None
    U = np.zeros((*theta.shape[:-1], 4, 4))
    U[..., range(3), range(3)], U[..., 3, 3] = np.exp(theta[..., 1:4]), 1.0
    U[..., (0, 1, 0, 0, 1, 2), (1, 2, 2, 3, 3, 3)] = theta[..., 4:]
    half = backward[..., ::-1, ::-1] @ (np.exp(theta[..., :1, None]) * U)
    return pseudo_inertia_to_parameters(half @ np.swapaxes(half, -1, -2))


@dataclass(frozen=True, eq=False)
class Links:
    """Standard parameters (links, 10) of the leg's links, in the robot's order; standard deviations (links,) of the
    masses; seen (links,): whether the motion has improved the knowledge of the mass; total_deviation [kg]: of the sum
    of the masses.
    """

    parameters: Array
    mass_deviations: Array
    seen: NDArray[np.bool_]
    total_deviation: float


def identify_links(robot: Robot, suspended: Recording, burdens: Array, deviations: Array) -> Links:
    """Find physically possible links with the identified gravity loads of the joints of a suspended exercise.

    burdens (n,), deviations (n,): factor on the file's gravity torque of each joint while that joint moved, NaN where
    unknown.
    """
    model, n, rotation = WholeBodyModel(robot), robot.joint_count, suspended.mean_attitude()
    rows, wanted, sigma = [], [], []
    phi0 = model.inertial_parameters()
    for joint in np.flatnonzero(np.isfinite(burdens)):
        moves = suspended.find_own_motion(robot, int(joint))
        some = suspended.commands[moves[:: max(1, len(moves) // 60)]]
        T = len(some)
        still = np.zeros((T, 6 + n))
        Y = model.inverse_dynamics_regressor(np.repeat(rotation[None], T, axis=0), some, still, still)[:, 6 + joint]
        torque = Y @ phi0
        if np.sqrt(np.mean(torque**2)) < 0.02:  # [N m] too little for its load to be identified
            continue
        rows.append(torque @ Y / (torque @ torque))
        wanted.append(burdens[joint])
        sigma.append(max(float(deviations[joint]), 1e-3))
    links, A, sigmas = phi0[10:].reshape(-1, 10), np.array(rows).reshape(-1, len(phi0)), np.array(sigma)
    prior = np.tile(WIDTHS, len(links))

    def bodies(theta: Array) -> Array:
        return possible_body(links, theta.reshape(-1, 10)).ravel()

    def residuals(theta: Array) -> Array:
        return np.asarray((A @ np.concatenate([phi0[:10], bodies(theta)]) - wanted) / sigmas, np.float64)

    theta, information = fit(residuals, np.zeros(len(prior)), prior, step=1e-6, rounds=12)
    jacobian = differentiate(bodies, theta, np.full(len(prior), 1e-6))
    masses = jacobian[::10]
    covariance, unknown = masses @ np.linalg.inv(information) @ masses.T, (masses * prior**2) @ masses.T
    variance = np.diag(covariance)
    return Links(
        bodies(theta).reshape(-1, 10),
        np.sqrt(variance),
        variance < 0.5 * np.diag(unknown),
        float(np.sqrt(covariance.sum())),
    )
