"""The gait presses one foot down and walks on; on MuJoCo a foot that is there tilts the body, a lost one does not."""

import numpy as np
import pytest
from support.guarded_walk import TICK, MujocoWalk
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.gait import AdaptiveGait, TripodGait


def walking(damage=WHOLE):
    """A walk of 4 s with a damage that the gait does not know."""
    walk = MujocoWalk(AdaptiveGait().bind(ROBOT), damage=damage)
    walk.gait.walk()
    walk.run(4.0, sense=False)
    return walk


def pressed(walk, seconds):
    """Largest tilt [rad] while the gait presses, None if it does not."""
    tilts = []
    walk.run(seconds, lambda: tilts.append(walk.tilt) if walk.gait.doing == "pressing" else None, sense=False)
    return max(tilts, default=None)


@pytest.mark.parametrize("leg", ["LF", "RM", "LR"])
def test_a_foot_that_is_there_tilts_the_body_by_more_than_two_degrees_and_a_lost_one_by_less_than_half_of_that(leg):
    there, gone = walking(), walking(WHOLE.broken(f"{leg}.tibia", 0.85))
    assert there.gait.contact_probe(leg) and gone.gait.contact_probe(leg)
    healthy = pressed(there, 2.0)
    assert healthy > np.radians(2.0)
    assert pressed(gone, 2.0) < 0.5 * healthy


def test_it_walks_on_as_before_and_a_foot_is_pressed_again_only_after_that():
    walk = walking()
    assert walk.gait.contact_probe("RM") and not walk.gait.contact_probe("LM")
    pressed(walk, 2.5)
    assert walk.gait.doing == "walking"
    before = walk.physics.position[0]
    pressed(walk, 2.6)
    assert walk.physics.position[0] - before == pytest.approx(2.6 * walk.gait.twist[0], rel=0.05)
    assert walk.gait.contact_probe("LM")


def test_set_points_do_not_jump():
    gait, last = AdaptiveGait().bind(ROBOT), None
    gait.walk()
    for tick in range(350):
        if tick == 200:
            assert gait.contact_probe("LF")
        now = gait.step(TICK)[0].copy()
        assert last is None or np.abs(now - last).max() < ROBOT.servo.speed_limit * TICK
        last = now


def test_a_leg_that_is_lost_while_its_foot_is_pressed_is_held_up_and_the_others_walk_on():
    damage = WHOLE.broken("RM.tibia", 0.05)
    walk = walking(damage)
    walk.gait.contact_probe("RM")
    pressed(walk, 0.8)
    assert walk.gait.doing == "pressing"
    walk.gait.set_morphology(damage)
    again = pressed(walk, 3.0)
    standing = [i for i, leg in enumerate(ROBOT.leg_names) if leg != "RM"]
    assert again is None and walk.gait.doing == "walking" and (walk.gait.data.feet["place"][standing, 2] >= 0.0).all()


@pytest.mark.parametrize("request_, ends", [("sit", "sitting"), ("stop", "standing")])
def test_sitting_down_and_a_command_to_stop_end_it(request_, ends):
    walk = walking()
    walk.gait.contact_probe("RM")
    pressed(walk, 0.6)
    _ = walk.gait.sit() if request_ == "sit" else walk.gait.command(0.0, 0.0, 0.0)
    pressed(walk, 3.0)
    assert walk.gait.doing == ends and (walk.gait.data.feet["place"][:, 2] == 0.0).all()


def test_where_it_cannot_be_pressed_nothing_happens():
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without("RM"))
    assert not gait.contact_probe("RM")  # it is held up
    gait.sit()
    assert not gait.contact_probe("LM")
    rows = AdaptiveGait().bind(ROBOT, WHOLE.without("RM").without("RF").without("RR"))
    assert rows.plan is None or not rows.contact_probe(rows.plan.legs[0])
    assert not TripodGait().bind(ROBOT).contact_probe("LM")
