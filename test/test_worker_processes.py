"""`worker_processes` ends with the program that uses it."""

import os
import signal
import subprocess
import sys

import psutil

PROGRAM = """
import time
from hexapod_dynamics.process_environment import worker_processes
if __name__ == "__main__":
    with worker_processes(2) as pool:
        busy = [pool.submit(time.sleep, 600.0) for _ in range(9)]
        print(pool.submit(print).running() or "begun", flush=True)
        busy[0].result()
"""


def test_workers_end_with_a_program_that_is_killed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    run = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True)
    assert run.stdout.readline() == "begun\n"
    workers = psutil.Process(run.pid).children()
    run.kill()
    run.communicate(timeout=60.0)
    assert len(workers) >= 2 and psutil.wait_procs(workers, timeout=60.0)[1] == []  # they had ten minutes to go


def test_ctrl_c_ends_what_runs_and_what_waits(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    run = subprocess.Popen(
        [sys.executable, str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert run.stdout.readline() == "begun\n"
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=60.0)  # the work takes ten minutes
    assert run.returncode == -signal.SIGINT and said.count("KeyboardInterrupt") == 1
