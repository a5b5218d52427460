"""Corrects the model state by measurements: set-point offsets from joints, rotations from the IMU's attitude.

Both compare a measurement with the model state at the time of the measurement. InnovationTest tests whether the
measurements fit the model: a quantity is inconsistent when its innovation (measured minus predicted) exceeds its limit
without interruption for `PATIENCE` seconds. The limits are those of healthy robots over the plausible mismatches of the
model, with a margin. A joint that should be measured but is not, is inconsistent, too.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.se3 import roll_pitch_yaw, rotation_vector, rotation_z


class TimedBuffer:
    """Stores the last values of an array with their times; `interpolate` interpolates linearly, without extrapolation.

    shape: of one value; without a value, there are zeros. size: number of stored values.
    """

    def __init__(self, shape: tuple[int, ...], size: int = 64) -> None:
        self._nothing = -math.inf, np.zeros(shape)
        self._rows = deque([self._nothing], size)

    def clear(self) -> None:
        """Delete all values."""
        self._rows.clear()
        self._rows.append(self._nothing)

    def add(self, time: float, value: npt.ArrayLike | tuple[np.ndarray, ...]) -> None:
        """Store a value at a time [s] later than all stored ones."""
        self._rows.append((time, np.array(value, float)))

    def interpolate(self, time: float) -> np.ndarray:
        """Return the value at `time` [s]."""
        before, after, share = self._find_neighbours(time)
        return before if share == 0.0 else (1.0 - share) * before + share * after

    def interpolate_element(self, time: float, *index: int) -> float:
        """Return one element of the value at `time` [s]."""
        before, after, share = self._find_neighbours(time)
        here = before.item(*index)
        return here if share == 0.0 else (1.0 - share) * here + share * after.item(*index)

    def _find_neighbours(self, time: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Return two stored values, and the weight of the second one in the value at `time` [s]."""
        before = after = self._rows[-1]
        for before in reversed(self._rows):  # measurements are recent, so this takes only a few steps
            if before[0] <= time:
                break
            after = before
        if before[0] == -math.inf:
            before = after
        begin, end = before[0], after[0]
        return before[1], after[1], (time - begin) / (end - begin) if begin < time < end else 0.0


class JointFilter:
    """Offsets of the servos' set-points, integrated from measured minus modelled joint angles.

    A position servo pulls its joint back to its set-point within a hundredth of a second, so a lasting deviation is an
    offset b of the set-point (unknown load, backlash, trim):

        b <- b + gain dt w (measured - modelled),    w = noise^2 / (noise^2 + (timing rate)^2)

    with dt the time since the previous measurement, at most 0.3 s, and w the weight of a measurement whose angle is
    known to half a count of a servo, 2 mrad, and whose time to 10 ms while the joint turns at a rate.

    count: number of joints; gain [1/s]: of the integration; limit [rad]: largest offset.
    """

    def __init__(self, count: int, *, gain: float = 2.0, limit: float = 0.5) -> None:
        self.gain, self.limit = gain, limit
        self.offsets = np.zeros(count)
        self.latest = np.full(count, np.nan)
        self.fresh_time = np.full(count, -np.inf)

    def clear(self) -> None:
        """Delete offsets and measurements."""
        self.offsets[:] = 0.0
        self.latest[:] = np.nan
        self.fresh_time[:] = -np.inf

    def measure(self, time: float, joint: int, measured: float, modelled: float, rate: float) -> bool:
        """Process the reading of a joint, measured and modelled angle [rad] at a time [s] and modelled rate [rad/s];
        return whether it is newer than the previous one.
        """
        since = time - self.fresh_time.item(joint)
        if not since > 0.0:
            return False
        variance = 2e-3**2
        step = min(since, 0.3) if math.isfinite(since) else 0.0
        step *= variance / (variance + (0.01 * rate) ** 2)
        offset = self.offsets.item(joint) + self.gain * step * (measured - modelled)
        self.offsets[joint] = max(-self.limit, min(self.limit, offset))
        self.latest[joint], self.fresh_time[joint] = measured, time
        return True


