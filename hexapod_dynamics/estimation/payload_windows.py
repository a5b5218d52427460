"""Wrenches with which the feet lift the body, one for each step cycle, from the servos' leads while the robot
walks or stands.

A reading of a joint gives its servo's torque at that moment (`Servos`, foot_loads.py): the lead of the set-point that
it executes over the measured angle. The mean torques of a time window and the statics of the legs give a wrench; the
mean of the windows of a whole cycle is free of the inertial forces of the steps, which repeat.
Readings are only stored; `close` computes, a few times a second.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.estimation.foot_loads import BodyStatics, Servos
from hexapod_dynamics.robot import Morphology, Robot

Array = NDArray[np.float64]
STANDING_PERIOD = 1.25  # [s] duration of a "cycle" if no period is known
_ROWS = 32  # number of commands that are stored


class WrenchWindows:
    """Collects commands and readings; all times are seconds on one clock.

    command_delay [s]: from a command to the servos' start, where the robot file has no identified latency.
    """

    def __init__(self, robot: Robot, *, command_delay: float, command_period: float) -> None:
        self.robot, self.model = robot, WholeBodyModel(robot)
        self.morphology = Morphology.whole(robot)
        self._statics = BodyStatics(robot, self.model, self.morphology)
        self.servos = Servos.from_robot(robot)
        n = robot.joint_count
        laws = robot.joint_servos
        self._delay = [law.latency for law in laws] if laws else [command_delay] * n
        self._period = command_period
        self._targets, self._times, self._count = np.zeros((_ROWS, n)), [-math.inf] * _ROWS, 0
        # Joint, time, angle, lead and rate of the set-point: of the readings of the open window, which are fewer than
        # this length at 200 readings of a joint a second, and of the newest reading of each joint before it.
        self._readings: deque[tuple[int, float, float, float, float]] = deque(maxlen=100 * n)
        self._last: dict[int, tuple[int, float, float, float, float]] = {}
        self._up, self._up_sum, self._ups = np.array([0.0, 0.0, 1.0]), np.zeros(3), 0
        self._begin, self._now = math.nan, math.nan
        self.period = self._next_period = STANDING_PERIOD
        self.setpoints = np.zeros(n)  # mean of the set-points in the cycle that `close` has returned last [rad]
        self._begin_cycle()

    def set_period(self, period: float | None) -> None:
        """Set the period [s] of the steps from the next cycle on; None if the robot stands, or walks without a
        period.
        """
        self._next_period = STANDING_PERIOD if period is None else period

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt the remaining parts of the robot."""
        self.morphology = morphology
        self._statics = BodyStatics(self.robot, self.model, morphology)
        self.clear()

    def clear(self) -> None:
        """Discard the open window and the commands, because they are not executed, or because the morphology has
        changed.
        """
        self._count = 0
        self._last = {}
        self._open()
        self._begin_cycle()

    def command(self, time: float, targets: Array) -> None:
        """Process the set-points (n,) [rad] that are sent to the servos at `time` [s]; NaN: unchanged."""
        row, before = self._targets[self._count % _ROWS], self._targets[(self._count - 1) % _ROWS]
        row[:] = targets
        if math.isnan(sum(targets.tolist())):
            np.copyto(row, before, where=np.isnan(row))
        self._times[self._count % _ROWS] = time
        self._sent += row
        self._sent_count += 1
        self._count += 1

    def measure_joint(self, time: float, joint: int, angle: float) -> None:
        """Process a reading [rad] of one joint at `time` [s]."""
        newest = self._count - 1
        if newest < 4:
            return
        if math.isnan(self._begin):
            self._begin = time
        self._now = time
        # Each set-point is reached one period after its start: the last one that had started before the reading.
        started = time - self._delay[joint]
        oldest = max(newest - _ROWS + 4, 2)
        while newest > oldest and self._times[newest % _ROWS] > started:
            newest -= 1
        targets, since = self._targets, started - self._times[newest % _ROWS]
        target, before = targets.item(newest % _ROWS, joint), targets.item((newest - 1) % _ROWS, joint)
        setpoint = before + min(max(since / self._period, 0.0), 1.0) * (target - before)
        # The mean rate of two periods: set-points are whole counts, so the rate of one period is rough.
        rate = 0.5 * (target - targets.item((newest - 2) % _ROWS, joint)) / self._period
        self._readings.append((joint, time, angle, setpoint - angle, rate))

    def measure_up(self, up: Array) -> None:
        """Process the upward direction (3,) in base_link: of the orientation filter, not of the accelerometer."""
        self._up_sum += up
        self._ups += 1

    @property
    def due(self) -> bool:
        """Whether a window is full."""
        return self._now - self._begin >= self._length

    @property
    def at_edge(self) -> bool:
        """Whether the open window is the first or the last one of its cycle."""
        return self._windows == 0 or self._is_last(self._windows + 1)

    def _is_last(self, count: int) -> bool:
        """Whether the cycle is complete after this number of windows."""
        return count * self._length >= self.period - 0.5 * self._length

    @property
    def _length(self) -> float:
        """Duration [s] of a window, about a quarter of a second: a cycle consists of a whole number of them."""
        return self.period / max(round(self.period / 0.25), 1)

    def close(self) -> tuple[Array, Array] | None:
        """End the window; after the last one of a cycle return the wrench (6,) [N, N m], force first, with which the
        feet lift the body beyond what the robot needs by itself, and the upward direction (3,), means of the cycle in
        base_link. A window without enough readings begins the cycle again.
        """
        found = self._wrench_of_window()
        if found is None:
            self._begin_cycle()
            return None
        if self._windows == 0:
            self.period = self._next_period
        self._wrench += found
        self._cycle_up += self._up
        self._windows += 1
        if not self._is_last(self._windows):
            return None
        self.setpoints[:] = self._sent / max(self._sent_count, 1)
        wrench, up = self._wrench / self._windows, self._cycle_up / self._windows
        self._begin_cycle()
        return wrench, up

    def _begin_cycle(self) -> None:
        """Set the sums over the windows and the commands of a cycle to zero."""
        self._wrench, self._cycle_up, self._sent = np.zeros(6), np.zeros(3), np.zeros(self.robot.joint_count)
        self._windows = self._sent_count = 0

    def _wrench_of_window(self) -> Array | None:
        """Return the mean wrench (6,) of the open window and open the next; None: too few readings."""
        moving, length = self.morphology.moving_mask, self._length
        angles, torques, measured = self._integrate()
        complete = bool((measured[moving] > 0.0).all()) and self._now - self._begin < 2.0 * length
        angles = np.where(moving, angles / np.maximum(measured, 1e-6), 0.0)
        # The integrals are divided by the length of the window; a part that belongs to the next window still counts in
        # the cycle.
        torques = np.where(moving, torques / length, 0.0)
        if self._ups:
            self._up = self._up_sum / np.linalg.norm(self._up_sum)
        begin = self._begin + length
        self._open()
        if not complete:
            return None
        self._begin = begin
        statics = self._statics.compute(angles[None], self._up[None])
        if not np.isfinite(statics.A).all():
            return None
        return (statics.carried_wrench(torques[None]) - statics.body)[0]

    def _integrate(self) -> Array:
        """Return the integrals (3, n) of angle, torque and 1 over the times between the readings of the open window."""
        rows = np.array([*self._last.values(), *self._readings])
        self._last |= {reading[0]: reading for reading in self._readings}
        rows = rows[np.argsort(rows[:, 0], kind="stable")]  # joint by joint, the oldest first
        joints, times, angles, leads, rates = rows.T
        of = joints.astype(np.intp)
        between = np.diff(times)
        pairs = np.flatnonzero((np.diff(of) == 0) & (between > 0.0) & (between < 0.3))  # [s]
        values = np.array([angles, self.servos.torques(leads, rates, of), np.ones(len(of))])
        means = 0.5 * (values[:, pairs] + values[:, pairs + 1]) * between[pairs]
        return np.array([np.bincount(of[pairs], each, self.robot.joint_count) for each in means])

    def _open(self) -> None:
        self._readings.clear()
        self._up_sum[:] = 0.0
        self._ups = 0
        self._begin = self._now = math.nan
