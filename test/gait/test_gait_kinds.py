"""A new kind of gait is one file with its maker, and one entry in KINDS. Memory of the compiled gaits: what Python
hands over is checked, copies and pickles are independent.
"""

import contextlib
import copy
import pickle
import sys
from types import ModuleType

import numpy as np
import pytest
from support.allocations import least_growth
from support.guarded_walk import steps
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.core import _core
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.gait.planning.library import PlanChoice
from hexapod_dynamics.gait.planning.plan import PlanEvaluator
from hexapod_dynamics.gait_kinds import KINDS, GaitKind, make_gait
from hexapod_dynamics.onboard.gait_control import GaitControl, GaitControlSettings
from hexapod_dynamics.papers.optimal_gait import OptimalGait
from hexapod_dynamics.parameters.gait import SETTINGS
from hexapod_dynamics.robot import Robot

VALUES = {spec.name: spec.default for spec in SETTINGS}


class Crawl(TripodGait):
    """A gait of a file of its own."""


@pytest.fixture
def crawl(monkeypatch):
    module = ModuleType("crawl_gait")
    module.make_gait = lambda kind, values: Crawl(step_length=values["step_length"], period=4.0)
    monkeypatch.setitem(sys.modules, "crawl_gait", module)
    monkeypatch.setitem(KINDS, "crawl", GaitKind("slow", "crawl_gait"))


def test_a_kind_that_is_registered_is_made_and_changed_to(crawl):
    robot = Robot.jethexa()
    control = GaitControl(robot, GaitControlSettings("tripod", values=VALUES))
    gait = control.gait
    control.change({"gait": "crawl", "step_length": 0.02})
    other = control.gait
    assert isinstance(other, Crawl) and other.step_length == 0.02
    np.testing.assert_allclose(other.position, gait.position, atol=1e-9)


def test_a_kind_whose_plan_failed_is_tried_again_when_it_is_asked_for_again(monkeypatch):
    control = GaitControl(Robot.jethexa(), GaitControlSettings("auto", values=VALUES))

    def change(given):
        control.change(given)
        control.gait.changes.finish()

    def fail(*arguments):
        raise MemoryError("no plan")

    try:
        before = control.gait.plan
        with monkeypatch.context() as patched:
            patched.setattr(PlanChoice, "choose", fail)
            change({"gait": "wave"})
        change({"step_height": 0.03})
        assert control.gait.plan == before and "no plan" in control.gait.report()["why"]
        change({"gait": "wave"})
        assert control.gait.plan.duty > before.duty and "why" not in control.gait.report()
    finally:
        control.gait.close()


def test_a_kind_without_values_has_the_default_ones():
    for kind in ("auto", "tripod", "optimal"):
        with contextlib.closing(make_gait(kind, {})) as gait:
            assert gait.bind(Robot.jethexa()).walk()[0] > 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_gait_without_a_robot_says_what_comes_first(kind):
    gait = make_gait(kind, VALUES)
    for use in (lambda: gait.step(0.02), gait.walk, gait.reset, lambda: gait.robot, lambda: gait.walking):
        with pytest.raises(HexapodError, match=r"call bind\(robot\) first"):
            use()
    assert not gait.is_bound and not hasattr(gait.copy(), "robot")
    assert not hasattr(gait.bind(Robot.jethexa()), "rowing")
    gait.close()


def test_a_cycle_has_a_number_of_samples():
    for samples in (0, 97):
        with pytest.raises(ValueError, match=f"{samples} samples given, 1 to 96 are allowed"):
            PlanEvaluator(ROBOT, samples=samples).findings(np.zeros(3))


@pytest.mark.parametrize("count", [0, 9])
def test_only_as_many_legs_as_the_core_knows_are_taken(count):
    legs = np.zeros(count, _core.GAIT_LEG)
    for make in (lambda: _core.Walk(legs), lambda: _core.Tripod(legs)):
        with pytest.raises(ValueError, match=f"{count} legs given, 1 to 8 are allowed"):
            make()


def pickled(gait):
    return pickle.loads(pickle.dumps(gait))


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize("kind", [TripodGait, AdaptiveGait])
def test_a_copy_walks_alike_and_on_its_own(kind, twin):
    gait = kind().bind(ROBOT)
    gait.walk()
    steps(gait, 50)
    other = twin(gait)
    expected = [gait.step(0.02)[0].copy() for _ in range(20)]
    assert np.array_equal([other.step(0.02)[0].copy() for _ in range(20)], expected)


@pytest.mark.parametrize(
    "kind, lost",
    [(TripodGait, ()), (TripodGait, ("RM",)), (AdaptiveGait, ()), (AdaptiveGait, ("RM",)), (OptimalGait, ("RM",))],
)
def test_a_tick_allocates_nothing_that_stays(kind, lost):
    gait = kind().bind(ROBOT, WHOLE.without(*lost))
    gait.walk()
    steps(gait, 250)
    assert kind is not OptimalGait or len(gait.plans) == 6 - len(lost)  # which the swings follow
    assert least_growth(lambda: gait.step(0.02), ticks=100) < 1000
