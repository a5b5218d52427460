"""The damage detector in closed loop, on servos and a physics that it was not trained on."""

import pytest
from support.walks import WHOLE, probability, servo_walk, walking

pytest.importorskip("mujoco")
pytest.importorskip("vqf")


def test_a_lost_foot_whose_servos_answer_is_found_within_two_seconds_and_stays_mended_after_its_repair():
    """What it showed a moment before the repair declared it again within half a second."""
    walk, _ = servo_walk(31, "real")
    walk.run(6.0)
    assert walk.decisions == []
    walk.break_parts(WHOLE.broken("RM.tibia", 0.02))
    assert walk.run(2.0, until=lambda walk: not walk.declared.is_intact)
    (decision,) = walk.decisions
    assert decision.values == {"remaining.RM.tibia": 0.5} and walk.declared == WHOLE.broken("RM.tibia", 0.5)
    assert probability(decision) > 0.9 and "leans" in decision.text
    walk.break_parts(WHOLE)
    walk.onboard.declare(WHOLE)
    walk.run(8.0)
    assert walk.declared.is_intact and len(walk.decisions) == 1


def test_on_blocks_of_20_mm_nothing_healthy_is_declared_and_a_lost_foot_is_found():
    """A foot in a hole is not a lost foot."""
    walk, _ = servo_walk(102, "real,ground=blocks:0.02")
    walk.run(15.0)
    assert walk.physics.position[0] > 0.9  # the blocks begin at 0.7 m
    assert not walk.decisions  # RF.tibia was declared after 13.0 s, p = 1.000
    walk.break_parts(WHOLE.broken("LM.tibia", 0.05))
    assert walk.run(3.0, until=lambda walk: walk.declared.remaining("LM", "tibia") < 1.0)
    assert walk.declared.updated({"remaining.LM.tibia": 1.0}).is_intact


def test_nothing_healthy_is_declared_while_the_robot_sits_and_stands_up():
    """LF.tibia was declared limp, since contacts of a body on the ground are not those of the model."""
    walk = walking(seed=2, physics="mujoco", twist=(0.07, 0.0, -0.04), seconds=4.0)
    torn = WHOLE.without("RF")
    walk.break_parts(torn)
    assert walk.run(2.0, until=lambda walk: not walk.declared.is_intact)
    walk.run(4.6)
    walk.break_parts(torn.broken("RM.tibia", 0.05))
    assert walk.run(6.0, until=lambda walk: walk.gait.doing == "moving feet")
    walk.run(5.0)
    names = {name for decision in walk.decisions for name in decision.values}
    assert names == {"legs.RF", "remaining.RM.tibia"}
