"""Feetech STS servos (memory table of the STS3215; addresses as in ftservo-python-sdk, `sms_sts.py`)."""

from __future__ import annotations

from hexapod_dynamics.drivers.servos.registers.models import TURN, Register, ServoModel
from hexapod_dynamics.drivers.servos.registers.packets import Protocol1
from hexapod_dynamics.robot.servo_counts import CountScale

_COUNTS = 4096.0 / TURN
_OVERLOAD, _HEAT = 0x20, 0x04
MODELS = {
    "sts3215": ServoModel(
        name="sts3215",
        numbers=(777,),
        packets=Protocol1,
        counts=CountScale(2048, _COUNTS, 4095),
        model=Register(3, 2),
        torque=Register(40, 1),
        goal=Register(42, 2, sign=15),
        speed=Register(46, 2, 1.0 / _COUNTS),  # counts a second
        position=Register(56, 2, sign=15),
        voltage=Register(62, 1, 0.1),
        temperature=Register(63, 1),
        voltage_limits=(Register(15, 1, 0.1), Register(14, 1, 0.1)),
        temperature_limit=Register(13, 1),
        goal_block=(42, 6),  # position, time, speed
        state_block=(56, 15),  # position, speed, load, voltage, temperature, ..., status, moving, ..., current
        current=Register(69, 2, 6.5e-3, sign=15),
        load=Register(60, 2, 1e-3, sign=10),
        hardware_error=Register(65, 1),
        offset=Register(31, 2, sign=11),
        fastest=32767,
        errors=(
            (0x01, "supply outside its limits"),
            (0x02, "angle sensor"),
            (_HEAT, "too hot"),
            (0x08, "too much current"),
            (_OVERLOAD, "overload"),
        ),
        shutdown=_OVERLOAD | _HEAT,
    )
}
