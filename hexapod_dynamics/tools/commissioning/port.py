"""Check of a device file: it exists, this user may open it, and no other process uses it."""

from __future__ import annotations

import grp
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from hexapod_dynamics.drivers.servos.interface import BusError, ServoInterface
from hexapod_dynamics.tools.commissioning.findings import Finding, failed, passed

END_IT = (
    "end that process: Ctrl-C in the terminal of the launch, sudo systemctl stop hexapod, or on the vendor's image "
    "sudo systemctl disable --now jethexa_bringup.service nvgetty (scripts/jetson_setup does it)"
)

# Device files by the group that has access: serial ports (rrc: the STM32 board), I2C buses.
NAMES = {"dialout": ("ttyTHS*", "ttyUSB*", "ttyACM*", "rrc", "serial/by-id/*"), "i2c": ("i2c-*",)}


def users_of(path: str | os.PathLike, proc: Path = Path("/proc")) -> list[str]:
    """Return "process PID (program)" of each other process that has the file open, or serves a login on it.

    Only root sees the descriptors of other users' processes; a login console (agetty) is recognised by its command
    line. Processes outside of this container are not visible at all. The simulator that serves a pty is not a user
    of it.
    """
    device = os.path.realpath(path)
    found = []
    for entry in sorted((each for each in proc.iterdir() if each.name.isdigit()), key=lambda each: int(each.name)):
        if int(entry.name) == os.getpid():
            continue
        words = _command_line(entry)
        files = set(_open_files(entry))
        serves = device.startswith("/dev/pts/") and any(name.endswith("ptmx") for name in files)
        login = bool(words) and "getty" in words[0] and Path(device).name in words[1:]
        if (device in files and not serves) or login:
            found.append(f"process {entry.name} ({_program(words)})")
    return found


def _program(words: list[str]) -> str:
    """Program and first argument without their folders, as "python3 servos"; a node with its name."""
    node = next((word.partition(":=")[2] for word in words if word.startswith("__node:=")), "")
    name = " ".join(Path(word).name for word in words[:2]) or "unknown"
    return f"{name}, node {node}" if node else name


def _command_line(entry: Path) -> list[str]:
    try:
        return [word for word in (entry / "cmdline").read_bytes().decode(errors="replace").split("\0") if word]
    except OSError:  # it has ended
        return []


def _open_files(entry: Path) -> Iterator[str]:
    try:
        descriptors = list((entry / "fd").iterdir())
    except OSError:  # another user's, or it has ended
        return
    for descriptor in descriptors:
        try:
            yield os.readlink(descriptor)
        except OSError:  # closed meanwhile
            continue


def existing(group: str) -> str:
    """Return which of the usual device files of this group exist on this computer."""
    found = " ".join(sorted(str(path) for name in NAMES[group] for path in Path("/dev").glob(name)))
    return f"of {' '.join(f'/dev/{name}' for name in NAMES[group])} here is {found or 'none'}"


def check_file(check: str, path: str, group: str) -> list[Finding]:
    """Check existence, kind and permission of a device file; group: the group that has access on a prepared board."""
    if not os.path.exists(path):
        remedy = (
            "is the device plugged in, is it given to the container (deploy/compose.yaml)? Look: "
            f"{existing(group)}; without a robot: check_robot --simulated"
        )
        return [failed(check, path, "does not exist", remedy)]
    info = os.stat(path)
    if not (stat.S_ISCHR(info.st_mode) or stat.S_ISSOCK(info.st_mode)):
        return [failed(check, path, "is not a device", "give the path of the device")]
    seen = f"{stat.filemode(info.st_mode)}, group {_group(info.st_gid)}"
    if not os.access(path, os.R_OK | os.W_OK):
        remedy = f"sudo usermod -aG {group} $USER, log out and in again (scripts/jetson_setup does it)"
        return [failed(check, path, f"permission denied ({seen}; you are in {_own_groups()})", remedy)]
    return [passed(check, path, seen)]


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _own_groups() -> str:
    return " ".join(sorted(_group(number) for number in {os.getegid(), *os.getgroups()}))


def check_port(bus: ServoInterface, check: str = "port", obstacle: str = "") -> list[Finding]:
    """Check the servo port's file and open it; the bus is open afterwards if all has passed.

    check: the check that needs the port; obstacle: why it cannot be used even if its file is good.
    """
    findings = check_file(check, bus.port, "dialout")
    if findings[-1].remedy:
        return findings
    if obstacle:
        return [*findings, failed(check, "direction of the line", obstacle, "see the message")]
    others = users_of(bus.port)
    try:
        bus.open()
    except BusError as error:
        seen = f"{error}; used by {', '.join(others)}" if others else str(error)
        return [*findings, failed(check, "open alone", seen, END_IT)]
    if others:
        bus.close()
        return [*findings, failed(check, "open alone", f"also used by {', '.join(others)}", END_IT)]
    return [*findings, passed(check, "open alone", f"{bus.port} is this program's alone")]
