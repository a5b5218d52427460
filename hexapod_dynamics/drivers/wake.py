"""Threads that wait by the monotonic clock on each Python, and can be woken and ended meanwhile.

Below Python 3.11 the timeouts of a Condition and of an Event follow the system clock: when that is set back during a
wait, the wait takes as much longer, and nobody would read the servos or their stop button meanwhile.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import threading
from abc import ABC, abstractmethod

_log = logging.getLogger(__name__)
RESTART = 1.0  # [s] after which a thread that has failed begins anew


class Wake:
    """`set`, which any thread may call, ends the present wait of a thread or the next one; of several, of one at least.

    Where a thread is ended and started again, two may wait for a moment.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # no `set` writes to a descriptor that has been closed
        self._event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def set(self) -> None:
        """End a wait; without an effect after `close`."""
        with self._lock:
            if self._event >= 0:
                os.eventfd_write(self._event, 1)

    def wait(self, timeout: float, descriptor: int = -1) -> bool:
        """Wait for `timeout` [s] or until a file descriptor can be read; return whether it can."""
        watched = [self._event] if descriptor < 0 else [self._event, descriptor]
        ready = select.select(watched, [], [], max(timeout, 0.0))[0]
        if self._event in ready:
            with contextlib.suppress(BlockingIOError):  # another thread that waited has read it
                os.eventfd_read(self._event)
        return descriptor in ready

    def close(self) -> None:
        """Close the descriptor; the thread that waits calls it, or nobody waits any more."""
        with self._lock:
            if self._event >= 0:
                os.close(self._event)
            self._event = -1


class Worker(ABC):
    """A thread from `start` to `stop`; its subclass has `_run`, which waits by `_wake` and ends by `_stopping`.

    If `_run` raises, that is logged, and it is called again: nothing but `stop` ends the thread of a driver.
    """

    def __init__(self, name: str) -> None:
        """name: of the thread."""
        self._wake, self._stopping = Wake(), False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; wait for that, for 2 s at most."""
        self._end(2.0)

    def _end(self, timeout: float) -> bool:
        """End the thread; wait for that, for `timeout` [s] at most; return whether it has ended."""
        self._stopping = True
        self._wake.set()
        if self._thread.ident is None:  # never started
            self._release()
        else:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _work(self) -> None:
        try:
            while not self._stopping:
                try:
                    self._run()
                    return
                except Exception:
                    _log.exception("the thread %s has failed, it begins anew in %g s", self._thread.name, RESTART)
                    self._wake.wait(RESTART)
        finally:
            self._release()

    def _release(self) -> None:
        """Close what the thread alone uses; called at its end, or by `stop` where it was never started."""
        self._wake.close()

    @abstractmethod
    def _run(self) -> None:
        """Work until `_stopping` is set."""
