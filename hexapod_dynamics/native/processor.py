"""The processor for which C code is compiled: its name, the compiler's flag for it, and the width of its
registers.
"""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CPU_INFORMATION = Path("/proc/cpuinfo")
# Lines of /proc/cpuinfo that distinguish processors, on x86 and on ARM; other lines change from moment to moment.
IDENTITY = ("model name", "flags", "Features", "CPU implementer", "CPU architecture", "CPU variant", "CPU part")
BUILT = Path(__file__).with_name("built")  # libraries that were compiled with the package
TARGET = "target.json"


@dataclass(frozen=True)
class Target:
    """A processor, or a family of them. lanes: doubles of a vector register. needs: features that it must have."""

    name: str
    flags: tuple[str, ...]
    lanes: int
    needs: tuple[str, ...] = ()


# Families of processors for which an image or a wheel may be built, see build_native.py.
FAMILIES = {
    "x86-64-v2": Target("x86-64-v2", ("-march=x86-64-v2",), 2, ("sse4_2", "popcnt")),
    "x86-64-v3": Target("x86-64-v3", ("-march=x86-64-v3",), 4, ("avx2", "fma", "bmi2", "movbe")),
    "x86-64-v4": Target("x86-64-v4", ("-march=x86-64-v4",), 8, ("avx512f", "avx512dq", "avx512vl", "fma")),
    "cortex-a57": Target("cortex-a57", ("-mcpu=cortex-a57",), 2, ("asimd",)),
    "cortex-a72": Target("cortex-a72", ("-mcpu=cortex-a72",), 2, ("asimd",)),
    "cortex-a78": Target("cortex-a78", ("-mcpu=cortex-a78",), 2, ("asimd", "asimdrdm")),
}


@cache
def features() -> frozenset[str]:
    """Features of this processor as Linux names them; empty if they are not known."""
    for line in _information():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()


@cache
def _information() -> tuple[str, ...]:
    try:
        return tuple(CPU_INFORMATION.read_text().splitlines())
    except OSError:
        return ()


@cache
def native() -> Target:
    """Return the processor of this computer."""
    known = sorted({line for line in _information() if line.startswith(IDENTITY)})
    machine = platform.machine()
    name = hashlib.sha256("\n".join([machine, *known]).encode()).hexdigest()[:16]
    flag = "-mcpu=native" if machine in ("aarch64", "armv7l", "arm64") else "-march=native"
    lanes = 8 if "avx512f" in features() else 4 if "avx" in features() else 2
    return Target(f"{machine}-{name}", (flag,), lanes)


@cache
def target() -> Target:
    """Return the target whose libraries are used: this processor, or a family to which it belongs and for which
    the package was built.

    A package that names a family was built on another computer: its libraries are used if they fit, and nothing is
    compiled.
    """
    own = native()
    if (BUILT / own.name).is_dir():
        return own
    fitting = [each for each in built_targets() if features().issuperset(each.needs)]
    return max(fitting, key=lambda each: (each.lanes, each.name), default=own)


def built_targets() -> list[Target]:
    """Return the targets for which libraries of this installation were built."""
    found = []
    for file in sorted(BUILT.glob(f"*/{TARGET}")):
        described = json.loads(file.read_text())
        flags, needs = tuple(described["flags"]), tuple(described["needs"])
        if described["machine"] == platform.machine() and needs:
            found.append(Target(described["name"], flags, described["lanes"], needs))
    return found


def native_lanes() -> int:
    """Return the number of doubles in a vector register of `target`."""
    return target().lanes
