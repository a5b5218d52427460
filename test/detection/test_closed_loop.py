"""The damage detector in closed loop, on servos and a physics that it was not trained on."""

import pytest
from support.walks import WHOLE, probability, servo_walk, walking

from hexapod_dynamics.simulation import Truth

pytest.importorskip("mujoco")
pytest.importorskip("vqf")


def walked(seed, seconds=6.0):
    """A walk on MuJoCo with servos that are no springs, until the detector judges."""
    walk, _ = servo_walk(seed, "real")
    walk.run(seconds)
    assert walk.decisions == []
    return walk


@pytest.mark.parametrize("leg, left", [("RM", 0.02), ("LF", 0.5)])
def test_a_lost_foot_whose_servos_answer_is_found_within_two_seconds(leg, left):
    walk = walked(31)
    walk.damage(WHOLE.broken(f"{leg}.tibia", left))
    assert walk.run(2.0, until=lambda walk: not walk.declared.is_intact)
    (decision,) = walk.decisions
    assert decision.values == {f"remaining.{leg}.tibia": 0.5}
    assert probability(decision) > 0.9 and "leans" in decision.text


def test_both_feet_of_a_pair_are_declared_at_once():
    walk = walked(33)
    walk.damage(WHOLE.broken("LF.tibia", 0.05).broken("LR.tibia", 0.05))
    assert walk.run(3.0, until=lambda walk: not walk.declared.is_intact)
    walk.run(2.0)
    assert {name for one in walk.decisions for name in one.values} == {"remaining.LF.tibia", "remaining.LR.tibia"}
    assert len({one.time for one in walk.decisions}) == 1


@pytest.mark.parametrize("seed, leg", [(31, "RM"), (32, "RF")])
def test_a_foot_that_is_mended_as_soon_as_it_was_declared_stays_mended(seed, leg):
    """What it showed a moment before the repair declared it again within half a second."""
    walk = walked(seed)
    walk.damage(WHOLE.broken(f"{leg}.tibia", 0.5))
    assert walk.run(2.5, until=lambda walk: not walk.declared.is_intact)
    walk.damage(WHOLE)
    walk.onboard.declare(WHOLE)
    walk.run(8.0)
    assert walk.declared.is_intact and len(walk.decisions) == 1


def test_onboard_declares_a_lost_foot_and_goes_on_with_it():
    walk = walking(Truth.parse("servos=real,seed=4"), 4)
    walk.damage(WHOLE.broken("LM.tibia", 0.3))
    begin = walk.time
    walk.run(5.0)
    walk.onboard.close()
    (only,) = walk.decisions
    assert only.values == {"remaining.LM.tibia": 0.5} and begin < only.time < begin + 2.0
    assert walk.declared == WHOLE.broken("LM.tibia", 0.5)
    assert "damage_detector" in walk.onboard.diagnostics


def test_a_robot_that_lies_is_not_judged():
    walk = walking(seed=1)
    walk.detector.off_its_feet(walk.time)
    assert walk.detector.probe(walk.time) is None and walk.detector.ambiguous(walk.time) is None
