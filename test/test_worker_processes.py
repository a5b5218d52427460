"""`WorkerProcesses` compute, report what goes wrong, and end with the program that uses them."""

import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest
from support.waiting import wait_until

from hexapod_dynamics.errors import HexapodError, RobotError
from hexapod_dynamics.process_environment import THREAD_COUNTS
from hexapod_dynamics.worker_processes import WorkerProcesses

PROGRAM = """
import time
from hexapod_dynamics.worker_processes import WorkerProcesses
def large(size):
    return bytes(size)
if __name__ == "__main__":
    with WorkerProcesses(2) as pool:
        {work}
"""
SLEEPS = """busy = [pool.submit(time.sleep, 600.0) for _ in range(9)]
        print(pool.submit(print).running() or "begun", flush=True)
        busy[0].result()"""
SENDS = """
        for future in [pool.submit(large, 50_000_000) for _ in range(10_000)]:
            future.result()
            print("begun", flush=True)"""


def begin(tmp_path, work):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(work=work))
    run = subprocess.Popen(
        [sys.executable, str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert run.stdout.readline() == "begun\n"
    return run


def test_workers_end_with_a_program_that_is_killed(tmp_path):
    run = begin(tmp_path, SLEEPS)
    program = psutil.Process(run.pid)
    wait_until(lambda: len(program.children()) >= 3, 60.0)  # one of them is multiprocessing's own
    workers = program.children()
    run.kill()
    run.communicate(timeout=60.0)
    assert psutil.wait_procs(workers, timeout=60.0)[1] == []  # they had ten minutes to go


def test_ctrl_c_ends_what_runs_and_what_waits(tmp_path):
    run = begin(tmp_path, SLEEPS)
    time.sleep(0.5)  # until it waits: Python hears a signal in the instant before a wait only after it
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=60.0)  # the work takes ten minutes
    assert run.returncode == -signal.SIGINT and said.count("KeyboardInterrupt") == 1


@pytest.mark.parametrize("pause", [0.0, 0.2])
def test_ctrl_c_ends_a_program_whose_workers_are_sending_results(tmp_path, pause):
    """Most of the time one of them has sent a part of its 50 MB."""
    run = begin(tmp_path, SENDS)
    time.sleep(pause)
    os.killpg(run.pid, signal.SIGINT)
    run.communicate(timeout=60.0)
    assert run.returncode == -signal.SIGINT


def test_results_come_in_order_and_errors_as_they_are():
    with WorkerProcesses(2) as pool:
        assert list(pool.map(divmod, [7, 8, 9], [2, 3, 4])) == [divmod(7, 2), divmod(8, 3), divmod(9, 4)]
        wrong = pool.submit(RobotError.with_traceback, RobotError("no leg"), None)  # its result, not its error
        assert isinstance(wrong.result(), RobotError)
        with pytest.raises(ZeroDivisionError) as raised:
            pool.submit(divmod, 1, 0).result()
        assert "in _work" in str(raised.value.__cause__)  # where it happened
        with pytest.raises(Exception, match="pickle"):
            pool.submit(eval, "lambda: 0").result()
        assert pool.submit(len, "after it").result() == 8


class NeedsTwo(HexapodError):
    def __init__(self, what, seen):
        super().__init__(seen)  # so that a copy of it cannot be made from its args


class WithLock(HexapodError):
    def __init__(self, seen):
        super().__init__(seen)
        self.lock = threading.Lock()  # which cannot be pickled


def fail(kind, *values):
    raise kind(*values)


@pytest.mark.parametrize("kind, values", [(NeedsTwo, ("supply", "4 V")), (WithLock, ("4 V",))])
def test_an_error_that_cannot_be_sent_is_told_with_its_type_text_and_place(kind, values):
    with WorkerProcesses(1) as pool:
        process = pool.submit(os.getpid).result()
        with pytest.raises(HexapodError, match=f"{kind.__name__}: 4 V") as raised:
            pool.submit(fail, kind, *values).result()
        assert "in fail" in str(raised.value.__cause__)
        assert pool.submit(os.getpid).result() == process


def test_workers_compute_in_one_thread_and_this_process_keeps_its_environment(monkeypatch):
    for name in THREAD_COUNTS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(THREAD_COUNTS[0], "3")
    before = dict(os.environ)
    with WorkerProcesses(1) as pool:
        counts = list(pool.map(os.getenv, THREAD_COUNTS))
    assert counts == ["3", *["1"] * (len(THREAD_COUNTS) - 1)]
    assert dict(os.environ) == before


def test_a_process_that_ends_by_itself_is_reported_and_replaced():
    with WorkerProcesses(1) as pool:
        with pytest.raises(HexapodError, match="too little memory"):
            pool.submit(os._exit, 3).result()
        assert pool.submit(len, "after it").result() == 8
