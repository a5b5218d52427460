"""Pushes that are braced against, and what is no push."""

import math

import numpy as np
import pytest
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.recovery.brace import Brace, TipWatch
from hexapod_dynamics.kinematics import LegKinematics

STANCE = AdaptiveGait().bind(ROBOT).position.copy()
DT, TICK = 0.01, 0.02
LEVEL = (0.0, 0.0, 9.81)
STILL = (0.0, 0.0, 0.0)
PUSH = (0.0, 12.0, 9.81)
# Samples in which a body falls and hits the ground, measured in the built-in physics (75006, LF lost; 75042, LF, its
# second fall; 75014, LR): specific force, angular velocity.
FALLS = (
    [
        ((-5.5, -3.7, 6.1), (0.47, -0.76, -0.03)),
        ((-3.3, -3.2, 5.7), (0.59, -1.0, -0.15)),
        ((-2.6, -2.3, 4.4), (0.78, -1.33, -0.18)),
        ((0.3, 1.4, 6.4), (0.8, -1.7, -0.09)),
        ((1.2, 2.9, 11.6), (0.33, -1.95, 0.09)),
        ((10.1, 0.9, 16.0), (0.53, -1.55, 0.11)),
        ((11.0, 5.5, 13.6), (0.28, -0.74, 0.08)),
        ((7.0, 2.5, 4.5), (-0.04, -0.19, 0.05)),
        ((5.0, 0.7, 6.6), (-0.09, 0.0, -0.06)),
    ],
    [
        ((4.3, 2.8, 8.7), (-0.62, 1.15, -0.03)),
        ((4.0, 1.7, 7.6), (-0.96, 1.79, 0.01)),
        ((2.2, 0.7, 5.5), (-1.29, 2.45, 0.11)),
        ((-15.1, -10.8, 20.2), (-0.76, 1.83, 0.05)),
        ((-17.5, -9.6, 19.9), (0.11, 0.26, 0.02)),
        ((-10.7, -4.3, 13.0), (0.1, -0.08, 0.03)),
        ((-7.0, -2.5, 9.4), (0.04, -0.14, 0.06)),
    ],
    [
        ((5.4, -1.3, 7.4), (0.59, 1.10, -0.46)),
        ((3.8, -0.3, 5.9), (0.57, 1.15, -0.45)),
        ((1.7, 0.5, 5.5), (0.55, 1.23, -0.46)),
        ((-1.2, 1.4, 6.9), (0.57, 1.31, -0.47)),
        ((-12.0, 7.4, 12.7), (0.12, 0.43, -0.21)),
        ((-6.8, 2.9, 7.5), (-0.04, 0.0, -0.07)),
        ((-5.3, 1.9, 8.2), (-0.03, -0.12, -0.06)),
    ],
)


def sensed(*pieces, walking=True):
    """A Brace after 3 s on level ground and pieces of (seconds, specific force, angular velocity: by default none)."""
    brace = Brace(ROBOT)
    for seconds, force, *rate in ((3.0, LEVEL), *pieces):
        for _ in range(round(seconds / DT)):
            brace.sense(DT, force, rate[0] if rate else STILL, walking)
    return brace


def feet(joints):
    legs = [LegKinematics.from_robot(ROBOT, name) for name in ROBOT.leg_names]
    return np.array([leg.to_base(leg.forward(joints[3 * k : 3 * k + 3])) for k, leg in enumerate(legs)])


STEPS = [(0.3, LEVEL), (0.04, (5.0, 0.0, 9.81))] * 20
STEEP = 9.81 * math.sin(math.radians(35.0))
FALLING = [[(DT, force, rate) for force, rate in fall] for fall in FALLS]  # where a foot is lost
WEAK, TURNING = (0.0, 7.0, 11.0), (-1.5, 0.0, 0.0)
WRONG = [(DT, LEVEL, (rate, 0.0, 0.0)) for rate in (math.nan, math.inf, 1e6)]  # of a gyroscope
PUSHES = {
    "30 milliseconds": [(0.03, PUSH)],
    "more than steps": [*STEPS, (0.08, (0.0, 16.0, 9.81))],
    "turns the body at once": [(DT, PUSH, (1.5 * k, 0.0, 0.0)) for k in range(3)],
    "after a fall": [*FALLING[0], (0.21, LEVEL), (0.05, PUSH)],
    # Below 0.85 of the vertical force no force alone is a push: the lean that it causes decides.
    "tips, with a small force": [(0.2, WEAK, TURNING)],
    "after wrong rates": [*WRONG, (0.03, PUSH)],
    **{f"forces of fall {k} on a body that did not turn": [one[:2] for one in fall] for k, fall in enumerate(FALLING)},
}
NONE = {
    "nobody": [],
    "what each step brings": STEPS,
    "a small force": [(0.2, WEAK)],
    "wrong rates": WRONG,
    **{f"fall {k}": fall for k, fall in enumerate(FALLING)},
}


