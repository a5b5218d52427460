"""A serial port (pty) behind which LX/HTD servos live, at the pace of a real wire.

Each byte takes ten bit times in either direction. A servo answers after its turnaround time. One wire carries both
directions; bytes that overlap are garbled. Bytes that the host flushes before they are on the wire are lost.
`BusFaults` adds faults. Physics and bus meet in `VirtualServos`.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from functools import partial, reduce
from operator import and_

from hexapod_dynamics.devices.serial_device import SerialDevice
from hexapod_dynamics.devices.servos import VirtualServos
from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.drivers.servos.lx.protocol import Frame

TURNAROUND = 0.0003  # [s] of a servo


class ServoBusDevice(SerialDevice):
    """Servos on a pty; `link` is the stable path to open.

    link, session: as in SerialDevice. turnaround [s]: from a request's last byte to the answer's first.
    on_frame(frame, time): called in the device's thread for each frame the servos hear.
    """

    pause = 0.005

    def __init__(
        self,
        servos: VirtualServos,
        link: str | os.PathLike,
        *,
        turnaround: float = TURNAROUND,
        on_frame: Callable[[Frame, float], object] | None = None,
        session: str = "",
    ) -> None:
        super().__init__(link, lx.DEFAULT_BAUDRATE, lx.FrameParser(), session)
        self.servos, self.on_frame = servos, on_frame
        self._turnaround = turnaround
        self._spoken: deque[tuple[float, float]] = deque(maxlen=8)  # (begin, end) of the last transmissions

    def occupy(self, count: int, now: float) -> None:
        """Reserve the line, and note for when: what a servo sends meanwhile is garbled."""
        super().occupy(count, now)
        self._spoken.append((self.host_busy - count * self.byte_time, self.host_busy))

    def execute_frame(self, packet: bytes, end: float) -> None:
        """Let a frame take effect when its last byte is out."""
        frame, when = Frame(packet[2], packet[4], packet[5:-1]), end
        if frame.command in lx.READS:
            # The servo answers when the last byte is out: one waking instead of two for each read.
            when += self._turnaround + lx.reply_size(frame.command) * self.byte_time + self.faults.draw_delay()
        # A latched target waits for its start, so the thread need not wake for it: the next event does.
        urgent = frame.command != lx.Command.MOVE_TIME_WAIT_WRITE
        self.schedule(when, partial(self._execute, frame), end, urgent)

    def cut_off(self, until: float) -> None:
        """Shorten what is on the wire, and forget half a frame."""
        super().cut_off(until)
        for _ in range(len(self._spoken)):
            begin, end = self._spoken.popleft()
            self._spoken.append((begin, min(end, until)))

    def _execute(self, frame: Frame, when: float) -> None:
        self.frames += 1
        silent = self.faults.silent
        if frame.servo_id in silent:
            return
        answers = self.servos.execute(frame, when, deaf=silent)
        if self.on_frame is not None:
            self.on_frame(frame, when)
        if answers:
            self._answer(answers, when)

    def _answer(self, answers: list[bytes], end: float) -> None:
        """Put the answers that end at `end` on the one wire."""
        data = answers[0]
        if any(other != data for other in answers[1:]):
            # Open-drain line: a zero of any servo wins.
            self.collisions += 1
            data = bytes(reduce(and_, column) for column in zip(*answers, strict=True))
        begin = end - len(data) * self.byte_time
        if any(since < end and begin < until for since, until in self._spoken):
            self.collisions += 1
            data = bytes(byte & self.faults.random.randrange(256) for byte in data)
        self._spoken.append((begin, end))
        self.send(data)
