"""The processor that code is made for, and such code, opened: without the compiler where it is known already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from hexapod_dynamics import code_cache, shared_library
from hexapod_dynamics.compile_notice import announce
from hexapod_dynamics.compiled import cached_object

CPU_INFORMATION = Path("/proc/cpuinfo")
# Lines of it that tell processors apart, on x86 and on ARM; the others change from moment to moment.
IDENTITY = ("model name", "flags", "Features", "CPU implementer", "CPU architecture", "CPU variant", "CPU part")


class MachineCode(Protocol):
    """Code in memory; keep it as long as its functions may be called."""

    def address(self, name: str) -> int:
        """Address of a function."""


@cache
def _processor() -> tuple[str, int]:
    """LLVM's description of the processor and the doubles of a vector register; LLVM is asked once for each machine."""
    try:
        lines = set(CPU_INFORMATION.read_text().splitlines())
    except OSError:
        lines = set()
    known = sorted(line for line in lines if line.startswith(IDENTITY))
    name = hashlib.sha256("\n".join(known).encode()).hexdigest()[:32]
    path = code_cache.installation_directory("processor") / f"{name}.json"
    kept = code_cache.read_json(path) if known else None
    if kept is not None and not _is_processor(kept):
        code_cache.warn_damaged(path, "it does not hold a processor and the width of its registers")
        kept = None
    if kept is None:
        from hexapod_dynamics.dynamics import vector_code  # loads LLVM

        kept = [vector_code.machine(), vector_code.native_lanes()]
        if known:
            code_cache.write_entry(path, json.dumps(kept).encode())
    description, lanes = kept
    return str(description), int(lanes)


def _is_processor(value: Any) -> bool:
    if not (isinstance(value, list) and len(value) == 2):
        return False
    return isinstance(value[0], str) and type(value[1]) is int and 1 <= value[1] <= 64


def machine() -> str:
    """Processor and its features: code made for one need not run on another."""
    return _processor()[0]


def native_lanes() -> int:
    """Doubles that one of this machine's vector registers holds."""
    return _processor()[1]


def opened_code(module: str, key: str, make: Callable[[bool], bytes]) -> MachineCode:
    """Code of a module for a key that contains everything it depends on except the sources and the processor.

    make(shared): object code for a shared library, or for this process alone where none can be linked or opened.
    """
    key = f"{machine()} {key}"
    path = code_cache.entry_directory(module) / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.so"
    library = shared_library.opened(path)
    if library is None and shared_library.linker() is not None:
        announce(code_cache.cache_directory())
        code = shared_library.linked([make(True)])
        if code is not None:
            code_cache.write_library(path, code)
            library = shared_library.opened(path)
    if library is not None:
        return library
    from hexapod_dynamics.dynamics import vector_code

    return vector_code.LoadedObject(cached_object(module, key, lambda: make(False)))
