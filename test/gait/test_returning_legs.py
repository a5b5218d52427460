"""Legs come back while the robot walks without them: it stands on them only when their joints have arrived."""

import numpy as np
import pytest
from support.gait_steps import largest_step, steps
from support.guarded_walk import TICK, GuardedWalk
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.gait import AdaptiveGait

ON_ITS_FEET = {"walking", "shifting", "settling"}


class Walk(GuardedWalk):
    """A robot that walks without legs."""

    def __init__(self, lost):
        hurt = WHOLE.without(*lost)
        gait = AdaptiveGait().bind(ROBOT, hurt)
        gait.command(0.077, 0.0, 0.0)
        gait.measure_joints(np.full(18, np.nan))
        super().__init__(gait, hurt)

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
    steps(gait, round(5.5 / TICK))
    assert gait.awaits_joints and "RM" not in gait.plan.legs
    steps(gait, round(1.0 / TICK))
    assert not gait.awaits_joints and "RM" in gait.plan.legs


def test_without_measurements_there_is_no_wait():
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without("RM"))
    gait.set_morphology(WHOLE)
    assert not gait.awaits_joints and "RM" in gait.plan.legs


@pytest.mark.parametrize("lost", [("RM",), ("RM", "LM"), ("LF", "RF"), ("RF", "RM", "RR")])
def test_no_set_point_jumps_while_all_feet_move_to_their_places(lost):
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without(*lost))
    gait.command(0.077, 0.0, 0.0)
    steps(gait, 150)
    gait.set_morphology(WHOLE)
    # The guard takes more for a jump and approaches slowly.
    assert 0.0 < largest_step(gait, 250, slice(None), {"moving feet", "settling"}) < 0.5
