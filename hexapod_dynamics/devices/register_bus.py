"""Simulated servos with registers (Dynamixel AX-12, XL330; Feetech STS3215) on a pty, at the pace of a real wire.

Its register tables are its own, and the makers' SDKs talk to it, too: what is wrong in the driver's tables or packets
is found. Motion and supply are those of `VirtualServos`. Not simulated: EEPROM writes (except of the ids), profiles of
acceleration, multi-turn modes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hexapod_dynamics.devices.serial_device import SerialDevice
from hexapod_dynamics.devices.servos import VirtualServos
from hexapod_dynamics.drivers.servos.register_packets import BROADCAST_ID, Instruction, Packet, Packets, Register
from hexapod_dynamics.robot.servo_map import CountScale

_TURN = 2.0 * math.pi


@dataclass(frozen=True)
class VirtualModel:
    """Registers of a simulated model; speed in [rad/s].

    limits: what the memory holds at the start, by register, the limit of the temperature first. voltage_errors [V]:
    limits beyond which it gives no torque. current: None without the register.
    """

    number: int
    protocol: int
    counts: CountScale
    model: Register
    torque: Register
    goal: Register
    speed: Register
    position: Register
    voltage: Register
    temperature: Register
    limits: tuple[tuple[Register, int], ...]
    voltage_errors: tuple[float, float]
    sync_read: bool = True
    current: Register | None = None
    hardware_error: Register | None = None


MODELS = {
    "ax12": VirtualModel(
        number=12,
        protocol=1,
        counts=CountScale(512, 1023.0 / math.radians(300.0), 1023),
        model=Register(0, 2),
        torque=Register(24, 1),
        goal=Register(30, 2),
        speed=Register(32, 2, 0.111 * _TURN / 60.0),
        position=Register(36, 2, signed=True),
        voltage=Register(42, 1),
        temperature=Register(43, 1),
        limits=((Register(11, 1), 70), (Register(12, 1), 90), (Register(13, 1), 140), (Register(8, 2), 1023)),
        voltage_errors=(9.0, 14.0),
        sync_read=False,
    ),
    "xl330": VirtualModel(
        number=1200,
        protocol=2,
        counts=CountScale(2048, 4096.0 / _TURN, 4095),
        model=Register(0, 2),
        torque=Register(64, 1),
        goal=Register(116, 4, signed=True),
        speed=Register(112, 4, 0.229 * _TURN / 60.0),
        position=Register(132, 4, signed=True),
        voltage=Register(144, 2),
        temperature=Register(146, 1),
        limits=((Register(31, 1), 70), (Register(32, 2), 140), (Register(34, 2), 35), (Register(11, 1), 3)),
        voltage_errors=(3.5, 14.0),
        current=Register(126, 2),
        hardware_error=Register(70, 1),
    ),
    "sts3215": VirtualModel(
        number=777,
        protocol=1,
        counts=CountScale(2048, 4096.0 / _TURN, 4095),
        model=Register(3, 2),
        torque=Register(40, 1),
        goal=Register(42, 2, sign=15),
        speed=Register(46, 2, _TURN / 4096.0),
        position=Register(56, 2, sign=15),
        voltage=Register(62, 1),
        temperature=Register(63, 1),
        limits=((Register(13, 1), 70), (Register(14, 1), 140), (Register(15, 1), 40)),
        voltage_errors=(4.0, 14.0),
        current=Register(69, 2),
    ),
}


class RegisterBusDevice(SerialDevice):
    """Servos of one model on a pty; link, session: as in SerialDevice.

    on_write(servo id, address, data, time): called in the device's thread for each write that a servo obeys. memory:
    the registers of each servo. errors: bits that a servo reports, by its index.
    """

    pause = 0.02

    def __init__(
        self,
        servos: VirtualServos,
        model: str,
        link: str | os.PathLike,
        *,
        session: str = "",
        on_write: Callable[[int, int, bytes, float], object] | None = None,
    ) -> None:
        self._packets = Packets(MODELS[model].protocol)
        super().__init__(link, 1_000_000, self._packets, session)
        self.servos, self.model, self.on_write = servos, MODELS[model], on_write
        self.errors: dict[int, int] = {}
        self.memory = [bytearray(256) for _ in range(len(servos))]
        with servos.lock:
            servos.vin_limits[:] = [round(1000.0 * limit) for limit in self.model.voltage_errors]
            servos.temp_limit[:] = self.model.limits[0][1]
        for i in range(len(servos)):
            for register, value in (*self.model.limits, (self.model.model, self.model.number)):
                self._put(i, register, value)
            if self.model.current is not None:
                self._put(i, self.model.current, 12)
            self._put(i, self.model.goal, self.model.counts.count(servos.shaft_angle(i)))

    # What the servos do ----------------------------------------------------------------------------------------------

    def _find_addressed(self, servo_id: int) -> list[int]:
        silent = self.faults.silent
        return [int(i) for i in self.servos.find_addressed(servo_id) if int(self.servos.ids[i]) not in silent]

    def execute_frame(self, packet: bytes, end: float) -> None:
        """Let a packet take effect when its last byte is out."""
        self.schedule(end, partial(self._execute, self._packets.parse(packet)), end)

    def _execute(self, request: Packet, when: float) -> None:
        self.frames += 1
        servo_id, instruction, words = request
        at = self._packets.width
        address, size = (int.from_bytes(words[begin : begin + at], "little") for begin in (0, at))
        if instruction == Instruction.PING and not words:
            data = self.model.number.to_bytes(2, "little") + b"\x2e" if self.model.protocol == 2 else b""
            if servo_id != BROADCAST_ID:
                self._answer(self._find_addressed(servo_id), lambda i: data, when)
        elif instruction == Instruction.READ and len(words) == 2 * at and servo_id != BROADCAST_ID:
            self._answer(self._find_addressed(servo_id), partial(self._registers, address, size), when)
        elif instruction == Instruction.WRITE and len(words) > at:
            for i in self._find_addressed(servo_id):
                self._store(i, address, words[at:], when)
            if servo_id != BROADCAST_ID:
                self._answer(self._find_addressed(servo_id), lambda i: b"", when)
        elif instruction == Instruction.SYNC_WRITE and len(words) > 2 * at:
            parts = words[2 * at :]
            for k in range(0, len(parts) - size, 1 + size):
                for i in self._find_addressed(parts[k]):
                    self._store(i, address, parts[k + 1 : k + 1 + size], when)
        elif instruction == Instruction.SYNC_READ and self.model.sync_read and len(words) > 2 * at:
            self._answer_group(list(words[2 * at :]), address, size, when)

    def _answer_group(self, ids: list[int], address: int, size: int, when: float) -> None:
        """Let the servos answer one after the other; servos behind a missing one do not answer."""
        for servo_id in ids:
            answering = self._find_addressed(servo_id)
            if not answering:
                return
            when = self._answer(answering, partial(self._registers, address, size), when)

    def _answer(self, indices: list[int], data_of: Callable[[int], bytes], when: float) -> float:
        """Put the answers of these servos on the wire; return when the last byte is out."""
        packets = [self._status(i, data_of(i)) for i in indices]
        if not packets:
            return when
        # A servo answers after 0.5 ms, 250 counts of the register.
        begin = when + 0.0005 + self.faults.draw_delay()
        end = begin + max(map(len, packets)) * self.byte_time
        data = packets[0]
        if any(other != data for other in packets[1:]):  # two servos with one id
            self.collisions += 1
            data = bytes(a & b for a, b in zip(*packets[:2], strict=False))
        self.schedule(end, lambda _: self.send(data), end)
        return end

    def _status(self, i: int, data: bytes) -> bytes:
        error = self._error(i)
        if self.model.protocol == 2:  # only that there is one, to be read
            error = 0x80 if error else 0
        return self._packets.status(int(self.servos.ids[i]), error, data)

    def _error(self, i: int) -> int:
        volts, (low, high) = float(self.servos.voltage[i]), self.model.voltage_errors
        hot = self.servos.temperature[i] > self.servos.temp_limit[i]
        return (0 if low <= volts <= high else 0x01) | (0x04 if hot else 0) | self.errors.get(i, 0)

    # Registers -------------------------------------------------------------------------------------------------------

    def _put(self, i: int, register: Register, value: int) -> None:
        self.memory[i][register.address : register.address + register.size] = register.pack(value)

    def _get(self, i: int, register: Register) -> int:
        return register.number(bytes(self.memory[i][register.address : register.address + register.size]))

    def _registers(self, address: int, size: int, i: int) -> bytes:
        model, servos = self.model, self.servos
        self._put(i, model.position, model.counts.count(servos.shaft_angle(i)))
        self._put(i, model.voltage, round(10.0 * float(servos.voltage[i])))
        self._put(i, model.temperature, round(float(servos.temperature[i])))
        self._put(i, model.torque, int(servos.are_holding()[i]))
        if model.hardware_error is not None:
            self._put(i, model.hardware_error, self._error(i))
        return bytes(self.memory[i][address : address + size])

    def _store(self, i: int, address: int, data: bytes, when: float) -> None:
        model, memory = self.model, self.memory[i]
        memory[address : address + len(data)] = data
        touched = range(address, address + len(data))
        if model.torque.address in touched:
            self.servos.switch_torque(i, self._get(i, model.torque) != 0, when)
        # With torque a servo goes to its set-point, which one of protocol 2 sets to where it stands when that comes.
        goes = self.servos.loaded[i] and model.torque.address in touched and model.protocol == 1
        if goes or (model.goal.address in touched and (self.servos.loaded[i] or model.protocol == 1)):
            angle, speed = model.counts.angle(self._get(i, model.goal)), self._get(i, model.speed) * model.speed.unit
            # The set-point, in the servo's own direction; it follows the shaft while there is no torque.
            here = float(self.servos.setpoints(when)[i]) * math.copysign(1.0, self.servos.slope[i])
            self.servos.move(i, angle, abs(angle - here) / speed if speed > 0.0 else 0.0, when)
        if self.on_write is not None:
            self.on_write(int(self.servos.ids[i]), address, data, when)
