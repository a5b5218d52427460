"""Checks of the servos that move nothing: does each answer, supply and temperature, deviations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_dynamics.control.posture import SupplyLimits
from hexapod_dynamics.drivers.servos.interface import Fault, NoReply, Quantity, ServoInterface, require
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.tools.commissioning.findings import Finding, failed, passed


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
        return [failed("all servos", f"none of {len(answers)} answers", remedy)]
    findings = [passed(f"{len(good)} of {len(answers)} servos", "each answers")]
    ids = dict(zip(servo_map.joint_names, servo_map.ids, strict=True))
    for name, fault in answers.items():
        if fault is Fault.TIMEOUT:
            remedy = (
                f"power off, then look at the plugs of this servo and of the one before it; has it another id? "
                f"`servo_tool scan` lists all ids, `servo_tool set-id OLD {ids[name]}` writes it (connect it alone)"
            )
            findings.append(failed(name, f"servo {ids[name]} does not answer", remedy))
        elif fault is not None:
            remedy = "two servos have this id: connect each alone, `servo_tool set-id`; or noise: supply, plugs, ground"
            findings.append(failed(name, f"servo {ids[name]} gives corrupted answers", remedy))
    return findings


@dataclass(frozen=True)
class Supply:
    """Supply and its limits [V], temperature and its limit [deg C] and trim [rad] of one servo."""

    joint: str
    volts: float
    lowest: float
    highest: float
    celsius: float
    limit: float
    deviation: float


QUANTITIES: tuple[Quantity, ...] = (
    "voltage",
    "lowest_voltage",
    "highest_voltage",
    "temperature",
    "temperature_limit",
    "deviation",
)


def read_supplies(servos: ServoInterface, servo_map: ServoMap) -> tuple[list[Supply], list[str]]:
    """Read supply and temperature of every servo; return them and the joints that did not answer."""
    supplies, silent = [], []
    for index, name in enumerate(servo_map.joint_names):
        try:
            supplies.append(Supply(name, *(require(servos, index, quantity) for quantity in QUANTITIES)))
        except NoReply:
            silent.append(name)
    return supplies, silent


def assess_supplies(supplies: Sequence[Supply], limits: SupplyLimits, silent: Sequence[str] = ()) -> list[Finding]:
    """Findings on supply voltage, supply limits, temperature and deviations.

    limits: voltages of the node `servos`; the number of the pack's cells follows from them, too.
    """
    remedy = "see the check `servos`; then run this one again"
    findings = [failed(name, "its supply cannot be read", remedy) for name in silent]
    if not supplies:
        return findings
    low = limits.warn
    full = 4.2 * max(1, round(low / 3.5))  # [V] of a lithium cell: fully charged; most of its charge used
    least, most = min(supplies, key=lambda s: s.volts), max(supplies, key=lambda s: s.volts)
    remedy = ""
    if most.volts < low:
        remedy = f"charge the battery: below {low} V `servos` warns, below {limits.sit} V the robot sits down"
    elif most.volts > full + 0.3:
        remedy = f"warn_voltage {low} V is that of a pack with {full:.1f} V at most: another pack, or other servos?"
    elif most.volts - least.volts > 0.5:  # more means loss in a cable
        remedy = f"{least.joint} has less: look at the cable and the plugs of its branch"
    seen = f"{least.volts:.2f} V ({least.joint}) to {most.volts:.2f} V ({most.joint})"
    findings.append(failed("voltage", seen, remedy) if remedy else passed("voltage", seen))
    narrow = [s for s in supplies if s.highest < full - 0.05 or s.lowest > low]
    names = [f"{s.joint} {s.lowest:.1f} to {s.highest:.1f} V" for s in narrow]
    remedy = f"these servos switch their torque off outside of that; a full battery has {full:.1f} V: replace or set"
    good = passed("limits of the servos", f"all hold from {low} to {full:.1f} V")
    findings.append(failed("limits of the servos", ", ".join(names), remedy) if names else good)
    # [deg C] the highest temperature at rest; the least distance to a servo's own limit
    hot = [s for s in supplies if s.celsius > min(60.0, s.limit - 15.0)]
    names = [f"{s.joint} {s.celsius:.0f} deg C (off above {s.limit:.0f})" for s in hot]
    remedy = "let them cool; is a joint blocked, or a leg pushed against a stop?"
    hottest = max(supplies, key=lambda s: s.celsius)
    good = passed("temperature", f"at most {hottest.celsius:.0f} deg C ({hottest.joint})")
    findings.append(failed("temperature", ", ".join(names), remedy) if names else good)
    trims = [f"{s.joint} {math.degrees(s.deviation):+.2f} deg" for s in supplies if abs(s.deviation) > 1e-9]
    return [*findings, passed("deviations (trim)", ", ".join(trims) or "all zero")]
