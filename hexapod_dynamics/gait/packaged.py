"""Finds the files that belong to a robot, plans_NAME.yaml and get_up_NAME.yaml: beside its own file, else in the
package's folder `config`, both in a checkout and in an installation. Nodes and scripts find the same ones.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hexapod_dynamics.robot import Robot


def file_of(robot: Robot, kind: str) -> tuple[Path | None, bool]:
    """Return the path of KIND_NAME.yaml of a robot, None if there is none, and whether it is beside the robot's file.

    One beside the robot's file is meant for it, so whoever reads it raises if it is another robot's; a packaged one has
    only the same name.
    """
    name = f"{kind}_{robot.name}.yaml"
    beside = None if robot.file is None else robot.file.resolve().parent / name
    if beside is not None and beside.is_file():
        return beside, True
    return packaged_file(name), False


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
