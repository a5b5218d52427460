"""Measurements of the last slices, and the features by which hypotheses are compared.

A feature is the mean over a slice of measured less modelled: the angle of each joint (n,), roll, pitch, yaw rate.
The means of a simulation are computed at the times of the measurements, so that gait phase and the order of
reading cancel.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from hexapod_dynamics.detection.lateness import common_lag
from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits
from hexapod_dynamics.detection.running_model import RunningModel
from hexapod_dynamics.detection.servo_identification import sign_of_load

TILTS = 3  # roll, pitch [rad], yaw rate [rad/s]
_KEPT = 4096  # joint measurements


class MeasurementWindow:
    """Compares joint readings and attitudes with a RunningModel, slice by slice."""

    def __init__(self, model: RunningModel, joints: int, limits: DetectorLimits = LIMITS) -> None:
        self._model, self.joints, self._limits = model, joints, limits
        self._place, self._time = np.full(_KEPT, np.nan), np.full(_KEPT, np.nan)
        self._joint = np.zeros(_KEPT, np.int64)
        self._angle, self._residual = np.zeros(_KEPT), np.zeros(_KEPT)
        self._load, self._weight, self._rate = np.zeros(_KEPT), np.zeros(_KEPT), np.zeros(_KEPT)
        self._next = 0
        self.timing = limits.window_timing  # [s] standard deviation of the time of a reading against the command
        self._tilts: dict[
            int, list[Any]
        ] = {}  # slice: [count, sum roll, sum pitch, first time, first yaw, last time, last yaw, heading]
        self._attitudes: deque[tuple[float, float, float, float]] = deque(maxlen=_KEPT)

    def clear(self) -> None:
        """Delete all measurements."""
        self._place[:] = np.nan
        self._tilts.clear()
        self._attitudes.clear()

    def disregard(self, piece: int) -> None:
        """Delete the measurements of slice `piece`, because the robot was moved from outside."""
        ticks = self._model.slice_ticks
        with np.errstate(invalid="ignore"):
            self._place[(self._place >= piece * ticks) & (self._place < (piece + 1) * ticks)] = np.nan
        self._tilts.pop(piece, None)
        later = []
        while self._attitudes and (place := self._model.place(self._attitudes[-1][0])) >= piece * ticks:
            attitude = self._attitudes.pop()
            if place >= (piece + 1) * ticks:
                later.append(attitude)
        self._attitudes.extend(reversed(later))

    def compare_again(self, first: int, retimed: bool = False) -> None:
        """Compare the measurements since the start of slice `first` with the model again, which has changed;
        retimed: whether the times of its states have changed, too.
        """
        start = first * self._model.slice_ticks
        if retimed:
            for k in np.flatnonzero(np.isfinite(self._place)):
                self._place[k] = self._model.place(self._time[k])
        with np.errstate(invalid="ignore"):
            since = np.flatnonzero(self._place > start - 1)  # a reading lies between two ticks
        for k in since:
            self._compare(int(k))
        self._tilts = {piece: sums for piece, sums in self._tilts.items() if piece < first}
        for attitude in self._attitudes:
            if self._model.place(attitude[0]) >= start:
                self._add_tilt(*attitude)

    def _compare(self, k: int) -> None:
        """Compare reading `k` with the model."""
        modelled, rate, load = self._model.joint_at(self._place[k], self._joint[k])
        self._residual[k], self._load[k] = self._angle[k] - modelled, load
        self._rate[k] = self._model.rate_at(self._place[k], int(self._joint[k]))
        self._weight[k] = 1.0 / (self._limits.least_reading**2 + (self.timing * rate) ** 2)

    def add_joint(self, time: float, joint: int, angle: float) -> bool:
        """Add a reading [rad] at a time [s]; return False if the model has not reached that time yet."""
        place = self._model.place(time)
        if not np.isfinite(place):
            return False
        k = self._next % _KEPT
        self._next += 1
        self._place[k], self._joint[k], self._angle[k] = place, joint, angle
        self._time[k] = time
        self._compare(k)
        return True

    def add_attitude(self, time: float, roll: float, pitch: float, yaw: float) -> bool:
        """Add an attitude [rad] at a time [s]; return False if the model has not reached that time yet."""
        self._attitudes.append((time, roll, pitch, yaw))
        return self._add_tilt(time, roll, pitch, yaw)

    def _add_tilt(self, time: float, roll: float, pitch: float, yaw: float) -> bool:
        place = self._model.place(time)
        if not np.isfinite(place):
            return False
        piece = int(place) // self._model.slice_ticks
        row = self._model.row(int(place))
        tilt = self._model.tilt[row]
        sums = self._tilts.setdefault(piece, [0, 0.0, 0.0, time, yaw - tilt[2], time, yaw - tilt[2], yaw])
        sums[0] += 1
        sums[1] += roll - tilt[0]
        sums[2] += pitch - tilt[1]
        sums[5], sums[6], sums[7] = time, yaw - tilt[2], yaw
        for old in [s for s in self._tilts if s < piece - 40]:
            del self._tilts[old]
        return True

    def recent(self, joint: Any, count: int) -> tuple[Any, Any, Any]:
        """The last readings of a joint: fractional ticks, angles, residuals [rad], each (at most count,)."""
        order = (np.arange(self._next - _KEPT, self._next)) % _KEPT
        mine = order[(self._joint[order] == joint) & np.isfinite(self._place[order])][-count:]
        return self._place[mine], self._angle[mine], self._residual[mine]

    def reach(self, joint: Any, places: np.ndarray, lag: float) -> tuple[np.ndarray, np.ndarray]:
        """Return least and largest modelled angle [rad] of a joint within `lag` [s] before and after each of these
        fractional ticks, each like `places`.
        """
        return self._model.reach(places, joint, lag)

    def lag(self, ticks: int) -> float:
        """Return by how much [s] all joints are behind the model in the last `ticks` ticks.

        NaN if it is not known, for example while joints are held and hardly any moves.
        """
        with np.errstate(invalid="ignore"):
            since = np.flatnonzero(self._place > self._model.tick - ticks)
        read = [self._angle[since[self._joint[since] == joint]] for joint in np.unique(self._joint[since])]
        limits = self._limits
        if not read or np.mean([np.ptp(angles) > limits.late_moved for angles in read]) < limits.late_share:
            return np.nan
        return common_lag(self._joint[since], self._residual[since], self._rate[since], limits)

    def readings(self, piece: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The readings in slice `piece`: joints, residuals [rad], modelled rates [rad/s], leads [rad], each (m,)."""
        ticks = self._model.slice_ticks
        with np.errstate(invalid="ignore"):
            inside = np.flatnonzero((self._place >= piece * ticks) & (self._place < (piece + 1) * ticks))
        return self._joint[inside], self._residual[inside], self._rate[inside], self._load[inside]

    def view(self, first: Any, count: int) -> SliceFeatures:
        """Return the SliceFeatures of `count` slices, beginning with slice `first`."""
        ticks, limits = self._model.slice_ticks, self._limits
        place = self._place
        with np.errstate(invalid="ignore"):
            inside = np.flatnonzero((place >= first * ticks) & (place < (first + count) * ticks))
        tilts, yaw = np.full((count, TILTS), np.nan), np.zeros(count)
        for k in range(count):
            sums = self._tilts.get(first + k)
            yaw[k] = sums[7] if sums else yaw[k - 1]
            if sums and sums[0] >= limits.least_attitudes and sums[5] - sums[3] > limits.least_attitude_time:
                turn = (sums[6] - sums[4] + np.pi) % (2.0 * np.pi) - np.pi
                tilts[k] = sums[1] / sums[0], sums[2] / sums[0], turn / (sums[5] - sums[3])
        return SliceFeatures(
            first,
            count,
            ticks,
            self._model.period,
            self.joints,
            place[inside],
            self._joint[inside],
            self._residual[inside],
            self._load[inside],
            self._rate[inside],
            self._weight[inside],
            tilts,
            yaw,
            limits,
        )


