"""Processes that compute beside this one, and end with it.

Not a ProcessPoolExecutor: this one reads the results of all processes in one thread, from a pipe whose writing end it
has, too. If Ctrl-C ends a process that has sent a part of its result, that thread, for which the program waits at its
end, waits for the rest. Here each process has a thread and a pipe of its own, and the end of the one is that of the
others.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import ParamSpec, TypeVar

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.process_environment import limit_child_threads

SPAWN = get_context("spawn")
P = ParamSpec("P")
T = TypeVar("T")


class WorkerProcesses(ThreadPoolExecutor):
    """An Executor with processes that compute in one thread each, by default one for each core; a context.

    An exception in the context, as of Ctrl-C, ends them at once; what they have begun and what waits for them is
    dropped. Functions, arguments and results are pickled.
    """

    def __init__(self, jobs: int | None = None) -> None:
        super().__init__(jobs or os.cpu_count())
        self._own = threading.local()  # of each thread: the pipe to its process
        self._starting = threading.Lock()
        self._processes: list[BaseProcess] = []
        self._ended = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Compute fn(*args, **kwargs) in a process; the Future raises HexapodError if the process ends meanwhile."""
        return super().submit(self._compute, fn, args, kwargs)

    def _compute(self, function: Callable[..., T], args: tuple[object, ...], kwargs: dict[str, object]) -> T:
        pipe: Connection | None = getattr(self._own, "pipe", None)
        if pipe is None:
            pipe = self._own.pipe = self._start()
        try:
            pipe.send((function, args, kwargs))
            result, error, text = pipe.recv()
        except (EOFError, OSError) as lost:
            self._own.pipe = None
            raise HexapodError("a process that computed has ended: was there too little memory?") from lost
        if error is not None:
            raise error from HexapodError(text)
        return result

    def _start(self) -> Connection:
        """Start the process of this thread; return the pipe to it."""
        # Ctrl-C, which all processes of a terminal get, is left to the process that gives the work: the thread's signal
        # mask is that of its process. The start of multiprocessing's own process would change it.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        own, other = SPAWN.Pipe()
        process = SPAWN.Process(target=_work, args=(other,), daemon=True)
        with self._starting:
            if self._ended:
                raise HexapodError("the processes have been ended")
            with limit_child_threads():
                process.start()
            self._processes.append(process)
        other.close()  # so that the end of the process is that of the pipe
        return own

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for what is computed; end it after an exception."""
        try:
            if kind is None:
                self.shutdown()
        finally:  # also of Ctrl-C while it waits
            self.shutdown(wait=False, cancel_futures=True)
            with self._starting:
                self._ended = True
                for process in self._processes:
                    process.terminate()


def _work(pipe: Connection) -> None:
    """Compute what comes through the pipe until it is closed; end with the process at its other end."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError):
        while True:
            function, args, kwargs = pipe.recv()
            try:
                pipe.send((function(*args, **kwargs), None, ""))
            except Exception as error:  # also of a result that cannot be pickled
                pipe.send((None, _sendable(error), traceback.format_exc()))


def _sendable(error: Exception) -> Exception:
    """Return the exception, or a HexapodError with its type and text if pickling does not give the same exception."""
    told = type(error).__name__
    try:
        told = f"{told}: {error}"
        copy = pickle.loads(pickle.dumps(error))
    except Exception:  # what the class of the exception, or a value in it, raises
        return HexapodError(told)
    return error if f"{type(copy).__name__}: {copy}" == told else HexapodError(told)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
