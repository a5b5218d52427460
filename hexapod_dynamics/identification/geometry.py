"""Zero offsets of the joints and the IMU's mounting, from feet that stay where they are while the body moves.

In every sample k the feet F_i that stand are seen from a body at R_k, p_k, and the accelerometer, mounted off by a
rotation M, measures where up is:

    f_i(y_k - o) = R_k^T (F_i - p_k),    u_k = M^T R_k^T z

y: measured angles, without their play; o: zero offsets (what a servo reads at the joint's zero). Gauss-Newton; the
poses of the samples are eliminated (Schur complement). The floor is flat within FLAT and level within LEVEL: a tilt of
the floor and one of the IMU differ only as the body turns on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.identification.loads import turn_upright
from hexapod_dynamics.identification.recording import Means
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.se3 import rotation_from_vector, skew

Array = NDArray[np.float64]
# Standard deviations: zero offsets before anything is known, IMU's mounting [rad]; the floor's tilt [rad] and a foot's
# height over it [m]; where a foot stands [m]; angle [rad] and foot [m] of a sample; direction of the accelerometer.
OFFSET, MOUNTING, LEVEL, FLAT, PLACE = 0.026, 0.05, 0.009, 0.001, 0.05
ANGLE, FOOT, DIRECTION = 2.5e-3, 3e-4, 3e-3
FOOT_SCALE = 5e-4  # [m] of a foot where poses alone are solved for
SLOW = 0.01  # [rad/s] of a set-point above which its joint's play is on one side
CLIP = 4.0
ROUNDS = 6


@dataclass(frozen=True, eq=False)
class Geometry:
    """Zero offsets (n,) and the IMU's rotation vector (3,) base_link as it is <- base_link as the file mounts the IMU
    [rad], their standard deviations; noise, before [m]: root mean square of what remains at the feet.
    """

    offsets: Array
    mounting: Array
    offset_deviations: Array
    mounting_deviations: Array
    noise: float
    before: float


def identify_geometry(robot: Robot, means: Means, play: Array) -> Geometry:
    """Identify from a standing exercise. play (n,) [rad]: of servo_response. Raises IdentificationError.

    All feet must stand still; the mounting's turn about z is seen only as far as the body tilts.
    """
    means = means.select(means.complete())
    B, L, n = len(means.time), len(robot.legs), robot.joint_count
    if B < 50:
        raise IdentificationError(f"zero offsets: {B} complete samples, 50 needed: stand and move longer")
    model = WholeBodyModel(robot)
    angles = means.angle + play * means.rate / np.sqrt(means.rate**2 + SLOW**2)
    up = means.specific_force / np.linalg.norm(means.specific_force, axis=1, keepdims=True)
    offsets, mounting, floor = np.zeros(n), np.zeros(3), np.zeros(2)
    feet0, _ = _feet(robot, model, angles[:1])
    R = np.array([turn_upright(u) for u in up])
    F = R[0] @ feet0[0].T
    F = F.T - F.T.mean(axis=0)
    F[:, 2] = 0.0
    nominal = F.copy()
    p = np.zeros((B, 3))
    inflation, before, noise = 1.0, np.nan, np.nan
    G = n + 3 + 2 + 3 * L
    total = np.zeros((G, G))
    for turn in range(ROUNDS):
        seen, J = _feet(robot, model, angles - offsets)
        if turn == 0:
            p, R = _register(seen, F, R)
        M = rotation_from_vector(mounting)
        total, right = np.zeros((G, G)), np.zeros(G)
        left_over, feet_left = [], []
        for b in range(B):
            rows, poses, r = _sample(robot, seen[b], J[b], R[b], p[b], F, M, up[b], n)
            feet_left.append(r[: 3 * L] * 1.0)
            W = _whitener(J[b], robot, L)
            rows, poses, r = W @ rows, W @ poses, W @ r
            share = np.minimum(1.0, CLIP / np.maximum(np.abs(r), 1e-9))
            left_over.append(r * share)
            weighted = share[:, None] / inflation
            H = poses.T @ (weighted * poses)
            C = rows.T @ (weighted * poses)
            solved = np.linalg.solve(H, np.column_stack([C.T, poses.T @ (share * r / inflation)]))
            total += rows.T @ (weighted * rows) - C @ solved[:, :-1]
            right += rows.T @ (share * r / inflation) - C @ solved[:, -1]
        remaining = np.array(left_over)
        power = float(np.sum(remaining**2)) / max(1, B * (remaining.shape[1] - 6) - G)
        alike = float(np.mean(remaining[1:] * remaining[:-1])) / float(np.mean(remaining**2))
        alike = min(max(alike, 0.0), 0.95)
        noise = float(np.sqrt(np.mean(np.square(feet_left))))
        before = noise if turn == 0 else before
        width = np.concatenate([np.full(n, OFFSET), np.full(3, MOUNTING), np.full(2, LEVEL), np.empty(3 * L)])
        width[n + 5 :] = np.tile([PLACE, PLACE, FLAT], L)
        state = np.concatenate([offsets, mounting, floor, (F - nominal).ravel()])
        prior = width**-2.0
        prior[n + 7 :: 3] = 0.0  # a foot's height is that of the tilted floor, within FLAT
        total += np.diag(prior)
        slope_rows = np.zeros((L, G))
        slope_rows[:, n + 3 : n + 5] = -nominal[:, :2]
        slope_rows[np.arange(L), n + 7 + 3 * np.arange(L)] = 1.0
        total += slope_rows.T @ slope_rows / FLAT**2
        pull = prior * state
        pull += slope_rows.T @ (slope_rows @ state) / FLAT**2
        step = np.linalg.solve(total, right - pull)
        offsets, mounting, floor = offsets + step[:n], mounting + step[n : n + 3], floor + step[n + 3 : n + 5]
        F = F + step[n + 5 :].reshape(L, 3)
        if turn > 0:
            inflation = max(1.0, power) * (1.0 + alike) / (1.0 - alike)
        seen, _ = _feet(robot, model, angles - offsets)
        p, R = _poses(seen, F, R, p, up, rotation_from_vector(mounting))
    deviation = np.sqrt(np.diag(np.linalg.inv(total)))
    return Geometry(offsets, mounting, deviation[:n], deviation[n : n + 3], noise, before)


def _feet(robot: Robot, model: WholeBodyModel, angles: Array) -> tuple[Array, Array]:
    """Feet (B, legs, 3) [m] and their Jacobians by the leg's joints (B, legs, 3, joints of a leg), base_link axes."""
    B, L = len(angles), len(robot.legs)
    most = max(len(leg.joints) for leg in robot.legs)
    feet, jacobians = np.empty((B, L, 3)), np.zeros((B, L, 3, most))
    for b in range(B):
        poses = model.link_poses(np.eye(3), np.zeros(3), angles[b])
        for i, leg in enumerate(robot.legs):
            link, columns = leg.links[-1], robot.leg_joints(leg.name)
            turn, start = poses[f"{leg.name}.{link.name}"]
            feet[b, i] = start + turn[:, 0] * link.length
            tip = model.tip_jacobian(leg.name, angles[b])[:3, 6 + columns.start : 6 + columns.stop]
            jacobians[b, i, :, : len(columns)] = turn @ tip
    return feet, jacobians


