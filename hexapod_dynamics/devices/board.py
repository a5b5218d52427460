"""A simulated STM32 board on a pty: a line of servos, and reports of IMU, battery, buttons and gamepad.

Behind it `VirtualServos` receive the frames of the bus servos at 115200 baud: moves in the order of the frame, one
read at a time. Bytes that it cannot read are ignored. A board at another speed than the host receives and sends
garbage; one that is reset (`reset`) is silent while it starts, and its servos hold.
"""

from __future__ import annotations

import os
import struct
import time
from functools import partial

from hexapod_dynamics.devices.lx_bus import TURNAROUND
from hexapod_dynamics.devices.mpu6050 import VirtualMpu6050
from hexapod_dynamics.devices.serial_device import SerialDevice
from hexapod_dynamics.devices.servos import VirtualServos
from hexapod_dynamics.drivers.imu import mpu6050 as chip
from hexapod_dynamics.drivers.servos.board.protocol import READS, FrameParser, Function, build
from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.drivers.servos.lx.protocol import Command, Frame
from hexapod_dynamics.drivers.servos.serial_servos import BITS_PER_BYTE

_LINE_BYTE = BITS_PER_BYTE / lx.DEFAULT_BAUDRATE  # [s] of the servos' own line
_PATIENCE = 0.004  # [s] for which the board waits for a servo's answer
_THINKING = 0.0003  # [s] the board's delay from a request to the servos' line and back
_IMU_RATE = 100.0  # [1/s] of the IMU's frames
_READS = {int(read): command for command, read in READS.items()}


