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
fetch_line = _intrinsic("fetch_line")
floats_at = _intrinsic("floats_at")
from_float = _intrinsic("from_float")
from_integer = _intrinsic("from_integer")
from_nothing = _intrinsic("from_nothing")
from_pair = _intrinsic("from_pair")
integers_at = _intrinsic("integers_at")
move = _intrinsic("move")
named = _intrinsic("named")
new_array = _intrinsic("new_array")
number_at = _intrinsic("number_at")
peek = _intrinsic("peek")
set_item = _intrinsic("set_item")
write_at = _intrinsic("write_at")
