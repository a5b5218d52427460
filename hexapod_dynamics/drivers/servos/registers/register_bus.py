"""A half-duplex line of servos with registers: sends a packet, collects the answers of one or several servos.

The makers' SDKs wait in a loop that keeps Python's lock, and cannot be interrupted by a stop; here every wait sleeps,
has a limit, and ends with `interrupt`. The packets are the SDKs', byte for byte.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from hexapod_dynamics.drivers.servos.interface import Fault, PortSettings
from hexapod_dynamics.drivers.servos.registers.packets import Packets, Status
from hexapod_dynamics.drivers.servos.serial_link import SerialLink

RETURN_DELAY = 0.0006  # [s] after which a servo answers, unless its register says otherwise (250 counts of 2 us)


class RegisterBus(SerialLink):
    """A serial port with servos that speak `packets`."""

    def __init__(self, settings: PortSettings, packets: Packets) -> None:
        super().__init__(settings)
        self.packets = packets

    def ask(
        self,
        packet: bytes,
        ids: Sequence[int],
        size: int,
        idle: Callable[[], bool] | None = None,
        timeout: float | None = None,
    ) -> dict[int, tuple[Status, float]]:
        """Send a packet; return the answers of these servos with `size` bytes of data, each with its arrival [s].

        `fault` says why one is missing. timeout [s]: instead of reply_timeout; it counts from the moment at which all
        could have answered. idle: called after that time; while it returns True, the wait continues, for at most
        `patience`.
        """
        if self._serial is None:
            raise self._not_open()
        self.strays += len(self._discard_input())
        packets, answers = self.packets, dict[int, tuple[Status, float]]()
        packets.reset()
        damaged, skipped = packets.damaged, packets.skipped
        self.send(packet)
        answer_time = (packets.overhead + size) * self.byte_time + RETURN_DELAY
        deadline = self._wire_free + (timeout or self.reply_timeout) + answer_time * len(ids)
        latest = deadline if idle is None else max(deadline, self._wire_free + self.patience)
        echo: bytearray | None = bytearray()
        over = False
        while len(answers) < len(ids):
            now = time.monotonic()
            if self.interrupted:
                break
            if now >= deadline and now < latest and idle is not None and idle():
                deadline, over = min(latest, now + 0.004), False
            if over:
                break
            over = now >= deadline  # even now the answer may be there, if this thread was woken too late
            chunk = self._wait(0.0 if over else deadline - now, now)
            if not chunk:
                continue
            if echo is not None:
                echo += chunk
                if len(echo) < len(packet) and packet.startswith(echo):
                    continue
                chunk, echo = bytes(echo.removeprefix(packet)), None
            came = time.monotonic()
            for status in packets.feed(chunk):
                if status.servo_id in ids and len(status.data) == size:
                    answers[status.servo_id] = status, came
        if len(answers) == len(ids):
            self.fault, self.strays = None, 0
        elif packets.damaged > damaged:
            self.fault = Fault.CHECKSUM
        else:
            noisy = packets.skipped > skipped or packets.incomplete
            self.fault = Fault.GARBAGE if noisy else Fault.TIMEOUT
        return answers
