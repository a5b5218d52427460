"""Informs listeners that the C compiler is about to compile the model of a robot."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

_announced = False
_listeners: list[Callable[[], None]] = []


def when_compiling(listener: Callable[[], None]) -> None:
    """Call listener() each time before something is compiled because it is not in the cache."""
    _listeners.append(listener)


def forget_listener(listener: Callable[[], None]) -> None:
    """Call a listener of `when_compiling` no longer."""
    _listeners.remove(listener)


def announce(directory: Path) -> None:
    """Print once, on stderr, that this start takes longer and why; call the listeners each time.

    directory: of the compiled code.
    """
    global _announced
    for listener in _listeners:
        listener()
    if not _announced:
        _announced = True
        print(
            "hexapod_dynamics: compiling the model for this machine, once, which takes some seconds; kept in "
            f"{directory}",
            file=sys.stderr,
            flush=True,
        )
