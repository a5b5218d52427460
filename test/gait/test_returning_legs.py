"""Legs come back while the robot walks without them: it stands on them only when their joints have arrived."""

import numpy as np
import pytest

from hexapod_dynamics.control.pose_guard import PoseGuard
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx
from hexapod_dynamics.simulation import Ground, Simulator

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
TICK = 0.02
ON_ITS_FEET = {"walking", "shifting", "settling"}


class Walk:
    """A robot that walks without legs behind the guard of the servos, as in the nodes; `tilt` [deg] of each tick."""

    def __init__(self, lost, measured=True):
        hurt = WHOLE.without(*lost)
        self.gait = AdaptiveGait().bind(ROBOT, hurt)
        self.gait.command(0.077, 0.0, 0.0)
        self.measured = measured
        if measured:
            self.gait.measure_joints(np.full(18, np.nan))
        self.physics = Simulator(ROBOT, hurt, timestep=2e-3, ground=Ground(friction=0.6))
        self.physics.reset(joints=self.gait.position.copy())
        self.guard = PoseGuard.of_robot(ROBOT)
        self.guard.synchronise_setpoint(np.zeros(18, int), self.gait.position.copy(), np.ones(18, bool))
        self.time, self.tilt, self.doing = 0.0, [], []

    def run(self, seconds):
        physics, gait = self.physics, self.gait
        for _ in range(round(seconds / TICK)):
            command = gait.step(TICK)[0].copy()
            command[~gait.morphology.moving_mask] = np.nan
            sent = self.guard.update(command, np.zeros(18), TICK)
            sent[~physics.morphology.existing_mask] = np.nan
            physics.command(sent, TICK)
            physics.step(10)
            self.time += TICK
            yaw, pitch, roll = euler_zyx(physics.rotation)
            if self.time > 1.0:
                gait.sense(roll, pitch, yaw)
            if self.measured and gait.awaits_joints:
                gait.measure_joints(physics.q)
            self.tilt.append(np.degrees(np.arccos(min(1.0, physics.rotation[2, 2]))))
            self.doing.append(gait.doing)

    def bring_back(self, pose):
        """Restore all legs; the joints of those that were lost stand at `pose` (3,) [rad]."""
        back = ~self.physics.morphology.existing_mask
        self.physics.set_morphology(WHOLE)
        self.physics.q[back] = np.tile(pose, back.sum() // 3)
        self.guard.synchronise_setpoint(np.where(back, 1, 0), self.physics.q.copy(), np.ones(18, bool))
        self.gait.set_morphology(WHOLE)
        self.tilt, self.doing = [], []


# Largest tilt [deg]. Without both front legs the body sways by 43 mm; when they come back with their weight, it tilts
# by 1.5 to 8.3 degrees, which depends on the phase.
MOST = {("RM",): 4.0, ("RM", "LM"): 4.0, ("LF", "RF"): 9.0, ("LF", "LM"): 4.0}


@pytest.mark.parametrize("lost", MOST)
@pytest.mark.parametrize("pose", [(0.0, 0.0, 0.0), (0.3, 1.2, -1.0)])
def test_legs_that_come_back_do_not_tip_the_body(lost, pose):
    walk = Walk(lost)
    walk.run(3.0)
    walk.bring_back(pose)
    walk.run(9.0)
    assert max(walk.tilt) < MOST[lost]
    assert set(walk.doing) <= ON_ITS_FEET and walk.doing[-1] == "walking"
    assert set(walk.gait.plan.legs) == set(ROBOT.leg_names)


def test_while_their_joints_are_on_the_way_it_walks_on_without_them_and_says_so():
    walk = Walk(("RM",))
    walk.run(2.0)
    walk.bring_back((0.3, 1.2, -1.0))
    walk.run(0.5)
    assert set(walk.doing) <= ON_ITS_FEET and walk.doing[-1] == "walking" and walk.gait.awaits_joints
    assert "RM came back" in walk.gait.report()["why"]
    walk.gait.set_morphology(WHOLE.without("RM"))  # gone again before they arrived
    assert not walk.gait.awaits_joints and "why" not in walk.gait.report()
    walk.run(1.0)
    assert set(walk.doing) <= ON_ITS_FEET and walk.doing[-1] == "walking" and max(walk.tilt) < 4.0


def test_the_wait_ends_after_a_time_where_joints_do_not_arrive():
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without("RM"))
    gait.measure_joints(np.full(18, np.nan))
    gait.set_morphology(WHOLE)
    for _ in range(round(5.5 / TICK)):
        gait.step(TICK)
    assert gait.awaits_joints and "RM" not in gait.plan.legs
    for _ in range(round(1.0 / TICK)):
        gait.step(TICK)
    assert not gait.awaits_joints and "RM" in gait.plan.legs


def test_without_measurements_there_is_no_wait():
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without("RM"))
    gait.set_morphology(WHOLE)
    assert not gait.awaits_joints and "RM" in gait.plan.legs


@pytest.mark.parametrize("lost", [("RM",), ("RM", "LM"), ("LF", "RF"), ("RF", "RM", "RR")])
def test_no_set_point_jumps_while_all_feet_move_to_their_places(lost):
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without(*lost))
    gait.command(0.077, 0.0, 0.0)
    for _ in range(150):
        gait.step(TICK)
    gait.set_morphology(WHOLE)
    largest, seen = 0.0, set()
    for _ in range(250):
        before, doing = gait.position.copy(), gait.doing
        gait.step(TICK)
        seen.add(doing)
        if doing in ("moving feet", "settling"):
            largest = max(largest, float(np.abs(gait.position - before).max()))
    assert seen & {"moving feet", "settling"}
    assert largest < 0.5  # the guard takes more for a jump and approaches slowly


def test_a_wrong_number_of_measured_joints_is_refused_by_name():
    gait = AdaptiveGait().bind(ROBOT)
    with pytest.raises(HexapodError, match="joints: 18 angles"):
        gait.measure_joints(np.zeros(17))
