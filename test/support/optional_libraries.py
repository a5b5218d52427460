"""Libraries that some tests need and a user's machine may lack or have in a version that does not work.

A test module that cannot be imported because of one of them is skipped by name, with the command that installs it. In
CI (`CI` is set) nothing is skipped: the modules fail there.
"""

from __future__ import annotations

import os
from types import TracebackType

REMEDIES = {
    "pinocchio": "sudo apt install ros-$ROS_DISTRO-pinocchio, or python3 -m pip install pin",
    "mujoco": "python3 -m pip install mujoco",
    "gymnasium": "python3 -m pip install gymnasium (needs numpy 1.23 or newer)",
    "playwright": "python3 -m pip install playwright",
    "casadi": "python3 -m pip install casadi",
    "viser": "python3 -m pip install viser",
    "vqf": "python3 -m pip install vqf",
}


def explain_import_failure(error: BaseException | None) -> str:
    """Return why a test module is skipped whose import raised `error`; an empty text if it shall fail.

    The reason is a library of `REMEDIES` that is missing, or that raised `error` while it was imported.
    """
    if error is None or os.environ.get("CI"):
        return ""
    if isinstance(error, ModuleNotFoundError):
        name = (error.name or "").partition(".")[0]
        return f"{name} is missing: {REMEDIES[name]}" if name in REMEDIES else ""
    name = _last_library(error.__traceback__)
    return f"{name} does not work here ({type(error).__name__}: {error}): {REMEDIES[name]}" if name else ""


def _last_library(traceback: TracebackType | None) -> str:
    """Return the library of REMEDIES whose module raised the exception with this traceback, or an empty text."""
    name = ""
    while traceback is not None:
        package = traceback.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        if package in REMEDIES:
            name = package
        traceback = traceback.tb_next
    return name
