"""Work in the background, so that the control loop never waits: the latest request counts, a failure is reported.

`PlanWorker` computes changes of plan in a thread. `BackgroundCall` runs a job in a separate process at low priority:
request and answer are JSON, so that no output of a process is executed, only the classes TYPES and the jobs JOBS exist
there, and every object that is read is checked by its own class. `ask`, `poll` and `cancel` only exchange data with a
thread and return at once. The process imports this package from the same place as its caller, and nothing from the
working directory; it ends when its caller ends.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.planning.library import plan_of
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.process_environment import THREAD_COUNTS
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.checked_yaml import Section
from hexapod_dynamics.robot.leg import Leg
from hexapod_dynamics.robot.parts import Body, Contact, Imu, Joint, JointServo, Link, Servo

LARGEST = 2**20  # [bytes] of an answer; a plan has about 2000
Result = TypeVar("Result")
PACKAGE = Path(__file__).resolve().parents[3]
# Function (module:name) of each job; `encode` and `decode` carry its arguments and what it returns.
JOBS = {
    "plan": "hexapod_dynamics.gait.planning.search:requested_plan",
    "swings": "hexapod_dynamics.gait.optimal:requested_swings",
}
# The program of the process; its arguments: the job, and the folders from which modules are imported.
PROGRAM = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from hexapod_dynamics.gait.planning.background import serve; serve(sys.argv[1])"
)


class PlanWorker(Generic[Result]):
    """Calls one function at a time in a thread; a new request replaces the previous one.

    The compiled simulations of `Walk.rehearse` release the interpreter's lock, so the thread that ticks does not wait
    for them. busy: whether a result has not been fetched yet; closed: whether no request is computed any more.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._asked: Callable[[], Result] | None = None
        self._done: tuple[Result | None, BaseException | None] | None = None
        self._number = 0  # of the last request
        self._thread: threading.Thread | None = None
        self.busy = self.closed = False

    def ask(self, function: Callable[[], Result]) -> None:
        """Call a function without arguments in the thread; it replaces an earlier request."""
        with self._changed:
            self._number += 1
            self._asked, self._done, self.busy = function, None, True
            if self._thread is None and not self.closed:
                self._thread = threading.Thread(target=self._run, name="plan worker", daemon=True)
                self._thread.start()

    def drop(self) -> None:
        """Forget the last request."""
        with self._changed:
            self._number += 1
            self._asked, self._done, self.busy = None, None, False

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
        """Wait for the last function, and return as `poll`."""
        with self._changed:
            self._changed.wait_for(lambda: self._done is not None or self.closed)
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


class BackgroundCall(Generic[Result]):
    """One call at a time of a job of JOBS in a process; a new call replaces the previous one.

    check: makes the result from the answer and the arguments of the job, and raises HexapodError for an answer that is
    wrong. limit [s]: the longest time of a job; plans take seconds, or some minutes on a slow computer.
    """

    def __init__(self, job: str, check: Callable[..., Result], *, limit: float = 900.0) -> None:
        self._job, self._check, self._limit = job, check, limit
        self._worker: PlanWorker[tuple[Result, str]] = PlanWorker()
        self._process: subprocess.Popen[bytes] | None = None
        self._replacing = threading.Lock()
        self._call = 0  # number of the present call

    def start(self, *arguments: object) -> None:
        """Start the job; an argument that is a function is replaced by its result, in the worker's thread."""
        call = self._end_job()
        self._worker.ask(lambda: self._result(call, arguments))

    def cancel(self) -> None:
        """End the job, if there is one, and discard its result."""
        self._worker.drop()
        self._end_job()

    @property
    def busy(self) -> bool:
        """True if a call is running or its result has not been fetched."""
        return self._worker.busy

    def poll(self) -> tuple[Result | None, str] | None:
        """Return (result, "") once when the call has ended, (None, reason) when it failed, else None."""
        try:
            return self._worker.poll()
        except (HexapodError, OSError) as error:
            return None, str(error)
        except Exception as error:  # any error: the caller continues and reports it
            return None, f"the job {self._job} failed: {type(error).__name__}: {error}"

    def _end_job(self) -> int:
        """End the process, if there is one; return the number of the next call."""
        with self._replacing:
            if self._process is not None:
                self._process.kill()
            self._call += 1
            return self._call

    def _result(self, call: int, arguments: tuple[object, ...]) -> tuple[Result, str]:
        """Return the checked answer of the process; in the worker's thread."""
        given = [one() if callable(one) else one for one in arguments]
        text = self._answer(call, json.dumps(encode(given)).encode() + b"\n")
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            start = text[:60].decode(errors="replace")
            raise HexapodError(f"the job {self._job} answered {start!r}, which is no JSON") from None
        if isinstance(answer, dict) and answer.keys() == {"reason"}:
            raise HexapodError(str(answer["reason"]))
        return self._check(decode(answer), *given), ""

    def _answer(self, call: int, request: bytes) -> bytes:
        """Return what the process has written; HexapodError if it failed, took too long or wrote too much.

        Its input stays open, because the process ends when its input is closed.
        """
        late = threading.Event()
        with self._replacing:
            if call != self._call:
                raise HexapodError(f"the job {self._job} was cancelled")
            process = self._process = subprocess.Popen(
                command(self._job),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                env=os.environ | dict.fromkeys(THREAD_COUNTS, "1"),
            )

        def end_late() -> None:
            late.set()
            process.kill()

        clock, answer = threading.Timer(self._limit, end_late), bytearray()
        clock.daemon = True
        clock.start()
        try:
            with process:
                try:
                    process.stdin.write(request)
                except BrokenPipeError:  # the process has ended; its exit status tells why
                    pass
                while len(answer) <= LARGEST and (piece := process.stdout.read(2**16)):
                    answer += piece
                if len(answer) > LARGEST:
                    process.kill()
                process.wait()
        finally:
            clock.cancel()
            self._process = None
        if late.is_set():
            raise HexapodError(f"the job {self._job} gave no answer within {self._limit:.0f} s and was ended")
        if len(answer) > LARGEST:
            raise HexapodError(f"the job {self._job} wrote more than {LARGEST} bytes and was ended")
        if process.returncode != 0:
            code = process.returncode
            status = f"exit status {code}; its own words are in the log"
            if code < 0:
                status = f"signal {signal.Signals(-code).name}; one that needs too much memory is ended by SIGKILL"
            raise HexapodError(f"the job {self._job} ended with {status}")
        return bytes(answer)


