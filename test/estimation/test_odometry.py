"""What is learnt of a walk: measures of the strides and what they do to the way, with synthetic motions, on other
ground and with play; a dead band, of loaded joints off their set-points; a lag, of joints that are late.
"""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.jethexa import ROBOT
from support.sensed_walk import SensedWalk

from hexapod_dynamics.estimation.odometry import PRIOR, READING_RATE, BandPass, SpeedFactor, StrideMeasures
from hexapod_dynamics.estimation.servo_model import FIRST, LARGEST, LOADED, MEMORY, RANGE, DeadBandFilter, ServoLag
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import JointServo, Robot
from hexapod_dynamics.simulation import Truth

G, DT, SPEED, SWING = 9.81, 0.01, 0.08, 0.03
UP = np.array([0.0, 0.0, 1.0])


def walked(gain=1.0, heading=0.0, pitching=0.0, seconds=60.0, learns=True, late=0.0, every=1):
    """Return measures of a body that surges along a heading [rad] of its own axes, `gain` times as much as the model,
    and pitches at a rate of an amplitude [rad/s]; 1 Hz. late [s]: of the samples, of which each `every`th arrives.
    """
    strides, w = StrideMeasures(G), 2.0 * math.pi
    along = np.array([math.cos(heading), math.sin(heading)])
    before = SPEED * along
    for k in range(1, round(seconds / DT)):
        t = k * DT
        velocity = (SPEED + SWING * math.sin(w * t)) * along
        strides.note_model(t, before.tolist(), np.array([*velocity, 0, 0, 0, 0]), UP, DT)
        before = velocity
        at = t - late
        surge = gain * SWING * w * math.cos(w * at) * along
        rate = pitching * math.sin(w * at) * np.array([-along[1], along[0], 0.0])
        if k % every == 0:
            strides.add_acceleration(at, [*surge, G], rate.tolist(), learns)
    return strides


@pytest.mark.parametrize("heading", [1.5, -2.5])
def test_a_body_that_surges_and_pitches_less_or_more_than_the_model(heading):
    """With 3 s of the prior in some 29 s the measures have nine tenths of the true value (and of its square)."""
    shy, bold = walked(0.4, heading), walked(1.6, heading)
    assert shy.surge == pytest.approx(0.4, abs=0.1) and bold.surge == pytest.approx(1.6, abs=0.1)
    assert walked(1.0, heading).surge == pytest.approx(1.0, abs=0.005)
    passed = BandPass()
    passed.start(0.0)
    swing = [passed.step(0.05 * math.sin(2.0 * math.pi * DT * k), DT) for k in range(1000)]
    pitching = walked(1.0, heading, pitching=0.05).pitching
    assert 0.9 * np.std(swing[500:]) < pitching < np.std(swing[500:])


def test_late_samples_are_compared_with_the_model_of_their_own_time():
    assert walked(1.0, late=0.03).surge == pytest.approx(1.0, abs=0.005)


def test_an_imu_of_25_samples_a_second_teaches_nothing_and_one_of_50_does():
    assert walked(0.4, every=2).surge == pytest.approx(0.4, abs=0.1)
    assert walked(0.4, pitching=0.05, every=4).surge == 1.0 and walked(pitching=0.05, every=4).pitching == 0.0


def test_nothing_is_learnt_of_a_robot_that_stands_or_contradicts_its_model():
    for strides in (walked(0.4, learns=False), walked(0.4, seconds=0.05)):
        assert strides.surge == pytest.approx(1.0, abs=1e-3)
    standing = StrideMeasures(G)
    for k in range(1000):
        standing.note_model(k * DT, [0.0, 0.0], np.zeros(6), UP, DT)
        standing.add_acceleration(k * DT, [math.sin(k), 0.0, G], [0.0, math.sin(k), 0.0], True)
        standing.read_coxa(0.1, 0.02)
    assert (standing.surge, standing.deflection, standing.pitching) == (1.0, 0.0, 0.0)


def test_coxae_that_give_way_to_their_loads():
    strides = walked(seconds=30.0)
    for k in range(4000):
        load = 0.03 * (-1) ** k
        strides.read_coxa(-0.001 * math.copysign(1.0, load), load)
    assert strides.deflection == pytest.approx(0.001, rel=0.1)
    for _ in range(200):  # readings without a load tell nothing
        strides.read_coxa(0.5, 0.0)
    assert 0.0009 < strides.deflection < 0.001
    assert READING_RATE * PRIOR > 100  # some readings of the first second do not decide
    strides.clear()
    assert strides.deflection == 0.0


def test_a_gap_of_the_samples_does_not_count():
    strides = walked(1.0)
    before, now = strides.surge, 61.0
    for k in range(3):  # each after a gap
        strides.note_model(now + k, [SPEED, 0.0], np.array([SPEED, 0, 0, 0, 0, 0]), UP, DT)
        strides.add_acceleration(now + k, [30.0, 0.0, G], [0.0, 9.0, 0.0], True)
    assert strides.surge == before and strides.pitching == pytest.approx(0.0, abs=1e-9)


