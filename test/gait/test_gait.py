"""The tripod gait: eq. (64) to rounding, any planar twist without slipping, limits, soft starts and stops, damage.
Commands that are too fast are followed as fast as the plan allows, and set-points are no faster than the servos.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.kinematics import LegKinematics

LEGS = [LegKinematics.from_robot(ROBOT, name) for name in ROBOT.leg_names]
PHI = np.array([0.0 if leg.tripod_group == 1 else 0.5 for leg in ROBOT.legs])
S, SH, DEPTH, T, H = 0.05, 0.012, 1e-4, 1.3, 0.12


def feet(q):
    """Feet (6, 3) in base_link."""
    return np.array([leg.to_base(leg.forward(q[3 * i : 3 * i + 3])) for i, leg in enumerate(LEGS)])


def neutral():
    return np.array([leg.to_base([0.122, 0.0, 0.0]) for leg in LEGS])


def record(gait, dt, steps, command=None):
    q, rates, twists = [], [], []
    for k in range(steps):
        if command is not None:
            gait.command(*command(k * dt))
        position, velocity = gait.step(dt)
        q.append(position.copy())
        rates.append(velocity.copy())
        twists.append(gait.twist)
    return np.array(q), np.array(rates), np.array(twists)


@pytest.mark.parametrize("dt", [1e-3, 0.02, 0.013, 0.0371])
def test_a_steady_walk_is_equation_64_to_rounding(dt):
    gait = TripodGait(S, SH, T).bind(ROBOT)
    assert gait.nominal_velocity == 2 * S / T
    gait.reset(walking=True)
    for k in range(1, 200):
        gait.step(dt)
        for i, phi in enumerate(PHI):
            p = (k * dt / T + phi) % 1.0
            stance, s = p < 0.5, (2.0 * p) % 1.0
            if min(s, 1.0 - s) < 1e-9:
                continue  # on the very boundary either half is right
            x = S * (0.5 - s) if stance else S * (s - 0.5)
            z = -H - DEPTH * np.sin(np.pi * s) if stance else -H + SH * np.sin(np.pi * s)
            assert feet(gait.position)[i] == pytest.approx(neutral()[i] + [x, 0.0, z], abs=1e-12)


def commands(t):
    if t < 3.0:
        return 0.06, 0.02, 0.1
    if t < 6.0:
        return -0.03, 0.05, -0.35
    return 0.0, 0.0, 0.0


@pytest.mark.parametrize("swing", ["half_sine", "minimum_jerk"])
def test_stance_feet_do_not_slip_whatever_the_command(swing):
    gait = TripodGait(swing=swing).bind(ROBOT)
    dt, pose, previous = 0.01, np.eye(3), None
    for k in range(1200):
        gait.command(*commands(k * dt))
        gait.step(dt)
        vx, vy, wz = gait.twist * gait.walking
        angle = wz * dt
        a, b = (np.sinc(angle / np.pi), (1 - np.cos(angle)) / angle) if abs(angle) > 1e-9 else (1.0, 0.0)
        pose = pose @ np.array(
            [
                [np.cos(angle), -np.sin(angle), dt * (a * vx - b * vy)],
                [np.sin(angle), np.cos(angle), dt * (b * vx + a * vy)],
                [0.0, 0.0, 1.0],
            ]
        )
        on_ground = (pose @ np.column_stack([feet(gait.position)[:, :2], np.ones(6)]).T).T[:, :2]
        standing = ((gait.phase + PHI) % 1.0 < 0.5) | (not gait.walking)
        if previous is not None:
            stays = standing & previous[1] & (previous[2] == gait.walking)
            # Not those that touched down within dt.
            stays &= ((gait.phase + PHI) % 1.0 > dt / T + 1e-9) | (not gait.walking)
            slip = np.linalg.norm(on_ground - previous[0], axis=1)[stays]
            # The last, imperceptible bit of a stopping twist (below 1e-4 m a half cycle) is dropped.
            assert slip.size == 0 or slip.max() < 1e-9 + (0.0 if gait.walking else 1e-4)
        previous = on_ground, standing, gait.walking


@pytest.mark.parametrize("swing, dt", [("half_sine", 0.02), ("minimum_jerk", 0.02), ("minimum_jerk", 0.001)])
def test_starts_turns_and_stops_within_bounds_on_speed_and_acceleration(swing, dt):
    gait = TripodGait(swing=swing).bind(ROBOT)
    q, rates, twists = record(gait, dt, round(10.0 / dt), commands)
    speeds = np.diff(q, axis=0) / dt
    assert np.abs(rates).max() < ROBOT.servo.speed_limit
    assert np.abs(speeds).max() < 0.8 * ROBOT.servo.speed_limit
    # Body: two poles at 0.2 s make a step of at most 0.1 m/s into at most 0.1 / (e 0.2) = 0.18 m/s^2 and 0.1 / 0.04
    # m/s^3.
    assert np.abs(np.diff(twists[:, :2], axis=0)).max() / dt < 0.2
    assert np.abs(np.diff(twists[:, :2], 2, axis=0)).max() / dt**2 < 3.0
    if swing == "minimum_jerk":
        assert np.abs(np.diff(speeds, axis=0)).max() / dt < 25.0
    else:
        # Half sines lift off and touch down at a finite speed: jumps in speed, no larger than these.
        assert np.abs(np.diff(speeds, axis=0)).max() < 2.2
    assert not gait.walking
    assert feet(q[-1]) == pytest.approx(neutral() + [0.0, 0.0, -H], abs=1.1e-3)


def test_the_first_and_the_last_step_are_no_rougher_than_the_walk():
    dt = 0.02
    gait = TripodGait().bind(ROBOT)
    walk = lambda t: (gait.nominal_velocity if 1.0 < t < 7.0 else 0.0, 0.0, 0.0)  # noqa: E731
    q, _, _ = record(gait, dt, 500, walk)
    jumps = np.abs(np.diff(q, 2, axis=0)).max(axis=1) / dt
    steady = jumps[200:340].max()
    assert jumps[:100].max() <= steady + 1e-9 and jumps[340:].max() <= steady + 1e-9


@pytest.mark.parametrize("swing", ["half_sine", "minimum_jerk"])
def test_rates_are_the_derivatives_of_positions(swing):
    gait, dt = TripodGait(swing=swing).bind(ROBOT), 1e-3
    q, rates, _ = record(gait, dt, 4000, commands)
    error = np.abs(np.diff(q, axis=0) / dt - 0.5 * (rates[1:] + rates[:-1]))
    # A half sine's rate jumps where it begins and ends, six times here: in those steps the trapezoid says nothing.
    assert np.mean(error > 5e-3) < (6.5 / 4000 if swing == "half_sine" else 1e-9)


def test_rates_are_the_derivatives_of_positions_while_the_body_leans():
    gait, dt = AdaptiveGait().bind(ROBOT), 1e-3
    gait.lean((0.01, -0.01, 0.01, 0.05, -0.06, 0.1))
    q, rates, _ = record(gait, dt, 100)
    assert np.diff(q, axis=0).any(axis=1).all()  # it leans all the time, and turns about all axes
    np.testing.assert_allclose(np.diff(q, axis=0) / dt, 0.5 * (rates[1:] + rates[:-1]), rtol=0, atol=1e-3)


@given(st.floats(-2, 2), st.floats(-2, 2), st.floats(-6, 6))
@settings(max_examples=100, deadline=None)
def test_commands_are_scaled_as_a_whole_to_the_limits(vx, vy, wz):
    gait = BOUND
    followed = gait.limit_command(vx, vy, wz)
    places = neutral()[:, :2]
    strokes = np.hypot(followed[0] - followed[2] * places[:, 1], followed[1] + followed[2] * places[:, 0]) * T / 2
    assert strokes.max() <= gait.longest_stroke * (1 + 1e-12)
    asked = np.array([vx, vy, wz])
    assert np.linalg.norm(np.cross(asked, followed)) <= 1e-12 * (1 + asked @ asked)  # same direction
    assert followed @ asked >= 0.0 and np.linalg.norm(followed) <= np.linalg.norm(asked) + 1e-15


BOUND = TripodGait().bind(ROBOT)


def test_the_longest_stroke_is_walked_in_full():
    assert BOUND.longest_stroke >= S
    speed = 2.0 * BOUND.longest_stroke / T
    turning = speed / np.linalg.norm(neutral()[:, :2], axis=1).max()
    for twist in ((speed, 0.0, 0.0), (0.0, -speed, 0.0), (0.0, 0.0, turning)):
        assert BOUND.limit_command(*twist) == pytest.approx(twist)
    for size in (10.0, 1e6, 1e200, 1e308):
        assert BOUND.limit_command(size, 0.0, 0.0)[0] == pytest.approx(speed)


@pytest.mark.parametrize("period", [0.3, 0.6, 1.3])
def test_no_joint_exceeds_its_speed_at_the_limits(period):
    gait = TripodGait(0.01, SH, period).bind(ROBOT)
    gait.command(1.0, 1.0, 0.0)
    q, _, _ = record(gait, period / 64, 640)
    assert np.abs(np.diff(q, axis=0)).max() / (period / 64) < ROBOT.servo.speed_limit


@pytest.mark.parametrize("command", [(np.nan, 0, 0), (0, np.inf, 0), (0, 0, -np.inf), ("0.1", 0, 0), (None, 0, 0)])
def test_a_command_that_is_no_number_is_refused_and_the_last_stays(command):
    gait = TripodGait().bind(ROBOT)
    gait.walk()
    before = gait.commanded_twist.copy()
    with pytest.raises(HexapodError, match="finite numbers needed"):
        gait.command(*command)
    assert np.array_equal(gait.commanded_twist, before)


def test_from_measured_joints_the_gait_leads_softly_to_its_stand():
    gait, dt = TripodGait().bind(ROBOT), 0.02
    somewhere = np.random.default_rng(3).uniform(-0.7, 0.7, 18)
    gait.reset(joints=somewhere)
    gait.walk()  # heard at once, begun when standing
    assert gait.position == pytest.approx(somewhere, abs=1e-15)
    q, _, _ = record(gait, dt, 200)
    speeds = np.diff(np.vstack([somewhere, q]), axis=0) / dt
    assert np.abs(speeds).max() < 0.2 * ROBOT.servo.speed_limit + 1.3  # blend, then the walk's own
    assert gait.walking
    for kind in (gait, AdaptiveGait().bind(ROBOT)):
        kind.walk()
        before = [kind.step(dt)[0].copy() for _ in range(100)][-1]
        with pytest.raises(HexapodError, match="joints: .*18"):
            kind.reset(joints=[0.0])
        assert kind.walking and np.array_equal(kind.position, before)  # nothing has changed


def test_a_locked_joint_is_held_and_the_others_do_their_best():
    hurt = WHOLE.locked("RF.femur", 0.3)
    gait = TripodGait().bind(ROBOT, hurt)
    gait.reset(walking=True)
    q, rates, _ = record(gait, 0.01, 130)
    femur = ROBOT.joint_names.index("femur_joint_RF")
    assert np.all(q[:, femur] == 0.3) and np.all(rates[:, femur] == 0.0)
    healthy = TripodGait().bind(ROBOT)
    healthy.reset(walking=True)
    others = [j for j in range(18) if not femur - 1 <= j <= femur + 1]
    assert q[:, others] == pytest.approx(record(healthy, 0.01, 130)[0][:, others], abs=0.0)


def test_a_shortened_tibia_still_puts_its_foot_on_the_ground():
    hurt = WHOLE.broken("LF.tibia", 0.6)
    gait = TripodGait().bind(ROBOT, hurt)
    gait.reset(walking=True)
    leg = LegKinematics.from_robot(ROBOT, "LF", hurt)
    heights = [leg.forward(gait.step(0.01)[0][:3])[2] for _ in range(130)]
    assert min(heights) == pytest.approx(-H - DEPTH, abs=1e-6)


def test_what_is_left_of_a_leg_moves_as_in_the_whole_leg():
    hurt, healthy = TripodGait().bind(ROBOT, WHOLE.without("LM.femur", "RR")), TripodGait().bind(ROBOT)
    for gait in (hurt, healthy):
        gait.reset(walking=True)
    assert record(hurt, 0.01, 130)[0] == pytest.approx(record(healthy, 0.01, 130)[0], abs=0.0)


def test_damage_in_mid_walk_moves_no_other_leg():
    gait, healthy = TripodGait().bind(ROBOT), TripodGait().bind(ROBOT)
    for each in (gait, healthy):
        each.reset(walking=True)
        record(each, 0.01, 40)
    gait.set_morphology(WHOLE.locked("LF.coxa", 0.1).without("RM"))
    assert record(gait, 0.01, 90)[0][:, 3:] == pytest.approx(record(healthy, 0.01, 90)[0][:, 3:], abs=0.0)
    gait.set_morphology(WHOLE)
    assert record(gait, 0.01, 90)[0] == pytest.approx(record(healthy, 0.01, 90)[0], abs=1e-15)