@pytest.mark.parametrize("pieces", PUSHES.values(), ids=PUSHES)
def test_a_push_is_found_in_a_robot_that_walks_only(pieces):
    assert sensed(*pieces).is_needed
    assert not sensed(*pieces, walking=False).is_needed


@pytest.mark.parametrize("pieces", NONE.values(), ids=NONE)
def test_what_is_no_push(pieces):
    assert not sensed(*pieces).is_needed


def test_a_slope_from_the_first_sample_on_is_no_push():
    brace = Brace(ROBOT)
    for _ in range(3000):
        brace.sense(DT, (STEEP, 0.0, 8.0), STILL, True)
    assert not brace.is_needed


def test_one_wrong_sample_and_nan_are_no_push():
    for wrong in ((0.0, 99.0, 9.81), (math.nan, 0.0, 9.81), (1e6, 0.0, 0.0), (math.inf, 0.0, 0.0)):
        brace = sensed((DT, wrong), (1.0, LEVEL))
        assert not brace.is_needed and brace.count == 0
        assert sensed((DT, wrong), (1.0, LEVEL), (0.1, PUSH)).is_needed  # and it is found afterwards


def test_the_belly_goes_down_and_the_feet_far_out_and_all_comes_back():
    brace = sensed((0.05, PUSH))
    gait, track = STANCE.copy(), []
    while brace.is_needed:
        track.append(brace.step(TICK, gait).copy())
        assert len(track) < 200
    rates = np.abs(np.diff([gait, *track], axis=0)) / TICK
    assert rates.max() <= ROBOT.servo.speed_limit + 1e-9
    braced = feet(track[14])
    assert (np.hypot(*braced[:, :2].T) > 0.3).all()
    np.testing.assert_allclose(braced[:, 2], -0.5 * ROBOT.body.box[2], atol=0.005)
    np.testing.assert_array_equal(track[-1], gait)
    assert brace.count == 1 and 0.4 <= len(track) * TICK <= 1.5


@pytest.mark.parametrize("lost", [("LF",), ("LF", "RR"), ("LM", "RM"), ("LF", "LM", "LR")])
def test_the_feet_that_are_left_stand_at_equal_angles_and_no_leg_passes_another(lost):
    brace = sensed((0.05, PUSH))
    brace.set_morphology(WHOLE.without(*lost))
    for _ in range(15):
        target = brace.step(TICK, STANCE)
    left = [k for k, name in enumerate(ROBOT.leg_names) if name not in lost]
    before, braced = (np.arctan2(f[left, 1], f[left, 0]) for f in (feet(STANCE), feet(target)))
    order, first = np.argsort(before).tolist(), int(np.argmin(braced))
    assert np.argsort(braced).tolist() == order[order.index(first) :] + order[: order.index(first)]
    if len(lost) < 3:  # three on one side cannot reach so far around
        gaps = np.diff(np.sort(braced), append=np.sort(braced)[0] + 2.0 * math.pi)
        np.testing.assert_allclose(gaps, 2.0 * math.pi / len(left), atol=0.06)


def test_a_robot_without_legs_moves_nothing():
    brace = sensed((0.05, PUSH))
    brace.set_morphology(WHOLE.without(*ROBOT.leg_names))
    np.testing.assert_array_equal(brace.step(TICK, STANCE), STANCE)


def test_an_imu_that_shakes_for_ever_is_usual_after_some_braces():
    brace, bracing = sensed(), []
    for k in range(round(60.0 / DT)):
        shake = 14.0 * math.copysign(1.0, math.sin(2.0 * math.pi * 3.0 * k * DT))
        brace.sense(DT, (0.0, shake, 9.81), STILL, True)
        if k % 2 == 0 and brace.is_needed:
            brace.step(TICK, STANCE)
        bracing.append(brace.active)
    assert 1 <= brace.count <= 5
    assert not any(bracing[-round(30.0 / DT) :])


