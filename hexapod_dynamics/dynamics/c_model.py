"""The functions of the C model (native/include/hd_dynamics.h) for kernels; c_model.pxd declares them.

Kernels that use this module run only when compiled.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Raise an error with the remedy if a kernel runs that was not compiled."""
    raise AttributeError(f"{name} is a function in C: kernels that call it must be compiled; build the package")