class AttitudeFilter:
    """Rotates the modelled body towards the IMU's attitude.

    The yaw of the IMU has an arbitrary origin: it is aligned with the model's yaw at the start, and again after a gap
    in the data or a jump, which show that the IMU has restarted.

        turn = gain dt log( R_imu R_model^T ),   tilt (world x, y) and yaw (world z) with gains of their own [1/s]
    """

    def __init__(self, *, tilt_gain: float = 2.0, yaw_gain: float = 2.0) -> None:
        self._gains = np.array([tilt_gain, tilt_gain, yaw_gain])
        self.clear()

    def clear(self) -> None:
        """Delete the alignment."""
        self._time: float | None = None
        self._yaw = 0.0
        self._align = np.eye(3)
        self.alignments = 0
        self.innovation = np.zeros(3)

    def measure(self, time: float, measured: np.ndarray, modelled: np.ndarray) -> np.ndarray:
        """Compare attitudes (3, 3) world <- base, the IMU's and the model's at a time [s] later than the previous one;
        return the rotation vector (3,) in world axes by which the model is to be turned [rad].
        """
        step = math.inf if self._time is None else time - self._time
        yaw = roll_pitch_yaw(measured)[2]
        turned = (yaw - self._yaw + math.pi) % (2 * math.pi) - math.pi
        if step > 1.0 or abs(turned) > 0.3:  # [s], [rad]: it has restarted
            self._align = rotation_z(roll_pitch_yaw(modelled)[2] - yaw)
            self.alignments += 1
            step = 0.0
        self._time, self._yaw = time, yaw
        self.innovation = rotation_vector(self._align @ measured @ modelled.T)
        # After a gap in the data, the correction is that of one ordinary step, not of the whole gap.
        return self._gains * min(step, 0.05) * self.innovation


AXES = ("roll", "pitch", "yaw")
UNREAD_AFTER = 1.0  # [s] longest time without a reading of a joint while others are read
# Time [s] for which an innovation must exceed its limit; for which everything must fit until the inconsistency ends.
PATIENCE, CALM = 0.3, 2.0


class InnovationTest:
    """Finds joints and axes whose measurements contradict the model, by the largest innovations of an intact robot.

    names (n,): of the joints.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = [*names, *AXES]
        self.clear()

    def clear(self) -> None:
        """Reset all inconsistencies."""
        n = len(self.names)
        self._since = [math.inf] * n  # [s] time at which the quantity exceeded its limit
        self._excess = [0.0] * n
        self._began: float | None = None
        self._last_inconsistent: float | None = None
        self.suspected: list[str] = []

    def check_joint(self, time: float, joint: int, error: float, rate: float, offset: float) -> None:
        """Test a reading of a joint: measured minus predicted [rad], predicted rate [rad/s], learnt offset [rad]."""
        excess = abs(error) / (0.06 + 0.03 * abs(rate))  # [rad] at rest, [s] by which the times differ
        self._assess(time, joint, max(excess, abs(offset) / 0.25))

    def mark_unread(self, time: float, joint: int, silence: float) -> None:
        """Note that a joint was not read for `silence` [s], longer than the limit."""
        self._since[joint] = min(self._since[joint], time - PATIENCE)
        self._excess[joint] = max(silence / UNREAD_AFTER, 1.0)

    def reset_joint(self, joint: int) -> None:
        """Reset a joint that was read while it executes no command, because it cannot contradict the model then."""
        self._since[joint], self._excess[joint] = math.inf, 0.0

    def check_attitude(self, time: float, innovation: Sequence[float], yaw: float) -> None:
        """Test the attitude: the measured less the predicted one as a rotation vector (3,) in world axes [rad],
        and the predicted yaw [rad].
        """
        cos, sin = math.cos(yaw), math.sin(yaw)
        x, y, z = innovation
        roll, pitch = cos * x + sin * y, -sin * x + cos * y
        first = len(self.names) - len(AXES)
        for k, excess in enumerate((roll / 0.06, pitch / 0.06, z / 0.08)):  # [rad]
            self._assess(time, first + k, abs(excess))

    def _assess(self, time: float, k: int, excess: float) -> None:
        """Process a deviation of a quantity as a multiple of its limit."""
        self._excess[k] = excess
        self._since[k] = min(self._since[k], time) if excess > 1.0 else math.inf

    def level(self, time: float) -> tuple[str, str]:
        """Return the present level ("ok", "warn" or "error") and the inconsistent joints and axes."""
        if time - min(self._since) >= PATIENCE:
            suspected = [k for k, since in enumerate(self._since) if time - since >= PATIENCE]
            self.suspected = [self.names[k] for k in sorted(suspected, key=lambda k: -self._excess[k])]
            self._last_inconsistent = time
            if self._began is None:
                self._began = time
        elif self._last_inconsistent is None or time - self._last_inconsistent > CALM:
            self._began = self._last_inconsistent = None
            self.suspected = []
        if self._began is None:
            return "ok", ""
        worst = ", ".join(self.suspected[:3])
        text = f"the measurements contradict the model at {worst}: the prediction is unreliable"
        return ("error" if time - self._began > 1.5 else "warn"), text
