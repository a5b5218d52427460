"""Slices in which the robot settles after a change of its legs tell nothing about it."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.limit_edges.decisions import WHOLE, evaluation

from hexapod_dynamics.detection.limits import DetectorLimits
from hexapod_dynamics.detection.slice_evaluation import Outcome
from hexapod_dynamics.detection.suspicion import Suspicion

CHANGED = 10.0  # [s]


@pytest.mark.parametrize(
    ("after", "outcome", "suspected"), [(0.5, Outcome.NOTHING, False), (2.0, Outcome.COMPARED, True)]
)
def test_a_part_that_comes_back_far_from_the_model_is_not_suspected(after, outcome, suspected):
    slices = evaluation(DetectorLimits())
    slices.suspicion = Suspicion(18)
    residual = np.zeros((1, 21))
    residual[0, 14] = -0.15  # [rad], of RM.tibia
    slices.window.view = lambda first, count: SimpleNamespace(
        residual=residual, load=np.zeros((1, 18)), yaw=np.zeros(1), motion=np.zeros((1, 18, 2)), noise=np.zeros((1, 21))
    )
    slices.settling.change(CHANGED)
    slices.next = 20
    slices.suspicion.value = 5.0
    assert slices.evaluate(CHANGED + after, 0.0, WHOLE, suspect=False) is outcome
    assert (slices.suspicion.value > 1.0) is suspected
