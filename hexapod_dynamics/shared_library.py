"""Machine code in shared libraries: linked once with the system's linker, opened by any process without a compiler.

A shared library lies in memory once, however many processes use it. Without a linker (package binutils) there is none,
and whoever asked for it keeps to the compiler.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hexapod_dynamics import code_cache

# Few pages, and none that could be written and executed.
FLAGS = ("-shared", "-Bsymbolic", "-z", "noexecstack", "-z", "noseparate-code", "--strip-all")


class SharedLibrary:
    """An open library; its code stays in memory as long as the process lasts."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))

    def address(self, name: str) -> int:
        """Address of a function."""
        address = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        if address is None:
            raise AttributeError(f"the library has no function {name}")
        return address


def opened(path: Path) -> SharedLibrary | None:
    """The library of a file in the cache; None where it is missing, damaged, another user's, or cannot be opened."""
    if not code_cache.library_to_open(path):
        return None
    try:
        return SharedLibrary(path)
    except OSError as error:  # a cache on a file system that forbids to execute
        code_cache.warn_unusable(str(error))
        return None


def linker() -> str | None:
    """The system's linker."""
    return shutil.which("ld")


def linked(objects: Sequence[bytes]) -> bytes | None:
    """A library of position-independent object code; None where there is no linker, or it refuses."""
    program = linker()
    if program is None:
        return None
    with tempfile.TemporaryDirectory(prefix="hexapod_") as directory:
        files = [Path(directory, f"{index}.o") for index in range(len(objects))]
        for file, code in zip(files, objects, strict=True):
            file.write_bytes(code)
        library = Path(directory, "library.so")
        done = subprocess.run([program, *FLAGS, "-o", library, *files], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            code_cache.warn_unusable(f"{program}: {done.stderr.strip()}")
            return None
        return library.read_bytes()
