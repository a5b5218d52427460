"""Identifies how the intact robot and its ground differ from the model, and the variance of the remaining residuals.

The residual of a joint (measured less modelled, mean of a slice) and those of roll, pitch and yaw rate are taken as

    r = a e + b - t w - z s + noise
    roll  = g_x sin(yaw) - g_y cos(yaw) + c_1 + noise
    pitch = g_x cos(yaw) + g_y sin(yaw) + c_2 + noise
    yaw rate = d + noise

    e: set-point less modelled angle [rad], the modelled load over the stiffness; w: modelled rate [rad/s]; s: sign of
       the load (servo_identification); t, z: remaining errors of the joint's lag and dead zone after their
       identification
    g: slope of the ground [rad] in a frame that does not turn with the robot; c: tilt of the body by payload and trims

so that softer servos and payloads (a), wrong trims (b, c) and a slope (g) are identified for every gait, command and
heading. Least squares with forgetting; slices are used with a delay, so that new damage is not taken for a
property of the healthy robot. The remaining residuals, without the noise of the readings, yield the Scatter: it
depends on the roughness of the ground and on deviations of the joints that are not modelled.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np

from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits
from hexapod_dynamics.detection.scatter import Scatter


class Regression:
    """m least-squares fits of p coefficients each: y = x c + noise; older slices have smaller weights.

    Information form: with the prior's information A_0, A = sum f^age x x' / noise^2 + A_0, b = sum f^age x y / noise^2,
    c = inv(A) b. A always stays symmetric and >= A_0; a recursion of its inverse would lose both properties after
    minutes.

    prior (p,): standard deviations of c before any data; noise: standard deviation of y; forget: f; clip: limit of
    the influence of one error. coefficients (m, p).
    """

    def __init__(self, count: int, prior: np.ndarray, noise: float, forget: float, clip: float) -> None:
        self._prior, self._noise, self._forget, self._clip = np.diag(prior**2), noise, forget, clip
        self._least = np.diag(prior**-2.0)  # A_0
        self._seen = np.zeros((count, len(prior), len(prior)))  # A - A_0
        self._target = np.zeros((count, len(prior)))  # b
        self.coefficients = np.zeros((count, len(prior)))
        self._covariance = np.tile(self._prior, (count, 1, 1))

    def learn(self, y: np.ndarray, x: np.ndarray) -> None:
        """Use y (m,), NaN: not measured, with regressors x (m, p)."""
        seen = np.isfinite(y)
        expected = np.einsum("mk,mk->m", self.coefficients, np.where(seen[:, None], x, 0.0))
        near = expected + np.clip(np.where(seen, y, 0.0) - expected, -self._clip, self._clip)
        row, value = x[seen] / self._noise, near[seen] / self._noise
        self._seen[seen] = self._forget * self._seen[seen] + row[:, :, None] * row[:, None, :]
        self._target[seen] = self._forget * self._target[seen] + row * value[:, None]
        self._covariance[seen] = np.linalg.inv(self._seen[seen] + self._least)
        self.coefficients[seen] = np.einsum("mkl,ml->mk", self._covariance[seen], self._target[seen])

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Expected y (..., m) at regressors x (..., m, p)."""
        return np.einsum("...mk,mk->...m", x, self.coefficients)

    def unknown(self, x: np.ndarray) -> np.ndarray:
        """Return the standard deviation of the expected y (..., m) at x (..., m, p), as a share 0..1 of its value
        before any data.
        """
        now = np.einsum("...mk,mkl,...ml->...m", x, self._covariance, x)
        return np.sqrt(now / np.einsum("...mk,kl,...ml->...m", x, self._prior, x))


