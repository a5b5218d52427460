"""A suspicion of a moment is no warning; damage warns before it is declared, or is declared."""

import numpy as np
import pytest
from support.blind_walk import BlindWalk

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Simulator, Truth

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)


def walk(seed, seconds=90.0, damage=None):
    """Return the names of lasting suspicions, whether there were others, and the decisions of a walk."""
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
    blind = BlindWalk(ROBOT, Simulator(ROBOT, timestep=2e-3, truth=truth), AdaptiveGait(), seed=seed, obey=False)
    blind.gait.command(0.077, 0.0, 0.0)
    blind.run(6.0 if damage else 0.0)
    blind.damage(damage or WHOLE)
    warned, momentary = set(), False
    for _ in range(round(seconds / 0.02)):
        blind.tick()
        findings = blind.detector.findings()
        warned |= {one.name for one in findings if one.lasting}
        momentary |= any(not (one.lasting or one.declared) for one in findings)
        if damage and blind.decisions:
            break
    return warned, momentary, blind.decisions


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_healthy_walk_of_90_seconds_has_no_warning(seed):
    assert walk(seed)[0] == set()


@pytest.mark.parametrize("damage", [WHOLE.broken("LF.tibia", 0.5), WHOLE.limp("RM.femur")])
def test_damage_warns_before_it_is_declared_or_is_declared(damage):
    warned, _, decisions = walk(3, 8.0, damage)
    assert warned or decisions
