"""A foot in a hole is not a lost foot."""

import math

import pytest
from support.servo_walk import servo_walk

from hexapod_dynamics.detection.leaning import Leaning
from hexapod_dynamics.detection.suspected_feet import SuspectedFeet
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
    leaning = walk.detector.leaning
    leaning.note(walk.time + 1.0, math.radians(40.0))
    assert leaning.usual(walk.time + 2.0) > math.radians(5.0)
    walk.detector.off_its_feet(walk.time)
    assert leaning.usual(walk.time + 2.0) == 0.0


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


def test_other_feet_that_were_suspected_just_before_are_a_sign_of_uneven_ground():
    feet = SuspectedFeet()
    for time in (4.0, 4.3):
        feet.note(time, frozenset({"LM lost"}))
    assert feet.alternate(5.0, {"RM lost"})
    assert not feet.alternate(5.0, {"RM lost", "LM lost"})
    assert not feet.alternate(9.0, {"RM lost"})  # long ago
    for time in range(5, 13):
        assert not feet.lasts(float(time), "RM lost")
        feet.note(float(time), frozenset({"RM lost"}))
    feet.note(12.9, frozenset({"RM lost"}))
    assert feet.lasts(12.9, "RM lost") and not feet.lasts(12.9, "LM lost")
    feet.clear()
    assert not feet.lasts(12.9, "RM lost")


def test_where_other_feet_were_suspected_the_body_has_to_lean_further():
    leaning = Leaning()
    leaning.note(5.0, math.radians(6.0))
    assert not leaning.why_not(5.5)
    assert "blocks and steps" in leaning.why_not(5.5, alternate=True)
    leaning.note(5.5, math.radians(10.0))
    assert not leaning.why_not(5.5, alternate=True)


def test_where_an_obstacle_was_met_the_ground_is_uneven():
    leaning, feet = Leaning(), SuspectedFeet()
    leaning.note(9.0, math.radians(6.0))
    assert not leaning.is_rough(9.5) and not leaning.why_not(9.5)
    leaning.note_obstacle(3.0)
    assert leaning.is_rough(9.5) and "blocks and steps" in leaning.why_not(9.5)
    assert leaning.is_held(4.0) and not leaning.is_held(9.0)
    for time in range(5, 15):  # at one place
        feet.note(float(time), frozenset({"RM lost"}), held=time == 9)
    assert not feet.lasts(14.0, "RM lost")
