"""Shared libraries of C code: compiled with the package, or once by the system's compiler and kept in the cache.

A library is searched in `built/` (libraries that were compiled with the package), then in the cache of this user
(code_cache.py, which checks who could have written there); else it is compiled. Its name is a digest of everything
on which it depends: the sources of this package, the key of the caller, the compiler, its flags and the processor.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hexapod_dynamics import code_cache
from hexapod_dynamics.compile_notice import announce
from hexapod_dynamics.errors import CompilerError
from hexapod_dynamics.native import processor

HERE = Path(__file__).resolve().parent
INCLUDE = HERE / "include"
# Never -ffast-math: gcc up to 12 then sets the flags of the whole process so that small numbers become zero.
FLAGS = ("-O2", "-std=gnu99", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fPIC", "-shared", "-s")
# Files besides include/ that determine the printed code; a test in test/repository checks that none is missing.
SOURCES = (
    *(f"native/{name}.py" for name in ("c_printer", "library")),
    *(f"dynamics/{name}.py" for name in ("batch_code", "differentiation", "leg_code", "leg_derivatives")),
    *(f"dynamics/{name}.py" for name in ("leg_kernels", "leg_matrices", "leg_program", "rigid_body", "tracing")),
    "dynamics/workspace.py",
)


class Library:
    """An open library; its code stays in memory as long as the process lasts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._library = ctypes.CDLL(str(path))

    def address(self, name: str) -> int:
        """Return the address of a function or an object."""
        address = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        if address is None:
            raise CompilerError(f"{self.path}: {name} is not in it")
        return address


@cache
def source_digest() -> str:
    """Digest of the sources that every library depends on."""
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for file in [*(HERE.parent / name for name in SOURCES), *sorted(INCLUDE.glob("*.h"))]:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:24]


@dataclass(frozen=True)
class LibrarySource:
    """The source of a library. key: distinguishes its text from others of its kind; flags: additional compiler
    flags.
    """

    kind: str
    key: str
    text: Callable[[], str]  # prints the text
    flags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the library in `built/`, without its suffix."""
        described = f"{source_digest()} {self.key} {self.flags}"
        return f"{self.kind}-{hashlib.sha256(described.encode()).hexdigest()[:24]}"


def opened(source: LibrarySource) -> Library:
    """Return the library of a source.

    Raises CompilerError if it must be compiled and cannot be.
    """
    target, name = processor.target(), source.name
    built = processor.BUILT / target.name / f"{name}.so"
    if built.is_file():
        return Library(built)
    program = compiler()
    directory = code_cache.entry_directory_of("native", f"{source_digest()} {target}")
    if program is None:
        candidates = sorted(directory.glob(f"{name}-*.so"), key=lambda path: path.stat().st_mtime, reverse=True)
    else:
        candidates = [directory / f"{name}-{_identity(program)}.so"]
    for path in candidates:
        if code_cache.library_to_open(path):
            try:
                return Library(path)
            except OSError as error:  # the cache is on a file system that forbids execution
                code_cache.warn_unusable(str(error))
    if program is None:
        raise CompilerError(
            "the model of this robot has to be compiled once, and no C compiler is here: sudo apt install gcc, "
            "or name one in the environment variable CC"
        )
    announce(code_cache.cache_directory())
    with tempfile.TemporaryDirectory(prefix="hexapod_") as place:
        made = Path(place, f"{name}.so")
        compile_library(program, target, source.text(), made, source.flags)
        code_cache.write_library(candidates[0], made.read_bytes())
        return Library(candidates[0] if code_cache.library_to_open(candidates[0]) else made)


def compiler() -> tuple[str, ...] | None:
    """Return the command of the C compiler: $CC, else gcc, cc or clang; None if there is none."""
    chosen = shlex.split(os.environ.get("CC", ""))
    for command in [chosen] if chosen else [["gcc"], ["cc"], ["clang"]]:
        program = shutil.which(command[0])
        if program is not None:
            return (program, *command[1:])
    return None


def _identity(program: tuple[str, ...]) -> str:
    """Digest that changes with the compiler, without running it."""
    path = Path(program[0]).resolve()
    status = path.stat()
    described = f"{path} {status.st_size} {status.st_mtime_ns} {program[1:]}"
    return hashlib.sha256(described.encode()).hexdigest()[:16]


def compile_library(
    program: tuple[str, ...], target: processor.Target, source: str, path: Path, flags: tuple[str, ...] = ()
) -> None:
    """Compile a source for a target to the library `path`. Raises CompilerError."""
    with tempfile.TemporaryDirectory(prefix="hexapod_") as place:
        file = Path(place, "model.c")
        file.write_text(source)
        command = [*program, *FLAGS, *target.flags, f"-I{INCLUDE}", *flags, "-o", str(path), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        reason = next((line for line in lines if "error" in line), f"exit status {done.returncode}")
        raise CompilerError(f"{shlex.join(command)} failed: {reason}")
