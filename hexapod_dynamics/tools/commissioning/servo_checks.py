"""Checks of the servos that move nothing: does each answer, supply and temperature, deviations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from hexapod_dynamics.control.posture import SupplyLimits
from hexapod_dynamics.drivers.servos.interface import Fault, NoReply, Quantity, require
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.tools.commissioning.bench import Bench
from hexapod_dynamics.tools.commissioning.findings import CheckError, Finding


def check_servos(bench: Bench) -> Iterator[Finding]:
    """Ask each servo for its position, up to four times."""
    faults: dict[str, Fault | None] = {}
    for index, name in enumerate(bench.servo_map.joint_names):
        answers = any(bench.bus.read(index, "position") is not None for _ in range(4))
        faults[name] = None if answers else bench.bus.fault
    return assess_answers(faults, bench.servo_map)


def assess_answers(faults: Mapping[str, Fault | None], servo_map: ServoMap) -> Iterator[Finding]:
    """One finding for each joint without a good answer, one for the others together; faults: None for a good one."""
    bad = {name: fault for name, fault in faults.items() if fault is not None}
    if len(bad) == len(faults):
        remedy = (
            "is the servo supply switched on? is `direction` right (gpio on a JetHexa's own board, adapter with a USB "
            "bus linker)? are transmit and receive pin 27 and 17?"
        )
        raise CheckError("all servos", f"none of {len(faults)} answers", remedy)
    yield Finding(f"{len(faults) - len(bad)} of {len(faults)} servos", "each answers")
    ids = dict(zip(servo_map.joint_names, servo_map.ids, strict=True))
    for name, fault in bad.items():
        if fault is Fault.TIMEOUT:
            remedy = (
                f"power off, then look at the plugs of this servo and of the one before it; has it another id? "
                f"`servo_tool scan` lists all ids, `servo_tool set-id OLD {ids[name]}` writes it (connect it alone)"
            )
            yield Finding(name, f"servo {ids[name]} does not answer", remedy)
        else:
            remedy = "two servos have this id: connect each alone, `servo_tool set-id`; or noise: supply, plugs, ground"
            yield Finding(name, f"servo {ids[name]} gives corrupted answers", remedy)


class Supply(NamedTuple):
    """Supply and its limits [V], temperature and its limit [deg C] and trim [rad] of one servo."""

    joint: str
    voltage: float
    lowest_voltage: float
    highest_voltage: float
    temperature: float
    temperature_limit: float
    deviation: float


def check_supply(bench: Bench) -> Iterator[Finding]:
    """Read supply and temperature of every servo."""
    supplies, quantities = [], cast("tuple[Quantity, ...]", Supply._fields[1:])
    for index, name in enumerate(bench.servo_map.joint_names):
        try:
            supplies.append(Supply(name, *(require(bench.bus, index, quantity) for quantity in quantities)))
        except NoReply:
            yield Finding(name, "its supply cannot be read", "see the check `servos`; then run this one again")
    if supplies:
        yield from assess_supplies(supplies, bench.supply)


def assess_supplies(supplies: Sequence[Supply], limits: SupplyLimits) -> Iterator[Finding]:
    """Findings on supply voltage, supply limits, temperature and deviations.

    limits: voltages of the node `servos`; the number of the pack's cells follows from them, too.
    """
    low = limits.warn
    full = 4.2 * max(1, round(low / 3.5))  # [V] of a lithium cell: fully charged; most of its charge used
    least, most = (choose(supplies, key=lambda s: s.voltage) for choose in (min, max))
    remedy = ""
    if most.voltage < low:
        remedy = f"charge the battery: below {low} V `servos` warns, below {limits.sit} V the robot sits down"
    elif most.voltage > full + 0.3:
        remedy = f"warn_voltage {low} V is that of a pack with {full:.1f} V at most: another pack, or other servos?"
    elif most.voltage - least.voltage > 0.5:  # more means loss in a cable
        remedy = f"{least.joint} has less: look at the cable and the plugs of its branch"
    yield Finding("voltage", f"{least.voltage:.2f} V ({least.joint}) to {most.voltage:.2f} V ({most.joint})", remedy)
    narrow = [
        f"{s.joint} {s.lowest_voltage:.1f} to {s.highest_voltage:.1f} V"
        for s in supplies
        if s.highest_voltage < full - 0.05 or s.lowest_voltage > low
    ]
    remedy = f"these servos switch their torque off outside of that; a full battery has {full:.1f} V: replace or set"
    yield _unless(narrow, "limits of the servos", f"all hold from {low} to {full:.1f} V", remedy)
    hot = [
        f"{s.joint} {s.temperature:.0f} deg C (off above {s.temperature_limit:.0f})"
        for s in supplies
        if s.temperature > min(60.0, s.temperature_limit - 15.0)  # [deg C] at rest; distance to a servo's own limit
    ]
    remedy = "let them cool; is a joint blocked, or a leg pushed against a stop?"
    hottest = max(supplies, key=lambda s: s.temperature)
    yield _unless(hot, "temperature", f"at most {hottest.temperature:.0f} deg C ({hottest.joint})", remedy)
    trims = [f"{s.joint} {math.degrees(s.deviation):+.2f} deg" for s in supplies if abs(s.deviation) > 1e-9]
    yield Finding("deviations (trim)", ", ".join(trims) or "all zero")


def _unless(bad: Sequence[str], what: str, good: str, remedy: str) -> Finding:
    """Return what is seen of all servos where none is bad, else the bad ones with the remedy."""
    return Finding(what, ", ".join(bad), remedy) if bad else Finding(what, good)