def _register(seen: Array, F: Array, R: Array) -> tuple[Array, Array]:
    """Poses p (B, 3), R (B, 3, 3) that fit the seen feet (B, legs, 3) to F best (Kabsch)."""
    p = np.empty((len(seen), 3))
    turns = np.empty_like(R)
    for b, feet in enumerate(seen):
        middle, centre = feet.mean(axis=0), F.mean(axis=0)
        U, _, Vt = np.linalg.svd((F - centre).T @ (feet - middle))
        turns[b] = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
        p[b] = centre - turns[b] @ middle
    return p, turns


def _sample(
    robot: Robot, seen: Array, J: Array, R: Array, p: Array, F: Array, M: Array, up: Array, n: int
) -> tuple[Array, Array, Array]:
    """Rows (m, globals), (m, 6 of the pose: turn in body axes, shift in the world) and residuals (m,) of a sample."""
    L = len(F)
    rows, poses, r = np.zeros((3 * L + 3, n + 5 + 3 * L)), np.zeros((3 * L + 3, 6)), np.zeros(3 * L + 3)
    for i, leg in enumerate(robot.legs):
        at = slice(3 * i, 3 * i + 3)
        columns = robot.leg_joints(leg.name)
        expected = R.T @ (F[i] - p)
        r[at] = seen[i] - expected
        rows[at, columns.start : columns.stop] = J[i][:, : len(columns)]
        rows[at, n + 5 + 3 * i : n + 8 + 3 * i] = R.T
        poses[at, :3], poses[at, 3:] = skew(expected), -R.T
    at = slice(3 * L, 3 * L + 3)
    body_up = R.T[:, 2]
    r[at] = up - M.T @ body_up
    rows[at, n : n + 3] = skew(M.T @ body_up)
    poses[at, :3] = M.T @ skew(body_up)
    return rows, poses, r


def _whitener(J: Array, robot: Robot, L: int) -> Array:
    """Matrix (m, m) that makes the residuals of a sample of unit variance."""
    W = np.zeros((3 * L + 3, 3 * L + 3))
    for i in range(L):
        covariance = ANGLE**2 * J[i] @ J[i].T + FOOT**2 * np.eye(3)
        W[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = np.linalg.inv(np.linalg.cholesky(covariance))
    W[3 * L :, 3 * L :] = np.eye(3) / DIRECTION
    return W


def _poses(seen: Array, F: Array, R: Array, p: Array, up: Array, M: Array) -> tuple[Array, Array]:
    """Poses of the samples for known feet, offsets and mounting: a few Gauss-Newton steps of each."""
    p, R = p.copy(), R.copy()
    for b in range(len(seen)):
        for _ in range(2):
            expected = (F - p[b]) @ R[b]
            body_up = R[b].T[:, 2]
            r = np.concatenate([(seen[b] - expected).ravel() / FOOT_SCALE, (up[b] - M.T @ body_up) / DIRECTION])
            rows = np.zeros((len(r), 6))
            for i in range(len(F)):
                rows[3 * i : 3 * i + 3, :3] = skew(expected[i]) / FOOT_SCALE
                rows[3 * i : 3 * i + 3, 3:] = -R[b].T / FOOT_SCALE
            rows[-3:, :3] = M.T @ skew(body_up) / DIRECTION
            step = np.linalg.lstsq(rows, r, rcond=None)[0]
            R[b] = R[b] @ rotation_from_vector(step[:3])
            p[b] = p[b] + step[3:]
    return p, R
