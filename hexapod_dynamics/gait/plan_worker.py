"""A thread that computes changes of plan, so that the control thread only adopts finished ones."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class PlanWorker:
    """Calls one function at a time; a new request replaces the previous one. The compiled simulations of
    `Walk.rehearse` release the interpreter's lock, so the thread that ticks does not wait for them.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._asked: tuple[int, Callable[[], Any]] | None = None
        self._done: tuple[int, Any, BaseException | None] | None = None
        self._number = 0  # number of the last request
        self._closed = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread if it is not running, so that the control loop does not have to."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="plan worker", daemon=True)
            self._thread.start()

    def ask(self, function: Callable[[], Any]) -> None:
        """Call a function without arguments in the thread; it replaces an earlier request."""
        self.start()
        with self._changed:
            self._number += 1
            self._asked = self._number, function
            self._done = None
            self._changed.notify_all()

    def poll(self) -> Any:
        """Return the result of the last function once, else None; an exception of the function is raised here."""
        if self._done is None:  # so that a tick takes no lock
            return None
        with self._changed:  # a request of another thread may just have replaced it
            done, self._done = self._done, None
        if done is None:
            return None
        _, result, error = done
        if error is not None:
            raise error
        return result

    def wait(self) -> Any:
        """Wait for the last function, and return as `poll`."""
        with self._changed:
            self._changed.wait_for(lambda: self._done is not None or self._closed)
        return self.poll()

    @property
    def closed(self) -> bool:
        """Whether `close` was called: no request is computed any more."""
        return self._closed

    def close(self) -> None:
        """End the thread after the function that it executes has ended."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._asked is not None or self._closed)
                if self._closed or self._asked is None:
                    return
                (number, function), self._asked = self._asked, None
            result, failed = None, None
            try:
                result = function()
            except BaseException as error:  # raised again by `poll`, in the thread that made the request
                failed = error
            with self._changed:
                if number == self._number:
                    self._done = number, result, failed
                    self._changed.notify_all()
