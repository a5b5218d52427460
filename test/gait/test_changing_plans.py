"""A change of plan while the robot walks: the phase and the speed from which the walk holds, rehearsed beforehand."""

import numpy as np
import pytest
from support.gait_steps import largest_step, steps
from support.guarded_walk import TICK, GuardedWalk
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.gait import AdaptiveGait

SPEED = 0.077
# Losses after which four legs can go on at once at some phase, or at less speed.
PAIRS = [("LF", "RM"), ("LF", "LR"), ("RR", "RF"), ("LM", "RR"), ("LR", "RM"), ("LF", "RR"), ("LM", "RF")]
SITTING = {"sitting down", "sitting", "moving feet", "standing up"}


def walking(phase):
    """A gait in its steady walk at a phase."""
    gait = AdaptiveGait().bind(ROBOT)
    gait.reset(walking=True, phase=phase)
    gait.command(SPEED, 0.0, 0.0)
    return gait


def rehearsed(gait):
    """Findings of the gait's next cycles."""
    return gait.data.copy().rehearse(ROBOT.body.box_and_com, ROBOT.body.mass, ROBOT.gravity, -1.0)


@pytest.mark.parametrize("lost", [("LF",), ("RM",), ("RR", "RF"), ("LM", "RF"), ("LF", "LM")])
def test_a_steady_walk_has_the_margin_of_its_plan_and_no_foot_misses_its_place(lost):
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without(*lost))
    gait.reset(walking=True)
    found = rehearsed(gait)
    # The plan's margin is the least over all twists, with a guard at lift-off and touch-down.
    assert gait.plan.margin - 1e-3 < found["margin"] < gait.plan.margin + 0.015
    assert found["miss"] < 1e-9
    assert found["rate"] < 1.2 * ROBOT.servo.speed_limit


@pytest.mark.parametrize("lost", PAIRS)
def test_no_leg_is_dragged_out_of_reach_so_that_its_set_point_jumps(lost):
    legs = [3 * i + k for i, leg in enumerate(ROBOT.leg_names) if leg not in lost for k in range(3)]
    for phase in np.arange(4) / 4:
        gait = walking(phase)
        gait.set_morphology(WHOLE.without(*lost))
        largest = largest_step(gait, round(4.0 / TICK), legs, {"walking", "shifting", "settling"})
        assert largest < 0.5, f"phase {phase}"  # the guard takes more for a jump and approaches slowly
        assert gait.doing == "walking"


def run(lost, phase, seconds, late):
    """Lose legs at a phase, declared `late` [s] later, behind the servos' guard; way [m], largest tilt [deg] since."""
    walk, hurt = GuardedWalk(walking(phase)), WHOLE.without(*lost)
    walk.run(1.2)
    walk.physics.set_morphology(hurt)
    walk.run(late)
    walk.gait.set_morphology(hurt)
    begin, walk.tilt = walk.physics.position.copy(), []
    walk.run(seconds)
    return (walk.physics.position - begin)[0], max(walk.tilt[round(0.2 / TICK) :])


@pytest.mark.parametrize("lost", PAIRS)
def test_after_a_loss_it_goes_on_without_tipping_or_sliding(lost):
    ways = []
    for phase in (0.1, 0.6):
        way, tilt = run(lost, phase, 6.0, late=0.1)
        ways.append(way / (6.0 * SPEED))
        assert tilt < 8.0, f"phase {phase}: {tilt:.1f} degrees"
        assert ways[-1] > 0.65, f"phase {phase}: {ways}"


def test_where_no_phase_holds_it_sits_down_first():
    for phase in (0.1, 0.6):
        gait = walking(phase)
        gait.set_morphology(WHOLE.without("LF", "LM"))
        seen = set()
        for _ in range(round(3.0 / TICK)):
            gait.step(TICK)
            seen.add(gait.doing)
        assert SITTING <= seen and gait.doing == "walking"


def test_the_share_of_the_command_ends_with_the_first_cycle():
    gait = walking(0.1)
    gait.set_morphology(WHOLE.without("LF", "LR"))
    slow, state = [], gait.data.state
    assert state.scaled_cycles > 0.0 and state.command_scale < 1.0
    while state.scaled_cycles > 0.0:
        gait.step(TICK)
        if gait.doing == "walking":
            slow.append(gait.twist[0])
    assert min(slow) == pytest.approx(state.command_scale * SPEED)
    steps(gait, round(1.0 / TICK))
    assert gait.twist[0] == pytest.approx(SPEED)


def test_legs_that_weigh_something_again_do_not_stop_the_walk():
    gait = AdaptiveGait().bind(ROBOT, WHOLE.without("LF", "RF"))
    gait.measure_joints(np.full(18, np.nan))
    gait.command(SPEED, 0.0, 0.0)
    steps(gait, 150)
    before, phase = gait.plan, gait.phase
    gait.set_morphology(WHOLE)
    assert gait.plan != before and gait.plan.legs == before.legs
    assert gait.doing == "walking" and gait.phase == phase and gait.awaits_joints
