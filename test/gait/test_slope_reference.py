"""The tilt reflex is relative to the slope under the robot: it walks on a slope, and a fall is still a fall."""

import math

import numpy as np
import pytest
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.estimation.fall_detector import FallDetector
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.ground import STEEPEST, SlopeReference
from hexapod_dynamics.se3 import roll_pitch_yaw
from hexapod_dynamics.simulation import MujocoSimulator, Truth

SPEED = 0.077


class SlopeWalk:
    """A walk on MuJoCo with the reflex and the fall detector fed at 50 Hz, as in the node `gait`.

    The plane of the ground is inclined by `slope` [deg]: gravity's direction turns by as much against it.
    """

    def __init__(self, slope, heading=0.0):
        truth = Truth(slope=slope, slope_yaw=math.degrees(heading), friction=0.9)
        self.sim, self.gait = MujocoSimulator(ROBOT, truth=truth), AdaptiveGait().bind(ROBOT)
        self.falls, self.did, self.fell = FallDetector(), [], False
        self.sim.reset(joints=self.gait.position.copy())
        self.run(1.0, sense=False)

    def run(self, seconds, sense=True):
        """Walk for so many seconds."""
        for _ in range(round(seconds / 0.02)):
            self.sim.command(self.gait.step(0.02)[0], 0.02)
            self.sim.step(20)
            if sense:
                self.gait.sense(*roll_pitch_yaw(self.sim.rotation))
            sample = self.sim.time, self.sim.rotation, self.sim.specific_force, self.gait.ground_normal
            self.fell = self.falls.update(*sample) or self.fell
            if not self.did or self.did[-1] != self.gait.doing:
                self.did.append(self.gait.doing)


@pytest.mark.parametrize("heading", [0.0, 90.0, 180.0])
def test_a_whole_robot_walks_on_a_slope_of_ten_degrees(heading):
    walk = SlopeWalk(10.0, math.radians(heading))
    walk.run(0.5)
    walk.gait.command(SPEED, 0.0, 0.0)
    walk.run(2.0)
    start = walk.sim.position.copy()
    walk.run(5.2)
    way = float(np.linalg.norm(walk.sim.position - start))
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
    walk, worst = SlopeWalk(10.0), 0.0
    walk.run(0.5)
    walk.gait.command(0.0, 0.0, 0.5)
    for _ in range(80):
        walk.run(0.1)
        worst = max(worst, walk.gait.terrain.slope.tilt)
    assert abs(roll_pitch_yaw(walk.sim.rotation)[2]) > 1.5
    assert math.degrees(worst) < 3.0 and "sitting down" not in walk.did


def test_two_legs_lost_on_a_slope_make_it_sit_down():
    walk = SlopeWalk(10.0)
    walk.run(0.5)
    walk.gait.command(SPEED, 0.0, 0.0)
    walk.run(3.0)
    walk.sim.set_morphology(WHOLE.without("LF", "RF"))
    walk.run(3.0)
    assert "sitting down" in walk.did


def test_a_fall_on_a_slope_is_found():
    walk = SlopeWalk(10.0)
    walk.run(0.5)
    walk.gait.command(SPEED, 0.0, 0.0)
    walk.run(3.0)
    assert not walk.fell
    walk.sim.push([0.0, 25.0, 40.0, 12.0, 0.0, 0.0])  # tipped over by hand
    walk.run(0.6)
    walk.sim.push(np.zeros(6))
    walk.run(1.5)
    assert walk.fell and "sitting down" in walk.did


def test_a_robot_that_lies_on_its_side_never_counts_as_level():
    slope = SlopeReference()
    slope.sense(math.radians(35.0), 0.0, 0.0)
    for _ in range(3000):
        slope.learn(0.02, sits=True)
    assert slope.tilt == pytest.approx(math.radians(35.0) - STEEPEST)


def test_an_attitude_that_is_none_leaves_the_slope_as_it_was():
    slope = SlopeReference()
    slope.sense(0.05, 0.0, 0.0)
    slope.learn(2.0, sits=False)
    before = slope.east, slope.north
    slope.sense(math.nan, 0.0, 0.0)
    slope.learn(2.0, sits=False)
    slope.sense(0.05, 0.0, 0.0)
    assert (slope.east, slope.north) == before
    assert slope.tilt < 0.05
