"""Check of a device file: it exists, this user may open it, and no other process uses it."""

from __future__ import annotations

import grp
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hexapod_dynamics.drivers.servos.interface import BusError
from hexapod_dynamics.tools.commissioning.bench import Bench
from hexapod_dynamics.tools.commissioning.findings import CheckError, Finding

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
            "is the device plugged in, is it given to the container (deploy/compose.yaml)? Look: "
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
    users = ", ".join(users_of(bus.port))
    try:
        bus.open()
    except BusError as error:
        raise CheckError("open alone", f"{error}; used by {users}" if users else str(error), END_IT) from error
    if users:
        bus.close()
        raise CheckError("open alone", f"also used by {users}", END_IT)
    yield Finding("open alone", f"{bus.port} is this program's alone")
