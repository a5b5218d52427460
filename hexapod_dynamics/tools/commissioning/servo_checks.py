"""Checks of the servos that move nothing: does each answer, supply and temperature, deviations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_dynamics.control.posture import SupplyLimits
from hexapod_dynamics.drivers.servos.interface import Fault, NoReply, ServoInterface, require
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.tools.commissioning.findings import Finding, failed, passed

FULL_CELL, USUAL_CELL = 4.2, 3.5  # [V] of a lithium cell: fully charged; most of its charge used
LOW, EMPTY = SupplyLimits.warn, SupplyLimits.sit  # [V] below which the node `servos` warns, and sits down
SPREAD = 0.5  # [V] difference between servos; a larger one means loss in a cable
WARM, MARGIN = 60, 15  # [deg C] highest temperature at rest; least distance to a servo's own limit


def ask_all(servos: ServoInterface, servo_map: ServoMap) -> dict[str, Fault | None]:
    """Ask each servo for its position, up to four times; yield the joint's fault, None if the servo answers."""
    answers: dict[str, Fault | None] = {}
    for index, name in enumerate(servo_map.joint_names):
        for _ in range(4):
            answers[name] = None if servos.read(index, "position") is not None else servos.fault
            if answers[name] is None:
                break
    return answers


def assess_answers(answers: dict[str, Fault | None], servo_map: ServoMap) -> list[Finding]:
    """One finding for each joint without a good answer, one for the others together."""
    good = [name for name, fault in answers.items() if fault is None]
    if not good:
        remedy = (
            "is the servo supply switched on? is `direction` right (gpio on a JetHexa's own board, adapter with a USB "
            "bus linker)? are transmit and receive pin 27 and 17?"
        )
        return [failed("servos", "all servos", f"none of {len(answers)} answers", remedy)]
    findings = [passed("servos", f"{len(good)} of {len(answers)} servos", "each answers")]
    for name, fault in answers.items():
        servo_id = servo_map.ids[servo_map.joint_names.index(name)]
        if fault is Fault.TIMEOUT:
            remedy = (
                f"power off, then look at the plugs of this servo and of the one before it; has it another id? "
                f"`servo_tool scan` lists all ids, `servo_tool set-id OLD {servo_id}` writes it (connect it alone)"
            )
            findings.append(failed("servos", name, f"servo {servo_id} does not answer", remedy))
        elif fault is not None:
            remedy = "two servos have this id: connect each alone, `servo_tool set-id`; or noise: supply, plugs, ground"
            findings.append(failed("servos", name, f"servo {servo_id} gives corrupted answers", remedy))
    return findings


@dataclass(frozen=True)
class Supply:
    """Supply and its limits [V], temperature and its limit [deg C] and trim [rad] of one servo."""

    joint: str
    volts: float
    limits: tuple[float, float]
    celsius: float
    limit: float
    deviation: float


def read_supplies(servos: ServoInterface, servo_map: ServoMap) -> tuple[list[Supply], list[str]]:
    """Read supply and temperature of every servo; return them and the joints that did not answer."""
    supplies, silent = [], []
    for i, name in enumerate(servo_map.joint_names):
        try:
            volts = require(servos, i, "voltage")
            limits = require(servos, i, "lowest_voltage"), require(servos, i, "highest_voltage")
            celsius, limit = require(servos, i, "temperature"), require(servos, i, "temperature_limit")
            supplies.append(Supply(name, volts, limits, celsius, limit, require(servos, i, "deviation")))
        except NoReply:
            silent.append(name)
    return supplies, silent


def assess_supplies(
    supplies: Sequence[Supply], silent: Sequence[str] = (), low: float = LOW, empty: float = EMPTY
) -> list[Finding]:
    """Findings on supply voltage, supply limits and temperature.

    low, empty [V]: `warn_voltage` and `sit_voltage` of the node `servos`; the number of the pack's cells follows
    from them, too.
    """
    full = FULL_CELL * max(1, round(low / USUAL_CELL))
    findings = [
        failed("supply", name, "its supply cannot be read", "see the check `servos`; then run this one again")
        for name in silent
    ]
    if not supplies:
        return findings
    least, most = min(supplies, key=lambda s: s.volts), max(supplies, key=lambda s: s.volts)
    seen = f"{least.volts:.2f} V ({least.joint}) to {most.volts:.2f} V ({most.joint})"
    if most.volts < low:
        remedy = f"charge the battery: below {low} V `servos` warns, below {empty} V the robot sits down"
        findings.append(failed("supply", "voltage", seen, remedy))
    elif most.volts > full + 0.3:
        remedy = f"warn_voltage {low} V is that of a pack with {full:.1f} V at most: another pack, or other servos?"
        findings.append(failed("supply", "voltage", seen, remedy))
    elif most.volts - least.volts > SPREAD:
        remedy = f"{least.joint} has less: look at the cable and the plugs of its branch"
        findings.append(failed("supply", "voltage", seen, remedy))
    else:
        findings.append(passed("supply", "voltage", seen))
    narrow = [s for s in supplies if s.limits[1] < full - 0.05 or s.limits[0] > low]
    if narrow:
        names = ", ".join(f"{s.joint} {s.limits[0]:.1f} to {s.limits[1]:.1f} V" for s in narrow)
        remedy = (
            f"these servos switch their torque off outside of that; a full battery has {full:.1f} V: replace or set"
        )
        findings.append(failed("supply", "limits of the servos", names, remedy))
    else:
        findings.append(passed("supply", "limits of the servos", f"all hold from {low} to {full:.1f} V"))
    hot = [s for s in supplies if s.celsius > min(WARM, s.limit - MARGIN)]
    hottest = max(supplies, key=lambda s: s.celsius)
    if hot:
        names = ", ".join(f"{s.joint} {s.celsius:.0f} deg C (off above {s.limit:.0f})" for s in hot)
        findings.append(
            failed("supply", "temperature", names, "let them cool; is a joint blocked, or a leg pushed against a stop?")
        )
    else:
        findings.append(passed("supply", "temperature", f"at most {hottest.celsius:.0f} deg C ({hottest.joint})"))
    return findings


def deviations(supplies: Sequence[Supply]) -> str:
    """The deviations that are not zero [deg], as a text."""
    text = ", ".join(f"{s.joint} {math.degrees(s.deviation):+.2f} deg" for s in supplies if abs(s.deviation) > 1e-9)
    return text or "all zero"
