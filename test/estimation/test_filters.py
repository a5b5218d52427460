"""Filters find what is constant, ignore what is old, and start anew when the sensor does; of commands to come, a gait
is continued, a stop is held, a gap is bridged. The fall detector: no alarm while walking, half a second at most when it
falls.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.jethexa import ROBOT

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.estimation.fall_detector import FallDetector
from hexapod_dynamics.estimation.filters import AttitudeFilter, JointFilter, TimedBuffer
from hexapod_dynamics.estimation.servo_commands import DECAY, CommandHistory
from hexapod_dynamics.gait import AdaptiveGait, TripodGait
from hexapod_dynamics.gait.ground import SlopeReference
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx, rotation_from_vector, rotation_z
from hexapod_dynamics.simulation import Simulator


def test_memory_interpolates_and_keeps_to_its_ends():
    buffer = TimedBuffer((2,), size=8)
    for k in range(20):
        buffer.add(0.1 * k, np.array([k, 2.0 * k]))
    np.testing.assert_allclose(buffer.interpolate(1.55), [15.5, 31.0], atol=1e-9)
    np.testing.assert_array_equal(buffer.interpolate(9.0), [19, 38])
    np.testing.assert_array_equal(buffer.interpolate(0.0), [12, 24])  # the oldest of eight
    for time in (1.55, 9.0, 0.0, 1.9):
        assert buffer.interpolate_element(time, 1) == buffer.interpolate(time)[1]


STILL = np.zeros(3)


def measure(joints, time, measured, modelled, rates):
    """Give a JointFilter the readings of all joints that are not NaN; which of them were new."""
    return [
        bool(np.isfinite(angle)) and joints.measure(time, j, float(angle), float(modelled[j]), float(rates[j]))
        for j, angle in enumerate(measured)
    ]


def test_a_constant_offset_of_a_joint_is_found_with_the_stated_time_constant():
    joints = JointFilter(3, gain=2.0)
    truth = np.array([0.05, -0.1, 0.0])
    for k in range(101):  # 1 s at 100 Hz, each value new
        setpoint = 0.3 * np.sin(k * 0.05) * np.ones(3)
        measure(joints, k * 0.01, setpoint + truth, setpoint + joints.offsets, STILL)
    np.testing.assert_allclose(joints.offsets, truth * (1 - np.exp(-2.0)), rtol=0.02, atol=1e-12)


def test_a_joint_that_turns_fast_is_believed_less():
    joints, rate = JointFilter(2, gain=2.0), np.array([0.0, 0.4])
    for k in range(2):
        measure(joints, 0.1 * k, np.full(2, 0.1 + k), np.full(2, k), rate)
    np.testing.assert_allclose(joints.offsets, 2.0 * 0.1 * 0.1 * np.array([1.0, 0.2]))


def test_counts_and_wrong_times_shift_offsets_by_less_than_a_count():
    joints, count, rng = JointFilter(1), np.deg2rad(0.24), np.random.default_rng(4)
    offsets = []
    for k in range(400):  # read at 5 Hz, up to 20 ms before the stamp
        t = 0.2 * k
        old = 0.3 * np.sin(4.8 * (t - rng.uniform(0.0, 0.02)))
        modelled, rate = 0.3 * np.sin(4.8 * t) + joints.offsets, 0.3 * 4.8 * np.cos(4.8 * t)
        measure(joints, t, np.round(np.array([old]) / count) * count, modelled, np.array([rate]))
        offsets.append(joints.offsets[0])
    assert np.abs(offsets).max() < count
    assert abs(np.mean(offsets)) < 0.25 * count


def test_a_measurement_counts_once_by_its_time_whatever_its_value():
    joints = JointFilter(2)

    def new(time, *angles):
        return measure(joints, time, np.array(angles), np.zeros(2), np.zeros(2))

    assert new(0.02, 0.1, np.nan) == [True, False]
    assert new(0.02, 0.1, 0.3) == [False, True]
    assert new(0.01, 0.2, 0.2) == [False, False]
    assert new(0.04, 0.1, np.nan) == [True, False]  # the same value, measured again
    np.testing.assert_array_equal(joints.latest, [0.1, 0.3])


def test_a_joint_that_is_not_heard_keeps_its_offset_and_the_limit_holds():
    joints = JointFilter(2, gain=5.0, limit=0.2)
    for k in range(200):
        measure(joints, k * 0.01, np.array([np.nan, 1.0 + 1e-6 * k]), np.zeros(2), np.zeros(2))
    assert joints.offsets[0] == 0.0 and np.isnan(joints.latest[0])
    assert joints.offsets[1] == 0.2


def test_the_body_is_turned_to_the_imus_tilt_whatever_the_imus_yaw_origin():
    attitude, model = AttitudeFilter(tilt_gain=2.0, yaw_gain=2.0), np.eye(3)
    measured = rotation_z(2.5) @ rotation_from_vector([0.1, -0.05, 0.0])
    for k in range(300):
        model = rotation_from_vector(attitude.measure(0.01 * k, measured, model)) @ model
    expected = rotation_z(-2.5) @ measured
    np.testing.assert_allclose(euler_zyx(model)[1:], euler_zyx(expected)[1:], atol=3e-4)
    assert abs(euler_zyx(model)[0]) < 0.01


def test_yaw_follows_the_gyro_and_survives_a_restart_of_the_imu():
    attitude, model, yaw = AttitudeFilter(yaw_gain=5.0), np.eye(3), 0.0
    for k in range(600):
        yaw += 0.002
        origin = 0.7 if k < 300 else -1.9  # the node was started again: another origin
        model = rotation_from_vector(attitude.measure(0.01 * k, rotation_z(yaw + origin), model)) @ model
    # Following a ramp of 0.2 rad/s at 5 / s lags by 0.04 rad; the restart adds what the lag was worth, once.
    assert euler_zyx(model)[0] == pytest.approx(yaw, abs=0.1)
    assert attitude.alignments == 2


def test_after_a_silence_the_yaw_is_aligned_again():
    attitude = AttitudeFilter()
    attitude.measure(0.0, rotation_z(0.0), rotation_z(0.2))
    assert np.abs(attitude.measure(0.01, rotation_z(0.0), rotation_z(0.2))).max() < 1e-12
    assert np.abs(attitude.measure(5.0, rotation_z(0.1), rotation_z(1.0))).max() == 0.0
    assert attitude.alignments == 2


WIDTH, PERIOD = 18, 0.02


def gait(t, cycle=1.3):
    """A motion with two harmonics and a phase for each joint; rows for the times t."""
    phase = 2 * np.pi * np.atleast_1d(t)[:, None] / cycle + np.arange(WIDTH) * np.pi
    return 0.3 * np.sin(phase) + 0.1 * np.cos(2 * phase)


def filled(motion, seconds):
    history = CommandHistory(WIDTH, period=PERIOD)
    for k in range(round(seconds / PERIOD)):
        history.append(k * PERIOD, motion(k * PERIOD)[0])
    return history, (round(seconds / PERIOD) - 1) * PERIOD


@pytest.mark.parametrize("cycle", [0.7, 1.0, 1.3, 1.337, 2.9])
def test_a_periodic_motion_is_continued_over_the_horizon(cycle):
    history, now = filled(lambda t: gait(t, cycle), 4.5)
    assert history.lag == pytest.approx(cycle, abs=0.002)
    ahead = np.linspace(0.0, 0.5, 26)
    # A lag between two samples is interpolated linearly: the error is the curvature's, at most 8e-4 rad here.
    np.testing.assert_allclose(history.forecast(ahead), gait(now + ahead, cycle), atol=4e-3)


@pytest.mark.parametrize("lost, period", [((), 0.77), ((), 1.01), (("RM",), 1.1899)])
def test_a_quick_step_between_two_rows_is_found_after_one_period(lost, period):
    robot = Robot.jethexa()
    walk = AdaptiveGait(period=period).bind(robot, Morphology.whole(robot).without(*lost))
    walk.command(0.077, 0.0, 0.0)
    history = CommandHistory(WIDTH, period=PERIOD)
    for k in range(300):
        history.append(k * PERIOD, walk.step(PERIOD)[0])
        if k > 250:
            assert history.lag == pytest.approx(period, abs=0.002)


def test_a_continuation_longer_than_the_period_goes_round_again():
    history, now = filled(lambda t: gait(t, 0.5), 4.5)
    ahead = np.linspace(0.0, 1.4, 30)
    np.testing.assert_allclose(history.forecast(ahead), gait(now + ahead, 0.5), atol=0.02)


def test_standing_is_continued_by_standing():
    history, _ = filled(lambda t: np.full((1, WIDTH), 0.4), 3.0)
    assert history.lag is None
    np.testing.assert_array_equal(history.forecast([0.0, 0.25, 0.5]), np.full((3, WIDTH), 0.4))


def test_an_unmatched_motion_goes_on_with_a_rate_that_dies_away():
    history, now = filled(lambda t: np.full((1, WIDTH), 0.2 * t), 3.0)
    assert history.lag is None
    ahead = np.array([0.0, 0.01, 5.0])
    expected = 0.2 * now + 0.2 * DECAY * (1 - np.exp(-ahead / DECAY))
    np.testing.assert_allclose(history.forecast(ahead), np.tile(expected[:, None], WIDTH), atol=1e-12)


def test_the_first_step_after_standing_is_not_taken_for_a_period():
    history, _ = filled(lambda t: gait(max(t - 2.0, 0.0)), 2.6)
    assert history.lag is None


def test_a_change_of_gait_is_forgotten_and_found_again():
    history = CommandHistory(WIDTH, period=PERIOD)
    times = np.arange(0, 9.0, PERIOD)
    found = []
    for t in times:
        history.append(t, gait(t, 1.3 if t < 4.5 else 0.9)[0])
        found.append(history.lag)
    assert found[round(4.4 / PERIOD)] == pytest.approx(1.3, abs=0.01)
    assert found[-1] == pytest.approx(0.9, abs=0.01)


def test_lost_commands_do_not_shift_the_phase():
    history = CommandHistory(WIDTH, period=PERIOD)
    rng = np.random.default_rng(1)
    for k in range(230):
        if k in (100, 101, 150, 151, 152) and k < 180:
            continue
        history.append(k * PERIOD + rng.uniform(-0.004, 0.004), gait(k * PERIOD)[0])
    ahead = np.linspace(0.02, 0.4, 20)
    np.testing.assert_allclose(history.forecast(ahead), gait(229 * PERIOD + ahead), atol=0.02)


def test_a_clock_that_jumps_back_or_far_starts_afresh():
    history, now = filled(gait, 4.0)
    history.append(now - 10.0, gait(0.0)[0])
    assert history.count == 1
    history.append(now + 100.0, gait(0.0)[0])
    assert history.count == 1


def test_commands_that_come_once_a_second_are_extrapolated_too():
    history = CommandHistory(WIDTH, period=1.0)
    for time in range(20):
        history.append(time, np.full(WIDTH, 0.3 * (time % 2)))
    np.testing.assert_allclose(history.forecast([1.0, 2.0])[:, 0], (0.0, 0.3), atol=0.05)


def test_nothing_to_extrapolate_is_said():
    with pytest.raises(HexapodError, match="no command"):
        CommandHistory(WIDTH).forecast([0.0])


def watch(simulator, detector, seconds, start=0.0, *, rotation=True):
    """Step the simulator, 100 samples a second with the noise of an MPU6050; return when the detector saw a fall."""
    rng = np.random.default_rng(1)
    for k in range(round(100 * seconds)):
        simulator.step(10)
        force = simulator.specific_force + 0.3 * rng.normal(size=3)
        detector.update(start + 0.01 * k, simulator.rotation if rotation else None, force)
        if detector.fallen:
            return 0.01 * k
    return None


@pytest.mark.parametrize("lost", [(), ("RM",), ("RM", "LM"), ("LF", "RR")], ids=str)
def test_a_robot_that_walks_or_limps_has_not_fallen(lost):
    simulator = Simulator(ROBOT, Morphology.whole(ROBOT).without(*lost), TripodGait())
    detector = FallDetector()
    assert watch(simulator, detector, 6.0) is None
    assert detector.upright


@pytest.mark.parametrize("gravity", [9.81, 1.62])
@pytest.mark.parametrize("known", [True, False], ids=["with attitude", "specific force alone"])
def test_a_robot_that_lies_on_its_back_is_seen_within_half_a_second(known, gravity):
    simulator = Simulator(replace(ROBOT, gravity=gravity))
    detector = FallDetector(gravity)
    assert watch(simulator, detector, 1.5, rotation=known) is None
    simulator.reset(rotation=rotation_from_vector([math.pi, 0.0, 0.0]))
    took = watch(simulator, detector, 2.0, 1.5, rotation=known)
    assert took is not None and took < 0.5
    assert not detector.upright


def test_a_robot_that_is_thrown_over_is_seen_while_it_falls():
    simulator = Simulator(ROBOT)
    detector = FallDetector()
    watch(simulator, detector, 0.5)
    simulator.nu[2:4] = 2.0, 8.0  # up and rolling
    when, over = None, None
    for k in range(200):
        simulator.step(10)
        detector.update(0.5 + 0.01 * k, simulator.rotation, simulator.specific_force)
        over = k if over is None and simulator.rotation[2, 2] < 0.5 else over
        if detector.fallen:
            when = k
            break
    assert over is not None and when is not None and when - over <= 30


def test_it_is_upright_again_only_when_both_witnesses_have_said_so_for_a_second():
    detector, up, down = FallDetector(), np.array([0.0, 0.0, 9.81]), rotation_from_vector([math.pi, 0.0, 0.0])
    times = iter(0.01 * np.arange(1, 2000))

    def feed(count, rotation, force):
        return [detector.update(next(times), rotation, force) for _ in range(count)]

    assert any(feed(50, down, -up))
    assert all(feed(150, down, up))  # an attitude that has not followed yet
    assert all(feed(150, np.eye(3), 0.1 * up))  # being carried: no gravity to be seen
    assert all(feed(95, np.eye(3), up))
    feed(40, np.eye(3), up)
    assert not detector.fallen and detector.upright


def test_a_gap_in_the_data_is_no_time_spent_lying():
    detector, down = FallDetector(), rotation_from_vector([math.pi, 0.0, 0.0])
    force = np.array([0.0, 0.0, -9.81])
    for time in np.arange(0.0, 3.1, 0.1):  # most samples tell nothing
        assert not detector.update(time, *(np.full((3, 3), np.nan), None) if time % 1.0 > 0.01 else (down, force))
    assert not detector.update(3.05, down, np.array([0.0, 0.0, math.nan]))
    assert not detector.update(3.04, down, force)  # an old sample


def lean(detector, degrees, level, seconds, start=0.0, *, rotation=True):
    """Feed an attitude of `degrees` of pitch for a time; return whether the robot has fallen."""
    turned = rotation_from_vector([0.0, math.radians(degrees), 0.0])
    for k in range(round(100 * seconds)):
        detector.update(start + 0.01 * k, turned if rotation else None, 9.81 * turned[2], level)
    return detector.fallen


def level_on(degrees, yaw=0.0):
    """What counts as level on a slope that pitches a robot of this heading by `degrees`."""
    slope = SlopeReference()
    slope.sense(0.0, math.radians(degrees), yaw)
    slope.adopt()
    return slope.ground_normal


@pytest.mark.parametrize("known", [True, False], ids=["with attitude", "specific force alone"])
def test_a_robot_that_leans_on_a_slope_is_upright_again_after_a_fall(known):
    """Two legs missing lean it by up to 23 degrees; on a slope of 13 degrees it was never upright again."""
    detector, level = FallDetector(), level_on(13.0)
    assert lean(detector, 170.0, level, 0.5, rotation=known)
    assert not lean(detector, 13.0 + 20.0, level, 1.5, 1.0, rotation=known) and detector.upright
    assert detector.tilt == pytest.approx(math.radians(20.0))


@pytest.mark.parametrize("known", [True, False], ids=["with attitude", "specific force alone"])
def test_a_fall_up_the_slope_is_one_at_the_same_tilt_against_the_ground(known):
    assert lean(FallDetector(), -50.0, level_on(13.0), 0.5, rotation=known)
    assert not lean(FallDetector(), -50.0, level_on(0.0), 0.5, rotation=known)


def test_what_was_a_fall_on_level_ground_is_one_on_every_slope_and_so_is_upright():
    """A slope learnt before somebody carried the robot elsewhere makes it neither blind nor lame."""
    assert lean(FallDetector(), 62.0, level_on(13.0), 0.5)
    detector, level = FallDetector(), level_on(-15.0)
    assert lean(detector, 170.0, level, 0.5)
    assert not lean(detector, 15.0, level, 1.5, 1.0) and detector.upright


def test_the_level_of_a_slope_turns_with_the_heading():
    slope = SlopeReference()
    assert slope.ground_normal == (0.0, 0.0, 1.0)
    slope.sense(0.0, math.radians(10.0), 0.0)
    slope.adopt()
    for yaw in (0.0, 1.0, 2.5, -2.0):
        turned = rotation_from_vector([0.0, 0.0, yaw]).T @ rotation_from_vector([0.0, math.radians(10.0), 0.0])[:, 2]
        roll = math.asin(-turned[1])
        slope.sense(roll, math.atan2(turned[0], turned[2]), yaw)
        assert slope.ground_normal == pytest.approx((-turned[0], -turned[1], turned[2]), abs=2e-3)
