"""Masses and centres of the links from the identified gravity load of each joint; always those of possible bodies.

A body is possible if its pseudo-inertia (4, 4) is positive definite (Wensing, Kim & Slotine 2018): then its mass is
positive and its principal moments obey the triangle inequality. Each link's is written relative to the file's, J0 =
U0 U0^T with U0 upper triangular, by ten free numbers theta (log-Cholesky, Rucker & Wensing 2022):

    J = U0 U(theta) U(theta)^T U0^T, U = e^a [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]

so that no fit can leave the possible bodies, and theta = 0 is the file. U0 = sqrt(m0) [[R, c0], [0, 1]] with the
file's mass m0, centre c0 and second moments m0 R R^T about it. Hence the mass is m0 e^(2a), and the centre is c0 + R t:
a alone is the mass, t alone the centre in radii of gyration. Gauss-Newton with the prior WIDTH on theta.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.identification.recording import Recording
from hexapod_dynamics.identification.robust import slopes
from hexapod_dynamics.robot import Robot

Array = NDArray[np.float64]
# Standard deviation of theta before anything is known: a mass within 20 %, a centre within 0.15 radii of gyration.
WIDTH = np.array([0.1, *[0.1] * 3, *[0.1] * 3, *[0.15] * 3])


def pseudo_inertia(parameters: Array) -> Array:
    """Pseudo-inertia (4, 4) of standard parameters (10,): [[second moments, m c], [m c, m]]."""
    m, mx, my, mz, xx, xy, yy, xz, yz, zz = parameters
    half = 0.5 * (xx + yy + zz)
    return np.array([[half - xx, -xy, -xz, mx], [-xy, half - yy, -yz, my], [-xz, -yz, half - zz, mz], [mx, my, mz, m]])


def parameters_of_pseudo_inertia(J: Array) -> Array:
    """Standard parameters (10,) of a pseudo-inertia (4, 4): the inverse."""
    second = J[:3, :3]
    about = np.trace(second) * np.eye(3) - second
    moments = about[0, 0], about[0, 1], about[1, 1], about[0, 2], about[1, 2], about[2, 2]
    return np.array([J[3, 3], *J[:3, 3], *moments])


def possible_body(parameters: Array, theta: Array) -> Array:
    """Return the standard parameters (10,) of the body at theta (10,) relative to that of `parameters`; theta = 0
    is that body itself.

    Raises IdentificationError for parameters that no body has.
    """
    try:
        backward = np.linalg.cholesky(pseudo_inertia(np.asarray(parameters, float))[::-1, ::-1])
    except np.linalg.LinAlgError:
        raise IdentificationError(
            f"parameters {np.asarray(parameters).tolist()}: no body has them (negative mass, or the moments break the "
            "triangle inequality)"
        ) from None
    a, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta
    U = np.exp(a) * np.array(
        [[np.exp(d1), s12, s13, t1], [0.0, np.exp(d2), s23, t2], [0.0, 0.0, np.exp(d3), t3], [0.0, 0.0, 0.0, 1.0]]
    )
    half = backward[::-1, ::-1] @ U
    return parameters_of_pseudo_inertia(half @ half.T)


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


def identify_links(robot: Robot, suspended: Recording, rotation: Array, burdens: Array, deviations: Array) -> Links:
    """Find physically possible links with the identified gravity loads of the joints.

    suspended: the suspended exercise, at the attitude `rotation` (3, 3) world <- base_link. burdens
    (n,), deviations (n,): factor on the file's gravity torque of each joint while that joint moved, NaN where unknown.
    """
    model = WholeBodyModel(robot)
    n = robot.joint_count
    rows, wanted, sigma = [], [], []
    phi0 = model.inertial_parameters()
    for joint in np.flatnonzero(np.isfinite(burdens)):
        moves = suspended.own_motion(robot, int(joint))
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
    links = phi0[10:].reshape(-1, 10)
    bodies = [partial(possible_body, link) for link in links]
    count, prior = len(links), np.tile(WIDTH, len(links))
    A, sigmas = np.array(rows).reshape(-1, 10 * (count + 1)), np.array(sigma)
    theta, steps = np.zeros(10 * count), np.full(10, 1e-6)
    for _ in range(12):
        parts = list(zip(bodies, theta.reshape(count, 10), strict=True))
        phi = np.concatenate([phi0[:10], *(body(part) for body, part in parts)])
        jacobian = block_diag(*(slopes(body, part, steps) for body, part in parts))
        J, r = A[:, 10:] @ jacobian / sigmas[:, None], (A @ phi - wanted) / sigmas
        information = J.T @ J + np.diag(prior**-2.0)
        theta = theta - np.linalg.solve(information, J.T @ r + theta / prior**2)
    phi = np.concatenate([body(part) for body, part in zip(bodies, theta.reshape(count, 10), strict=True)])
    covariance = jacobian @ np.linalg.inv(information) @ jacobian.T
    variance = np.diag(covariance).reshape(count, 10)
    unknown = np.diag(jacobian @ np.diag(prior**2) @ jacobian.T).reshape(count, 10)
    return Links(
        phi.reshape(count, 10),
        np.sqrt(variance[:, 0]),
        variance[:, 0] < 0.5 * unknown[:, 0],
        float(np.sqrt(covariance[::10, ::10].sum())),
    )
