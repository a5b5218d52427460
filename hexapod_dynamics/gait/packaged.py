"""Files of the package's folder `config`, in a checkout and in an installation."""

from __future__ import annotations

import os
from pathlib import Path


def packaged_file(name: str) -> Path | None:
    """Return the path of a file in `config` of the package, None if there is none of this name."""
    folders = [Path(__file__).resolve().parents[2] / "config"]
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    folders += [Path(prefix, "share", "hexapod_dynamics", "config") for prefix in prefixes if prefix]
    for folder in folders:
        path = folder / name
        if path.is_file():
            return path
    return None
