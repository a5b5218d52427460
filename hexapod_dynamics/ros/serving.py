"""Runs an executor's callbacks in the thread of a TickLoop, between its ticks.

In `Waiter` a second thread waits in the executor, so that a tick builds no wait set and a request does not wait
for a tick; it needs a part of rclpy outside its documented interface (`internals`). `Spinner` does the same by
`Executor.spin_once`, at a higher cost, for versions of rclpy that lack that part.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

from hexapod_dynamics.ros import internals
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, ShutdownException

if TYPE_CHECKING:
    from rclpy.executors import Executor

Calls = deque[tuple[Callable[[], object], Future]]  # of `TickLoop.submit`
# Messages in the pipe that wakes the thread that ticks.
CALLBACK, CALL = b"1", b"2"


def serving(executor: Executor, calls: Calls) -> Waiter | Spinner:
    """Return the Waiter or Spinner for the callbacks of an executor and for `calls`, (function, Future) of
    `TickLoop.submit`.
    """
    return (Waiter if internals.can_wait(executor) else Spinner)(executor, calls)


def call_next(calls: Calls) -> None:
    """Run the function that has waited longest, if any; an exception is raised here, and where the result is
    awaited.
    """
    if not calls:
        return
    function, future = calls.popleft()
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(function())
        except Exception as error:  # raised again where the node runs, and where the result is awaited
            future.set_exception(error)
            raise


def cancel(calls: Calls) -> None:
    """Cancel the waiting functions."""
    while calls:
        calls.popleft()[1].cancel()


class Waiter:
    """A thread that waits for callbacks of an executor; `serve` runs them in the thread of its caller.

    calls: (function, Future) of `TickLoop.submit`; `serve` runs these, too.
    """

    def __init__(self, executor: Executor, calls: Calls) -> None:
        self._executor, self._calls = executor, calls
        self._handler, self._error, self._ending = None, None, False
        self._wake, self._woken = os.pipe()
        self._served = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name="executor", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ending:
            try:
                self._handler, _, _ = self._executor.wait_for_ready_callbacks()
            except (ShutdownException, ExternalShutdownException):
                return
            except InvalidHandle:  # an entity was destroyed while it was collected
                continue
            except Exception as error:  # raised again where the node runs
                self._error = error
            os.write(self._woken, CALLBACK)
            self._served.acquire()

    def call_soon(self) -> None:
        """Wake the thread that serves, because `calls` has a new entry; any thread may call this."""
        os.write(self._woken, CALL)

    def serve(self, until: float) -> None:
        """Run the callbacks that are due until the monotonic time `until` [s]; at least one if that time has passed."""
        while True:
            left = max(until - time.monotonic(), 0.0)
            if not select.select([self._wake], [], [], left)[0]:
                return
            if os.read(self._wake, 1) == CALL:
                call_next(self._calls)
            else:
                self._callback()
            if not left:
                return

    def _callback(self) -> None:
        if self._error is not None:
            raise self._error
        self._handler()
        failed = self._handler.exception() if self._handler.done() else None
        self._served.release()
        if failed is not None:
            raise failed

    def close(self) -> None:
        """End the thread; waiting functions are cancelled."""
        self._ending = True
        cancel(self._calls)
        self._executor.create_task(lambda: None)  # ends the wait; the thread then returns no more callbacks
        self._served.release()
        self._thread.join(1.0)
        if not self._thread.is_alive():
            if CALLBACK in self._left():
                self._handler()  # the last returned callback: rclpy reports callbacks that are never run
            os.close(self._wake)
            os.close(self._woken)

    def _left(self) -> bytes:
        """Read and discard the rest of the pipe."""
        left = b""
        while select.select([self._wake], [], [], 0.0)[0]:
            left += os.read(self._wake, 64)
        return left


class Spinner:
    """The same as `Waiter` with the public interface of rclpy: `serve` spins the executor in the thread of its
    caller.
    """

    def __init__(self, executor: Executor, calls: Calls) -> None:
        self._executor, self._calls = executor, calls

    def call_soon(self) -> None:
        """Let `serve` run the next of `calls`; any thread may call this."""
        self._executor.create_task(call_next, self._calls)

    def serve(self, until: float) -> None:
        """Run the callbacks that are due until the monotonic time `until` [s]; at least one if that time has passed."""
        while True:
            left = max(until - time.monotonic(), 0.0)
            try:
                self._executor.spin_once(timeout_sec=left)
            except (ShutdownException, ExternalShutdownException):
                time.sleep(left)
            except InvalidHandle:  # an entity was destroyed while it was collected
                continue
            if time.monotonic() >= until:
                return

    def close(self) -> None:
        """Cancel the waiting functions."""
        cancel(self._calls)
