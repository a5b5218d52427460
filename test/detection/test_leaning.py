"""What counts as uneven ground: not the lean of a robot whose gait changes, nor the obstacle that its own stump was."""

import math

import pytest
from support.servo_walk import servo_walk

from hexapod_dynamics.detection.leaning import Leaning
from hexapod_dynamics.robot import Morphology


def test_what_came_since_a_foot_was_suspected_is_forgotten_when_it_is_declared_and_the_ground_before_is_not():
    for met, kept in ((2.0, True), (5.5, False)):
        leaning = Leaning()
        leaning.note_obstacle(met)
        leaning.discard_since(6.0)
        assert leaning.is_rough(8.0) == kept
        leaning.note(met, 0.1)
        leaning.discard_since(6.0)
        assert leaning.usual(8.0) == (0.1 if kept else 0.0)


@pytest.mark.slow
def test_a_robot_that_is_mended_has_not_met_uneven_ground():
    """A gait that takes a leg back leans the body by up to 10 degrees: the next foot was found after 7 s."""
    blind, random = servo_walk(9, "real", obey=True)
    blind.gait.command(0.077, 0.0, 0.0)
    blind.run(17.0)
    whole = Morphology.whole(blind.robot)
    for _ in range(3):
        blind.run(random.uniform(0.0, 1.44))
        blind.damage(whole.broken("LM.tibia", 0.5))
        assert blind.run(2.0, until=lambda walk: walk.declared.remaining("LM", "tibia") < 1.0)
        blind.damage(whole)
        blind.declare(whole)
        assert blind.detector.suspicion == 0.0  # it was of a robot that has another leg now
        blind.run(8.0)
        assert blind.detector.leaning.usual(blind.time) < math.radians(2.0)
