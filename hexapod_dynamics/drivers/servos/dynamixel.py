"""Dynamixel servos: the maker's tables of models, units, modes and error bits (ROBOTIS e-manual).

AX-12A, AX-18A, MX series with protocol 1 and 2, X series. A model number stands for one product: the registers of a
family are the same, but register 126 is a current in some and a load in others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from hexapod_dynamics.drivers.servos.register_packets import Packets, Register
from hexapod_dynamics.drivers.servos.register_servos import RPM, TURN, Modes, RegisterServos, ServoModel, Variant
from hexapod_dynamics.robot.servo_map import CountScale

_ERRORS_1 = (
    (0x01, "supply outside its limits"),
    (0x02, "set-point beyond its angle limits"),
    (0x04, "too hot"),
    (0x08, "number out of range in a request"),
    (0x10, "checksum of a request"),
    (0x20, "overload"),
    (0x40, "unknown request"),
)
_ERRORS_2 = (
    (0x01, "supply outside its limits"),
    (0x02, "Hall sensor of the motor"),
    (0x04, "too hot"),
    (0x08, "encoder"),
    (0x10, "electrical shock, or too little power for the motor"),
    (0x20, "overload"),
)
_AX = CountScale(512, 1023.0 / math.radians(300.0), 1023)
_MX = CountScale(2048, 4096.0 / TURN, 4095)


def _modes_1(block: bytes) -> Modes:
    """The angle limits of protocol 1 (registers 6 and 8) are its modes."""
    if not any(block):
        return Modes("in wheel mode (both angle limits, registers 6 and 8, are 0), where it would turn for ever")
    return Modes()


def _modes_2(block: bytes) -> Modes:
    """Drive Mode and Operating Mode (registers 10 and 11)."""
    drive, operating = block
    if operating not in (3, 4, 5):  # position, extended position (multi-turn), current-based position
        name = {0: "current", 1: "velocity", 16: "PWM"}.get(operating, "unknown")
        return Modes(f"in operating mode {operating} ({name}): set register 11 to 3 (position)")
    if drive & 0x02:
        return Modes(f"a slave of another servo (drive mode {drive}): clear bit 1 of register 10")
    if drive & 0x08:
        return Modes(f"switching torque on with each set-point (drive mode {drive}): clear bit 3 of register 10")
    return Modes(by_time=bool(drive & 0x04))


def _products(numbers: Mapping[int, str], ampere: float = 0.0) -> dict[int, Variant]:
    """Products whose register 126 is Present Current, in counts of `ampere`, or Present Load if that is 0."""
    effort, unit = Register(126, 2, ampere or 0.1, signed=True), "A" if ampere else "%"
    return {number: Variant(name, effort, unit) for number, name in numbers.items()}


def _protocol_1(name: str, numbers: Mapping[int, str], counts: CountScale, unit: float, bulk: bool) -> ServoModel:
    load = Register(40, 2, 100.0 / 1023.0, sign=10)
    return ServoModel(
        name=name,
        variants={number: Variant(each, load, "%") for number, each in numbers.items()},
        packets=partial(Packets, 1, bulk),
        counts=counts,
        model=Register(0, 2),
        speed=Register(32, 2, unit * RPM),
        registers={
            "loaded": Register(24, 1),
            "target": Register(30, 2),
            "position": Register(36, 2, signed=bulk),  # negative only in the MX's multi-turn mode
            "voltage": Register(42, 1, 0.1),
            "temperature": Register(43, 1),
            "lowest_voltage": Register(12, 1, 0.1),
            "highest_voltage": Register(13, 1, 0.1),
            "temperature_limit": Register(11, 1),
        },
        goal_block=Register(30, 4),
        state_block=Register(36, 8),  # position, speed, load, voltage, temperature
        modes_block=Register(6, 4),
        modes=_modes_1,
        acceleration=Register(73, 1) if bulk else None,  # the MX's alone
        group_read=bulk,
        error_bits=_ERRORS_1,
        reported=0x27,
    )


def _protocol_2(name: str, variants: Mapping[int, Variant]) -> ServoModel:
    return ServoModel(
        name=name,
        variants=variants,
        packets=partial(Packets, 2),
        counts=_MX,
        model=Register(0, 2),
        speed=Register(112, 4, 0.229 * RPM),  # profile velocity
        registers={
            "loaded": Register(64, 1),
            "target": Register(116, 4, signed=True),
            "position": Register(132, 4, signed=True),
            "voltage": Register(144, 2, 0.1),
            "temperature": Register(146, 1),
            "lowest_voltage": Register(34, 2, 0.1),
            "highest_voltage": Register(32, 2, 0.1),
            "temperature_limit": Register(31, 1),
            "deviation": Register(20, 4, signed=True),
        },
        goal_block=Register(112, 8),
        state_block=Register(126, 10),  # current or load, velocity, position
        modes_block=Register(10, 2),
        modes=_modes_2,
        acceleration=Register(108, 4),
        hardware_error=Register(70, 1),
        fastest=32737,
        error_bits=_ERRORS_2,
    )


_X430_540 = {
    1000: "XH430-W350",
    1001: "XD430-T350",
    1010: "XH430-W210",
    1011: "XD430-T210",
    1020: "XM430-W350",
    1030: "XM430-W210",
    1100: "XH540-W270",
    1101: "XD540-T270",
    1110: "XH540-W150",
    1111: "XD540-T150",
    1120: "XM540-W270",
    1130: "XM540-W150",
    1140: "XH540-V270",
    1150: "XH540-V150",
    1170: "XW540-T260",
    1180: "XW540-T140",
    1270: "XW430-T333",
    1280: "XW430-T200",
    1310: "XW540-H260",
}
_X430_24V = {1040: "XH430-V350", 1050: "XH430-V210"}
_X430_LOAD = {1060: "XL430-W250", 1070: "XC430-W150", 1080: "XC430-W240", 1090: "2XL430-W250", 1160: "2XC430-W250"}
_X330 = {
    1190: "XL330-M077",
    1200: "XL330-M288",
    1210: "XC330-T181",
    1220: "XC330-T288",
    1230: "XC330-M181",
    1240: "XC330-M288",
}
MODELS = {
    model.name: model
    for model in (
        _protocol_1("ax12", {12: "AX-12A", 18: "AX-18A", 300: "AX-12W"}, _AX, 0.111, False),
        _protocol_1("mx_protocol1", {29: "MX-28", 310: "MX-64", 320: "MX-106"}, _MX, 0.114, True),
        _protocol_2("mx", _products({30: "MX-28(2.0)"}) | _products({311: "MX-64(2.0)", 321: "MX-106(2.0)"}, 3.36e-3)),
        _protocol_2("xm", _products(_X430_540, 2.69e-3) | _products(_X430_24V, 1.34e-3) | _products(_X430_LOAD)),
        _protocol_2("xl330", _products(_X330, 1.0e-3)),
    )
}


class DynamixelServos(RegisterServos):
    """Dynamixel servos of one model."""

    MODELS = MODELS