def test_on_stiff_ground_a_robot_with_other_servos_surges_less_and_its_way_is_longer():
    """MuJoCo's ground does not give way. This robot's model alone is 3 % short (seed 6240, one of the rule's)."""
    walk = SensedWalk("mujoco", Truth.parse("servos=real,seed=6240"), seed=6240, gait="auto")
    rows = walk.log(13.0)[80:]  # 8 s are for learning
    true, predicted = (np.hypot(*(rows[-1, c : c + 2] - rows[0, c : c + 2])) for c in (1, 6))
    assert walk.observer.odometry.strides.surge < 0.7 and abs(predicted / true - 1.0) < 0.012


def strides(surge=1.0, deflection=0.0, pitching=0.0):
    """Return measures as a StrideMeasures has them."""
    return SimpleNamespace(surge=surge, deflection=deflection, pitching=pitching)


def test_a_robot_that_walks_as_its_model_has_the_model_s_way():
    assert SpeedFactor().update(strides(), 0.0, 0.01) == 0.0
    assert SpeedFactor().update(StrideMeasures(9.81), 0.0, 0.01) == 0.0  # before anything is measured


@pytest.mark.parametrize(
    ("some", "most", "sign"),
    [
        ({"surge": 0.4}, {"surge": -50.0}, 1.0),
        ({"surge": 1.6}, {"surge": 50.0}, -1.0),
        ({"deflection": 5e-4}, {"deflection": 1.0}, 1.0),
        ({"pitching": 0.04}, {"pitching": 9.0}, -1.0),
    ],
    ids=["less surge", "more surge", "coxae give way", "tossed"],
)
def test_the_way_is_longer_or_shorter_by_a_tenth_at_most(some, most, sign):
    factor = SpeedFactor()
    shares = [sign * factor.update(strides(**measures), 0.0, 0.01) for measures in (some, most)]
    assert 0.005 < shares[0] < shares[1] <= 0.1 and factor.share == sign * shares[1]
    assert -0.2 < SpeedFactor().update(strides(), 10.0, 0.01) < -0.05  # however much it stumbles


def test_a_steady_difference_of_the_heading_as_in_a_turn_is_no_stumble():
    factor, as_modelled = SpeedFactor(), strides()
    assert factor.update(as_modelled, 0.01, 0.01) < -0.05
    for _ in range(1500):
        factor.update(as_modelled, 0.01, 0.01)
    assert factor.share == 0.0
    factor.clear()
    assert factor.update(as_modelled, 0.01, 0.01) < -0.05


def test_play_that_was_identified_lengthens_the_way():
    """No reading shows play: its strides are longer than the model's, and `identify` has found by how much."""
    truth, play, drifts = Truth(zone=0.5, hysteresis=0.5), np.radians(0.5), []
    servo = JointServo(ROBOT.servo.stiffness, dead_zone=np.radians(0.5), play=play)
    for known in (None, replace(ROBOT, joint_servos=(servo,) * ROBOT.joint_count)):
        rows = SensedWalk("mujoco", truth, seed=3, gait="auto", known=known).log(9.0)
        drifts.append(np.hypot(*(rows[-1, 6:8] - rows[-1, 1:3])) / np.hypot(*rows[-1, 1:3]))
    assert drifts[1] < 0.6 * drifts[0]


COUNT = np.deg2rad(0.24)
OWN = 0.01  # damping over stiffness of the JetHexa's servos [s]


def feed(band, *, ratio=1.0, trim=0.0, seconds=20.0, filter_=None, seed=0):
    """Feed readings of twelve joints, 200 a second, whose loads change sign within a cycle of 1.3 s."""
    rng = np.random.default_rng(seed)
    found = filter_ or DeadBandFilter(12, 4 * COUNT)
    trims = trim * rng.normal(size=12)
    for k in range(round(200 * seconds)):
        joint, phase = k % 12, 2.0 * np.pi * (0.005 * k / 1.3 + k % 12 / 12.0)
        stretch = 0.008 + 0.02 * np.sin(phase)
        lag = ratio * stretch + band * np.sign(stretch) + trims[joint]
        lag = np.round((lag + rng.uniform(-0.5, 0.5) * COUNT) / COUNT) * COUNT
        found.measure(joint, lag, stretch, 0.1 * np.cos(phase))
        if k % 200 == 199:
            found.forget(1.0)
    return found


