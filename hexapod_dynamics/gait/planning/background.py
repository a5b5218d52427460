"""Work in the background, so that the control loop never waits: the latest request counts, a failure is reported.

`PlanWorker` is a thread that computes changes of plan from the robot's present state. `BackgroundCall` runs a planning
job in a separate process at low priority: request and answer are JSON (jobs.py), so that no output of a process is
executed. A thread starts the process, reads its answer while it runs, and checks it; `ask`, `poll` and `cancel` only
exchange data with it and return at once. The process imports this package from the same place as its caller, and
nothing from the working directory; it ends when its caller ends.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.planning.jobs import decode_plan, encode_plan_request
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.process_environment import THREAD_COUNTS
from hexapod_dynamics.robot import Morphology, Robot

LIMIT = 900.0  # [s] after which a job is ended; plans take seconds to some minutes on a slow computer
LARGEST = 2**20  # [bytes] of an answer; a plan has about 2000
_PIECE, _LOOK = 65536, 0.1  # [bytes] read at once; [s] between two checks whether the job was cancelled
Result = TypeVar("Result")
PACKAGE = Path(__file__).resolve().parents[3]
# The program of the process; its arguments: the job, and the folders from which modules are imported.
PROGRAM = (
    "import sys; sys.path[:] = sys.argv[2:]; from hexapod_dynamics.gait.planning.jobs import serve; serve(sys.argv[1])"
)


class BackgroundCall(Generic[Result]):
    """One call at a time of a job of `background_jobs`; a new call replaces the previous one.

    encode: makes the JSON values of a request from the arguments of `ask`; decode: makes the result from the answer and
    these arguments, and raises HexapodError for an answer that is wrong. limit [s]: the longest time of a job.
    """

    def __init__(
        self, job: str, encode: Callable[..., object], decode: Callable[..., Result], *, limit: float = LIMIT
    ) -> None:
        self._job, self._encode, self._decode, self._limit = job, encode, decode, limit
        self._running: _Running[Result] | None = None
        self._replacing = threading.Lock()  # one thread asks while another polls

    def ask(self, *arguments: object) -> None:
        """Start the job."""
        new = _Running(self._job, self._encode, self._decode, arguments, self._limit)
        with self._replacing:
            before, self._running = self._running, new
        if before is not None:
            before.cancel()
        new.start()

    @property
    def busy(self) -> bool:
        """True if a call is running or its result has not been fetched."""
        return self._running is not None

    def poll(self) -> tuple[Result | None, str] | None:
        """Return (result, "") once when the call has ended, (None, reason) when it failed, else None."""
        with self._replacing:
            running = self._running
            if running is None or running.done is None:
                return None
            self._running = None
        return running.done

    def cancel(self) -> None:
        """End the job, if there is one."""
        with self._replacing:
            running, self._running = self._running, None
        if running is not None:
            running.cancel()


class _Running(threading.Thread, Generic[Result]):
    """One job; done: (result, reason) after it has ended."""

    def __init__(
        self,
        job: str,
        encode: Callable[..., object],
        decode: Callable[..., Result],
        arguments: tuple[object, ...],
        limit: float,
    ) -> None:
        super().__init__(name=f"job {job}", daemon=True)
        self._job, self._codec, self._arguments, self._limit = job, (encode, decode), arguments, limit
        self._process: subprocess.Popen[bytes] | None = None
        self._lock, self._cancelled = threading.Lock(), False
        self.done: tuple[Result | None, str] | None = None

    def cancel(self) -> None:
        """End the process and discard its result."""
        with self._lock:
            self._cancelled = True
            if self._process is not None:
                self._process.kill()

    def run(self) -> None:
        """Start the process and store its answer."""
        encode, decode = self._codec
        try:
            request = json.dumps(encode(*self._arguments)).encode() + b"\n"
            result = decode(_parsed(self._job, self._answer(request)), *self._arguments)
            self.done = result, ""
        except (HexapodError, OSError) as error:
            self.done = None, str(error)
        except Exception as error:  # any error: the caller continues and reports it
            self.done = None, f"the job {self._job} failed: {type(error).__name__}: {error}"

    def _answer(self, request: bytes) -> bytes:
        """Return what the process has written; HexapodError if it failed, took too long or wrote too much."""
        with self._lock:
            if self._cancelled:
                raise HexapodError(f"the job {self._job} was cancelled")
            process = self._process = subprocess.Popen(
                command(self._job),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                env=os.environ | dict.fromkeys(THREAD_COUNTS, "1"),
            )
        try:
            answer = self._exchange(process, request)
        finally:
            with self._lock:
                self._process = None  # its process id may now belong to another process
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        if process.returncode != 0:
            raise HexapodError(f"the job {self._job} ended with {_named(process.returncode)}")
        return answer

    def _exchange(self, process: subprocess.Popen[bytes], request: bytes) -> bytes:
        """Write the request and read the answer until the process ends; its input stays open, because the process
        ends when its input is closed.
        """
        if process.stdin is None or process.stdout is None:
            raise HexapodError(f"the job {self._job} has no pipes")
        stdin, stdout, left, answer = process.stdin.fileno(), process.stdout.fileno(), memoryview(request), bytearray()
        os.set_blocking(stdin, False)
        end = time.monotonic() + self._limit
        while True:
            if self._cancelled:
                raise HexapodError(f"the job {self._job} was cancelled")
            if time.monotonic() > end:
                raise HexapodError(f"the job {self._job} gave no answer within {self._limit:.0f} s and was ended")
            readable, writable, _ = select.select([stdout], [stdin] if left else [], [], _LOOK)
            if writable:
                try:
                    left = left[os.write(stdin, left[:_PIECE]) :]
                except BrokenPipeError:  # the process has ended; its exit status tells why
                    left = left[:0]
            if readable:
                piece = os.read(stdout, _PIECE)
                answer += piece
                if len(answer) > LARGEST:
                    raise HexapodError(f"the job {self._job} wrote more than {LARGEST} bytes and was ended")
                if not piece:
                    break
        process.wait(max(0.0, end - time.monotonic()))
        return bytes(answer)


def command(job: str) -> list[str]:
    """Return the command of a job's process: isolated (-I), with the caller's folders except the working
    directory.
    """
    here = Path.cwd().resolve() if _has_directory() else None
    paths = [str(PACKAGE)]
    for path in sys.path:
        if path and Path(path).is_absolute() and Path(path).resolve() not in (here, PACKAGE):
            paths.append(path)
    return [sys.executable, "-I", "-c", PROGRAM, job, *paths]


def _has_directory() -> bool:
    """Return whether the working directory still exists."""
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _parsed(job: str, answer: bytes) -> object:
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        start = answer[:60].decode(errors="replace")
        raise HexapodError(f"the job {job} answered {start!r}, which is no JSON") from None


def _named(code: int) -> str:
    """Return the exit status of a process in words."""
    if code >= 0:
        return f"exit status {code}; its own words are in the log"
    return f"signal {signal.Signals(-code).name}; a process that needs too much memory is ended by SIGKILL"


class BackgroundPlanner:
    """One plan at a time; a new request replaces the previous one."""

    def __init__(self) -> None:
        self._call = BackgroundCall("plan", encode_plan_request, decode_plan)

    def ask(self, robot: Robot, lost: Iterable[str], morphology: Morphology) -> None:
        """Start planning for a robot without these legs (names)."""
        self._call.ask(robot, tuple(lost), morphology)

    @property
    def busy(self) -> bool:
        """Whether a plan is being made."""
        return self._call.busy

    def poll(self) -> GaitPlan | str | None:
        """Return the GaitPlan, or the reason why there is none, once planning has ended; else None."""
        done = self._call.poll()
        if done is None:
            return None
        answer, failure = done
        return failure or answer

    def cancel(self) -> None:
        """End the planning, if there is any."""
        self._call.cancel()


class PlanWorker(Generic[Result]):
    """Calls one function at a time; a new request replaces the previous one. The compiled simulations of
    `Walk.rehearse` release the interpreter's lock, so the thread that ticks does not wait for them.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._asked: tuple[int, Callable[[], Result]] | None = None
        self._done: tuple[int, Result | None, BaseException | None] | None = None
        self._number = 0  # number of the last request
        self._closed = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread if it is not running, so that the control loop does not have to."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="plan worker", daemon=True)
            self._thread.start()

    def ask(self, function: Callable[[], Result]) -> None:
        """Call a function without arguments in the thread; it replaces an earlier request."""
        self.start()
        with self._changed:
            self._number += 1
            self._asked = self._number, function
            self._done = None
            self._changed.notify_all()

    def poll(self) -> Result | None:
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

    def wait(self) -> Result | None:
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
