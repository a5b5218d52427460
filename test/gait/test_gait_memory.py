"""Memory of the compiled gaits: what Python hands over is checked, copies and pickles are independent."""

import copy
import pickle

import numpy as np
import pytest
from support.allocations import least_growth
from support.gait_steps import steps
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.core import _core
from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.gait.planning.plan import PlanEvaluator
from hexapod_dynamics.papers.optimal_gait import OptimalGait


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
    assert least_growth(lambda: gait.step(0.02)) < 1000
