"""Work in the background, so that the control loop never waits: the latest request counts, a failure is reported.

`LatestCall` computes in a thread, `BackgroundCall` in a separate process at low priority: its arguments are a pickle,
its answer is JSON, so that no output of a process is executed, and the caller checks it. `start`, `poll` and `cancel`
only exchange data with a thread and return at once. The process imports this package from the same place as its caller,
and nothing from the working directory; it ends when its caller ends.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Generic, TypeVar, cast

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.process_environment import THREAD_COUNTS

MAX_ANSWER_SIZE = 2**20  # [bytes] of an answer; a plan has about 2000
Result = TypeVar("Result")
PACKAGE = Path(__file__).resolve().parents[1]
# The program of the process; its arguments: the function, and the folders from which modules are imported.
PROGRAM = "import sys; sys.path[:] = sys.argv[2:]; from hexapod_dynamics.background import serve; serve(sys.argv[1])"


class LatestCall(Generic[Result]):
    """Calls one function at a time in a thread; a new request replaces the previous one.

    The compiled simulations of a change of plan release the interpreter's lock, so the thread that ticks does not wait
    for them. busy: whether a result has not been fetched yet; closed: whether no request is computed any more.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._asked: Callable[[], Result] | None = None
        self._done: tuple[Result | None, BaseException | None] | None = None
        self._number = 0  # of the last request
        self._thread: threading.Thread | None = None
        self.busy = self.closed = False

    def request(self, function: Callable[[], Result]) -> None:
        """Call a function without arguments in the thread; it replaces an earlier request."""
        with self._changed:
            self._number += 1
            self._asked, self._done, self.busy = function, None, not self.closed
            if self._thread is None and not self.closed:
                self._thread = threading.Thread(target=self._run, name="latest call", daemon=True)
                self._thread.start()

    def drop(self) -> None:
        """Forget the last request."""
        with self._changed:
            self._number += 1
            self._asked, self._done, self.busy = None, None, False
            self._changed.notify_all()

    def poll(self) -> Result | None:
        """Return the result of the finished function, only once; None if there is none. Raises its exception again."""
        if self._done is None:  # so that a tick takes no lock
            return None
        with self._changed:  # a request of another thread may just have replaced it
            if self._done is None:
                return None
            (result, error), self._done, self.busy = self._done, None, False
        if error is not None:
            raise error
        return result

    def wait(self) -> Result | None:
        """Wait for the last function, unless it is dropped, and return as `poll`."""
        with self._changed:
            self._changed.wait_for(lambda: self._done is not None or self.closed or not self.busy)
        return self.poll()

    def close(self) -> None:
        """End the thread after the function that it executes has ended."""
        with self._changed:
            self.closed, thread = True, self._thread
            self._changed.notify_all()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                number, function, self._asked = self._number, self._asked, None
                if self.closed or function is None:
                    self._thread = None
                    return
            result, failed = None, None
            try:
                result = function()
            except BaseException as error:  # raised again by `poll`, in the thread that made the request
                failed = error
            with self._changed:
                if number == self._number:
                    self._done = result, failed
                    self._changed.notify_all()


