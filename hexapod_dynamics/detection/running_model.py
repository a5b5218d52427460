"""The model of the declared robot under the set-points that were sent, with its recent states."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx
from hexapod_dynamics.simulation import Predictor

_TICKS = 512
Tick = TypeVar("Tick", int, np.ndarray)


class RunningModel:
    """A Predictor that advances by one tick (`period` [s]) with each command and stores the last ticks.

    Ring buffers, `row(k)` is the row of tick k: `time` (N,) [s] at which the state is that of `q` (N, n) [rad],
    `targets` (N, n) [rad], `tilt` (N, 3): roll, pitch, yaw [rad], `loads` (N, legs) [N]: vertical forces of the feet.
    """

    def __init__(self, robot: Robot, period: float, timestep: float) -> None:
        self.robot, self.period = robot, period
        self.model = Predictor(robot, timestep=timestep)
        n = robot.joint_count
        self.time = np.full(_TICKS, np.nan)
        self.targets, self.q = np.zeros((_TICKS, n)), np.zeros((_TICKS, n))
        self.tilt, self.loads = np.zeros((_TICKS, 3)), np.zeros((_TICKS, len(robot.legs)))
        self.tick = 0  # number of ticks so far
        self.started = False

    @staticmethod
    def row(tick: Tick) -> Tick:
        """Row of a tick (or ticks) in the ring buffers."""
        return tick % _TICKS

    def start(self, time: float, joints: np.ndarray, morphology: Morphology) -> None:
        """Start with the robot standing on its lowest feet, at joints (n,) [rad]."""
        self.model.set_morphology(morphology)
        self.model.set_state(np.zeros(3), np.eye(3), joints, np.zeros(6 + len(joints)))
        self.model.position[2] = self.model.resting_height()
        self.tick, self.started = 0, True
        self.step(time, joints)

    def step(self, time: float, targets: np.ndarray) -> None:
        """Advance one tick under the targets (n,) [rad], NaN if a servo keeps its target; `time` [s]: end of the
        tick.
        """
        row = self.row(self.tick)
        self.targets[row] = np.where(np.isfinite(targets), targets, self.model.setpoints)
        self.time[row] = time
        self.model.advance(self.period, self.targets[row], self.period)
        self.q[row] = self.model.q
        yaw, pitch, roll = euler_zyx(self.model.rotation)
        self.tilt[row] = roll, pitch, yaw
        self.loads[row] = self.model.foot_forces[:, 2]
        self.tick += 1

    def set_morphology(self, morphology: Morphology) -> None:
        """Change the declared morphology."""
        self.model.set_morphology(morphology)

    def place(self, time: float) -> float:
        """Fractional tick at a time [s]; NaN if it is no longer or not yet in the buffers."""
        last = self.tick - 1
        first = max(0, self.tick - _TICKS + 1)
        if last <= first or not self.time[self.row(first)] <= time <= self.time[self.row(last)]:
            return np.nan
        # The ticks are even apart from jitter: start from an estimate, then search a few steps.
        tick = int(np.clip(last - (self.time[self.row(last)] - time) / self.period, first, last - 1))
        while tick > first and self.time[self.row(tick)] > time:
            tick -= 1
        while tick < last - 1 and self.time[self.row(tick + 1)] < time:
            tick += 1
        before, after = self.time[self.row(tick)], self.time[self.row(tick + 1)]
        return tick + (time - before) / max(after - before, 1e-6)

    def joint_at(self, place: float, joint: int) -> tuple[float, float, float]:
        """Modelled angle [rad], its rate [rad/s] and set-point lead [rad] of a joint at a fractional tick."""
        tick = int(place)
        share = place - tick
        a, b = self.row(tick), self.row(tick + 1)
        q = (1.0 - share) * self.q[a, joint] + share * self.q[b, joint]
        target = (1.0 - share) * self.targets[a, joint] + share * self.targets[b, joint]
        return q, (self.q[b, joint] - self.q[a, joint]) / self.period, target - q
