"""The gait presses one foot down and walks on; on MuJoCo a foot that is there tilts the body, a lost one does not."""

import mujoco  # noqa: F401 (MujocoSimulator needs it)
import numpy as np
import pytest
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.simulation import MujocoSimulator

TICK = 0.02


class Walk:
    """A gait that walks on MuJoCo; damage: of the robot, unknown to the gait."""

    def __init__(self, damage=WHOLE):
        self.gait = AdaptiveGait().bind(ROBOT)
        self.physics = MujocoSimulator(ROBOT, timestep=0.001)
        self.physics.set_morphology(damage)
        self.physics.reset(joints=self.gait.position.copy())
        self.gait.walk()
        self.run(4.0)

    def run(self, seconds):
        """Largest tilt [rad] while the gait pressed, and whether it did."""
        tilt, pressed = 0.0, False
        for _ in range(round(seconds / TICK)):
            self.physics.command(self.gait.step(TICK)[0], TICK)
            self.physics.step(round(TICK / self.physics.timestep))
            if self.gait.doing == "pressing":
                pressed = True
                tilt = max(tilt, float(np.arccos(min(1.0, self.physics.rotation[2, 2]))))
        return tilt, pressed


@pytest.mark.parametrize("leg", ["LF", "RM", "LR"])
def test_a_foot_that_is_there_tilts_the_body_by_more_than_two_degrees_and_a_lost_one_by_less_than_half_of_that(leg):
    there, gone = Walk(), Walk(WHOLE.broken(f"{leg}.tibia", 0.85))
    assert there.gait.contact_probe(leg) and gone.gait.contact_probe(leg)
    (healthy, pressed), (lost, _) = there.run(2.0), gone.run(2.0)
    assert pressed
    assert healthy > np.radians(2.0)
    assert lost < 0.5 * healthy


def test_it_walks_on_as_before():
    walk = Walk()
    assert walk.gait.contact_probe("RM")
    walk.run(2.5)
    assert walk.gait.doing == "walking"
    before = walk.physics.position[0]
    walk.run(2.6)
    assert walk.physics.position[0] - before == pytest.approx(2.6 * walk.gait.twist[0], rel=0.05)


def test_set_points_do_not_jump():
    walk, last = Walk(), None
    walk.gait.contact_probe("LF")
    for _ in range(150):
        now = walk.gait.step(TICK)[0].copy()
        assert last is None or np.abs(now - last).max() < ROBOT.servo.speed_limit * TICK
        last = now


def test_a_foot_is_pressed_once_and_again_only_after_that():
    walk = Walk()
    assert walk.gait.contact_probe("RM") and not walk.gait.contact_probe("LM")
    walk.run(3.0)
    assert walk.gait.contact_probe("LM")


def test_a_leg_that_is_lost_while_its_foot_is_pressed_is_held_up_and_the_others_walk_on():
    damage = WHOLE.broken("RM.tibia", 0.05)
    walk = Walk(damage)
    walk.gait.contact_probe("RM")
    walk.run(0.8)
    assert walk.gait.doing == "pressing"
    walk.gait.set_morphology(damage)
    _, pressed = walk.run(3.0)
    standing = [i for i, leg in enumerate(ROBOT.leg_names) if leg != "RM"]
    assert not pressed and walk.gait.doing == "walking" and (walk.gait.data.feet["place"][standing, 2] >= 0.0).all()


def test_sitting_down_and_a_command_to_stop_end_it():
    sits, stops = Walk(), Walk()
    for walk in (sits, stops):
        walk.gait.contact_probe("RM")
        walk.run(0.6)
    sits.gait.sit()
    stops.gait.command(0.0, 0.0, 0.0)
    sits.run(2.0), stops.run(3.0)
    assert sits.gait.doing == "sitting" and stops.gait.doing == "standing"
    assert (sits.gait.data.feet["place"][:, 2] == 0.0).all() and (stops.gait.data.feet["place"][:, 2] == 0.0).all()


def test_where_it_cannot_be_pressed_nothing_happens():
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without("RM"))
    assert not gait.contact_probe("RM")  # it is held up
    gait.sit()
    assert not gait.contact_probe("LM")
    rows = AdaptiveGait().bind(ROBOT, WHOLE.without("RM").without("RF").without("RR"))
    assert rows.plan is None or not rows.contact_probe(rows.plan.legs[0])
    assert not TripodGait().bind(ROBOT).contact_probe("LM")


def test_an_unknown_leg_is_named():
    with pytest.raises(HexapodError, match="'XX'.*LF, LM"):
        AdaptiveGait().bind(ROBOT).contact_probe("XX")
