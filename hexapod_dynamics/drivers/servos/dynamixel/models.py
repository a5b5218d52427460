"""Dynamixel servos (ROBOTIS e-manual: AX-12A, AX-18A, MX series protocol 1 and 2, X series)."""

from __future__ import annotations

import math
from functools import partial

from hexapod_dynamics.drivers.servos.registers.models import RPM, TURN, Register, ServoModel
from hexapod_dynamics.drivers.servos.registers.packets import Protocol1, Protocol2
from hexapod_dynamics.robot.servo_counts import CountScale

_OVERLOAD, _HEAT = 0x20, 0x04
_ERRORS_1 = (
    (0x01, "supply outside its limits"),
    (0x02, "set-point beyond its angle limits"),
    (_HEAT, "too hot"),
    (0x10, "checksum of an instruction"),
    (_OVERLOAD, "overload"),
)
_ERRORS_2 = (
    (0x01, "supply outside its limits"),
    (_HEAT, "too hot"),
    (0x08, "encoder"),
    (0x10, "electrical shock"),
    (_OVERLOAD, "overload"),
)
_AX = CountScale(512, 1023.0 / math.radians(300.0), 1023)
_MX = CountScale(2048, 4096.0 / TURN, 4095)
_VOLTAGE_LIMITS_1 = Register(12, 1, 0.1), Register(13, 1, 0.1)


def _protocol_1(name: str, number: tuple[int, ...], counts: CountScale, unit: float, bulk: bool) -> ServoModel:
    return ServoModel(
        name=name,
        numbers=number,
        packets=partial(Protocol1, bulk),
        counts=counts,
        model=Register(0, 2),
        torque=Register(24, 1),
        goal=Register(30, 2),
        speed=Register(32, 2, unit * RPM),
        position=Register(36, 2),
        voltage=Register(42, 1, 0.1),
        temperature=Register(43, 1),
        voltage_limits=_VOLTAGE_LIMITS_1,
        temperature_limit=Register(11, 1),
        goal_block=(30, 4),
        state_block=(36, 8),  # position, speed, load, voltage, temperature
        load=Register(40, 2, 1.0 / 1023.0, sign=10),
        group_read=bulk,
        errors=_ERRORS_1,
        shutdown=_OVERLOAD | _HEAT,
    )


def _protocol_2(name: str, numbers: tuple[int, ...], current: Register | None) -> ServoModel:
    return ServoModel(
        name=name,
        numbers=numbers,
        packets=Protocol2,
        counts=_MX,
        model=Register(0, 2),
        torque=Register(64, 1),
        goal=Register(116, 4, signed=True),
        speed=Register(112, 4, 0.229 * RPM),  # profile velocity
        position=Register(132, 4, signed=True),
        voltage=Register(144, 2, 0.1),
        temperature=Register(146, 1),
        voltage_limits=(Register(34, 2, 0.1), Register(32, 2, 0.1)),
        temperature_limit=Register(31, 1),
        goal_block=(112, 8),
        state_block=(126, 10),  # current, velocity, position
        current=current,
        hardware_error=Register(70, 1),
        offset=Register(20, 4, signed=True),
        fastest=32767,
        errors=_ERRORS_2,
        shutdown=_OVERLOAD | _HEAT,
    )


MODELS = {
    model.name: model
    for model in (
        _protocol_1("ax12", (12, 18, 300), _AX, 0.111, False),  # AX-12A, AX-18A, AX-12W
        _protocol_1("mx_protocol1", (29, 310, 320), _MX, 0.114, True),  # MX-28, MX-64, MX-106
        _protocol_2("mx", (30, 311, 321), Register(126, 2, 3.36e-3, signed=True)),  # MX-28, MX-64, MX-106
        _protocol_2("xm", (1020, 1030, 1060, 1110, 1120, 1130), Register(126, 2, 2.69e-3, signed=True)),
        _protocol_2("xl330", (1190, 1200), Register(126, 2, 1.0e-3, signed=True)),
    )
}
