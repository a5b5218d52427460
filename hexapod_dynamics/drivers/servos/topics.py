"""Joints of a robot that another driver moves and measures, as a ServoInterface.

The node passes on what it receives (`accept`) and sets a function that publishes set-points. Torque, temperatures
and voltages belong to the other driver: they are neither known nor switched here. A stop is a set-point at the
present position of the motion.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hexapod_dynamics.drivers.servos.interface import (
    BusError,
    Fault,
    Idle,
    Motion,
    Motions,
    PortSettings,
    Quantity,
    ServoInterface,
)
from hexapod_dynamics.drivers.wake import Wake


class EchoDetector:
    """Compares the reports of n joints with their last 60 commands. Both may come from two threads.

    25 consecutive reports that equal a command are an echo; a report counts if its joint has moved since the last one.
    """

    def __init__(self, n: int) -> None:
        self._recent = np.full((60, n), np.nan)  # a ring, which is written while it is read
        self._count = 0
        self._last = np.full(n, np.nan)
        self._equal = np.zeros(n, np.int64)

    @property
    def echoing(self) -> np.ndarray:
        """Joints (n,) bool that report their commands."""
        return self._equal >= 25

    def command(self, angles: np.ndarray) -> None:
        """Take the commands (n,) [rad], NaN for a joint that has none."""
        self._recent[self._count % len(self._recent)] = angles
        self._count += 1

    def report(self, index: int, angle: float) -> None:
        """Take the reported angle [rad] of one joint."""
        if self._count < 2 or abs(angle - self._last[index]) <= 2e-4:
            return
        self._last[index] = angle
        equal = (np.abs(self._recent[:, index] - angle) <= 1e-6).any()  # also of drivers with single precision
        self._equal[index] = self._equal[index] + 1 if equal else 0


_EACH = 0.03  # [rad] over which each joint of a chain that counts as frozen was commanded meanwhile


class FrozenChains:
    """Compares what n joints report with their commands; legs: the indices of each leg's joints, from the hip on.

    Joints that end a leg are frozen if none has changed for 0.3 s, and for twice its longest usual interval, which
    counts up to a second, while they were commanded over 0.15 rad together.
    """

    def __init__(self, n: int, legs: Sequence[Sequence[int]]) -> None:
        self._legs = [list(leg) for leg in legs]
        self._shown, self._since = np.full(n, np.nan), np.full(n, np.inf)  # last report [rad], since when [s]
        self._low, self._high = np.full(n, np.nan), np.full(n, np.nan)  # of the commands since then [rad]
        self._usual = np.zeros(n)  # longest interval [s] between two changes of a joint that was commanded to move
        self._moves, self._missing = np.zeros((2, n), bool)

    def set_missing(self, missing: np.ndarray) -> None:
        """Set which joints (n,) bool are declared missing."""
        self._missing = np.array(missing, bool)

    def update(self, now: float, shown: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return which joints (n,) bool are not measured. shown: what they report, targets: their commands, NaN for
        none, each (n,) [rad]; now: monotonic [s].
        """
        new = shown != self._shown
        self._moves |= new & ~np.isnan(self._shown)  # a first report is no motion
        lasted, moved = now - self._since, self._high - self._low
        np.maximum(self._usual, lasted, out=self._usual, where=new & (moved >= _EACH) & (lasted <= 1.0))
        self._shown, self._since = shown.copy(), np.where(new, now, self._since)
        self._low = np.where(new, targets, np.fmin(self._low, targets))
        self._high = np.where(new, targets, np.fmax(self._high, targets))
        moved = self._high - self._low
        still = (now - self._since >= np.maximum(0.3, 2.0 * self._usual)) & (moved >= _EACH)
        frozen: np.ndarray = self._missing & ~self._moves
        if not still.any():
            return frozen
        for leg in self._legs:
            for first in range(len(leg) - 1):
                chain = leg[first:]
                if still[chain].all() and moved[chain].sum() >= 0.15:
                    frozen[chain] = True
                    break
        return frozen


