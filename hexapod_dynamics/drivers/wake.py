"""Threads that wait by the monotonic clock on each Python, and can be woken and ended meanwhile.

Below Python 3.11 the timeouts of a Condition and of an Event follow the system clock: when that is set back during a
wait, the wait takes as much longer, and nobody would read the servos or their stop button meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from abc import ABC, abstractmethod


class Wake:
    """`set`, which any thread may call, ends the present wait of a thread or the next one; of several, of one at least.

    Where a thread is ended and started again, two may wait for a moment.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # no `set` writes to a descriptor that has been closed
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)

    def set(self) -> None:
        """End a wait; without an effect after `close`."""
        with self._lock, contextlib.suppress(BlockingIOError):  # the pipe is full: thousands are pending
            if self._writer >= 0:
                os.write(self._writer, b"1")

    def wait(self, timeout: float, descriptor: int = -1) -> bool:
        """Wait for `timeout` [s] or until a file descriptor can be read; return whether it can."""
        watched = [self._reader] if descriptor < 0 else [self._reader, descriptor]
        ready = select.select(watched, [], [], max(timeout, 0.0))[0]
        if self._reader in ready:
            with contextlib.suppress(BlockingIOError):  # another thread that waited has read it
                os.read(self._reader, 4096)
        return descriptor in ready

    def close(self) -> None:
        """Close the pipe; the thread that waits calls it, or nobody waits any more."""
        with self._lock:
            if self._writer >= 0:
                os.close(self._reader)
                os.close(self._writer)
            self._reader = self._writer = -1


class Worker(ABC):
    """A thread from `start` to `stop`; its subclass has `_run`, which waits by `_wake` and ends by `_stopping`."""

    def __init__(self, name: str) -> None:
        """name: of the thread."""
        self._wake, self._stopping = Wake(), False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; wait for that, for 2 s at most."""
        self._stopping = True
        self._wake.set()
        if self._thread.ident is None:  # never started
            self._wake.close()
        else:
            self._thread.join(2.0)

    def _work(self) -> None:
        try:
            self._run()
        finally:
            self._wake.close()

    @abstractmethod
    def _run(self) -> None:
        """Work until `_stopping` is set."""
