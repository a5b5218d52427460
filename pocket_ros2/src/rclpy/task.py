"""Futures and the tasks that executors run."""

from __future__ import annotations

import inspect
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Generator
from typing import Any


def _no_executor() -> None:
    return None


class Future:
    """The outcome of something that is done later; `await` it in an `async def` callback."""

    def __init__(self, *, executor: Any = None) -> None:
        self._done = self._cancelled = False
        self._result: Any = None
        self._exception: BaseException | None = None
        self._exception_fetched = False
        self._callbacks: list[Callable[[Future], Any]] = []
        self._waiting: list[Callable[[], None]] = []  # called at once, whatever executor there is
        self._lock = threading.Lock()
        self._executor: Callable[[], Any] = _no_executor
        self._set_executor(executor)

    def __del__(self) -> None:
        if self._exception is not None and not self._exception_fetched:
            print(f"The following exception was never retrieved: {self._exception}", file=sys.stderr)

    def __await__(self) -> Generator[Future, None, Any]:
        while not self._done:
            yield self
        return self.result()

    def cancel(self) -> None:
        """Cancel, unless it is done already."""
        with self._lock:
            if not self._done:
                self._cancelled = True
        self._run_callbacks()

    def cancelled(self) -> bool:
        """Return whether it was cancelled."""
        return self._cancelled

    def done(self) -> bool:
        """Return whether a result or an exception is there."""
        return self._done

    def result(self) -> Any:
        """Return the result (None before it is there); raises the exception if one was set."""
        if self._exception:
            raise self.exception()
        return self._result

    def exception(self) -> BaseException | None:
        """Return the exception, None if there is none."""
        self._exception_fetched = True
        return self._exception

    def set_result(self, result: Any) -> None:
        """Set the result and run the done callbacks."""
        with self._lock:
            self._result, self._done, self._cancelled = result, True, False
        self._run_callbacks()

    def set_exception(self, exception: BaseException) -> None:
        """Set an exception and run the done callbacks."""
        with self._lock:
            self._exception, self._exception_fetched = exception, False
            self._done, self._cancelled = True, False
        self._run_callbacks()

    def _run_callbacks(self) -> None:
        with self._lock:
            executor, callbacks, self._callbacks = self._executor(), self._callbacks, []
            waiting, self._waiting = self._waiting, []
        for go_on in waiting:
            go_on()
        for callback in callbacks:
            if executor is not None:
                executor.create_task(callback, self)
                continue
            try:
                callback(self)
            except Exception as error:  # the other callbacks are to be called nevertheless
                warnings.warn(f"Unhandled exception in done callback: {error}", stacklevel=2)

    def _set_executor(self, executor: Any) -> None:
        with self._lock:
            self._executor = _no_executor if executor is None else weakref.ref(executor)

    def _call_when_done(self, go_on: Callable[[], None]) -> bool:
        """Have whoever waits for this future go on when it is done; False if it is done already."""
        with self._lock:
            if self._done or self._cancelled:
                return False
            self._waiting.append(go_on)
            return True

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Have `callback(self)` called when it is done: by the executor if it belongs to one, else at once."""
        with self._lock:
            done, executor = self._done, self._executor()
            if not done:
                self._callbacks.append(callback)
        if done and executor is not None:
            executor.create_task(callback, self)
        elif done:
            callback(self)


class Task(Future):
    """A function or coroutine that an executor runs; the return value becomes the result."""

    def __init__(
        self, handler: Any, args: Any = None, kwargs: Any = None, executor: Any = None, ended: Any = None
    ) -> None:
        super().__init__(executor=executor)
        if inspect.iscoroutinefunction(handler):
            handler = handler(*(args or ()), **(kwargs or {}))
        self._handler, self._args, self._kwargs = handler, args or (), kwargs or {}
        self._ended = ended  # called once, after the last step
        self._executing = False
        self._task_lock = threading.Lock()

    def __call__(self) -> None:
        """Run, or run on until the next `await` that has to wait."""
        if self._done or not self._task_lock.acquire(blocking=False):
            return
        self._executing = True
        try:
            if self._cancelled:
                self._close()
            elif inspect.iscoroutine(self._handler):
                self._step()
            elif not self._done:
                self._finish(self._handler)
        finally:
            self._executing = False
            self._task_lock.release()

    def _step(self) -> None:
        try:
            awaited = self._handler.send(None)
        except StopIteration as stop:
            self._complete()
            self.set_result(stop.value)
        except Exception as error:
            self._complete()
            self.set_exception(error)
        else:
            if not (isinstance(awaited, Future) and awaited._call_when_done(self._reschedule)):
                self._reschedule()

    def _finish(self, handler: Callable[..., Any]) -> None:
        try:
            result = handler(*self._args, **self._kwargs)
        except Exception as error:
            self._complete()
            self.set_exception(error)
        else:
            self._complete()
            self.set_result(result)

    def _close(self) -> None:
        if inspect.iscoroutine(self._handler):
            self._handler.close()
        self._complete()

    def _complete(self) -> None:
        self._handler = self._args = self._kwargs = None
        ended, self._ended = self._ended, None
        if ended is not None:
            ended()

    def _reschedule(self) -> None:
        executor = self._executor()
        if executor is not None:
            executor._schedule(self)

    def executing(self) -> bool:
        """Return whether it is running at this moment."""
        return self._executing