class BackgroundCall(LatestCall[tuple[Result | None, str]], Generic[Result]):
    """One call at a time of a function in a process; a new call replaces the previous one.

    function: "module:name", which is imported in the process; errors call the job by its name. check: makes the result
    from the answer and the arguments of the job, and raises HexapodError for an answer that is wrong. limit [s]: the
    longest time of a job; plans take seconds, or some minutes on a slow computer.
    """

    def __init__(self, function: str, check: Callable[..., Result], *, limit: float = 900.0) -> None:
        super().__init__()
        self._function, self._check, self._limit = function, check, limit
        self._job = function.rpartition(":")[2]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *arguments: object) -> None:
        """Start the job; an argument that is a function is replaced by its result, in the worker's thread."""
        with self._changed:
            self.cancel()
            call = self._number + 1
            self.request(lambda: self._result(call, arguments))

    def cancel(self) -> None:
        """End the job, if there is one, and discard its result."""
        with self._changed:
            self.drop()
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """End the job and the thread."""
        self.cancel()
        super().close()

    def poll(self) -> tuple[Result | None, str] | None:
        """Return (result, "") once when the call has ended, (None, reason) when it failed, else None."""
        try:
            return super().poll()
        except (HexapodError, OSError) as error:
            return None, str(error)
        except Exception as error:  # any error: the caller continues and reports it
            return None, f"the job {self._job} failed: {type(error).__name__}: {error}"

    def _result(self, call: int, arguments: tuple[object, ...]) -> tuple[Result, str]:
        """Return the checked answer of the process; in the worker's thread."""
        given = [one() if callable(one) else one for one in arguments]
        # The unpickler peeks beyond the pickle and would wait there, because the pipe stays open.
        text = self._answer(call, pickle.dumps(given) + b"\n")
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            start = text[:60].decode(errors="replace")
            raise HexapodError(f"the job {self._job} answered {start!r}, which is no JSON") from None
        if isinstance(answer, dict) and answer.keys() == {"reason"}:
            raise HexapodError(str(answer["reason"]))
        return self._check(answer, *given), ""

    def _answer(self, call: int, request: bytes) -> bytes:
        """Return what the process has written; HexapodError if it failed, took too long or wrote too much.

        Its input stays open, because the process ends when its input is closed.
        """
        with self._changed:
            if call != self._number:
                raise HexapodError(f"the job {self._job} was cancelled")
            process = self._process = subprocess.Popen(
                command(self._function),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                env=os.environ | dict.fromkeys(THREAD_COUNTS, "1"),
            )
        late, answer = threading.Event(), bytearray()

        def end_late() -> None:
            late.set()
            process.kill()

        clock = threading.Timer(self._limit, end_late)
        clock.daemon = True
        clock.start()
        try:
            with process:
                written, read = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
                with suppress(BrokenPipeError):  # the process has ended; its exit status tells why
                    written.write(request)
                while len(answer) <= MAX_ANSWER_SIZE and (piece := read.read(2**16)):
                    answer += piece
                if len(answer) > MAX_ANSWER_SIZE:
                    process.kill()
                process.wait()
        finally:
            clock.cancel()
            with self._changed:
                self._process = None
        if late.is_set():
            raise HexapodError(f"the job {self._job} gave no answer within {self._limit:.0f} s and was ended")
        if len(answer) > MAX_ANSWER_SIZE:
            raise HexapodError(f"the job {self._job} wrote more than {MAX_ANSWER_SIZE} bytes and was ended")
        if process.returncode != 0:
            code = process.returncode
            status = f"exit status {code}; its own words are in the log"
            if code < 0:
                status = f"signal {signal.Signals(-code).name}; one that needs too much memory is ended by SIGKILL"
            raise HexapodError(f"the job {self._job} ended with {status}")
        return bytes(answer)


def command(function: str) -> list[str]:
    """Return the command of the process: isolated (-I), with the caller's folders except the working directory."""
    try:
        here = Path.cwd().resolve()
    except OSError:  # it does not exist any more
        here = None
    others = [path for path in sys.path if Path(path).is_absolute() and Path(path).resolve() not in (here, PACKAGE)]
    return [sys.executable, "-I", "-c", PROGRAM, function, str(PACKAGE), *others]


def serve(function: str) -> None:
    """Call the function, in the process, with the arguments from standard input; end at once when that is closed.

    The answer is what it returns, or {"reason": text} where it raises HexapodError.
    """
    os.nice(10)
    answers = os.dup(1)
    os.dup2(2, 1)  # all printed text goes to the log
    arguments = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_the_caller, daemon=True).start()
    module, _, name = function.partition(":")
    try:
        answer = getattr(import_module(module), name)(*arguments)
    except HexapodError as error:
        answer = {"reason": str(error)}
    with os.fdopen(answers, "wb") as out:
        out.write(json.dumps(answer, default=_plain).encode())


def _plain(value: object) -> object:
    """Return what JSON can hold of an array or of an object with fields."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else vars(value)


def _end_with_the_caller() -> None:
    # os.read: at its end the interpreter would wait for the lock of a buffered reader.
    while os.read(0, 4096):
        pass
    os._exit(1)