class _Slope(Regression):
    """A common Regression of roll and pitch, because both depend on the slope: two rows for each slice."""

    def __init__(self, limits: DetectorLimits) -> None:
        prior = np.array([limits.prior_slope, limits.prior_slope, limits.prior_tilt, limits.prior_tilt])  # of g and c
        forget = np.sqrt(limits.body_forget)  # twice a slice
        super().__init__(1, prior, limits.tilt_noise, forget, limits.tilt_clip)

    def learn_tilt(self, tilt: np.ndarray, rows: np.ndarray) -> None:
        """Use roll and pitch (2,) with regressors rows (2, 4)."""
        for value, row in zip(tilt, rows, strict=True):
            self.learn(np.array([value]), row[None])

    def of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected roll and pitch (..., 2) [rad] and their uncertainty (..., 2) at regressors (..., 2,
        4).
        """
        return self.predict(rows[..., None, :])[..., 0], self.unknown(rows[..., None, :])[..., 0]


class Baseline:
    """Expected residuals of n joints, roll, pitch and yaw rate: f = n + 3 features of a slice.

    kinds (f,): features of the same kind have the same scatter.
    """

    def __init__(self, kinds: np.ndarray, limits: DetectorLimits = LIMITS) -> None:
        joints = len(kinds) - 3
        self._limits = limits
        prior = np.array([limits.prior_softness, limits.prior_offset, limits.prior_lag, limits.prior_zone])
        self._make_joints = lambda: Regression(
            joints, prior, limits.joint_noise, limits.joint_forget, limits.joint_clip
        )
        self._joints = self._make_joints()
        self._slope = _Slope(limits)
        turn = np.array([limits.prior_turn])
        self._turn = Regression(1, turn, limits.yaw_noise, limits.body_forget, limits.turn_clip)
        self._waiting: deque[tuple] = deque()
        self._novelty = 0.0  # least uncertainty, as a share
        self.scatter = Scatter(kinds, np.zeros(len(kinds)), 0.0, limits.scatter_windows)

    def change_robot(self, unknown: bool) -> None:
        """Note that the morphology has changed.

        unknown: whether the learnt residuals are as uncertain as those of an unknown robot until it has walked for
        some time, because payload and stiffness act differently on the remaining legs.
        """
        self.forget_waiting()
        self._novelty = 1.0 if unknown else 0.0

    def forget_waiting(self) -> None:
        """Discard the queued slices, because a fault was found in them."""
        self._waiting.clear()

    def change_servos(self) -> None:
        """Note that the model's servos have changed: what was learnt about the joints is no longer valid."""
        self.forget_waiting()
        self._joints = self._make_joints()
        self.scatter = replace(self.scatter, squares=np.zeros_like(self.scatter.squares), weight=0.0)

    def predict(self, load: np.ndarray, yaw: np.ndarray, motion: np.ndarray | None = None) -> np.ndarray:
        """Expected residuals (..., f) [rad], [rad/s] at modelled loads (..., n) [rad] and headings yaw (...) [rad].

        motion (..., n, 2): modelled rate [rad/s] and sign of the load, 0 by default.
        """
        joints = self._joints.predict(_of_load(load, motion))
        tilt = self._slope.of(_of_yaw(yaw))[0]
        turn = np.broadcast_to(self._turn.coefficients[0], (*tilt.shape[:-1], 1))
        return np.concatenate([joints, tilt, turn], axis=-1)

    def unknown(self, load: np.ndarray, yaw: np.ndarray, motion: np.ndarray | None = None) -> np.ndarray:
        """Return the uncertainty of `predict` (..., f) as a share 0..1 of its value before any data; 1 if load is
        NaN.
        """
        known = None if motion is None else np.nan_to_num(motion)
        joints = self._joints.unknown(_of_load(np.nan_to_num(load), known))
        tilt = self._slope.of(_of_yaw(yaw))[1]
        turn = np.broadcast_to(self._turn.unknown(np.ones((1, 1))), (*tilt.shape[:-1], 1))
        return np.maximum(np.concatenate([joints, tilt, turn], axis=-1), self._novelty)

    def offer(
        self,
        residual: np.ndarray,
        load: np.ndarray,
        yaw: float,
        noise: np.ndarray,
        motion: np.ndarray | None = None,
    ) -> None:
        """Queue a slice without damage: residual (f,), NaN if nothing was measured; load (n,); noise (f,):
        standard deviations of the readings' means; motion (n, 2): see `predict`.
        """
        self._waiting.append((residual, load, yaw, noise, motion))
        if len(self._waiting) > self._limits.learning_delay:
            self._learn(*self._waiting.popleft())

    def _learn(
        self, residual: np.ndarray, load: np.ndarray, yaw: float, noise: np.ndarray, motion: np.ndarray | None
    ) -> None:
        n = len(load)
        self._novelty *= self._limits.novelty_fades
        error = residual - self.predict(load, np.float64(yaw), motion)
        self.scatter = self.scatter.with_slice(error, noise, self._limits.body_forget)
        self._joints.learn(residual[:n], _of_load(load, motion))
        self._slope.learn_tilt(residual[n : n + 2], _of_yaw(np.float64(yaw)))
        self._turn.learn(residual[n + 2 :], np.ones((1, 1)))


def _of_load(load: np.ndarray, motion: np.ndarray | None) -> np.ndarray:
    """Return the regressors (..., n, 4) of each joint's residual: its load, a constant, two of its motion."""
    moving = np.zeros((*load.shape, 2)) if motion is None else -motion
    return np.concatenate([np.stack([load, np.ones_like(load)], axis=-1), moving], axis=-1)


def _of_yaw(yaw: np.ndarray) -> np.ndarray:
    """Return the regressors (..., 2, 4) of roll and pitch: the slope to east and north, a constant of each."""
    c, s, zero, one = np.cos(yaw), np.sin(yaw), np.zeros_like(yaw), np.ones_like(yaw)
    roll = np.stack([s, -c, one, zero], axis=-1)
    return np.stack([roll, np.stack([c, s, zero, one], axis=-1)], axis=-2)
