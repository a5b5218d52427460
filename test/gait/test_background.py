"""Jobs in processes of their own: real processes that answer well, badly, too much, too late or not at all."""

import dataclasses
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from support.audited import audited
from support.gait_steps import steps
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics import background
from hexapod_dynamics.background import BackgroundCall
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.planning.library import BackgroundPlanner, PlanLibrary, check_plan
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.parts import JointServo
from hexapod_dynamics.robot.robot_file import robot_yaml

PACKAGE = Path(background.__file__).parents[1]


def finished(call, seconds=30.0):
    """Return what a call gives at its end."""
    until = time.monotonic() + seconds
    while (done := call.poll()) is None:
        assert time.monotonic() < until, "no result, no reason"
        time.sleep(0.01)
    return done


def answer_of(program, monkeypatch, request=0, **options):
    """Return (result, reason) of a call whose process is this Python program."""
    given = [sys.executable, "-c", "import os, sys, time\n" + textwrap.dedent(program)]
    monkeypatch.setattr(background, "command", lambda job: given)
    call = BackgroundCall("test", lambda answer, request: answer, **options)
    call.start(request)
    try:
        return finished(call)
    finally:
        call.cancel()


def test_an_answer_larger_than_a_pipe_is_read_while_the_process_runs(monkeypatch):
    program = "sys.stdin.buffer.readline(); sys.stdout.write('[' + '1, ' * 100_000 + '1]')"
    assert answer_of(program, monkeypatch) == ([1] * 100_001, "")


def test_a_request_larger_than_a_pipe_is_written(monkeypatch):
    given = list(range(100_000))
    program = "time.sleep(0.2); import pickle; print(pickle.load(sys.stdin.buffer))"
    assert answer_of(program, monkeypatch, given) == ([given], "")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("print('no answer')", "the job test answered 'no answer"),
        ("sys.stdout.buffer.write(b'\\x80\\x04K\\x01.')", "which is no JSON"),
        ("print('[' * 100_000)", "which is no JSON"),
        ("", "which is no JSON"),
        ("sys.exit(3)", "the job test ended with exit status 3"),
        ("os.kill(os.getpid(), 9)", "the job test ended with signal SIGKILL"),
        ("print('1,' * 600_000)", "the job test wrote more than 1048576 bytes and was ended"),
    ],
)
def test_a_process_that_fails_gives_a_reason(monkeypatch, program, reason):
    result, told = answer_of(program, monkeypatch)
    assert result is None and reason in told


@pytest.mark.parametrize("request_", [0, "x" * 300_000], ids=["small", "never read"])
def test_a_process_that_never_answers_is_ended(monkeypatch, request_):
    result, told = answer_of("time.sleep(1000)", monkeypatch, request_, limit=0.5)
    assert result is None and told == "the job test gave no answer within 0 s and was ended"


def test_the_working_directory_is_not_imported(monkeypatch, tmp_path):
    mark, planted = tmp_path / "imported", tmp_path / "hexapod_dynamics"
    planted.mkdir()
    for path in (planted / "__init__.py", tmp_path / "json.py", tmp_path / "numpy.py", tmp_path / "sitecustomize.py"):
        path.write_text(f"open({str(mark)!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", str(tmp_path)]))
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path])
    planner = BackgroundPlanner()
    planner.ask(ROBOT, ROBOT.leg_names[1:], WHOLE.without(*ROBOT.leg_names[1:]))
    assert finished(planner, 60.0) == (None, f"remaining legs: {ROBOT.leg_names[0]}; at least 2 are needed to row")
    assert not mark.exists()


def test_a_process_ends_with_its_caller():
    program = f"""
        import sys, time
        sys.path[:0] = [{str(PACKAGE)!r}]
        from hexapod_dynamics.background import BackgroundCall
        call = BackgroundCall("time:sleep", lambda answer, seconds: answer)
        call.start(1000)
        while call._process is None: time.sleep(0.01)
        print(call._process.pid, flush=True)
        time.sleep(1000)
    """
    caller = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    child = int(caller.stdout.readline())
    os.kill(child, 0)
    caller.send_signal(signal.SIGKILL)
    caller.wait()
    caller.stdout.close()
    until = time.monotonic() + 30.0
    while Path(f"/proc/{child}/cmdline").exists() and Path(f"/proc/{child}/cmdline").read_bytes():
        assert time.monotonic() < until, "the process of an ended caller still runs"
        time.sleep(0.05)


def test_a_cancelled_process_is_ended(monkeypatch):
    monkeypatch.setattr(background, "command", lambda job: [sys.executable, "-c", "import time; time.sleep(1000)"])
    call = BackgroundCall("test", lambda answer: answer)
    call.start()
    thread = call._thread
    call.cancel()
    assert not call.busy and call.poll() is None
    thread.join(10.0)
    assert not thread.is_alive() and call._process is None


def test_asking_and_fetching_start_no_process_and_open_nothing_in_the_calling_thread(monkeypatch):
    planner = BackgroundPlanner()
    lost = ROBOT.leg_names[1:]
    with audited() as events:
        planner.ask(ROBOT, lost, WHOLE.without(*lost))
        finished(planner, 60.0)
        planner.ask(ROBOT, lost, WHOLE.without(*lost))
        planner.cancel()
    assert not events, events


def test_a_robot_survives_the_message():
    """Also one whose servos are identified: no plan was made for it in the background."""
    identified = dataclasses.replace(ROBOT, joint_servos=(JointServo(25.0, play=0.01),) * ROBOT.joint_count)
    for robot in (ROBOT, Robot.load(Path(__file__).parents[1] / "robots" / "quadruped.yaml"), identified):
        again = pickle.loads(pickle.dumps(robot))
        assert isinstance(again, Robot) and robot_yaml(again) == robot_yaml(robot)


def test_a_plan_of_other_legs_is_refused():
    plan = PlanLibrary.load(ROBOT, Path(__file__).parents[2] / "config" / "plans_jethexa.yaml").find(["RM"])
    answer = json.loads(json.dumps(vars(plan)))
    assert check_plan(answer, ROBOT, ("RM",), WHOLE) == plan
    for wrong in (answer | {"duty": float("nan")}, answer | {"sway": [0.0]}, answer | {"type": "Popen"}, {}, [], 3):
        with pytest.raises(HexapodError):
            check_plan(wrong, ROBOT, ("RM",), WHOLE)
    with pytest.raises(HexapodError, match="walks on"):
        check_plan(answer, ROBOT, ("LF",), WHOLE)


def test_a_robot_whose_plan_cannot_be_made_goes_on_with_what_it_has(monkeypatch):
    monkeypatch.setattr(background, "command", lambda job: [sys.executable, "-c", "print('rubbish')"])
    planner, library = BackgroundPlanner(), PlanLibrary(ROBOT)
    gait = AdaptiveGait(plans=library, planner=planner).bind(ROBOT)
    gait.command(0.05, 0.0, 0.0)
    gait.set_morphology(WHOLE.without("RM"))
    until = time.monotonic() + 30.0
    while planner.busy and time.monotonic() < until:
        gait.step(0.02)
        time.sleep(0.005)
    assert "which is no JSON" in gait.report()["why"]
    assert np.isfinite(gait.step(0.02)[0]).all() and gait.doing in ("sitting down", "sitting", "moving feet")
    gait.set_morphology(WHOLE)
    steps(gait, 300)
    assert gait.doing == "walking" and "why" not in gait.report()