_WAIT = 0.03  # [s] for which a new measurement of a joint is awaited
_SILENT = 1.0  # [s] without any message after which the joints count as lost


class TopicServos(ServoInterface):
    """n joints; `ids` are their numbers, settings.port the name of the topic for messages.

    publish(angles (n,) [rad], duration [s]): set by the node.
    """

    readable = -100.0, 100.0

    def __init__(self, settings: PortSettings, ids: Sequence[int]) -> None:
        n = len(ids)
        super().__init__(replace(settings, reply_timeout=_WAIT, patience=_WAIT), ids, n)
        self.publish: Callable[[np.ndarray, float], object] = lambda angles, duration: None
        self._lock, self._new = threading.Lock(), Wake()
        self._angle, self._stamp, self._given = np.full(n, np.nan), np.full(n, -np.inf), np.full(n, -np.inf)
        self._received, self._count, self._counted = -math.inf, 0, (time.monotonic(), 0)
        self._rate = math.nan
        self._lag = 0.0  # [s] from the stamp of the last message to its arrival
        self._refused, self._refused_at = "", -math.inf  # why the last message was rejected, and when
        self._motions, self._sending = Motions(n), threading.Lock()
        self._echo = EchoDetector(n)
        self._shown, self._frozen, self._chains = np.full(n, np.nan), np.zeros(n, bool), FrozenChains(n, [])

    # From the node ---------------------------------------------------------------------------------------------------

    def set_legs(self, legs: Sequence[Sequence[int]]) -> None:
        """Set each leg's joint indices, proximal first: a leg that is commanded but reported frozen counts as lost."""
        self._chains = FrozenChains(len(self.ids), legs)

    def set_missing(self, missing: np.ndarray) -> None:
        """Set which joints (n,) bool are declared missing: they are measured again once their report changes."""
        self._chains.set_missing(missing)

    def accept(self, indices: Sequence[int], angles: Sequence[float], age: float) -> None:
        """Take measured angles [rad] of joints, from a message whose stamp is `age` [s] old (0 without a stamp)."""
        now = time.monotonic()
        if not abs(age) <= 1.0:
            when = f"{abs(age):.1f} s {'old' if age > 0.0 else 'in the future'}"
            self.refuse(f"{self.port}: stamps are {when}: do the clocks of both computers differ?")
            return
        self._refused = ""
        with self._lock:
            self._received, self._lag = now, age
            self._count += 1
            for index, angle in zip(indices, angles, strict=True):
                if math.isfinite(angle):
                    self._shown[index] = angle
            self._frozen = self._chains.update(now, self._shown, self._motions.targets)
            for index, angle in zip(indices, angles, strict=True):
                if math.isfinite(angle) and not self._frozen[index]:
                    self._angle[index], self._stamp[index] = angle, now - max(age, 0.0)
                    self._echo.report(index, angle)
        self._new.set()

    @property
    def is_silent(self) -> bool:
        """Whether no position of a joint has come for a while."""
        return time.monotonic() - self._received > _SILENT

    def refuse(self, reason: str) -> None:
        """Note why a message was rejected as a whole."""
        self._refused, self._refused_at = reason, time.monotonic()

    def _refusal(self) -> str:
        """Why messages are rejected at present; empty if none come, or if they are accepted."""
        return self._refused if time.monotonic() - self._refused_at <= _SILENT else ""

    def list_warnings(self) -> list[str]:
        """Return what is wrong with the received messages, in words, apart from missing joints."""
        words = [refusal] if self.is_open and (refusal := self._refusal()) else []  # else `open` has told it
        if self._echo.echoing.all():
            words.append(
                f"{self.port}: these are commands, not measurements (all joints): damage cannot be found by the joints"
            )
        elif self._echo.echoing.any():
            numbers = ", ".join(str(number) for number in np.flatnonzero(self._echo.echoing))
            words.append(f"{self.port}: joints of index {numbers} report commands, not measurements")
        if self._rate < 20.0:  # the walk is not controlled well
            words.append(f"{self.port}: {self._rate:.0f} messages a second; 20 or more are needed")
        return words

    def figures(self) -> dict[str, object]:
        """Return rate, age and kind of the received messages."""
        now = time.monotonic()
        elapsed = now - self._counted[0]
        if elapsed >= 0.9:  # else the last call was less than a second ago
            self._rate = (self._count - self._counted[1]) / elapsed
            self._counted = now, self._count
        return {
            "joint states received [1/s]": self._rate,
            "age of joint states at their arrival [s]": self._lag,
            "joints that report commands": int(self._echo.echoing.sum()),
            "joints that report one and the same position": int(self._frozen.sum()),
        }

    # The port --------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Succeed once joint states come; BusError before."""
        if self.is_silent:
            none = f"no message on {self.port}: is the driver of the joints up, is its topic remapped?"
            raise BusError(self._refusal() or none)
        with self._sending:
            self._motions.forget()
        self.is_open = True

    def close(self) -> None:
        """Send nothing until `open`."""
        self.is_open = False

    def release(self) -> None:
        """Send nothing any more."""
        self.close()
        self._new.close()

    # Set-points ------------------------------------------------------------------------------------------------------

    def _send(self, duration: float) -> None:
        targets = self._motions.targets
        self._echo.command(targets)
        self.publish(targets, duration)

    def write_pose(self, motions: Sequence[Motion]) -> None:
        """Publish the set-points of all joints that have one; the others keep theirs."""
        now = time.monotonic()
        with self._sending:
            if self.interrupted:
                return
            for index, angle, duration in motions:
                self._motions.begin(index, angle, duration, now, float(self._angle[index]))
            self._send(max((duration for _, _, duration in motions), default=0.0))

    def switch_torque(self, indices: Sequence[int], on: bool, copies: int = 1) -> None:
        """Do nothing: torque belongs to the other driver; requests for it stay unconfirmed."""

    def _hold(self, indices: Sequence[int]) -> None:
        now = time.monotonic()
        for index in indices:
            self._motions.hold(index, self._motions.setpoint_at(index, now, float(self._angle[index])))
        self._send(0.1)

    def stop(self, index: int | None = None) -> None:
        """Publish set-points at the present positions of the motions."""
        with self._sending:
            self._hold(range(len(self.ids)) if index is None else (index,))

    def stop_now(self) -> bool:
        """Publish such set-points, from any thread, and nothing else until `resume`."""
        with self._sending:
            already, self.interrupted = self.interrupted, True
            if not self.is_open:
                return False
            if not already:
                self._hold(range(len(self.ids)))
        self._new.set()
        return True

    # Requests --------------------------------------------------------------------------------------------------------

    def can_read(self, index: int, quantity: Quantity) -> bool:
        """Only positions, and the set-points that this object has sent."""
        if quantity == "target":
            return not math.isnan(self._motions.target(index))
        return quantity == "position"

    def read(self, index: int, quantity: Quantity, idle: Idle = None, timeout: float | None = None) -> float | None:
        """Wait for a joint's position that was not returned yet, and return it; or None with `fault` set."""
        self.fault: Fault | None = None
        if quantity == "target":
            return self._motions.target(index)
        if quantity != "position":
            self.fault = Fault.TIMEOUT
            return None
        end = time.monotonic() + (timeout or _WAIT)
        while self._stamp[index] <= self._given[index] and not self.interrupted:
            left = end - time.monotonic()
            if left <= 0.0:
                break
            self._new.wait(left)
        with self._lock:
            if self.is_silent:
                self.is_open = False
                none = f"no message on {self.port} for more than {_SILENT:g} s: has the joints' driver ended?"
                raise BusError(self._refusal() or none)
            if self._stamp[index] <= self._given[index]:
                self.fault = Fault.TIMEOUT
                return None
            self._given[index] = self.read_time = float(self._stamp[index])
            return float(self._angle[index])
