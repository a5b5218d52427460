"""The names of intrinsics.py for functions to be compiled; the compiler is loaded when it compiles one of them."""

from __future__ import annotations

from typing import Any

from hexapod_dynamics.compiled import Late


def _intrinsic(name: str) -> Any:
    def make() -> Any:
        from hexapod_dynamics.dynamics import intrinsics  # loads numba

        return getattr(intrinsics, name)

    return Late(make)


borrowed = _intrinsic("borrowed")
call_kernel = _intrinsic("call_kernel")
