"""Changes of plan beside the walk: the thread that ticks only takes over what is finished, and the walk is the same."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from support.audited import audited
from support.gait_steps import steps
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.background import LatestCall
from hexapod_dynamics.gait import AdaptiveGait, plan_change
from hexapod_dynamics.gait.planning import library as choices
from hexapod_dynamics.gait.planning.library import PlanLibrary
from hexapod_dynamics.gait_kinds import make_gait
from hexapod_dynamics.parameters.gait import SETTINGS
from hexapod_dynamics.robot import Morphology, Robot

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