@pytest.mark.parametrize("band", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("ratio", [0.85, 1.0, 1.2])
def test_it_is_found_beside_trims_and_another_stiffness(band, ratio):
    found = feed(band * COUNT, ratio=ratio, trim=0.3 * COUNT).certain_band / COUNT
    assert max(0.0, band - 0.5) <= found <= band + 0.2


def test_what_is_learnt_follows_a_change_and_stays_within_its_bound():
    found = feed(0.0)
    assert found.certain_band < 0.1 * COUNT
    assert feed(1.5 * COUNT, seconds=90.0, filter_=found).certain_band == pytest.approx(1.5 * COUNT, abs=0.4 * COUNT)
    assert feed(8.0 * COUNT).certain_band == 4 * COUNT


def test_an_identified_dead_zone_is_known_from_the_first_step_on():
    laws = (JointServo(30.0, 2.0 * COUNT, 0.02, 0.01, 1.0, 0.004, 0.02, 0.1),) * 18
    found = DeadBandFilter.from_robot(replace(Robot.jethexa(), joint_servos=laws))
    assert found.certain_band == pytest.approx(2.0 * COUNT, abs=1.1e-3)
    for _ in range(60):  # nothing is read for a minute
        found.forget(1.0)
        assert found.certain_band == pytest.approx(2.0 * COUNT, abs=1.1e-3)
    assert DeadBandFilter.from_robot(Robot.jethexa()).certain_band == 0.0


def test_joints_without_load_say_nothing():
    found = DeadBandFilter(2, 4 * COUNT)
    for _ in range(1000):
        found.measure(0, 2 * COUNT, 0.9 * LOADED, 0.0)
    assert found.certain_band == 0.0


@pytest.mark.parametrize("band, seconds", [(0.0, 12.0), (2.0, 36.0)])
def test_the_model_of_a_walk_takes_the_learnt_band_over(band, seconds):
    walk = SensedWalk("built_in", Truth(deadband=band), gait=AdaptiveGait())
    walk.run(seconds)  # what is certain of 2 counts has grown to 0.4 after 12 s, to 0.8 after 36 s
    found = walk.observer.dead_band.certain_band / COUNT
    assert (0.7 < found < 2.5) if band else found < 0.3
    rows = np.array(walk.rows)
    way = rows[-1, 1] - rows[-60, 1]
    assert abs(rows[-1, 6] - rows[-60, 6] - way) < 0.015 * way  # without a band of its own 2.6 %


def learnt(lag, seconds=5.0, noise=0.004):
    """A ServoLag after readings of joints that follow by a lag [s]; 200 a second."""
    random, one = np.random.default_rng(1), ServoLag(OWN)
    for rate in random.normal(0.0, 1.0, round(200 * seconds)).tolist():
        one.measure(-lag * rate + noise * random.normal(), rate)
    return one


@pytest.mark.parametrize("lag", [0.0, 0.008, 0.02])
def test_the_lag_of_joints_that_follow_late_is_found(lag):
    assert learnt(lag).seconds == pytest.approx(lag, abs=0.001)


def test_the_kind_follows_from_the_lag_and_is_that_of_the_model_before_anything_is_read():
    assert ServoLag(OWN).feed_forward == 1.0 == learnt(0.5 * FIRST * OWN).feed_forward
    assert learnt(1.2 * (FIRST + RANGE) * OWN).feed_forward == 0.0
    assert learnt((FIRST + 0.5 * RANGE) * OWN).feed_forward == pytest.approx(0.5, abs=0.1)
    assert ServoLag(0.0).feed_forward == 1.0  # a servo without damping


def test_what_was_read_long_ago_counts_less_and_one_wild_reading_little():
    one = learnt(0.02)
    one.forget(MEMORY / 2)
    for rate in np.random.default_rng(2).normal(0.0, 1.0, 1000).tolist():
        one.measure(0.0, rate)
    assert one.seconds < 0.008
    before = learnt(0.01)
    after = learnt(0.01)
    after.measure(100.0, 1.0)
    assert abs(after.seconds - before.seconds) <= LARGEST / 1.0 * 0.01


def test_a_model_whose_servos_damp_is_late_itself_and_the_lag_is_still_that_of_the_servos():
    """Readings equal to the angles of such a model say that the servos damp."""
    one = learnt(1.2 * (FIRST + RANGE) * OWN)
    assert one.adopt_feed_forward() == 0.0
    for rate in np.random.default_rng(3).normal(0.0, 1.0, 20_000).tolist():
        one.measure(0.0, rate)
        one.forget(0.005)
    assert one.seconds == pytest.approx(OWN, rel=0.05)


def test_an_identified_kind_is_that_of_the_model_from_the_first_step_on_whatever_the_lag():
    servo = JointServo(Robot.jethexa().servo.stiffness, feed_forward=0.0)
    robot = replace(Robot.jethexa(), joint_servos=(servo,) * 18)
    assert (
        ServoLag.from_robot(robot).adopt_feed_forward() == 0.0
        and ServoLag.from_robot(Robot.jethexa()).adopt_feed_forward() == 1.0
    )


@pytest.mark.parametrize("kind", [0.0, 1.0])
def test_a_walk_tells_servos_that_damp_against_zero_rate_from_those_that_feed_the_rate_forward(kind):
    truth = Truth(ff=kind, lag=0.003, zone=0.4, hysteresis=0.3, servo_friction=0.3, delay=0.006)
    walk = SensedWalk("mujoco", truth, seed=4, gait="auto")
    walk.run(8.0)
    assert walk.observer.servo_lag.feed_forward == pytest.approx(kind, abs=0.3)
    # As it was learnt a second ago.
    assert walk.observer.model.drive["feed_forward"].item() == pytest.approx(kind, abs=0.3)
    assert Robot.jethexa().servo.damping / Robot.jethexa().servo.stiffness == pytest.approx(OWN)
