"""A suspicion of a moment is no warning; that damage is declared: test_damage_detector.py."""

import numpy as np
import pytest
from support.walks import walking

from hexapod_dynamics.simulation import Truth


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_healthy_walk_of_90_seconds_has_no_warning(seed):
    random = np.random.default_rng(seed)
    truth = Truth(
        mass=1.0 + random.uniform(-0.06, 0.06),
        stiffness=1.0 + random.uniform(-0.15, 0.15),
        friction=random.uniform(0.5, 0.9),
        slope=random.uniform(0.0, 2.0),
        slope_yaw=random.uniform(-180.0, 180.0),
        rough=float(random.choice([0.0, 0.002, 0.004, 0.006])),
        seed=seed,
    )
    blind = walking(truth, seed, detect="report", seconds=0.0)
    assert not blind.run(90.0, until=lambda blind: any(one.lasting for one in blind.detector.findings()))
