"""Changes of plan beside the walk: the thread that ticks only takes over what is finished, and the walk is the same.

Jobs in processes of their own: real processes that answer well, badly, too much, too late or not at all.
"""

import dataclasses
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from support.guarded_walk import steps
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics import background
from hexapod_dynamics.background import BackgroundCall, LatestCall
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import AdaptiveGait, plan_change
from hexapod_dynamics.gait.planning import library as choices
from hexapod_dynamics.gait.planning.library import BackgroundPlanner, PlanLibrary, check_plan
from hexapod_dynamics.gait_kinds import make_gait
from hexapod_dynamics.parameters.gait import SETTINGS
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.parts import JointServo
from hexapod_dynamics.robot.robot_file import robot_yaml

# Events that have no place in a control thread.
SLOW = ("open", "subprocess.Popen", "pickle.find_class", "os.posix_spawn", "os.fork", "os.exec", "import", "compile")
_watched: dict[int, list] = {}


def _hook(event, arguments):
    events = _watched.get(threading.get_ident())
    if events is not None and event in SLOW:
        events.append((event, str(arguments)[:200]))


sys.addaudithook(_hook)


@contextmanager
def audited():
    """Collect the SLOW events of the present thread in the list that is given."""
    events: list = []
    _watched[threading.get_ident()] = events
    try:
        yield events
    finally:
        del _watched[threading.get_ident()]


QUADRUPED = Robot.load(Path(__file__).parents[1] / "robots" / "quadruped.yaml")
TICK = 0.02


@pytest.fixture
def gait():
    made = AdaptiveGait(worker=LatestCall()).bind(ROBOT)
    yield made
    made.close()


def walk(gait, phase=0.0, ticks=60):
    gait.reset(walking=True, phase=phase)
    gait.command(0.077, 0.0, 0.0)
    steps(gait, ticks)
    return gait


def ticks_until(gait, condition, most=500):
    """Step at the pace of a node; return after how many ticks condition() holds."""
    for tick in range(most):
        if condition():
            return tick
        time.sleep(TICK)
        gait.step(TICK)
    raise AssertionError(gait.report())


def settled(gait):
    """Wait for the change that is being worked out, without a tick."""
    until = time.monotonic() + 20.0
    while gait.worker._done is None and time.monotonic() < until:
        time.sleep(0.001)
    return gait


def fail(*arguments):
    """In the place of a function that a change of plan calls."""
    raise MemoryError("no plan")


@pytest.mark.parametrize("phase", [0.0, 0.3, 0.7])
def test_the_walk_is_that_of_a_gait_that_changes_at_once(gait, phase):
    """Where the change is finished before the next tick, every set-point is the same to the last bit."""
    for lost in [*((name,) for name in ROBOT.leg_names), ("LF", "RM"), ("LF", "LR"), ("LM", "RM", "RR")]:
        gait.set_morphology(WHOLE)
        gait.changes.finish()
        twin = walk(gait, phase).copy()
        assert twin.worker is None
        for one in (gait, twin):
            one.set_morphology(WHOLE.without(*lost))
        settled(gait)
        for _ in range(150):
            np.testing.assert_array_equal(gait.step(TICK)[0], twin.step(TICK)[0], str(lost))
        assert gait.plan == twin.plan and gait.doing == twin.doing and gait.report() == twin.report()


def test_the_thread_that_ticks_opens_nothing_and_works_nothing_out(monkeypatch):
    """Loss of a leg, a plan that is made in a process while it sits, the next loss; a gait as the node makes it."""
    values = {parameter.name: parameter.default for parameter in SETTINGS}
    gait = make_gait("auto", values)
    gait._plans = PlanLibrary(QUADRUPED)
    threads = set()

    def recorded(function):
        def call(*arguments, **options):
            threads.add(threading.current_thread().name)
            return function(*arguments, **options)

        return call

    try:
        three = Morphology.whole(QUADRUPED).without("FL")
        gait.bind(QUADRUPED, three)
        gait.planner.cancel()
        monkeypatch.setattr(plan_change, "find_best_start", recorded(plan_change.find_best_start))
        monkeypatch.setattr(choices.PlanChoice, "choose", recorded(choices.PlanChoice.choose))
        gait.command(0.04, 0.0, 0.0)
        with audited() as events:
            gait.set_morphology(Morphology.whole(QUADRUPED).without("FR"))
            ticks_until(gait, lambda: gait.planner.busy)
            waiting = gait.doing, gait.report()["why"]
            ticks_until(gait, lambda: gait.plan is not None, 6000)
            ticks_until(gait, lambda: gait.doing == "walking")
            steps(gait, 100)
            assert "why" not in gait.report() and gait.twist == pytest.approx([0.04, 0.0, 0.0])
            gait.set_morphology(three)  # the mirror image
            ticks_until(gait, lambda: gait.plan is not None and "FL" not in gait.plan.legs)
        assert not events, events
        assert threads == {"latest call"}
        assert waiting[0] == "sitting" and "while it is made in the background" in waiting[1]
    finally:
        gait.close()


