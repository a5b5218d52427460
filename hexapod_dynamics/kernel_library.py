"""The library that `ros2 run hexapod_dynamics compile` links of the compiled functions that Python calls.

One for each installation: an index names the digest of each module's sources that it was made from, so a function whose
module has changed since is not taken from it.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from hexapod_dynamics import code_cache, shared_library

LIBRARY_FILE = re.compile(r"[0-9a-f]{24}\.so")
FAMILY, INDEX = "library", "index.json"
STEPPING = "hexapod_dynamics.simulation.step"  # a module that every robot's nodes use


def index_path() -> Path:
    """File that names the library, its functions, and the modules that it was made from."""
    return code_cache.installation_directory(FAMILY) / INDEX


@cache
def _opened() -> tuple[dict[str, Any], shared_library.SharedLibrary] | None:
    index = code_cache.read_json(index_path())
    if index is None:
        return None
    if not _is_index(index):
        code_cache.warn_damaged(index_path(), "it does not name a library, its functions and their modules")
        return None
    library = shared_library.opened(index_path().with_name(index["file"]))
    return None if library is None else (index, library)


def _is_index(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("file"), str):
        return False
    names, modules = value.get("functions"), value.get("modules")
    return (
        LIBRARY_FILE.fullmatch(value["file"]) is not None
        and isinstance(names, (list, dict))
        and isinstance(modules, dict)
    )


def made_from(content: dict[str, Any]) -> bool:
    """Whether the library that is there is of this content: digests of its modules' sources, and of its signatures."""
    found = _opened()
    return found is not None and content.items() <= found[0].items()


def write(library: bytes, content: dict[str, Any]) -> None:
    """Put a library in the place of the one that is there; processes that use that one keep it."""
    index, file = index_path(), f"{hashlib.sha256(library).hexdigest()[:24]}.so"
    code_cache.write_library(index.with_name(file), library)
    code_cache.write_entry(index, json.dumps(content | {"file": file}).encode())
    for other in index.parent.glob("*.so"):
        if other.name != file:
            other.unlink(missing_ok=True)


@cache
def covers(module: str) -> bool:
    """Whether there is a library that was made from a module as it is."""
    found = _opened()
    return found is not None and found[0]["modules"].get(module) == code_cache.source_digest(module)


def worth_linking() -> bool:
    """Whether `compile` would spare a process that steps the model its compiler: there is a linker, and no library of
    the present sources.
    """
    return shared_library.linker() is not None and not covers(STEPPING)


def address(module: str, name: str) -> int | None:
    """Address of a module's function in the library; None where Python was not seen to call it."""
    found = _opened()
    if found is None or not covers(module):
        return None
    index, library = found
    name = f"{module}.{name}"
    return library.address(name) if name in index["functions"] else None
