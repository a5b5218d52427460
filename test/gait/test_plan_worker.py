"""Changes of plan beside the walk: the thread that ticks only takes over what is finished, and the walk is the same."""

import threading
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from support.audited import audited

from hexapod_dynamics.gait import AdaptiveGait, adaptive
from hexapod_dynamics.gait import plan_choice as choices
from hexapod_dynamics.gait.plan_worker import PlanWorker
from hexapod_dynamics.gait.planning.plan_library import PlanLibrary
from hexapod_dynamics.gait_kinds import make
from hexapod_dynamics.parameters.gait import SETTINGS
from hexapod_dynamics.robot import Morphology, Robot

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
QUADRUPED = Robot.load(Path(__file__).parents[1] / "robots" / "quadruped.yaml")
TICK = 0.02


@pytest.fixture
def gait():
    made = AdaptiveGait(worker=PlanWorker()).bind(ROBOT)
    yield made
    made.close()


def walk(gait, phase=0.0, ticks=60):
    gait.reset(walking=True, phase=phase)
    gait.command(0.077, 0.0, 0.0)
    for _ in range(ticks):
        gait.step(TICK)
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


@pytest.mark.parametrize("phase", [0.0, 0.3, 0.7])
def test_the_walk_is_that_of_a_gait_that_changes_at_once(gait, phase):
    """Where the change is finished before the next tick, every set-point is the same to the last bit."""
    for lost in [*((name,) for name in ROBOT.leg_names), ("LF", "RM"), ("LF", "LR"), ("LM", "RM", "RR")]:
        gait.set_morphology(WHOLE)
        gait._finish_change()
        twin = walk(gait, phase).copy()
        assert twin.worker is None
        for one in (gait, twin):
            one.set_morphology(WHOLE.without(*lost))
        settled(gait)
        for _ in range(150):
            np.testing.assert_array_equal(gait.step(TICK)[0], twin.step(TICK)[0], str(lost))
        assert gait.plan == twin.plan and gait.doing == twin.doing and gait.report() == twin.report()


def test_the_plan_comes_with_the_next_ticks(gait):
    late = []
    for lost in combinations(ROBOT.leg_names, 1):
        gait.set_morphology(WHOLE)
        gait._finish_change()
        walk(gait)
        gait.set_morphology(WHOLE.without(*lost))
        late.append(ticks_until(gait, lambda lost=lost: lost[0] not in gait.plan.legs))
    assert np.median(late) <= 2, late


def test_the_thread_that_ticks_opens_nothing_and_works_nothing_out(monkeypatch):
    """Loss of a leg, a plan that is made in a process, the next loss: with a gait as the node makes it."""
    values = {parameter.name: parameter.default for parameter in SETTINGS}
    gait = make("auto", values)
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
        monkeypatch.setattr(adaptive, "best_start", recorded(adaptive.best_start))
        monkeypatch.setattr(choices.PlanChoice, "choose", recorded(choices.PlanChoice.choose))
        gait.command(0.04, 0.0, 0.0)
        with audited() as events:
            gait.set_morphology(Morphology.whole(QUADRUPED).without("FR"))
            ticks_until(gait, lambda: gait.planner.busy)
            ticks_until(gait, lambda: gait.plan is not None, 6000)
            ticks_until(gait, lambda: gait.doing == "walking")
            gait.set_morphology(three)  # the mirror image
            ticks_until(gait, lambda: gait.plan is not None and "FL" not in gait.plan.legs)
        assert not events, events
        assert threads == {"plan worker"}
    finally:
        gait.close()


def test_what_is_lost_meanwhile_is_what_counts(gait):
    walk(gait)
    gait.set_morphology(WHOLE.without("RM"))
    gait.step(TICK)
    gait.set_morphology(WHOLE.without("RM", "LF"))
    ticks_until(gait, lambda: not gait._changing)
    assert gait.plan.legs == ("LM", "LR", "RR", "RF") and gait.morphology == WHOLE.without("RM", "LF")


def test_a_robot_that_is_told_to_sit_meanwhile_sits(gait):
    walk(gait)
    gait.set_morphology(WHOLE.without("RM"))
    gait.sit()
    for _ in range(200):
        gait.step(TICK)
    assert gait.doing == "sitting" and "RM" not in gait.plan.legs
    gait.stand()
    ticks_until(gait, lambda: gait.doing in ("standing", "walking"))


def test_a_new_command_meanwhile_is_followed(gait):
    walk(gait)
    gait.set_morphology(WHOLE.without("RM"))
    gait.command(0.0, 0.03, 0.0)
    ticks_until(gait, lambda: "RM" not in gait.plan.legs)
    assert gait.report()["asked"].startswith("0.000 0.030") and gait.data.command[1] == pytest.approx(0.03)


def test_what_fails_in_the_worker_is_raised_in_the_tick(gait, monkeypatch):
    def fail(*arguments):
        raise ZeroDivisionError("in the worker")

    monkeypatch.setattr(choices.PlanChoice, "choose", fail)
    gait.set_morphology(WHOLE.without("RM"))
    with pytest.raises(ZeroDivisionError, match="in the worker"):
        ticks_until(gait, lambda: False, 100)
