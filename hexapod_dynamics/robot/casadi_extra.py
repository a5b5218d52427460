"""CasADi, which only robots from positions, CasADi functions and one of the papers need."""

from __future__ import annotations

import importlib
from typing import Any

from hexapod_dynamics.errors import HexapodError

INSTALL = "python3 -m pip install 'casadi>=3.6,<4' (or the extra: pip install 'hexapod_dynamics[casadi]')"


def import_casadi(purpose: str) -> Any:
    """Import and return CasADi, or raise HexapodError: what needs it, and how it is installed.

    It is no requirement of the package: its import takes 0.3 s and 60 MB, and 280 MB on disk.
    """
    try:
        return importlib.import_module("casadi")
    except ModuleNotFoundError as error:
        if error.name != "casadi":
            raise
        raise HexapodError(f"{purpose} needs CasADi, which is not installed here: {INSTALL}") from None