class BoardDevice(SerialDevice):
    """A board on a pty; `link` is the stable path to open.

    sensor: the chip behind the board; samples whose exchange fails are not reported. link, session: as in SerialDevice.
    """

    echoes = False

    def __init__(
        self, servos: VirtualServos, sensor: VirtualMpu6050, link: str | os.PathLike, *, session: str = ""
    ) -> None:
        super().__init__(link, 1_000_000, FrameParser(longest=255), session)
        self.servos, self.sensor = servos, sensor
        self.mute = False  # the board neither receives nor sends
        self.refuse_rate = 0.0  # share of the answers that report a failure
        self._line_free = 0.0  # [s] time at which the servos' line is free
        self._starting_until = 0.0
        self.beeps: list[tuple[int, int, int, int]] = []  # frequency [Hz], on and off [ms], repeats

    def start(self) -> None:
        """Make the port, serve it, and report battery and IMU from now on."""
        for register, value in chip.Mpu6050Settings(rate=_IMU_RATE).registers.items():
            self.sensor.write(register, value)
        now = time.monotonic()
        self.schedule(now, self._queue_imu, -1.0)
        self.schedule(now, self._queue_battery, -1.0)
        super().start()

    def reset(self) -> None:
        """Restart the board, as RTS does; the servos keep their state."""
        self._starting_until = time.monotonic() + 0.3
        self._line_free = self._starting_until

    def press(self, button: int, event: int = 1) -> None:
        """Report a button."""
        self._report(Function.BUTTON, bytes((button, event)))

    def move_pad(self, buttons: int = 0, hat: int = 0, sticks: tuple[int, int, int, int] = (0, 0, 0, 0)) -> None:
        """Report the gamepad."""
        self._report(Function.GAMEPAD, struct.pack("<HB4b", buttons, hat, *sticks))

    def move_remote(self, channels: tuple[int, ...], lost: bool = False, fail_safe: bool = False) -> None:
        """Report the radio remote control: 16 channels of 192 to 1792."""
        self._report(Function.SBUS, struct.pack("<16h4B", *channels, 0, 0, lost, fail_safe))

    # What the host sends ---------------------------------------------------------------------------------------------

    def receive(self, data: bytes, now: float) -> None:
        """Take the host's bytes, unless the board starts or is mute."""
        if now < self._starting_until or self.mute:
            self.occupy(len(data), now)
            self._parser.reset()
        else:
            super().receive(data, now)

    def execute_frame(self, packet: bytes, end: float) -> None:
        """Let a frame take effect when all bytes that came with it are in."""
        self.frames += 1
        function, payload = packet[2], packet[4:-1]
        if function == Function.BUZZER and len(payload) == 8:
            self.beeps.append(struct.unpack("<4H", payload))
        elif function == Function.BUS_SERVO and payload:
            self.schedule(self.host_busy, partial(self._execute_command, payload), self.host_busy)

    # The servos' line ------------------------------------------------------------------------------------------------

    def _execute_command(self, data: bytes, when: float) -> None:
        command = data[0]
        if command == 0x01 and len(data) >= 4 and len(data) == 4 + 3 * data[3]:
            duration = data[1] | data[2] << 8
            for k in range(data[3]):
                servo_id, low, high = data[4 + 3 * k : 7 + 3 * k]
                pair = struct.pack("<HH", low | high << 8, duration)
                self._pass_on(Frame(servo_id, Command.MOVE_TIME_WRITE, pair), 10, when)
        elif command == 0x03 and len(data) >= 2 and len(data) == 2 + data[1]:
            for servo_id in data[2:]:
                self._pass_on(Frame(servo_id, Command.MOVE_STOP, b""), 6, when)
        elif command in (0x0B, 0x0C) and len(data) == 2:
            on = bytes((int(command == 0x0B),))
            self._pass_on(Frame(data[1], Command.LOAD_OR_UNLOAD_WRITE, on), 7, when)
        elif command in _READS and len(data) == 2:
            self._ask(command, data[1], when)

    def _pass_on(self, sent: Frame, size: int, when: float) -> None:
        """Put a frame for a servo on the line, behind what is already queued."""
        begin = max(when + _THINKING, self._line_free)
        if begin - when > 0.2:  # the board queues no more
            return
        self._line_free = begin + size * _LINE_BYTE
        self.schedule(self._line_free, partial(self._execute, sent), self.host_busy)

    def _execute(self, sent: Frame, when: float) -> list[bytes]:
        silent = self.faults.silent
        if sent.servo_id in silent:
            return []
        return self.servos.execute(sent, when, deaf=silent)

    def _ask(self, command: int, servo_id: int, when: float) -> None:
        begin = max(when + _THINKING, self._line_free)
        end = begin + (6 + lx.reply_size(_READS[command])) * _LINE_BYTE + TURNAROUND
        self._line_free = end
        self.schedule(end, partial(self._answer, command, servo_id), self.host_busy)

    def _answer(self, command: int, servo_id: int, when: float) -> None:
        answers = self._execute(Frame(servo_id, _READS[command], b""), when)
        refused = self.faults.random.random() < self.refuse_rate
        if len(answers) != 1 or refused:  # without an answer, or with several at once, the board has no valid one
            self._line_free = max(self._line_free, when + _PATIENCE)
            failure = build(Function.BUS_SERVO, bytes((servo_id, command, 0xFF)))
            late = when + _PATIENCE + _THINKING
            self.schedule(late, lambda _: self._queue(failure), late)
            return
        data = bytes((answers[0][2], command, 0)) + answers[0][5:-1]
        later = when + _THINKING + self.faults.draw_delay()
        self.schedule(later, lambda _: self._queue(build(Function.BUS_SERVO, data)), later)

    # What it reports -------------------------------------------------------------------------------------------------

    def _queue(self, data: bytes) -> None:
        if time.monotonic() >= self._starting_until and not self.mute:
            self.send(data)

    def _report(self, function: int, data: bytes) -> None:
        now = time.monotonic()
        self.schedule(now, lambda _: self._queue(build(function, data)), -1.0)
        self._wake.set()

    def _queue_imu(self, when: float) -> None:
        if not self.sensor.faults.draw_error():
            raw = self.sensor.read(chip.ACCEL_XOUT_H, chip.BURST_FORMAT.size, when)
            ax, ay, az, _, gx, gy, gz = chip.BURST_FORMAT.unpack(raw)
            settings = chip.Mpu6050Settings()
            a, g = chip.ACCEL_RANGES[settings.accel_range], chip.GYRO_RANGES[settings.gyro_range]
            data = build(Function.IMU, struct.pack("<6f", ax / a, ay / a, az / a, gx / g, gy / g, gz / g))
            late = when + self.faults.random.random() * 0.002
            self.schedule(late, lambda _: self._queue(data), -1.0)
        self.schedule(when + 1.0 / _IMU_RATE, self._queue_imu, -1.0)

    def _queue_battery(self, when: float) -> None:
        millivolts = round(1000.0 * float(self.servos.voltage.max()))
        if millivolts > 0:
            self._queue(build(Function.SYSTEM, struct.pack("<BH", 4, millivolts)))
        self.schedule(when + 1.0, self._queue_battery, -1.0)
