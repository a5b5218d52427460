"""The extension _model, which makes the functions of a robot's library callable in Python.

It is built with the package. A checkout that was not built, or was edited after that, compiles it once into the
cache; this needs Python's headers.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import platform
import sysconfig
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from hexapod_dynamics.errors import CompilerError
from hexapod_dynamics.native import library

ABSENT = object()  # represents an argument that is not given
NAME = "hexapod_dynamics.native._model"
SOURCE = library.HERE / "_model.c"
# It includes only two headers, those of the table.
PARTS = (SOURCE, library.INCLUDE / "hd_entry.h", library.INCLUDE / "hd_model.h")


def source_digest() -> str:
    """Digest of the extension's sources, which is compiled into it."""
    return hashlib.sha256(b"\0".join(part.read_bytes() for part in PARTS)).hexdigest()[:24]


def macros() -> list[tuple[str, str]]:
    """Preprocessor definitions with which the extension is compiled."""
    return [("HD_SOURCE_DIGEST", f'"{source_digest()}"')]


@cache
def model() -> ModuleType:
    """Return the extension. Raises CompilerError if it must be compiled and cannot be."""
    try:
        built = importlib.import_module(NAME)
    except ImportError:
        built = None
    if built is not None and built.SOURCE_DIGEST == source_digest():
        return built
    python, numpy = sysconfig.get_paths()["include"], np.get_include()
    if not Path(python, "Python.h").is_file():
        raise CompilerError(
            "this package was not built, and Python's headers are not here: sudo apt install python3-dev, "
            "and build it with colcon build or pip install ."
        )
    lines = [f"#define {name} {value}" for name, value in macros()]
    text = "\n".join([*lines, f'#include "{SOURCE}"', ""])
    version = f"{platform.python_implementation()} {platform.python_version()} numpy {np.__version__}"
    flags = (f"-I{python}", f"-I{numpy}", f"-I{library.HERE}")
    source = library.LibrarySource("extension", f"{source_digest()} {version} {SOURCE}", lambda: text, flags)
    opened = library.opened(source)
    spec = importlib.util.spec_from_file_location(NAME, opened.path)
    if spec is None or spec.loader is None:
        raise CompilerError(f"{opened.path} cannot be imported")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def builtins(opened: library.Library) -> dict[str, Any]:
    """Return the functions of a library's table hd_entries, by name."""
    made: dict[str, Any] = model().builtins(opened.address("hd_entries"), ABSENT)
    return made


def run_each(function: int, memories: list[np.ndarray], states: np.ndarray, forward: bool, *arrays: np.ndarray) -> int:
    """Run hd_run_state, by its address, for many states; return the first state that is not computed, -1 if none."""
    return int(model().run_each(function, memories, states, forward, *arrays))
