"""A half-duplex servo bus on a serial port: sends frames, reads one servo, reports why an answer failed.

`ServoBus` never waits for an answer before its request has been sent; every wait has a limit.
"""

from __future__ import annotations

import termios
import time
from collections import deque
from typing import Any

from hexapod_dynamics.drivers.gpio import GpioDirection
from hexapod_dynamics.drivers.servos.interface import Fault, Idle, PortSettings, no_reply
from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.drivers.servos.lx.protocol import Command
from hexapod_dynamics.drivers.servos.serial_link import ReplyWait, SerialLink

_OWED = 32  # number of unanswered requests that are remembered
_LATENESS = 1.5  # after a late answer the timeout of the next one is this multiple of its delay


class ServoBus(SerialLink):
    """A serial port with LX/HTD servos on it.

    settings: see PortSettings; reply_timeout and patience (see `exchange`) count from the moment the request has left
    the wire. direction: switches the line, by default as the settings say. BusError: the port fails, NoReply: a servo.
    """

    def __init__(self, settings: PortSettings, direction: GpioDirection | None = None) -> None:
        super().__init__(settings)
        self.reply_time = 0.0  # monotonic [s] time of the last answer's arrival
        self._owed: deque[tuple[bytes, float]] = deque(
            maxlen=_OWED
        )  # abandoned requests: first bytes of the answer, time at which the request had been sent
        if direction is None and settings.direction == "gpio":
            direction = GpioDirection(settings.transmit_pin, settings.receive_pin)
        self._direction = direction  # None: the adapter (or a pty) switches by itself

    def open(self) -> None:
        """Open the port for this process alone."""
        super().open()
        self._prepare_to_send()

    def release(self) -> None:
        """Close the port and release the direction pins."""
        self.close()
        if self._direction is not None:
            self._direction.close()

    def _prepare_to_send(self) -> None:
        if self._direction is not None:
            self._direction.send()

    def drain(self) -> None:
        """Wait until all queued bytes have been sent."""
        super().drain()
        if self._direction is not None and self._serial is not None:
            try:
                self._serial.flush()
            except (OSError, termios.error) as error:
                raise self._lost(error) from error

    def exchange(self, servo_id: int, command: int, idle: Idle = None, timeout: float | None = None) -> bytes | None:
        """Send one request; return the payload of the answer, or None with `fault` set.

        timeout [s]: instead of reply_timeout. idle: called after that time; while it returns True, the wait continues,
        for at most `patience`: a simulated servo may answer late, and a late answer would disturb the next exchange.
        """
        if self._serial is None:
            raise self._not_open()
        stale = self._discard_input()
        if stale:
            self.strays += len(stale)
            self._find_late(stale)
        self.send(lx.read_request(servo_id, command))
        if self._direction is not None:
            self.drain()
            try:
                with self._wire:
                    if not self.interrupted:  # else the frames of `interrupt` are being sent
                        self._direction.listen()
                return self._await(servo_id, command, idle, timeout or self.reply_timeout)
            finally:
                self._direction.send()
        return self._await(servo_id, command, idle, timeout or self.reply_timeout)

    def read(self, servo_id: int, command: int, retries: int = 2) -> Any:
        """Send a request up to 1 + retries times; return the value with units, or raise NoReply."""
        for _ in range(1 + retries):
            payload = self.exchange(servo_id, command)
            if payload is not None:
                return lx.decode(command, payload)
        raise no_reply(servo_id, Command(command).name, 1 + retries, self.fault)

    def _find_late(self, received: bytes) -> float:
        """Find answers to abandoned requests; return the longest delay [s] of one, at most `patience`.

        Without this, a line with delays above `reply_timeout` would never work again: each answer would arrive while
        that of the next servo is awaited (an FTDI USB adapter delivers every 16 ms by default).
        """
        late, now = 0.0, time.monotonic()
        for each in [each for each in self._owed if each[0] in received]:
            self._owed.remove(each)
            late = max(late, min(now - each[1], self.patience))
        self.lateness = max(self.lateness, late)
        return late

    def _await(self, servo_id: int, command: int, idle: Idle, timeout: float) -> bytes | None:
        size = lx.reply_size(command)
        wait = ReplyWait(self.free_at, timeout + size * self.byte_time, self.patience, idle)
        received, earliest = b"", 0.0
        while not self.interrupted:
            now = time.monotonic()
            left = wait.left(now)
            if left < 0.0:
                break
            early = now < earliest
            chunk = self._wait(min(left, earliest - now) if early else left, now, reads=not early)
            if not chunk:
                continue
            received += chunk
            if len(received) < size:
                # Do not wake for each byte: the remaining bytes take this time.
                earliest = min(time.monotonic() + (size - len(received)) * self.byte_time, wait.deadline)
                continue
            payload = lx.find_reply(received, servo_id, command)
            if payload is not None:
                self.reply_time = time.monotonic()
                self.fault, self.strays = None, 0
                self._owed.clear()  # the line keeps the order, so answers to earlier requests are lost
                return payload
            self.strays += len(chunk)
            if lx.has_damaged_reply(received, servo_id, command):
                self.fault = Fault.CHECKSUM
                return None
            if self._owed and (late := self._find_late(received)):
                # The awaited answer will be as late.
                wait.extend(self.free_at + min(_LATENESS * late, self.patience) + size * self.byte_time)
        self._owed.append((lx.reply_begin(servo_id, command), self.free_at))
        # Other complete frames (the own echo, a late answer of another servo) do not count as an answer.
        parser = lx.FrameParser()
        parser.feed(received)
        parser.reset()
        self.fault = Fault.GARBAGE if parser.skipped else Fault.TIMEOUT
        return None
