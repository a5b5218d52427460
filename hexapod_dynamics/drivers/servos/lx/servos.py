"""LX/HTD servos on a half-duplex bus behind a serial port: a latched move for each servo and one common start, reads.

`LxServos` never waits for an answer before its request has been sent; every wait has a limit. Writes are never
acknowledged, so stops and torque are sent several times.
"""

from __future__ import annotations

import termios
from collections.abc import Sequence
from typing import Any

from hexapod_dynamics.drivers.frame_finder import Answer
from hexapod_dynamics.drivers.gpio import GpioDirection
from hexapod_dynamics.drivers.servos.interface import Idle, Motion, PortSettings, Quantity, make_no_reply
from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.drivers.servos.lx.protocol import Command
from hexapod_dynamics.drivers.servos.serial_servos import SerialServos
from hexapod_dynamics.robot.servo_map import BUS_SERVO, BUS_SERVO_READABLE


class LxServos(SerialServos):
    """The servos of these ids on a serial port; `exchange` and `ask` reach any other id, too.

    settings: reply_timeout and patience count from the moment the request has left the wire. direction: switches the
    line, by default as the settings say. DeviceError: wrong ids; BusError: the port fails; NoReply: a servo.
    """

    readable = BUS_SERVO_READABLE
    stops_at_damage, tool = True, "`servo_tool {}`"
    _parser: lx.FrameParser
    _begin: bytes  # of the awaited answer

    def __init__(self, settings: PortSettings, ids: Sequence[int], direction: GpioDirection | None = None) -> None:
        super().__init__(settings, ids, lx.BROADCAST_ID - 1, BUS_SERVO)
        self.pose_times = lx.MOVE_SIZE * self.byte_time, lx.MOVE_SIZE * self.byte_time
        if direction is None and settings.direction == "gpio":
            direction = GpioDirection(settings.transmit_pin, settings.receive_pin)
        self._direction = direction  # None: the adapter (or a pty) switches by itself
        self._parser = lx.FrameParser()

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
                raise self._close_lost_port(error) from error

    def exchange(self, servo_id: int, command: int, idle: Idle = None, timeout: float | None = None) -> bytes | None:
        """Send one request; return the payload of the answer, or None with `fault` set.

        timeout [s]: instead of reply_timeout. idle: called after that time; while it returns True, the wait continues,
        for at most `patience`: a simulated servo may answer late, and a late answer would disturb the next exchange.
        """
        key, size = (servo_id, command), lx.reply_size(command)
        self._begin = lx.reply_begin(*key)
        found = self._exchange(lx.read_request(*key), (key,), size, idle, timeout)
        if not found:
            return None
        self.read_time = found[key].came - size * self.byte_time
        return found[key].data

    def _is_damaged(self, before: int) -> bool:
        return self._parser.broken.startswith(self._begin)

    def _finish_sending(self) -> float:
        if self._direction is not None:
            self.drain()
            with self._wire:
                if not self.interrupted:  # else stops are being sent
                    self._direction.listen()
        return self.free_at

    def _parse(self, chunk: bytes, came: float) -> list[Answer]:
        """Return the frames that have the size of an answer, and are no echo of a request.

        Bytes behind an answer show that an inserted byte has shifted it, which a sum cannot detect.
        """
        return [
            Answer((servo_id, command), payload, came, alone=not behind)
            for servo_id, command, payload, behind in self._parser.feed(chunk)
            if command in lx.REPLY and len(payload) == lx.REPLY[command].size
        ]

    def ask(self, servo_id: int, command: int, retries: int = 2) -> Any:
        """Send a request up to 1 + retries times; return the value with units, or raise NoReply."""
        for _ in range(1 + retries):
            payload = self.exchange(servo_id, command)
            if payload is not None:
                return lx.decode(command, payload)
        raise make_no_reply(servo_id, Command(command).name, 1 + retries, self.fault)

    # Of the interface ------------------------------------------------------------------------------------------------

    def write_pose(self, motions: Sequence[Motion]) -> None:
        """Queue a latched move for each motion and one start."""
        self.send(lx.pose((self.ids[index], BUS_SERVO.count(angle), duration) for index, angle, duration in motions))

    def write(self, index: int, angle: float, duration: float) -> None:
        """Queue one move that starts at once."""
        self.send(lx.move_time(self.ids[index], angle, duration))

    def switch_torque(self, indices: Sequence[int], on: bool, copies: int = 1) -> None:
        """Queue torque on or off, for all these servos `copies` times."""
        self.send(
            b"".join(lx.write(self.ids[index], Command.LOAD_OR_UNLOAD_WRITE, int(on)) for index in indices) * copies
        )

    def _build_stop(self, index: int | None) -> bytes:
        # A line that loses 10 % of its bytes loses every second MOVE_STOP: six copies for all, three for one.
        servo_id, copies = (lx.BROADCAST_ID, 6) if index is None else (self.ids[index], 3)
        return lx.write(servo_id, Command.MOVE_STOP) * copies

    def read(self, index: int, quantity: Quantity, idle: Idle = None, timeout: float | None = None) -> float | None:
        """Ask a servo; return the value, or None with `fault` set."""
        payload = self.exchange(self.ids[index], lx.QUANTITIES[quantity], idle, timeout)
        if payload is None:
            return None
        self.delay = self.read_time - self.free_at
        return lx.extract_value(quantity, payload)
