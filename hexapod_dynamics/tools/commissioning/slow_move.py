"""Moves single joints slowly, for checks and set-up: with bounded speed, angle and force; afterwards the joints
are back in their initial state.

A joint moves in short steps. The target is at most `LEAD` ahead of the measured angle, so that the torque on a
blocked joint is at most the servo's stiffness times `LEAD`; if the program dies, the motion ends after that angle.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from hexapod_dynamics.drivers.servos.interface import BusError, NoReply, ServoInterface, require
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.robot.servo_map import ServoMap

_log = logging.getLogger(__name__)
SPEED = 0.3  # [rad/s]
PERIOD = 0.04  # [s] of a step
LEAD = 0.05  # [rad]; times 30 N m/rad: 1.5 N m, 44 % of the stall torque
ARRIVED = 0.035  # [rad] from the goal; the sag by a leg's weight and the resolution are together less than half of this
PATIENCE = 1.5  # [s] without getting nearer


class BlockedError(DeviceError):
    """A joint does not get nearer to its goal."""


class SlowMove:
    """Moves joints (robot order, by index) within lower, upper (n,) [rad] at `speed` [rad/s].

    It must be the only user of the bus. Raises NoReply, BusError, BlockedError.
    """

    def __init__(
        self,
        servos: ServoInterface,
        servo_map: ServoMap,
        lower: Sequence[float],
        upper: Sequence[float],
        speed: float = SPEED,
    ) -> None:
        self.servos, self.map, self.speed = servos, servo_map, speed
        self.lower, self.upper = np.asarray(lower, float), np.asarray(upper, float)

    def angle(self, index: int) -> float:
        """Measured joint angle [rad]."""
        return self.map.angle(index, require(self.servos, index, "position"))

    def holds(self, index: int) -> bool:
        """Whether the servo exerts torque."""
        return bool(require(self.servos, index, "loaded"))

    def send(self, index: int, angle: float, duration: float) -> None:
        """Command a joint angle [rad], reached in `duration` [s]."""
        self.servos.write(index, self.map.servo_angle(index, angle), duration)
        self.servos.line.drain()

    def to(self, index: int, goal: float) -> float:
        """Move a joint to `goal` [rad], clamped to its limits; return the measured angle when it is there."""
        here = self.angle(index)
        goal = float(np.clip(goal, min(self.lower[index], here), max(self.upper[index], here)))
        target, before, nearest, since = here, time.monotonic(), np.inf, time.monotonic()
        while True:
            now = time.monotonic()
            step = self.speed * min(max(now - before, PERIOD), 2.0 * PERIOD)
            wanted = float(np.clip(target + np.clip(goal - target, -step, step), here - LEAD, here + LEAD))
            self.send(index, wanted, max(PERIOD, abs(wanted - target) / self.speed))
            target, before = wanted, now
            time.sleep(PERIOD)
            here = self.angle(index)
            if target == goal and abs(goal - here) <= ARRIVED:
                return here
            if abs(goal - here) < nearest - self.servos.resolution:
                nearest, since = abs(goal - here), time.monotonic()
            elif time.monotonic() - since > PATIENCE:
                raise BlockedError(
                    f"{self.map.joint_names[index]} stays at {here:.3f} rad on its way to {goal:.3f} rad: is "
                    "something in its way, has the servo torque (supply, temperature)?"
                )

    def stop(self, index: int) -> None:
        """Stop a joint where it is; the servo holds."""
        self.servos.stop(index)
        self.servos.line.drain()

    @contextmanager
    def borrowed(self, indices: Sequence[int]) -> Iterator[None]:
        """A context in which joints are moved; afterwards they move back, and joints that had no torque before
        lose it again.

        If an exception ends the block (Ctrl-C, a lost servo), the joints stop where they are.
        """
        start = {index: self.angle(index) for index in indices}
        held = {index: self.holds(index) for index in indices}
        try:
            yield
            for index in reversed(indices):
                self.to(index, start[index])
        except BaseException:
            for index in indices:
                self._leave(index, held[index])
            raise
        for index in indices:
            if not held[index]:
                self.disable_torque(index)

    def disable_torque(self, index: int) -> None:
        """Switch torque off and read the state back, up to five times; raises NoReply if it is not confirmed."""
        for _ in range(5):
            self.servos.switch_torque((index,), False)
            self.servos.line.drain()
            if not self.holds(index):
                return
        raise NoReply(f"{self.map.joint_names[index]} does not confirm that its torque is off: it may hold still")

    def _leave(self, index: int, held: bool) -> None:
        """Stop a joint, and switch its torque off if it was off before. A lost port is only logged."""
        try:
            self.servos.stop(index)
            if not held:
                self.servos.switch_torque((index,), False, copies=3)
            self.servos.line.drain()
        except BusError as error:
            _log.warning("%s was not stopped, it ends its last step: %s", self.map.joint_names[index], error)
