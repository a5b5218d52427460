"""Feetech STS servos (memory table of the STS3215; addresses as in ftservo-python-sdk, `sms_sts.py`)."""

from __future__ import annotations

from functools import partial

from hexapod_dynamics.drivers.servos.register_packets import Packets, Register
from hexapod_dynamics.drivers.servos.register_servos import TURN, Modes, RegisterServos, ServoModel, Variant
from hexapod_dynamics.robot.servo_map import CountScale

_COUNTS = 4096.0 / TURN
_CURRENT = Register(69, 2, 6.5e-3, sign=15)


def _modes(block: bytes) -> Modes:
    """The operating mode (register 33)."""
    if block[0] == 0:
        return Modes()
    name = {1: "wheel", 2: "PWM", 3: "step"}.get(block[0], "unknown")
    return Modes(f"in operating mode {block[0]} ({name}): set register 33 to 0 (position)")


MODELS = {
    "sts3215": ServoModel(
        name="sts3215",
        variants={777: Variant("STS3215", _CURRENT, "A"), 2825: Variant("STS3250", _CURRENT, "A")},
        packets=partial(Packets, 1),
        counts=CountScale(2048, _COUNTS, 4095),
        model=Register(3, 2),
        speed=Register(46, 2, 1.0 / _COUNTS),  # counts a second
        registers={
            "loaded": Register(40, 1),
            "target": Register(42, 2, sign=15),
            "position": Register(56, 2, sign=15),
            "voltage": Register(62, 1, 0.1),
            "temperature": Register(63, 1),
            "lowest_voltage": Register(15, 1, 0.1),
            "highest_voltage": Register(14, 1, 0.1),
            "temperature_limit": Register(13, 1),
            "deviation": Register(31, 2, sign=11),
        },
        goal_block=Register(42, 6),  # position, time, speed
        state_block=Register(56, 15),  # position, speed, load, voltage, temperature, ..., status, moving, ..., current
        modes_block=Register(33, 1),
        modes=_modes,
        acceleration=Register(41, 1),
        fastest=32767,
        error_bits=(
            (0x01, "supply outside its limits"),
            (0x02, "angle sensor"),
            (0x04, "too hot"),
            (0x08, "too much current"),
            (0x10, "angle"),
            (0x20, "overload"),
        ),
    )
}


class FeetechServos(RegisterServos):
    """Feetech servos of one model."""

    MODELS = MODELS
