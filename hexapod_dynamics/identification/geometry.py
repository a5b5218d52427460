"""Zero offsets of the joints and the IMU's mounting, from feet that stand while the body moves over them.

In every sample b the feet F_i that stand are seen from a body at R_b, p_b, and the accelerometer, mounted off by a
rotation M, measures where up is:

    f_i(y_b - o) = R_b^T (F_i - p_b),    u_b = M^T R_b^T z

y: joint angles as the servos measure them, with their play; o: zero offsets (what a servo reads at the joint's zero).
A foot that comes down is on one floor with the others, flat and level within what `_Fit` says: a tilt of the floor
and one of the IMU differ only as the body turns on it. Then it slides a little. Gauss-Newton on all at once, by sparse
matrices: the constants, and of each sample the places of the feet and the pose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.estimation.foot_loads import compute_feet, turn_upright
from hexapod_dynamics.identification.exercise import compute_body_poses
from hexapod_dynamics.identification.recording import Bins
from hexapod_dynamics.identification.robust import compute_weights, inflation
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.se3 import rotation_from_vector

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Geometry:
    """Zero offsets (n,) and the IMU's rotation vector (3,) base_link as it is <- base_link as the file mounts the IMU
    [rad], and their standard deviations.
    """

    offsets: Array
    mounting: Array
    offset_deviations: Array
    mounting_deviations: Array


def identify_geometry(robot: Robot, means: Bins, stands: NDArray[np.bool_]) -> Geometry:
    """Identify from a standing exercise. Raises IdentificationError.

    means: whose angles contain the play, and whose specific force is that of a body at rest; stands (B, legs): feet
    that stand all the while. The mounting's turn about z is seen only as far as the body tilts.
    """
    good = means.find_complete() & (stands.sum(axis=1) >= 3)
    means, stands = means.select(good), stands[good]
    if len(means.time) < 50:
        raise IdentificationError(
            f"zero offsets: {len(means.time)} complete samples on three feet or more, 50 needed: stand and move longer"
        )
    fit = _Fit(robot, means, stands)
    fit.improve(1.0)  # whose residuals are those of the robot file
    factor = 1.0
    for _ in range(5):
        covariance, factor = fit.improve(factor)
    deviation, n = np.sqrt(np.diag(covariance)), robot.joint_count
    return Geometry(fit.offsets, fit.mounting, deviation[:n], deviation[n : n + 3])


class _Fit:
    """Offsets, mounting and floor, with feet and poses of B samples, improved step by step."""

    def __init__(self, robot: Robot, means: Bins, stands: NDArray[np.bool_]) -> None:
        self.robot, self.angles, self.stands = robot, means.angle, stands
        self.model, n = WholeBodyModel(robot), robot.joint_count
        self.up = means.specific_force / np.linalg.norm(means.specific_force, axis=1, keepdims=True)
        self.offsets, self.mounting, self.floor = np.zeros(n), np.zeros(3), np.zeros(2)
        seen, _ = compute_feet(robot, self.model, self.angles)
        self.R, self.p = compute_body_poses(seen, stands, turn_upright(self.up[0]))
        self.F = np.einsum("bij,blj->bli", self.R, seen) + self.p[:, None]
        self.stay = np.zeros_like(stands)
        self.stay[1:] = stands[1:] & stands[:-1]
        for b in range(1, len(seen)):  # feet that stay are where they were
            self.F[b] = np.where(self.stay[b][:, None], self.F[b - 1], self.F[b])
        self.p[:, 2] -= self.F[0, stands[0], 2].mean()
        self.F[..., 2] = 0.0
        self.nominal = self.F.copy()
        # How far a foot slides and sinks in a second, growing with the root of the time [m]. In MuJoCo feet creep by
        # 1 mm in 13 s, 0.3 mm by this law; of 0.1, 0.2 and 0.4 mm the least gave the smallest errors of the offsets
        # (seeds 1000 to 1009).
        slip, passed = np.array([1e-4, 1e-4, 2e-5]), np.diff(means.time)
        strictness = self.stay[1:, :, None] / (slip * np.sqrt(np.maximum(passed, 1e-3))[:, None, None])
        B, F = len(seen), strictness[0].size
        change = sparse.kron(sparse.diags([-1.0, 1.0], [0, 1], shape=(B - 1, B)), sparse.eye(F, F + 6))
        self.slides = sparse.diags(strictness.ravel()) @ change  # rows for how far feet that stay have slid

    def improve(self, factor: float) -> tuple[Array, float]:
        """Take a step; return the covariance of the constants, and the factor on all variances that what remains asks
        for.
        """
        B, L, n = len(self.angles), len(self.robot.legs), self.robot.joint_count
        constants = n + 5
        (rows, r), (landing, off) = self._samples(), self._landings()
        share = compute_weights(r)
        root, remaining = np.sqrt(share / factor), r * share
        blocks = np.concatenate([root[..., None] * rows, landing], axis=1)
        residuals = np.concatenate([root * r, -off], axis=1).ravel()
        feet = np.concatenate([self.F.reshape(B, 3 * L), np.zeros((B, 6))], axis=1).ravel()
        # Standard deviations of zero offsets, mounting and tilt before anything is known [rad].
        width = np.concatenate([np.full(n, 0.026), np.full(3, 0.05), np.full(2, 0.009)])
        known = np.concatenate([self.offsets, self.mounting, self.floor])
        shared = sparse.csr_matrix(blocks[..., :constants].reshape(-1, constants))
        own = sparse.block_diag(list(blocks[..., constants:]))
        A = sparse.bmat([[shared, own], [None, self.slides], [sparse.diags(1.0 / width), None]], "csr")
        pull = A.T @ np.concatenate([residuals, -self.slides @ feet, -known / width])
        solved = splu((A.T @ A).tocsc()).solve(np.column_stack([np.eye(len(pull), constants), pull]))
        steps, moved = solved[:constants, -1], solved[constants:, -1].reshape(B, 3 * L + 6)
        self.F += moved[:, :-6].reshape(B, L, 3)
        self.R = self.R @ np.array([rotation_from_vector(turn) for turn in moved[:, -6:-3]])
        self.p += moved[:, -3:]
        self.offsets = self.offsets + steps[:n]
        self.mounting, self.floor = self.mounting + steps[n : n + 3], self.floor + steps[n + 3 :]
        return solved[:constants, :-1], inflation(remaining, max(1, 3 * self.stands.sum() - 3 * B - constants))

    def _landings(self) -> tuple[Array, Array]:
        """Return rows (B, 3 L, columns as of `_samples`) and distances (B, 3 L), over their standard deviations, of
        feet that come down, or are in the air: they are anywhere, but on the floor. Zero for the others.
        """
        B, L, constants = len(self.F), len(self.robot.legs), len(self.offsets) + 5
        where, off = self.nominal[..., :2], self.F - self.nominal
        off[..., 2] -= where @ self.floor
        rows = np.zeros((B, L, 3, constants + 3 * L + 6))
        rows[..., constants : constants + 3 * L] = np.eye(3 * L).reshape(L, 3, 3 * L)
        rows[..., 2, constants - 2 : constants] = -where
        weights = ~self.stay[..., None] / np.array([0.05, 0.05, 0.001])  # [m] of a foot's place, of its height
        return (weights[..., None] * rows).reshape(B, 3 * L, -1), (weights * off).reshape(B, 3 * L)

    def _samples(self) -> tuple[Array, Array]:
        """Rows (B, 3 L + 3, columns) and residuals (B, 3 L + 3) of unit variance, of feet and of the upward direction.

        Columns: constants, feet, 6 of the pose: turn in body axes, shift in the world. Zero for feet in the air.
        Standard deviations: an angle [rad], in counts of 4 mrad and with half a play of 3 to 9 mrad whose side is
        partly unknown; a foot [m], whose link's end is not its point of contact; the direction of the accelerometer
        [rad], of which half is noise of an MPU6050 and the rest motion that is not computed (seeds 1000 to 1009). If
        more remains, all variances grow with it.
        """
        B, L, n = len(self.angles), len(self.robot.legs), len(self.offsets)
        seen, J = compute_feet(self.robot, self.model, self.angles - self.offsets)
        M, back = rotation_from_vector(self.mounting), np.swapaxes(self.R, 1, 2)
        expected, up = (self.F - self.p[:, None]) @ self.R, self.R[:, 2]
        r = np.concatenate([seen - expected, (self.up - up @ M)[:, None]], axis=1)
        rows = np.zeros((B, L + 1, 3, n + 5 + 3 * L + 6))
        for i, leg in enumerate(self.robot.legs):
            own = self.robot.leg_joints(leg.name)
            rows[:, i, :, own.start : own.stop] = J[:, i, :, : len(own)]
            rows[:, i, :, n + 5 + 3 * i : n + 8 + 3 * i] = back
        rows[:, :L, :, -6:-3], rows[:, :L, :, -3:] = _skews(expected), -back[:, None]
        rows[:, L, :, n : n + 3], rows[:, L, :, -6:-3] = _skews(up @ M), M.T @ _skews(up)
        angle, foot, direction = 2.5e-3, 1e-4, 0.7e-3
        covariance = angle**2 * J @ np.swapaxes(J, -1, -2) + foot**2 * np.eye(3)
        whiten = np.zeros((B, L + 1, 3, 3))
        whiten[:, :L] = np.linalg.inv(np.linalg.cholesky(covariance)) * self.stands[..., None, None]
        whiten[:, L] = np.eye(3) / direction
        return (whiten @ rows).reshape(B, 3 * L + 3, -1), (whiten @ r[..., None]).reshape(B, 3 * L + 3)


def _skews(vectors: Array) -> Array:
    """Return the matrices (..., 3, 3) of the cross products with vectors (..., 3)."""
    return np.swapaxes(np.cross(vectors[..., None, :], np.eye(3)), -1, -2)
