"""Finds files of plans and manoeuvres beside a robot's own file, or in the package's folder `config`, both in a
checkout and in an installation.
"""

from __future__ import annotations

import os
from pathlib import Path


def file_beside(name: str, robot_file: str | os.PathLike[str]) -> Path | None:
    """Return the path of a file in the folder of a robot's own file; None if it is not there, or `robot_file` empty."""
    path = Path(robot_file).resolve().parent / name
    return path if str(robot_file) and path.is_file() else None


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