class SliceFeatures:
    """Features of `count` slices: residual, noise (count, n + TILTS), NaN and infinite if nothing was measured;
    load (count, n), heading yaw (count,) [rad]; motion (count, n, 2): modelled rate [rad/s], sign of the load.
    """

    def __init__(
        self,
        first: int,
        count: int,
        ticks: int,
        period: float,
        joints: int,
        place: np.ndarray,
        joint: np.ndarray,
        residual: np.ndarray,
        load: np.ndarray,
        rate: np.ndarray,
        weight: np.ndarray,
        tilts: np.ndarray,
        yaw: np.ndarray,
        limits: DetectorLimits = LIMITS,
    ) -> None:
        self.first, self.count, self._ticks, self._period, self._joints = first, count, ticks, period, joints
        self._joint, self._weight = joint, weight
        self._tick = place.astype(np.int64)
        self._share = place - self._tick
        self._cell = (self._tick // ticks - first) * joints + joint
        total = np.bincount(self._cell, weight, count * joints)
        with np.errstate(divide="ignore", invalid="ignore"):
            self._scale = 1.0 / total
            apart, self.load = self._mean(residual), self._mean(load)
            self.motion = np.stack([self._mean(rate), self._mean(sign_of_load(load, limits.load_sign))], axis=-1)
        self.residual, self.yaw = np.concatenate([apart, tilts], axis=1), yaw
        # Noise of the readings; it has a lower bound, because the rounding of a few readings does not average out.
        noise = np.sqrt(np.maximum(self._scale, (0.5 * limits.least_reading) ** 2)).reshape(count, joints)
        tilt_noise = np.where(
            np.isfinite(tilts), [limits.attitude_noise, limits.attitude_noise, limits.turn_noise], np.inf
        )
        self.noise = np.concatenate([np.where(np.isfinite(apart), noise, np.inf), tilt_noise], axis=1)

    def _mean(self, values: Any) -> np.ndarray:
        sums = np.bincount(self._cell, self._weight * values, self.count * self._joints)
        return (sums * self._scale).reshape(self.count, self._joints)

    def features(self, q: np.ndarray, tilt: np.ndarray, q0: Any, tilt0: Any) -> np.ndarray:
        """Features (count, n + TILTS) of a simulation less those of another.

        q (T, n), tilt (T, 3) [rad]: after each tick from tick `first` x slice on, with one tick beyond the slices if
        there is one; q0, tilt0: the other's. Features that were not measured are 0.
        """
        apart = q - q0
        start = self._tick - self.first * self._ticks
        after = np.minimum(start + 1, len(q) - 1)
        values = (1.0 - self._share) * apart[start, self._joint] + self._share * apart[after, self._joint]
        with np.errstate(invalid="ignore"):
            means = np.nan_to_num(self._mean(values), posinf=0.0, neginf=0.0)
        turned = tilt - tilt0
        pieces = turned[: self.count * self._ticks].reshape(self.count, self._ticks, 3)
        tilts = pieces.mean(axis=1)
        tilts[:, 2] = (pieces[:, -1, 2] - pieces[:, 0, 2]) / ((self._ticks - 1) * self._period)
        return np.concatenate([means, tilts], axis=1)
