"""Descriptions of servo models: the addresses and units of their registers.

Sources: ROBOTIS e-manual (AX-12A, MX-28, XL330-M288), Feetech's memory table of the STS3215.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hexapod_dynamics.drivers.servos.registers.packets import Packets
from hexapod_dynamics.robot.servo_counts import CountScale

TURN = 2.0 * math.pi
RPM = TURN / 60.0


@dataclass(frozen=True)
class Register:
    """A register: address, size [bytes], value of one count.

    sign: the sign bit of a sign-magnitude number; None: two's complement if `signed`.
    """

    address: int
    size: int
    unit: float = 1.0
    signed: bool = False
    sign: int | None = None

    def number(self, data: bytes) -> int:
        """The whole number in the register's bytes (little endian)."""
        value = int.from_bytes(data, "little", signed=self.signed and self.sign is None)
        if self.sign is not None and value >> self.sign & 1:
            return -(value & ~(1 << self.sign))
        return value

    def pack(self, value: int) -> bytes:
        """The bytes of a whole number."""
        if self.sign is not None and value < 0:
            value = -value | 1 << self.sign
        return value.to_bytes(self.size, "little", signed=self.signed and self.sign is None)


class Variant(NamedTuple):
    """One product: its name, and the register of its effort (in `state_block`), a current [A] or a load [%]."""

    name: str
    effort: Register
    unit: str


class Modes(NamedTuple):
    """The modes that are set in a servo: why it cannot be used with them, empty if it can; whether the register
    `speed` takes the duration of a motion [ms] instead.
    """

    refusal: str = ""
    by_time: bool = False


@dataclass(frozen=True)
class ServoModel:
    """A family of servos with the same registers.

    variants: the products by their model numbers, the values of the register `model`. goal_block: (address, size) that
    is written for a motion; speed [rad/s for each count] is the unit of the register `speed`, `slowest` its least value
    that moves. state_block: (address, size) that is read with each position. modes_block: (address, size) of what
    `modes` decides on. acceleration: a limit that is set to 0 (none). error_bits: of the servo's own error byte, in
    words; `hardware_error` has that byte, None if each answer has it. shutdown: its bits that mean that the servo has
    switched its torque off or is about to. group_read: whether several servos answer one request.
    """

    name: str
    variants: Mapping[int, Variant]
    packets: Callable[[], Packets]
    counts: CountScale
    model: Register
    torque: Register
    goal: Register
    speed: Register
    position: Register
    voltage: Register
    temperature: Register
    voltage_limits: tuple[Register, Register]
    temperature_limit: Register
    goal_block: tuple[int, int]
    state_block: tuple[int, int]
    modes_block: tuple[int, int]
    modes: Callable[[bytes], Modes]
    acceleration: Register | None = None
    hardware_error: Register | None = None
    offset: Register | None = None
    group_read: bool = True
    slowest: int = 1
    fastest: int = 1023
    error_bits: tuple[tuple[int, str], ...] = ()
    shutdown: int = 0
    reported: int = 0xFF  # bits that are told to people at once: not those of a request that noise has damaged
