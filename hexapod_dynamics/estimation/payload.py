"""Estimates the load on the body while the robot walks: mass and centre, from the sag of the servos and the tilt
of the body.

In each step cycle the feet lift the body with a wrench that follows from the servos' leads (payload_windows.py).
The part beyond the weight of the tared robot is the payload's weight:

    carried - bias = m g (u; c x u) + noise,    u: up in base_link, c: the payload's centre

linear in (m, m cx, m cy) for a known height cz. The mean is over the cycles of the last 20 s, or since the load has
changed. Like a kitchen scale, it defines the first load as zero: `tare`, which goes on for up to a minute while nothing
is put on. The standard deviations have three parts: the scatter of the cycles; the unknown properties of the servos,
whose effect grows with the load (without tare: with the whole weight), and their rounding errors, which are the same in
all cycles unless the body sways; the unknown height of the payload.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.estimation.payload_windows import WrenchWindows
from hexapod_dynamics.robot import Morphology, Robot

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
MIN_DURATION = 8.0  # [s] duration of cycles until the first estimate
MIN_CYCLES = 4  # number of cycles until the first estimate, and before those in which a change is looked for
_ROWS = 64
# Least standard deviations of one cycle: mass [kg], first moments [kg m].
CYCLE_DEVIATION = np.array([0.05, 0.003, 0.003])
SIGNIFICANCE = 3.0  # number of standard deviations at which something contradicts a payload


class ServoUncertainty(NamedTuple):
    """Standard deviations of what dead zones, friction and stiffnesses leave unknown.

    relative, mass [kg]: of the mass; moment [kg m]: of the first moments; of_robot [kg m]: of those of the whole robot
    that nobody tared. The second and the third hold for a load of 0.15 kg and more, less for a lighter one, which
    changes less in the servos, but never less than half of it: play and friction stay otherwise than before a load was
    put on and taken off.
    """

    relative: float
    mass: float
    moment: float
    of_robot: float


PAYLOAD_HEIGHT = 0.05  # of a payload over base_link's origin, +- 30 mm [m]


@dataclass(frozen=True)
class Payload:
    """mass [kg] and centre x, y [m] in base_link with their standard deviations; tared: relative to the tared robot.

    reason: why it cannot be estimated, or what contradicts a payload; empty if neither. expected (3,): mass [kg]
    and first moments [kg m] to be used: the mean of estimate and prior, weighted by their variances; zero if the
    mass is not significant; while there is a reason, the last values without one.
    """

    mass: float
    x: float
    y: float
    mass_deviation: float
    x_deviation: float
    y_deviation: float
    tared: bool
    reason: str = ""
    expected: tuple[float, float, float] = (0.0, 0.0, 0.0)


class PayloadEstimator:
    """Estimates a Payload from joint readings, set-points and attitudes of a standing or walking robot.

    Times are seconds on one clock. command_delay [s]: from a command to the servos' start where the robot file has no
    identified latency. tare_first: whether the first estimate is a tare, which defines the weight of the robot
    itself. `command`, `measure_joint`, `measure_up` and `set_period` (of the steps) only store numbers; `update`
    computes, four times a second.
    """

    def __init__(
        self, robot: Robot, *, command_delay: float = 0.017, command_period: float = 0.02, tare_first: bool = False
    ) -> None:
        self.robot, self.tare_first = robot, tare_first
        self.windows = WrenchWindows(robot, command_delay=command_delay, command_period=command_period)
        self.command, self.measure_joint = self.windows.command, self.windows.measure_joint
        self.measure_up, self.set_period = self.windows.measure_up, self.windows.set_period
        self._weight = self.windows.model.total_mass(self.morphology)
        self._wrenches, self._ups, self._count = np.zeros((_ROWS, 6)), np.zeros((_ROWS, 3)), 0
        self._setpoints, self._tare_swayed = np.zeros((_ROWS, robot.joint_count)), False
        self._bias, self._bias_covariance = np.zeros(6), np.zeros((3, 3))
        # What the tare carries; sum and number of its cycles (0: it is complete); number of cycles since the tare.
        self._carried, self._tared_sum, self._tared_count, self._since_tare = np.zeros(3), np.zeros(6), 0, 0
        self._held: Array | None = None  # (m, m cx, m cy) that is still carried after a change of the robot
        self._expected = (0.0, 0.0, 0.0)
        self.tared = False

    @property
    def morphology(self) -> Morphology:
        """What is left of the robot."""
        return self.windows.morphology

    # ---- inputs ----------------------------------------------------------------------------------------------------

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt the remaining parts of the robot.

        Other legs have other errors, so that the tare is no longer valid: the previous load is assumed to be still
        carried, and the first cycles with the remaining legs become the tare.
        """
        if morphology == self.morphology:
            return
        if self.tared and self._held is None:
            self._held = np.array(self._expected)
        self.windows.set_morphology(morphology)
        self._weight = self.windows.model.total_mass(morphology)
        self._count = self._tared_count = 0

    def resume(self, carried: Sequence[float]) -> None:
        """Assume the load (m, m cx, m cy) [kg, kg m]; the first cycles become the tare, as after `set_morphology`."""
        self._held, self.tared = np.asarray(carried, float), True
        self._expected = (float(carried[0]), float(carried[1]), float(carried[2]))

    def restart(self) -> None:
        """Discard all windows, because the servos did not execute the commands; the tare stays."""
        self._count = self._tared_count = 0
        self.windows.clear()

    def update(self) -> bool:
        """Close the time window if it is full; after a cycle, add the cycle and check for a change of the load.
        Return whether there is a new estimate.
        """
        if not self.windows.due:
            return False
        closed = self.windows.close()
        if closed is None:
            return False
        row = self._count % _ROWS
        self._wrenches[row], self._ups[row] = closed
        self._setpoints[row] = self.windows.setpoints
        self._count += 1
        recent = max(2, round(4.0 / self.windows.period))  # of the last 4 s
        if self._averaged_cycles >= recent + MIN_CYCLES and self._has_changed(recent):
            self._keep_last(max(recent // 2, 1))
            self._tared_count = 0
        elif self._tared_count:
            self._extend_tare()
        if not self._find_obstacle():
            if self._held is not None:
                self._set_carried(self._held)
            elif self.tare_first and not self.tared:
                self.tare()
        return True

    def tare(self) -> bool:
        """Define the present load as zero; return False if there is no estimate."""
        if self._find_obstacle():
            return False
        self._set_carried(np.zeros(3))
        return True

    # ---- result ----------------------------------------------------------------------------------------------------

    def estimate(self) -> Payload:
        """Return the payload as it is known now."""
        if reason := self._find_obstacle():
            return Payload(0.0, 0.0, 0.0, math.inf, math.inf, math.inf, self.tared, reason, self._expected)
        value, covariance = self._solve(self._rows(self._averaged_cycles))
        mass = float(value[0])
        least = max(abs(mass), 1e-3)
        up = self._ups[(self._count - 1) % len(self._ups)]
        height = 0.03 * math.hypot(up[0], up[1])
        unknown = self._find_unknown()
        share = min(max(abs(mass) / 0.15, 0.5), 1.0)
        scaled = abs(mass) if self.tared else self._weight + mass
        covariance[0, 0] += (unknown.relative * scaled) ** 2 + (unknown.mass * share) ** 2
        lever = (height * mass) ** 2 + (unknown.moment * share if self.tared else unknown.of_robot) ** 2
        covariance[1, 1] += lever
        covariance[2, 2] += lever
        x, y = (value[1:] / mass).tolist() if abs(mass) > 1e-6 else (0.0, 0.0)
        spread = []
        for k, place in ((1, x), (2, y)):
            own = covariance[k, k] - 2.0 * place * covariance[0, k] + place**2 * covariance[0, 0]
            spread.append(math.sqrt(max(float(own), 0.0)) / least)
        deviation = math.sqrt(float(covariance[0, 0]))
        reason = self._inconsistency(value, covariance, deviation, x, y, spread)
        # A mass above two standard deviations counts as a load.
        if mass + 2.0 * deviation < self._expected[0] or (not reason and mass < 2.0 * deviation):
            self._expected = (0.0, 0.0, 0.0)  # the load was taken off, or never existed
        elif not reason:
            usual = np.diag(np.square([0.25, 0.012, 0.012]))  # [kg, kg m] of the loads that are usual
            mean = usual @ np.linalg.solve(usual + covariance, value)
            self._expected = (float(mean[0]), float(mean[1]), float(mean[2]))
        return Payload(mass, x, y, deviation, spread[0], spread[1], self.tared, reason, self._expected)

    # ---- inside ----------------------------------------------------------------------------------------------------

    @property
    def _averaged_cycles(self) -> int:
        """Number of cycles that are averaged."""
        return min(self._count, max(MIN_CYCLES, round(20.0 / self.windows.period)), _ROWS)

    def _find_unknown(self) -> ServoUncertainty:
        """What is unknown of the servos: of a catalogue, identified, identified while the body sways."""
        if not self.robot.joint_servos:
            return ServoUncertainty(0.2, 0.06, 0.014, 0.1)
        if self._tare_swayed and self._has_swayed:
            return ServoUncertainty(0.04, 0.015, 0.0025, 0.01)
        return ServoUncertainty(0.06, 0.055, 0.01, 0.01)

    @property
    def _has_swayed(self) -> bool:
        """Whether the body swayed in the averaged cycles, so that the servos' rounding errors differ between them: the
        median deviation of the joints' mean set-points exceeds a count.
        """
        means = self._setpoints[self._rows(self._averaged_cycles)][:, self.morphology.moving_mask]
        # Medians: a step of the body, or the start of the walk in the first cycle, is no sway.
        spread = np.median(np.abs(means - np.median(means, axis=0)), axis=0)
        return bool(np.median(spread) > self.robot.servo.resolution)

    def _rows(self, last: int, before: int = 0) -> Rows:
        """Return the rows of the `last` cycles without the last `before`."""
        return np.arange(self._count - last, self._count - before) % _ROWS

    def _keep_last(self, last: int) -> None:
        """Discard all cycles except the `last` ones."""
        rows = self._rows(last)
        for kept in (self._wrenches, self._ups, self._setpoints):
            kept[:last] = kept[rows]
        self._count = last

    def _fit(self, rows: Rows) -> tuple[Array, Array]:
        """Matrices of the least-squares fit: (3, 6) from a wrench to (m, m cx, m cy), and (6, 3) back."""
        u = self._ups[rows].mean(axis=0)
        H = np.zeros((6, 3))
        H[:3, 0], H[3:, 0] = u, np.cross([0.0, 0.0, PAYLOAD_HEIGHT], u)
        H[3:, 1], H[3:, 2] = np.cross([1.0, 0.0, 0.0], u), np.cross([0.0, 1.0, 0.0], u)
        H *= self.robot.gravity
        weighted = H.T / np.repeat([2.0**2, 0.2**2], 3)  # [N, N m] noise of a cycle's wrench
        return np.linalg.solve(weighted @ H, weighted), H

    def _scatter(self, rows: Rows) -> Array:
        """Covariance (3, 3) of (m, m cx, m cy) of one cycle."""
        values = self._wrenches[rows] @ self._fit(rows)[0].T
        return np.asarray(np.cov(values.T) + np.diag(CYCLE_DEVIATION**2), np.float64)

    def _solve(self, rows: Rows) -> tuple[Array, Array]:
        """Estimate (3,) of (m, m cx, m cy) and its covariance (3, 3) from the scatter of the cycles and the tare."""
        value = self._fit(rows)[0] @ (self._wrenches[rows].mean(axis=0) - self._bias)
        return value, self._scatter(rows) / len(rows) + self._bias_covariance

    def _set_carried(self, carried: Array) -> None:
        """Make the present cycles the tare of a robot that carries (m, m cx, m cy)."""
        rows = self._rows(self._averaged_cycles)
        self._carried, self._tared_sum, self._tared_count = carried, self._wrenches[rows].sum(axis=0), len(rows)
        self._since_tare = 0
        self._average_tare(rows)
        self.tared, self._held, self._tare_swayed = True, None, self._has_swayed
        self._expected = (float(carried[0]), float(carried[1]), float(carried[2]))

    def _average_tare(self, rows: Rows) -> None:
        """Set the tare to the mean of its cycles, which scatter as those of the rows."""
        self._bias = self._tared_sum / self._tared_count - self._fit(rows)[1] @ self._carried
        self._bias_covariance = self._scatter(rows) / self._tared_count

    def _extend_tare(self) -> None:
        """Add a cycle to the tare: the one before the last 20 s, if these agree with the tare within two standard
        deviations, up to a minute.

        If they do not, the tare is complete: a light load may have been put on.
        """
        confirming = min(math.ceil(20.0 / self.windows.period), _ROWS - 1)  # with very short steps less
        self._since_tare += 1
        if self._since_tare <= confirming:
            return
        rows = self._rows(confirming)
        value, covariance = self._solve(rows)
        if ((value - self._carried) ** 2 > 4.0 * np.diag(covariance)).any():
            self._tared_count = 0
            return
        self._tared_sum += self._wrenches[(self._count - 1 - confirming) % _ROWS]
        self._tared_count += 1
        self._average_tare(rows)
        if self._tared_count * self.windows.period > 60.0:
            self._tared_count = 0

    def _has_changed(self, recent: int) -> bool:
        """Whether the load of the `recent` cycles differs from the previous ones by four standard deviations."""
        new, old = self._rows(recent), self._rows(self._averaged_cycles, recent)
        fit = self._fit(new)[0]
        before, after = self._wrenches[old] @ fit.T, self._wrenches[new] @ fit.T
        # The scatter of few cycles may be too small by chance: Student's t has a variance of n / (n - 2).
        count = len(old) - 1
        usual = before.var(axis=0, ddof=1) * count / (count - 2.0) + CYCLE_DEVIATION**2
        step = (after.mean(axis=0) - before.mean(axis=0)) ** 2 / (usual * (1.0 / len(new) + 1.0 / len(old)))
        return bool(step.max() > 16.0)

    def _find_obstacle(self) -> str:
        """Return why the load is not known, in this morphology or yet; empty if it is."""
        morphology = self.morphology
        legs = [leg for leg in self.robot.legs if morphology.has_leg(leg.name)]
        for leg in legs:
            joints = list(self.robot.leg_joints(leg.name))
            stands = all(morphology.has_link(leg.name, link.name) for link in leg.links)
            idle = ~(morphology.moving_mask & morphology.driven_mask)[joints]
            if stands and idle.any():
                name = self.robot.joint_names[joints[int(np.argmax(idle))]]
                return f"{name} gives no torque that is seen, and its leg may stand"
        if len(legs) < 3:
            return f"{len(legs)} legs left: the body lies on the ground"
        seconds = self._averaged_cycles * self.windows.period
        if self._averaged_cycles >= MIN_CYCLES and seconds >= MIN_DURATION:
            return ""
        return f"{seconds:.0f} s of measurements, {MIN_DURATION:.0f} s needed"

    def _inconsistency(
        self, value: Array, covariance: Array, deviation: float, x: float, y: float, spread: list[float]
    ) -> str:
        """Return what contradicts a payload on the body."""
        mass = float(value[0])
        if mass < -SIGNIFICANCE * deviation:
            return "lighter than the tared robot: taken off, a part is lost, or the body rests on something"
        half = 0.5 * np.asarray(self.robot.body.box)[:2] + 0.05  # [m]
        if mass > SIGNIFICANCE * deviation and (
            abs(x) - SIGNIFICANCE * spread[0] > half[0] or abs(y) - SIGNIFICANCE * spread[1] > half[1]
        ):
            return "its centre is outside of the body: a leg carries more than it should, or one is lost"
        moment = float(value[1:] @ np.linalg.solve(covariance[1:, 1:], value[1:]))
        if mass < deviation and moment > SIGNIFICANCE**2 + 2.0:
            return "a moment without a weight: a leg has lost a part, or the load has moved since the tare"
        return ""
