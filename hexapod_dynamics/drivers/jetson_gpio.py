"""The package Jetson.GPIO, or an error that says why it cannot be used."""

from __future__ import annotations

from types import ModuleType

from hexapod_dynamics.errors import MissingPackageError


def import_gpio(purpose: str, remedy: str = "pip install Jetson.GPIO") -> ModuleType:
    """Return the module Jetson.GPIO; MissingPackageError names `purpose` and `remedy` if it cannot be imported."""
    try:
        from Jetson import GPIO
    except Exception as error:  # importing it detects the board and may raise any exception
        raise MissingPackageError(
            f"{purpose} needs the package Jetson.GPIO on a Jetson, and importing it failed "
            f"({type(error).__name__}: {' '.join(str(error).split())}); {remedy}"
        ) from error
    return GPIO