def test_what_is_lost_meanwhile_is_what_counts(gait):
    walk(gait)
    gait.set_morphology(WHOLE.without("RM"))
    gait.step(TICK)
    gait.set_morphology(WHOLE.without("RM", "LF"))
    ticks_until(gait, lambda: not gait.changing)
    assert gait.plan.legs == ("LM", "LR", "RR", "RF") and gait.morphology == WHOLE.without("RM", "LF")


def test_a_robot_that_is_told_to_sit_meanwhile_sits(gait):
    walk(gait)
    gait.set_morphology(WHOLE.without("RM"))
    gait.sit()
    ticks_until(gait, lambda: not gait.changing)
    steps(gait, 200)
    assert gait.doing == "sitting" and "RM" not in gait.plan.legs
    gait.stand()
    ticks_until(gait, lambda: gait.doing in ("standing", "walking"))


def test_a_new_command_meanwhile_is_followed(gait):
    walk(gait)
    gait.set_morphology(WHOLE.without("RM"))
    gait.command(0.0, 0.03, 0.0)
    ticks_until(gait, lambda: "RM" not in gait.plan.legs)
    assert gait.report()["asked"].startswith("0.000 0.030") and gait.data.command.twist[1] == pytest.approx(0.03)


def test_a_change_that_fails_is_reported_and_the_walk_goes_on_until_the_next(gait, monkeypatch):
    walk(gait)
    with monkeypatch.context() as patched:
        patched.setattr(choices.PlanChoice, "choose", fail)
        gait.set_morphology(WHOLE.without("RM"))
        ticks_until(gait, lambda: "no plan" in gait.report().get("why", ""))
    before = gait.position.copy()
    gait.step(TICK)
    assert gait.doing == "walking" and "RM" in gait.plan.legs and (gait.position != before).any()
    gait.set_morphology(WHOLE.without("RM"))
    ticks_until(gait, lambda: "RM" not in gait.plan.legs)
    assert "why" not in gait.report()


@pytest.mark.parametrize("beside", [True, False], ids=["worker", "at once"])
def test_a_change_of_pattern_that_fails_can_be_asked_for_again(gait, monkeypatch, beside):
    if not beside:
        gait = gait.copy()
    before = walk(gait).plan
    with monkeypatch.context() as patched:
        patched.setattr(choices.PlanChoice, "choose", fail)
        if beside:
            gait.set_pattern("wave")
            ticks_until(gait, lambda: "no plan" in gait.report().get("why", ""))
        else:
            with pytest.raises(MemoryError):
                gait.set_pattern("wave")
    assert gait.plan == before and gait.doing == "walking" and gait.settings.pattern == "auto"
    gait.set_pattern("wave")
    ticks_until(gait, lambda: gait.plan != before)
    assert gait.plan.duty > before.duty and "why" not in gait.report()


@pytest.mark.parametrize("request_", ["sit", "stand", "adjust", "set_pattern"])
def test_no_request_waits_for_a_change_that_is_being_computed(gait, monkeypatch, request_):
    computes, goes_on, choose = threading.Event(), threading.Event(), choices.PlanChoice.choose

    def slow(*arguments):
        computes.set()
        goes_on.wait(20.0)
        return choose(*arguments)

    walk(gait)
    monkeypatch.setattr(choices.PlanChoice, "choose", slow)
    threading.Timer(10.0, goes_on.set).start()
    gait.set_morphology(WHOLE.without("RM"))
    assert computes.wait(10.0)
    calls = {
        "sit": gait.sit,
        "stand": gait.stand,
        "adjust": lambda: gait.adjust(step_height=0.03),
        "set_pattern": lambda: gait.set_pattern("wave"),
    }
    begin = time.monotonic()
    calls[request_]()
    steps(gait, 50)
    assert time.monotonic() - begin < 5.0 and not goes_on.is_set()
    goes_on.set()
    ticks_until(gait, lambda: not gait.changing)
    assert "RM" not in gait.plan.legs
    ticks_until(gait, lambda: gait.doing == ("sitting" if request_ == "sit" else "walking"))


def test_a_request_made_while_the_answer_before_is_fetched_is_not_lost():
    worker = LatestCall()
    worker.request(lambda: "first")
    while worker._done is None:
        time.sleep(0.001)
    asking = threading.Thread(target=lambda: worker.request(lambda: "second"))

    class Slow(threading.Condition):
        def __enter__(self):
            entered = super().__enter__()
            if asking.ident is None:  # in the thread that polls
                asking.start()
                asking.join(0.3)
            return entered

    worker._changed = Slow()
    assert worker.poll() == "first"
    asking.join()
    answer, until = None, time.monotonic() + 5.0
    while answer is None and time.monotonic() < until:  # not `wait`, which would wait for a lost one for ever
        answer = worker.poll()
    assert answer == "second"


def test_nobody_waits_for_a_call_that_is_dropped_or_was_never_made():
    worker, goes_on = LatestCall(), threading.Event()
    assert worker.wait() is None
    worker.request(goes_on.wait)
    waiting = threading.Thread(target=worker.wait, daemon=True)
    waiting.start()
    worker.drop()
    waiting.join(5.0)
    goes_on.set()
    assert not waiting.is_alive()


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