def test_lost_legs_and_locked_joints_stay():
    brace = sensed((0.05, PUSH))
    brace.set_morphology(WHOLE.without("LF").locked("RM.femur", 0.3))
    for _ in range(15):
        out = brace.step(TICK, STANCE)
    np.testing.assert_array_equal(out[:3], STANCE[:3])
    femur = ROBOT.joint_names.index("femur_joint_RM")
    step = 15 * TICK * ROBOT.servo.speed_limit
    assert out[femur] == pytest.approx(np.clip(0.3, STANCE[femur] - step, STANCE[femur] + step))
    assert not np.allclose(out[3:6], STANCE[3:6])


def test_stop_ends_it():
    brace = sensed((0.05, PUSH))
    brace.step(TICK, STANCE)
    brace.stop()
    assert not brace.is_needed


def braced(walk):
    """Leave the walk as it is."""


def test_pushes_that_turn_the_robot_over_do_not_with_the_brace():
    pytest.importorskip("mujoco")
    from support.walks import plain, pushed

    without, beside = zip(*(pushed(seed, 12.0, (plain, braced)) for seed in (1, 2)), strict=True)
    assert all(over for over, _ in without)
    assert sum(over for over, _ in beside) <= 1 and all(braces == 1 for _, braces in beside)


def test_pushes_that_the_force_alone_does_not_show_in_time_are_braced_against():
    """Without a front leg most pushes of 10 N s turn the robot over before the force has shown them: these do."""
    pytest.importorskip("mujoco")
    from support.walks import pushed

    over, braces = zip(*(pushed(seed, 10.0, (braced,), lost=("LF",))[0] for seed in (3, 5)), strict=True)
    assert braces == (1, 1) and not all(over)


# ---- the tip watch ---------------------------------------------------------------------------------------------------


def watched(*pieces, axis=(1.0, 0.0)):
    """Whether a TipWatch found a tip, after pieces of (seconds, angular velocity [rad/s], vertical acceleration
    [m/s^2], sideways force [m/s^2]) of a body that turns about a horizontal axis.
    """
    watch, lean, found = TipWatch(), 0.0, False
    for seconds, rate, acceleration, side in pieces:
        for _ in range(round(seconds / DT)):
            lean += rate * DT
            # The upward direction in base_link of a body that has turned by `lean` about the axis.
            up = np.array([-math.sin(lean) * axis[1], math.sin(lean) * axis[0], math.cos(lean)])
            force = (LEVEL[2] + acceleration) * up
            found |= watch.update(DT, force.tolist(), [rate * axis[0], rate * axis[1], 0.0], side)
    return found


STANDS = (3.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize("axis", [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.6, 0.8)])
def test_a_body_that_is_pushed_turns_and_rises_is_tipped_in_any_direction(axis):
    assert watched(STANDS, (0.2, 1.5, 1.0, 6.0), axis=axis)
    assert not watched(STANDS, axis=axis)


def test_each_of_the_three_signs_is_needed():
    assert not watched(STANDS, (0.2, 1.5, 1.0, 3.0))  # hardly any force
    assert not watched(STANDS, (0.2, 0.2, 1.0, 6.0))  # hardly any lean: it slides
    assert not watched(STANDS, (0.2, 1.5, 0.0, 6.0))  # it does not rise


def test_a_body_that_sinks_where_a_foot_is_lost_and_hits_the_ground_is_not_tipped():
    sinks, hits, lies = (0.15, 1.5, -3.0, 3.0), (0.05, 2.0, 15.0, 8.0), (0.2, 0.2, 2.0, 8.0)
    assert not watched(STANDS, sinks, hits, lies)
    assert watched(STANDS, hits, lies)  # so it is the sinking that tells


def test_a_body_that_is_put_down_on_a_slope_is_not_tipped():
    """It turned within 0.1 s of the first sample, and braced: the mean of its lean was not known."""
    assert not watched((0.2, 1.5, 1.0, 6.0))


def test_a_lean_that_stays_is_no_tip_any_more():
    assert not watched(STANDS, (0.3, 1.0, 0.0, 1.0), (8.0, 0.0, 0.0, 1.0), (0.2, 0.0, 1.0, 6.0))
    assert watched(STANDS, (0.3, 1.0, 0.0, 1.0), (0.2, 0.0, 1.0, 6.0))
