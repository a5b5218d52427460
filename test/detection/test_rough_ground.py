"""A foot in a hole is not a lost foot."""

import pytest
from support.servo_walk import servo_walk

from hexapod_dynamics.robot import Morphology

pytest.importorskip("mujoco")
pytest.importorskip("vqf")


def test_on_blocks_of_20_mm_nothing_healthy_is_declared_and_a_lost_foot_is_found():
    walk, _ = servo_walk(102, "real,ground=blocks:0.02", obey=True)
    walk.run(15.0)
    assert walk.physics.position[0] > 0.9  # the blocks begin at 0.7 m
    assert not walk.decisions  # RF.tibia was declared after 13.0 s, p = 1.000
    walk.damage(Morphology.whole(walk.robot).broken("LM.tibia", 0.05))
    assert walk.run(3.0, until=lambda walk: walk.declared.remaining("LM", "tibia") < 1.0)
    assert walk.declared.updated({"remaining.LM.tibia": 1.0}).is_intact


@pytest.mark.slow
def test_on_a_step_of_40_mm_one_healthy_foot_after_another_is_suspected_and_none_declared():
    walk, _ = servo_walk(9700, "real,ground=steps:0.04", obey=True)
    walk.run(20.0)
    assert walk.physics.position[0] > 1.0  # the step begins at 0.7 m
    assert not walk.decisions  # LR.tibia was declared after 10.8 s, LM.tibia after 17.2 s


@pytest.mark.slow
def test_a_foot_that_is_lost_on_such_steps_is_missed_at_every_place():
    walk, _ = servo_walk(520, "real,ground=steps:0.04", obey=True)
    walk.run(17.0)
    assert not walk.decisions
    walk.damage(Morphology.whole(walk.robot).broken("RM.tibia", 0.02))
    assert walk.run(11.0, until=lambda walk: walk.declared.remaining("RM", "tibia") < 1.0)
    assert walk.declared.updated({"remaining.RM.tibia": 1.0}).is_intact
