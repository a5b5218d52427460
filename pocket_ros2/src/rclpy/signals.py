"""SIGINT and SIGTERM end the contexts, so that spinning returns."""

from __future__ import annotations

import os
import signal
import threading
from enum import IntEnum
from types import FrameType
from typing import Any

from .context import _contexts


class SignalHandlerOptions(IntEnum):
    """Which signals rclpy handles."""

    NO = 0
    SIGINT = 1
    SIGTERM = 2
    ALL = 3


_SIGNALS = {SignalHandlerOptions.SIGINT: signal.SIGINT, SignalHandlerOptions.SIGTERM: signal.SIGTERM}
_previous: dict[int, Any] = {}
_watching = False


def _handle(number: int, frame: FrameType | None) -> None:
    """End all contexts, then do what was there before us (for SIGINT: KeyboardInterrupt)."""
    for context in tuple(_contexts):
        if context._valid:
            context._invalidate()
    previous = _previous.get(number)
    if callable(previous):
        previous(number, frame)


def _watch(read_end: int) -> None:
    """Wake executors when a signal comes: Python runs handlers only after the wait in C has returned."""
    while os.read(read_end, 64):
        for context in tuple(_contexts):
            for executor in tuple(context._executors):
                executor.wake()


def _start_watching() -> None:
    global _watching
    if _watching:
        return
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    previous = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    if previous != -1:  # asyncio's; executors then notice signals at their next wake-up
        signal.set_wakeup_fd(previous, warn_on_full_buffer=False)
        os.close(read_end)
        os.close(write_end)
        return
    _watching = True
    threading.Thread(target=_watch, args=(read_end,), name="rclpy signals", daemon=True).start()


def install_signal_handlers(options: SignalHandlerOptions = SignalHandlerOptions.ALL) -> None:
    """Handle the signals chosen, and no others."""
    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread may; executors wake up often enough by themselves
    options = SignalHandlerOptions(options)
    for option, number in _SIGNALS.items():
        if options & option and number not in _previous:
            _previous[number] = signal.signal(number, _handle)
        elif not options & option and number in _previous:
            signal.signal(number, _previous.pop(number))
    _start_watching()


def uninstall_signal_handlers() -> None:
    """Put back what handled the signals before."""
    if threading.current_thread() is threading.main_thread():
        for number, previous in _previous.items():
            signal.signal(number, previous)
        _previous.clear()


def wakes_on_signal() -> bool:
    """Return whether a waiting executor is woken by a signal at once."""
    return _watching
