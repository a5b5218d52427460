"""Trials of what the detector has declared: when each is due, and what the trial of a foot shows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from hexapod_dynamics.detection.recovered_joints import AWAY, STILL
from hexapod_dynamics.gait.interface import PUT_DOWN
from hexapod_dynamics.robot import Robot

Part = TypeVar("Part", int, str)


class Trials:
    """Chooses what is tried, and when: first 2 s after its declaration, then after 6 s, and each time after twice the
    time before, 2 min at most; two trials begin 4.5 s apart. Times are seconds on one clock.
    """

    def __init__(self) -> None:
        self._next: dict[int | str, tuple[float, float]] = {}  # joint or leg: [s] of its next trial, pause after it
        self._last = -math.inf

    def choose(self, time: float, declared: Iterable[Part]) -> Part | None:
        """Return which of these is tried now, once for each trial."""
        parts = list(declared)
        self._next |= {part: (time + 2.0, 6.0) for part in parts if part not in self._next}
        part = min(parts, key=lambda one: self._next[one][0], default=None)
        if part is None or time < self._next[part][0] or time - self._last < 4.5:
            return None
        pause = self._next[part][1]
        self._next[part] = time + pause, min(2.0 * pause, 120.0)
        self._last = time
        return part


class TriedFoot:
    """The trial of a foot (`PUT_DOWN`) of a Robot, of which the femur is read; leg: its name, None: no trial runs."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self.leg: str | None = None
        self._femur, self._begun = -1, -math.inf
        self._readings: list[tuple[float, float]] = []  # command [rad], angle less command [rad]

    def begin(self, time: float, leg: str, femur: int) -> None:
        """Begin the trial of a leg (by name) at `time` [s]; femur: its joint (index)."""
        self.leg, self._femur, self._begun, self._readings = leg, femur, time, []

    @property
    def moves(self) -> bool:
        """Whether a trial runs: the gait may have refused it."""
        return self.leg is not None and any(abs(command - self._readings[0][0]) > AWAY for command, _ in self._readings)

    def forget(self) -> None:
        """End the trial without a result."""
        self.leg = None

    def add_reading(self, joint: int, angle: float, command: float) -> None:
        """Use a reading [rad] of a joint (index); command [rad]: its last one."""
        if self.leg is not None and joint == self._femur and math.isfinite(command):
            self._readings.append((command, angle - command))

    def find_standing(self, time: float) -> str | None:
        """Return the leg, once at the end of its trial, if its foot stood."""
        if self.leg is None or time - self._begun < PUT_DOWN[1][0]:
            return None
        leg, self.leg = self.leg, None
        if len(self._readings) < 2:
            return None
        commands, pushed = np.array(self._readings[1:]).T
        steady = np.abs(np.diff([command for command, _ in self._readings])) < STILL
        is_down = commands < commands.min() + AWAY
        down, up = pushed[steady & is_down], pushed[steady & ~is_down]
        # The other feet carry all in a part of the cycle.
        stands = len(down) >= 3 and len(up) >= 2 and np.sort(down)[-2] - np.median(up) > self._least_load(leg)
        return leg if stands else None

    def _least_load(self, leg: str) -> float:
        """Return by how much [rad] the ground pushes the femur of a foot up that stands, at least.

        That is 1.5 times its share of the weight, as it stands deeper than the others: 3.8 counts of a JetHexa.
        In simulated trials feet that were there showed 6 counts or more; those with 85 % of the tibia 3.5 at most, with
        half of it 1.5, of play and friction.
        """
        robot = self._robot
        share = robot.mass * robot.gravity / len(robot.legs) * robot.leg(leg).links[1].length
        return max(1.5 * share / robot.servo.stiffness, 2.5 * (robot.servo.resolution or 0.0))