def command(job: str) -> list[str]:
    """Return the command of a job's process: isolated (-I), with the caller's folders except the working directory."""
    try:
        here = Path.cwd().resolve()
    except OSError:  # it does not exist any more
        here = None
    others = [path for path in sys.path if Path(path).is_absolute() and Path(path).resolve() not in (here, PACKAGE)]
    return [sys.executable, "-I", "-c", PROGRAM, job, str(PACKAGE), *others]


# ---- values in a message ---------------------------------------------------------------------------------------------

TYPES: dict[str, type] = {
    one.__name__: one for one in (Robot, Body, Leg, Link, Joint, JointServo, Servo, Contact, Imu, GaitPlan)
}
_TYPE, _ARRAY, _TUPLE = "type", "array", "tuple"


def encode(value: Any) -> object:
    """Convert to what JSON holds: numbers, text, lists, tuples, arrays of numbers and the dataclasses of TYPES."""
    if value is None or isinstance(value, bool | str | int | float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return {_ARRAY: value.tolist()}
    if isinstance(value, tuple):
        return {_TUPLE: [encode(one) for one in value]}
    if isinstance(value, list):
        return [encode(one) for one in value]
    if type(value).__name__ in TYPES:
        fields = {one.name: encode(getattr(value, one.name)) for one in dataclasses.fields(value)}
        return {_TYPE: type(value).__name__, **fields}
    raise HexapodError(f"{type(value).__name__}: allowed are {', '.join(TYPES)}, numbers, text, lists and arrays")


def decode(value: object) -> Any:
    """Return the value that `encode` was called with; HexapodError if `encode` cannot have made the argument."""
    if isinstance(value, list):
        return [decode(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_ARRAY}:
        return np.array(value[_ARRAY], float)
    if value.keys() == {_TUPLE}:
        return tuple(decode(one) for one in value[_TUPLE])
    kind = TYPES.get(str(value.get(_TYPE)))
    if kind is None:
        raise HexapodError(f"an object of the type {value.get(_TYPE)!r}: allowed are {', '.join(TYPES)}")
    names, fields = {one.name for one in dataclasses.fields(kind)}, {k: v for k, v in value.items() if k != _TYPE}
    if fields.keys() != names:
        raise HexapodError(f"{kind.__name__} with {sorted(fields)}: needed are {sorted(names)}")
    return kind(**{name: decode(one) for name, one in fields.items()})


# ---- jobs ------------------------------------------------------------------------------------------------------------


class BackgroundPlanner(BackgroundCall[GaitPlan]):
    """Makes one plan at a time."""

    def __init__(self) -> None:
        super().__init__("plan", checked_plan)

    def ask(self, robot: Robot, lost: Sequence[str], morphology: Morphology) -> None:
        """Start to make the plan of a Robot with a Morphology, without the legs `lost` (names)."""
        self.start(robot, tuple(lost), tuple(morphology.parameters().items()))


def checked_plan(plan: object, robot: Robot, lost: Sequence[str], _morphology: object) -> GaitPlan:
    """Return the GaitPlan that was asked for; HexapodError for anything else."""
    if not isinstance(plan, GaitPlan):
        raise HexapodError(f"the job plan answered {repr(plan)[:80]}: a plan is needed")
    fields = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(plan).items()}
    checked = plan_of(robot, Section(fields, "the plan that was made"))
    if set(checked.legs) & set(lost):
        raise HexapodError(f"the plan that was made walks on {', '.join(plan.legs)}, without {', '.join(lost)} asked")
    return checked


def serve(job: str) -> None:
    """Execute, in the process, the job that is requested on standard input; end at once when that is closed.

    The answer is what its function returns, or {"reason": text} where it raises HexapodError.
    """
    os.nice(10)
    answers = os.dup(1)
    os.dup2(2, 1)  # all printed text goes to the log
    request = decode(json.loads(sys.stdin.buffer.readline()))
    threading.Thread(target=_end_with_the_caller, daemon=True).start()
    try:
        answer = encode(job_function(job)(*request))
    except HexapodError as error:
        answer = {"reason": str(error)}
    with os.fdopen(answers, "wb") as out:
        out.write(json.dumps(answer).encode())


def job_function(job: str) -> Callable[..., object]:
    """Return the function of a job."""
    module, _, name = JOBS[job].partition(":")
    function: Callable[..., object] = getattr(import_module(module), name)
    return function


def _end_with_the_caller() -> None:
    # os.read: at its end the interpreter would wait for the lock of a buffered reader.
    while os.read(0, 4096):
        pass
    os._exit(1)
