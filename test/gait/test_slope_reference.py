"""The tilt reflex is relative to the slope under the robot: it walks on a slope, and a fall is still a fall."""

import math

import numpy as np
import pytest
from support.guarded_walk import MujocoWalk
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.estimation.fall_detector import FallDetector
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.ground import MAX_SLOPE, SlopeReference
from hexapod_dynamics.se3 import roll_pitch_yaw
from hexapod_dynamics.simulation import Truth

SPEED = 0.077


class SlopeWalk(MujocoWalk):
    """A walk on a slope of 10 degrees with the reflex and the fall detector fed at 50 Hz, as in the node `gait`, which
    stands for 1.5 s, and is then commanded; heading [deg]: direction in which gravity is turned.
    """

    def __init__(self, command, heading=0.0):
        truth = Truth(slope=10.0, slope_yaw=heading, friction=0.9)
        super().__init__(AdaptiveGait().bind(ROBOT), truth)
        self.falls, self.did, self.fell = FallDetector(), set(), False
        self.run(1.0, sense=False)
        self.run(0.5)
        self.gait.command(*command)

    def run(self, seconds, each=lambda: None, *, sense=True):
        def watch():
            sample = self.physics.time, self.physics.rotation, self.physics.specific_force, self.gait.ground_normal
            self.fell = self.falls.update(*sample) or self.fell
            self.did.add(self.gait.doing)
            each()

        super().run(seconds, watch, sense=sense)


@pytest.mark.parametrize("heading", [0.0, 90.0, 180.0])
def test_a_whole_robot_walks_on_a_slope_of_ten_degrees(heading):
    walk = SlopeWalk((SPEED, 0.0, 0.0), heading)
    walk.run(2.0)
    start = walk.physics.position.copy()
    walk.run(5.2)
    way = float(np.linalg.norm(walk.physics.position - start))
    assert "sitting down" not in walk.did and not walk.fell
    assert way > 0.6 * 5.2 * SPEED


def test_it_walks_from_level_ground_onto_a_slope_and_back_while_it_turns():
    """The tilt of a body that climbs grows by 3 degrees a second; the slope does not turn with the robot."""
    slope, yaw, worst = SlopeReference(), 0.0, 0.0
    for k in range(1500):
        t = 0.02 * k
        steep = math.radians(10.0) * min(1.0, max(0.0, (t - 2.0) / 3.3)) * min(1.0, max(0.0, (28.0 - t) / 3.3))
        yaw += 0.02 * 0.3
        slope.sense(math.sin(yaw) * steep, math.cos(yaw) * steep, yaw)
        worst = max(worst, slope.tilt)
        slope.learn(0.02, sits=False)
    assert math.degrees(worst) < 7.0


def test_a_robot_that_turns_on_a_slope_stays_level_with_it():
    walk, tilts = SlopeWalk((0.0, 0.0, 0.5)), []
    walk.run(8.0, lambda: tilts.append(walk.gait.terrain.slope.tilt))
    assert abs(roll_pitch_yaw(walk.physics.rotation)[2]) > 1.5
    assert math.degrees(max(tilts)) < 3.0 and "sitting down" not in walk.did


def test_two_legs_lost_on_a_slope_make_it_sit_down():
    walk = SlopeWalk((SPEED, 0.0, 0.0))
    walk.run(3.0)
    walk.physics.set_morphology(WHOLE.without("LF", "RF"))
    walk.run(3.0)
    assert "sitting down" in walk.did


def test_a_fall_on_a_slope_is_found():
    walk = SlopeWalk((SPEED, 0.0, 0.0))
    walk.run(3.0)
    assert not walk.fell
    walk.physics.push([0.0, 25.0, 40.0, 12.0, 0.0, 0.0])  # tipped over by hand
    walk.run(0.6)
    walk.physics.push(np.zeros(6))
    walk.run(1.5)
    assert walk.fell and "sitting down" in walk.did


def test_a_robot_that_lies_on_its_side_never_counts_as_level():
    slope = SlopeReference()
    slope.sense(math.radians(35.0), 0.0, 0.0)
    for _ in range(3000):
        slope.learn(0.02, sits=True)
    assert slope.tilt == pytest.approx(math.radians(35.0) - MAX_SLOPE)


def test_an_attitude_that_is_none_leaves_the_slope_as_it_was():
    slope = SlopeReference()
    slope.sense(0.05, 0.0, 0.0)
    slope.learn(2.0, sits=False)
    before = slope.slope
    slope.sense(math.nan, 0.0, 0.0)
    slope.learn(2.0, sits=False)
    slope.sense(0.05, 0.0, 0.0)
    assert slope.slope == before
    assert slope.tilt < 0.05
