"""A foot in a hole is not a lost foot."""

import math

import pytest
from support.servo_walk import servo_walk

from hexapod_dynamics.detection.leaning import Leaning
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
    assert walk.declared.updated({"remaining.LM.tibia": 1.0}).is_whole


def test_a_body_that_leans_no_further_than_the_ground_has_leant_it_has_lost_no_foot():
    leaning = Leaning()
    for tick in range(400):
        time = 0.02 * tick
        leaning.note(time, math.radians(3.0 if 3.0 < time < 3.1 else 0.2))
    assert "as over a hole" in leaning.why_not(8.0)
    leaning.note(8.0, math.radians(4.0))
    assert "lost: from 4.5 on" in leaning.why_not(8.2)
    leaning.note(8.3, math.radians(5.0))
    assert not leaning.why_not(8.2)
    leaning.clear()
    leaning.note(9.0, math.radians(2.5))
    assert not leaning.why_not(9.2)  # on level ground so far


def test_how_far_a_robot_leant_while_it_lay_says_nothing_of_the_ground():
    walk, _ = servo_walk(102, "real", obey=True)
    walk.run(3.0)
    leaning = walk.detector._leaning
    leaning.note(walk.time + 1.0, math.radians(40.0))
    assert leaning.usual(walk.time + 2.0) > math.radians(5.0)
    walk.detector.off_its_feet(walk.time)
    assert leaning.usual(walk.time + 2.0) == 0.0
