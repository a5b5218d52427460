"""What is sent to the servos: bounded in angle, speed and step, from where the joints are; sitting down."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapod_dynamics.control.pose_guard import GuardSettings, MotionTime, PoseGuard
from hexapod_dynamics.control.posture import SitDown, SupplyLimits, SupplyMonitor

N = 4
SETTINGS = GuardSettings(speed_limit=5.0, approach_speed=0.5, step_limit=0.4, feedforward_limit=0.1)


def guard_at(angle=0.0):
    guard = PoseGuard([-1.0] * N, [1.0] * N, 30.0, SETTINGS)
    guard.synchronise_setpoint(np.ones(N, int), np.full(N, angle), np.ones(N, bool))
    return guard


def command(value):
    return np.full(N, value)


STILL = np.zeros(N)


def test_a_joint_whose_pose_is_not_known_is_not_moved():
    guard = PoseGuard([-1.0] * N, [1.0] * N, 30.0, SETTINGS)
    assert np.isnan(guard.update(command(0.3), STILL, 0.02)).all()
    guard.synchronise_setpoint(np.ones(N, int), np.zeros(N), np.array([True, False, True, True]))
    assert np.isnan(guard.update(command(0.3), STILL, 0.02)).tolist() == [False, True, False, False]


def test_the_first_motion_is_slow_and_from_the_measured_pose():
    guard, last = guard_at(0.7), 0.7
    for _ in range(400):
        sent = guard.update(command(-0.3), STILL, 0.02)
        assert np.all(np.abs(sent - last) <= (0.5 * 0.02 if not guard.following.all() else 0.02) + 1e-12)
        last = sent
    assert np.allclose(last, -0.3) and guard.following.all()


def test_once_met_a_command_is_followed_exactly():
    guard = guard_at(0.0)
    for k in range(200):
        wanted = 0.5 * np.sin(0.1 * k)
        sent = guard.update(command(wanted), STILL, 0.02)
    assert np.allclose(sent, wanted) and guard.clamped == dict.fromkeys(guard.clamped, 0)


def test_limits_clamp_and_are_counted():
    guard = guard_at(0.9)
    for wanted in (0.9, 0.95, 1.2, 1.3):
        sent = guard.update(command(wanted), STILL, 0.02)
    assert np.allclose(sent, 1.0) and guard.clamped["angle"] == 2 * N
    guard = guard_at(0.0)
    guard.update(command(0.0), STILL, 0.02)
    sent = guard.update(command(0.3), STILL, 0.02)
    assert np.allclose(sent, 0.1) and guard.clamped["speed"] == N


def test_a_leap_is_counted_and_approached_slowly():
    guard = guard_at(0.0)
    guard.update(command(0.0), STILL, 0.02)
    sent = guard.update(command(0.8), STILL, 0.02)
    assert np.allclose(sent, 0.01) and guard.clamped["step"] == N and not guard.following.any()


def test_after_a_pause_the_next_command_is_approached():
    guard = guard_at(0.0)
    guard.update(command(0.0), STILL, 0.02)
    guard.pause()
    assert np.allclose(guard.update(command(0.3), STILL, 0.02), 0.01)


def test_a_joint_met_again_starts_from_where_it_is():
    guard = guard_at(0.0)
    guard.update(command(0.0), STILL, 0.02)
    generation = np.ones(N, int)
    generation[2] = 2
    guard.synchronise_setpoint(generation, np.full(N, -0.6), np.ones(N, bool))
    sent = guard.update(command(0.0), STILL, 0.02)
    assert np.allclose(sent, [0.0, 0.0, -0.59, 0.0])


def test_feed_forward_torque_becomes_an_offset_bounded_and_smooth():
    guard = guard_at(0.0)
    offsets = [guard.update(command(0.0), np.array([0.9, -0.9, 30.0, np.nan]), 0.02).copy() for _ in range(20)]
    assert np.allclose(offsets[-1], [0.03, -0.03, 0.1, 0.0])
    assert np.abs(np.diff(offsets, axis=0)).max() <= 0.02 + 1e-12


def test_what_is_not_asked_holds_and_infinity_is_counted():
    guard = guard_at(0.2)
    sent = guard.update(np.array([np.nan, np.inf, -np.inf, 0.2]), STILL, 0.02)
    assert np.allclose(sent, 0.2) and guard.clamped["not finite"] == 2


FLOATS = st.floats(allow_nan=True, allow_infinity=True, width=64)


@given(st.lists(st.tuples(FLOATS, FLOATS, st.floats(0.01, 0.04)), min_size=1, max_size=30), st.floats(-1.0, 1.0))
def test_no_command_whatever_moves_a_joint_too_far_or_too_fast(messages, start):
    guard = guard_at(start)
    last = np.full(N, start)
    for position, torque, interval in messages:
        sent = guard.update(command(position), command(torque), interval)
        assert np.isfinite(sent).all() and (np.abs(sent) <= 1.0).all()
        assert (np.abs(sent - last) <= (5.0 + 1.0) * interval + 1e-9).all()
        last = sent


def arrivals(jitter):
    return 1.0 + 0.02 * np.arange(200) + np.random.default_rng(4).uniform(-jitter, jitter, 200)


@pytest.mark.parametrize("jitter", [0.0005, 0.002, 0.005, 0.009])
def test_commands_as_fast_as_the_servos_are_not_clamped_for_coming_late_and_then_soon(jitter):
    """Those of a gait at its limit: each is 20 ms of the greatest speed further."""
    guard, time = guard_at(-1.0), MotionTime(0.02)
    guard.update(command(-1.0), STILL, 0.02)
    for k, t in enumerate(arrivals(jitter)):
        way = 20 - abs(k % 40 - 20)  # to and fro
        asked = command(-1.0 + 0.02 * SETTINGS.speed_limit * way)
        guard.update(asked, STILL, time.begin_motion(t, guard.unused, 0.3))
    assert guard.clamped["speed"] == 0


@given(st.lists(st.floats(0.0151, 0.08), min_size=2, max_size=60), st.integers(1, 60))
def test_late_commands_never_add_up_to_more_than_the_speed_over_the_time_and_one_period(pauses, begin):
    guard, time, t, places = PoseGuard([-1e9], [1e9], 30.0, GuardSettings(step_limit=1e9)), MotionTime(0.02), 1.0, []
    guard.synchronise_setpoint(np.ones(1, int), np.zeros(1), np.ones(1, bool))
    guard.update(np.zeros(1), np.zeros(1), 0.02)
    for k, pause in enumerate(pauses):
        t += pause
        wanted = 1e3 if k >= begin else 0.0  # it stands, then hurries
        places.append((t, guard.update(np.array([wanted]), np.zeros(1), time.begin_motion(t, guard.unused, 0.3))[0]))
    for (before, start), (after, end) in zip(places, places[1:] + places[:1], strict=True):
        assert end - start <= guard.settings.speed_limit * (max(after - before, 0.0) + 0.02) + 1e-9
    assert places[-1][1] <= guard.settings.speed_limit * (places[-1][0] - places[0][0] + 0.04)


@pytest.mark.parametrize(
    ("volts_and_seconds", "levels"),
    [
        pytest.param([(11.8, 3), (10.0, 3), (9.4, 3), (8.9, 3)], ["ok", "warn", "sit", "release"], id="lower, more"),
        pytest.param([(11.8, 3), (8.0, 1.5), (11.8, 3), (8.0, 1.5)], ["ok"] * 4, id="short sags"),
        pytest.param(
            [(9.5, 3), (9.7, 5), (9.95, 1), (10.3, 5), (10.6, 1)], ["sit", "sit", "warn", "warn", "ok"], id="hysteresis"
        ),
        pytest.param([(math.nan, 5), (9.0, 5), (math.nan, 5)], ["ok", "release", "release"], id="unknown"),
    ],
)
def test_the_supply_asks_for_more_the_lower_it_is_for_a_while(volts_and_seconds, levels):
    monitor, t, found = SupplyMonitor(SupplyLimits(10.2, 9.6, 9.1, 0.3, 2.0)), 0.0, []
    for volts, seconds in volts_and_seconds:
        for _ in range(round(seconds * 10)):
            t += 0.1
            level = monitor.update(volts, t)
        found.append(level)
    assert found == levels


def test_sitting_down_is_slow_and_all_joints_arrive_together():
    start, seated = np.array([0.0, 0.4, np.nan, -0.2]), np.array([0.0, 1.2, 1.0, np.nan])
    down = SitDown(start, seated, 0.5, 10.0)
    assert down.duration == pytest.approx(1.6)
    assert np.array_equal(down.pose(10.0), [0.0, 0.4, np.nan, np.nan], equal_nan=True), "a joint not known is left"
    assert np.array_equal(np.isnan(down.pose(11.0)), [False, False, True, True])
    assert down.pose(10.8)[1] == pytest.approx(0.8) and down.pose(20.0)[1] == pytest.approx(1.2)
    assert not down.done(11.7) and down.done(12.2)
