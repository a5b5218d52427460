"""A thread that writes a node's state and checks that the file stays, so that control threads access no files."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Mapping

WATCH = 0.4  # [s] between two checks of the file, and between two attempts to write


class StateWriter:
    """Calls write(values, lost) in its own thread.

    write(values, lost) returns whether it has succeeded; lost: the file was found changed. is_lost(): whether the
    file differs from what `write` has written. on_written(number): called after each attempt, with the number of
    the newest values in it.
    """

    def __init__(
        self,
        write: Callable[[Mapping[str, object], bool], bool],
        is_lost: Callable[[], bool],
        on_written: Callable[[int], None],
    ) -> None:
        self._write_file, self._is_lost, self._on_written = write, is_lost, on_written
        self.posted = self.written = self.losses = 0
        self._values: Mapping[str, object] = {}  # the newest that were posted
        self._failed, self._ending = False, False
        self._lock = threading.Lock()  # held only for moments, because control threads call `post`
        self._file = threading.Lock()  # held while the file is written
        # Not a condition variable: below Python 3.11 its waits end at a time of the system clock, which may be set
        # back.
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._thread = threading.Thread(target=self._run, name="state", daemon=True)
        self._thread.start()

    def post(self, values: Mapping[str, object]) -> None:
        """Request that `values` are written; of several waiting requests only the last one is."""
        with self._lock:
            self._values = values
            self.posted += 1
            self._ring()

    def write(self, values: Mapping[str, object]) -> bool:
        """Write `values` in the calling thread and return whether that has succeeded."""
        with self._lock:
            self._values = values
            self.posted += 1
        return self._attempt(False)

    def close(self) -> None:
        """Write what was posted, and end the thread."""
        with self._lock:
            if self._ending:
                return
            self._ending = True
            self._ring()
        self._thread.join(1.0)

    def _ring(self) -> None:
        try:
            os.write(self._wake, b"1")
        except BlockingIOError:
            pass  # the pipe is full: the thread will wake anyway

    def _run(self) -> None:
        while True:
            if select.select([self._woken], [], [], WATCH)[0]:
                os.read(self._woken, 4096)
            if self.written < self.posted:
                self._attempt(False)
            elif self._ending:
                os.close(self._woken)
                with self._lock:
                    os.close(self._wake)
                return
            elif self._failed:
                self._attempt(False)
            elif self.posted and self._is_file_lost():
                self.losses += 1
                self._attempt(True)

    def _is_file_lost(self) -> bool:
        # wait for another thread that is writing the file, until it has stored the identity of the file
        with self._file:
            return self._is_lost()

    def _attempt(self, lost: bool) -> bool:
        with self._file:
            with self._lock:
                values, number = self._values, self.posted
            done = self._write_file(values, lost)
            self._failed, self.written = not done, number
        self._on_written(number)
        return done
