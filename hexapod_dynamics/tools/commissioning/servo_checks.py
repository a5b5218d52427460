"""Checks that move nothing: the servo port, whether each servo answers, supply and temperature, deviations."""

from __future__ import annotations

import grp
import math
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, cast

from hexapod_dynamics.control.posture import SupplyLimits
from hexapod_dynamics.drivers.servos.interface import BusError, Fault, NoReply, Quantity, read_value
from hexapod_dynamics.tools.commissioning.bench import Bench
from hexapod_dynamics.tools.commissioning.findings import CheckError, Finding

END_IT = (
    "end that process: Ctrl-C in the terminal of the launch, sudo systemctl stop hexapod, or on the vendor's image "
    "sudo systemctl disable --now jethexa_bringup.service nvgetty (scripts/jetson_setup does it)"
)

# Device files by the group that has access: serial ports (rrc: the STM32 board), I2C buses.
NAMES = {"dialout": ("ttyTHS*", "ttyUSB*", "ttyACM*", "rrc", "serial/by-id/*"), "i2c": ("i2c-*",)}


def find_users(path: str | os.PathLike, proc: Path = Path("/proc")) -> list[str]:
    """Return "process PID (program)" of each other process that has the file open, or serves a login on it.

    Only root sees the descriptors of other users' processes; a login console (agetty) is recognised by its command
    line. Processes outside of this container are not visible at all. The simulator that serves a pty is not a user
    of it.
    """
    device = os.path.realpath(path)
    found = []
    numbers = {int(each.name) for each in proc.iterdir() if each.name.isdigit()}
    for pid in sorted(numbers - {os.getpid()}):
        words: list[str] = []
        files: set[str] = set()
        with suppress(OSError):  # another user's, or it has ended
            text = (proc / str(pid) / "cmdline").read_bytes().decode(errors="replace")
            words = [word for word in text.split("\0") if word]
            for descriptor in (proc / str(pid) / "fd").iterdir():
                with suppress(OSError):  # closed meanwhile
                    files.add(os.readlink(descriptor))
        serves = device.startswith("/dev/pts/") and any(name.endswith("ptmx") for name in files)
        login = bool(words) and "getty" in words[0] and Path(device).name in words[1:]
        if (device in files and not serves) or login:
            found.append(f"process {pid} ({_program(words)})")
    return found


def _program(words: list[str]) -> str:
    """Program and first argument without their folders, as "python3 servos"; a node with its name."""
    node = next((word.partition(":=")[2] for word in words if word.startswith("__node:=")), "")
    name = " ".join(Path(word).name for word in words[:2]) or "unknown"
    return f"{name}, node {node}" if node else name


def check_file(path: str, group: str) -> Finding:
    """Check existence, kind and permission of a device file; group: the group that has access on a prepared board.

    Raises CheckError if it cannot be used.
    """
    if not os.path.exists(path):
        found = sorted(str(each) for name in NAMES[group] for each in Path("/dev").glob(name))
        remedy = (
            "is the device plugged in, is it given to the container (deploy/docker_run)? Look: "
            f"of {' '.join(f'/dev/{name}' for name in NAMES[group])} here is {' '.join(found) or 'none'}; "
            "without a robot: check_robot --simulated"
        )
        raise CheckError(path, "does not exist", remedy)
    info = os.stat(path)
    if not (stat.S_ISCHR(info.st_mode) or stat.S_ISSOCK(info.st_mode)):
        raise CheckError(path, "is not a device", "give the path of the device")
    seen = f"{stat.filemode(info.st_mode)}, group {_group(info.st_gid)}"
    if not os.access(path, os.R_OK | os.W_OK):
        remedy = f"sudo usermod -aG {group} $USER, log out and in again (scripts/jetson_setup does it)"
        own = " ".join(sorted(_group(number) for number in {os.getegid(), *os.getgroups()}))
        raise CheckError(path, f"permission denied ({seen}; you are in {own})", remedy)
    return Finding(path, seen)


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def check_port(bench: Bench) -> Iterator[Finding]:
    """Check the servo port's file and open it; the bus is open afterwards if all has passed."""
    bus = bench.bus
    yield check_file(bus.port, "dialout")
    if bench.obstacle:
        raise CheckError("direction of the line", bench.obstacle, "see the message")
    users = ", ".join(find_users(bus.port))
    try:
        bus.open()
    except BusError as error:
        raise CheckError("exclusive access", f"{error}; used by {users}" if users else str(error), END_IT) from error
    if users:
        bus.close()
        raise CheckError("exclusive access", f"also used by {users}", END_IT)
    yield Finding("exclusive access", f"no other process uses {bus.port}")


def check_servos(bench: Bench) -> Iterator[Finding]:
    """Ask each servo for its position, up to four times; one finding for each without a good answer, one for the others
    together.
    """
    names, tool = bench.servo_map.joint_names, bench.bus.tool
    bad: dict[int, Fault | None] = {}
    for index in range(len(names)):
        if all(bench.bus.read(index, "position") is None for _ in range(4)):
            bad[index] = bench.bus.fault
    if len(bad) == len(names):
        remedy = (
            "is the servo supply switched on? is `direction` right (gpio on a JetHexa's own board, adapter with a USB "
            "bus linker)? are transmit and receive pin 27 and 17?"
        )
        raise CheckError("all servos", f"none of {len(names)} answers", remedy)
    yield Finding(f"{len(names) - len(bad)} of {len(names)} servos", "each answers")
    for index, fault in bad.items():
        name, servo_id = names[index], bench.servo_map.ids[index]
        if fault is Fault.TIMEOUT:
            remedy = (
                "power off, then look at the plugs of this servo and of the one before it; has it another id? Connect "
                f"it alone: {tool.format('scan')} tells it, {tool.format(f'set-id OLD {servo_id}')} writes it"
            )
            yield Finding(name, f"servo {servo_id} does not answer", remedy)
        else:
            remedy = (
                f"two servos have this id: connect only one, {tool.format('set-id OLD NEW')} writes its id; or noise: "
                "look at the supply, plugs, ground"
            )
            yield Finding(name, f"servo {servo_id} gives corrupted answers", remedy)


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
            supplies.append(Supply(name, *(read_value(bench.bus, index, quantity) for quantity in quantities)))
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
    yield _report_unless(narrow, "limits of the servos", f"all hold from {low} to {full:.1f} V", remedy)
    hot = [
        f"{s.joint} {s.temperature:.0f} deg C (off above {s.temperature_limit:.0f})"
        for s in supplies
        if s.temperature > min(60.0, s.temperature_limit - 15.0)  # [deg C] at rest; distance to a servo's own limit
    ]
    remedy = "let them cool; is a joint blocked, or a leg pushed against a stop?"
    hottest = max(supplies, key=lambda s: s.temperature)
    yield _report_unless(hot, "temperature", f"at most {hottest.temperature:.0f} deg C ({hottest.joint})", remedy)
    trims = [f"{s.joint} {math.degrees(s.deviation):+.2f} deg" for s in supplies if abs(s.deviation) > 1e-9]
    yield Finding("deviations (trim)", ", ".join(trims) or "all zero")


def _report_unless(bad: Sequence[str], what: str, good: str, remedy: str) -> Finding:
    """Return what is seen of all servos where none is bad, else the bad ones with the remedy."""
    return Finding(what, ", ".join(bad), remedy) if bad else Finding(what, good)
