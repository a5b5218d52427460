"""A foot in a hole is not a lost foot."""

import pytest
from support.walks import WHOLE, servo_walk

pytest.importorskip("mujoco")
pytest.importorskip("vqf")


def test_on_blocks_of_20_mm_nothing_healthy_is_declared_and_a_lost_foot_is_found():
    walk, _ = servo_walk(102, "real,ground=blocks:0.02")
    walk.run(15.0)
    assert walk.physics.position[0] > 0.9  # the blocks begin at 0.7 m
    assert not walk.decisions  # RF.tibia was declared after 13.0 s, p = 1.000
    walk.damage(WHOLE.broken("LM.tibia", 0.05))
    assert walk.run(3.0, until=lambda walk: walk.declared.remaining("LM", "tibia") < 1.0)
    assert walk.declared.updated({"remaining.LM.tibia": 1.0}).is_intact
