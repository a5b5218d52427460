"""Imports CasADi, which is needed only for CasADi functions and one of the papers."""

from __future__ import annotations

import importlib
from types import ModuleType

from hexapod_dynamics.errors import HexapodError

INSTALL = "python3 -m pip install 'casadi>=3.6,<4' (or the extra: pip install 'hexapod_dynamics[casadi]')"


def import_casadi(purpose: str) -> ModuleType:
    """Import and return CasADi, or raise HexapodError, which names what needs it and how to install it.

    CasADi is not a requirement of the package, because it takes 280 MB on disk, and its import 0.3 s and 60 MB.
    """
    try:
        return importlib.import_module("casadi")
    except ModuleNotFoundError as error:
        if error.name != "casadi":
            raise
        raise HexapodError(f"{purpose} needs CasADi, which is not installed here: {INSTALL}") from None
