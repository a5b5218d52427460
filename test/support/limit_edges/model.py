"""Edges of the limits of what is learnt: servos, features of a window, the model, the baseline, suspicion."""

from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
from support.limit_edges.judging import changes, near

from hexapod_dynamics.detection import commanded_model, running_model
from hexapod_dynamics.detection.baseline import Baseline
from hexapod_dynamics.detection.learnt_servos import LearntServos
from hexapod_dynamics.detection.scatter import kinds_of
from hexapod_dynamics.detection.servo_identification import ServoIdentification, sign_of_load
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.detection.suspicion import Suspicion
from hexapod_dynamics.detection.window import MeasurementWindow
from hexapod_dynamics.robot import Morphology, Robot

ROBOT = Robot.jethexa()
KINDS = kinds_of(ROBOT)


# ---- servos


def readings_of(lag=0.0, zone=0.0, moving=1.0, rate=1.0, count=400):
    """Readings of servos with this lag [s] and dead zone [rad]: joints, residuals, rates, leads; a share is moving."""
    k = np.arange(count)
    rates = np.where(k % 2, rate, -rate) * (k < moving * count)
    leads = np.where(k // 2 % 2, 1.0, -1.0) * np.where(k // 4 % 2, 0.05, 0.01) * (zone != 0.0)
    return k % 18, -lag * rates - zone * sign_of_load(leads, 4e-3), rates, leads


def learnt(limits, windows=40, duration=0.5, **values):
    """LearntServos after so many windows, and the times [s] of walking after which it has changed."""
    servos, changed = LearntServos(limits, 18, duration), []
    for k in range(windows):
        if servos.measure(readings_of(**values)):
            changed.append(duration * (k + 1))
    return servos, changed


def starts(limits, deviation=0.0, windows=60):
    """Number of windows that are learnt at the start."""
    servos = LearntServos(limits, 18, 0.32)
    return sum(servos.learns_start(deviation) for _ in range(windows))


def starts_again(limits):
    """Number of windows that are learnt whatever they deviate by, after lag and dead zone have been identified late."""
    servos = LearntServos(limits, 18, 0.5)
    assert [servos.learns_start(0.0) for _ in range(100)][-1] is False  # it has stood for long
    while not servos.measure(readings_of(lag=0.02)):
        pass
    return sum(servos.learns_start(0.0) for _ in range(100))


def identified(limits, residual, rate, lead, before=0):
    """Lag [s] and zone [rad] after one reading; before: number of readings that the lag is zero."""
    one = ServoIdentification(18, limits)
    if before:
        k = np.arange(before)
        one.measure(k % 17 + 1, np.zeros(before), np.where(k % 2, 1.0, -1.0), np.zeros(before))
    one.measure(np.array([0]), np.array([residual]), np.array([rate]), np.array([lead]))
    return one.identify_servo_lag()


# ---- windows


def stub_model(rate=0.0):
    """A model of ticks of 20 ms whose joints are at 0 and move at a rate [rad/s]."""
    return SimpleNamespace(
        slice_ticks=16,
        period=0.02,
        tick=64,
        tilt=np.zeros((512, 3)),
        place=lambda time: time / 0.02,
        row=lambda tick: tick,
        joint_at=lambda place, joint: (0.0, rate, 0.0),
        rate_at=lambda place, joint: 1.0,
    )


def noise_of(limits, rate=0.0):
    """Standard deviations (21,) of a window's features with one reading of joint 0, at a rate [rad/s]."""
    window = MeasurementWindow(stub_model(rate), 18, limits)
    window.add_joint(0.1, 0, 0.0)
    for k in range(10):
        window.add_attitude(0.02 * k, 0.0, 0.0, 0.0)
    return window.view(0, 1).noise[0]


def has_attitude(limits, count, span):
    """Whether so many attitudes over a time [s] are enough for a window."""
    window = MeasurementWindow(stub_model(), 18, limits)
    for time in np.linspace(0.01, 0.01 + span, count):
        window.add_attitude(time, 0.0, 0.0, 0.0)
    return bool(np.isfinite(window.view(0, 1).residual[0, -1]))


def judges_lag(limits, move=0.1, moving=18):
    """Whether the lag of all joints is judged where so many of 18 move by an angle [rad]."""
    window = MeasurementWindow(stub_model(1.0), 18, limits)
    for k in range(36):
        joint = k % 18
        window.add_joint(1.0 + 0.005 * k, joint, move * (k // 18) if joint < moving else 0.0)
    return bool(np.isfinite(window.lag(32)))


# ---- the model under its commands


class StillModel:
    """A RunningModel that only counts its ticks."""

    def __init__(self, *_):
        self.tick, self.started, self.time = 0, False, np.zeros(1)
        self.model = SimpleNamespace(position=np.zeros(3))

    def start(self, *_):
        """Start."""
        self.started = True

    def step(self, *_):
        """Advance a tick."""
        self.tick += 1


def commanded(limits, *commands, until):
    """A CommandedModel that started at 0 s, after these commands [s] and an `advance` to `until` [s]."""
    settings = replace(DetectorSettings(), limits=limits)
    with patch.object(commanded_model, "RunningModel", StillModel):
        model = commanded_model.CommandedModel(ROBOT, settings)
    model.command(0.0, np.zeros(18))
    model.start(np.zeros(18), Morphology.whole(ROBOT))
    for at in commands:
        model.command(at, np.zeros(18))
    model.advance(until)
    return model


def stands(limits, carried):
    """Whether the model stands on its feet where they carry this share of its weight."""
    predictor = SimpleNamespace(advance=lambda *_: None, q=np.zeros(18), rotation=np.eye(3), carried_by_feet=carried)
    predictor.snapshot, predictor.setpoints = tuple, np.zeros(18)
    with patch.object(running_model, "Predictor", lambda *_, **__: predictor):
        model = running_model.RunningModel(ROBOT, 0.02, 2e-3, 16, limits)
    model.step(0.0, np.zeros(18))
    return bool(model.on_feet[0])


# ---- baseline


def taught(limits, *values, feature=0, load=0.0, yaw=np.pi / 2, motion=(0.0, 0.0)):
    """A Baseline that has learnt windows with these residuals of one feature, the others 0, and nothing else."""
    baseline = Baseline(KINDS, limits)
    for value in (*values, *[0.0] * limits.learning_delay):
        residual = np.zeros(21)
        residual[feature] = value
        moving = np.tile(motion, (18, 1))
        baseline.offer(residual, np.full(18, load), yaw, np.full(21, 1e-3), moving)
    return baseline


def expects(baseline, feature=0, load=0.0, yaw=np.pi / 2, motion=(0.0, 0.0)):
    """What a Baseline expects of a feature."""
    return baseline.predict(np.full(18, load), np.float64(yaw), np.tile(motion, (18, 1)))[feature]


def unknown(baseline, feature=0):
    """What a Baseline leaves unknown of a feature."""
    return baseline.unknown(np.zeros(18), np.float64(np.pi / 2), np.zeros((18, 2)))[feature]


def learns_from(limits, load, motion=(0.0, 0.0)):
    """Change [rad] of what is expected by load and motion, after one window with 10 mrad."""
    baseline = taught(limits, 0.01, load=load, motion=motion)
    return expects(baseline, load=load, motion=motion) - expects(baseline)


def windows_until_learnt(limits):
    """Number of windows until the first is learnt."""
    baseline, count = Baseline(KINDS, limits), 0
    while expects(baseline) == 0.0:
        baseline.offer(np.full(21, 0.01), np.zeros(18), 0.0, np.full(21, 1e-3))
        count += 1
    return count


def novelty(limits):
    """What is unknown of a joint, five windows after the robot has changed."""
    baseline = Baseline(KINDS, limits)
    baseline.change_robot(unknown=True)
    for _ in range(5):
        baseline._learn(np.zeros(21), np.zeros(18), 0.0, np.full(21, 1e-3), None)
    return unknown(baseline)


# ---- suspicion

SIX, TILTS, TURN = list(range(6)), [18, 19], [20]


def suspects(limits, value, features, *, known=True, ground=True, noise=0.0):
    """A Suspicion that has looked at one window with a residual in these features."""
    suspicion = Suspicion(18, limits)
    see(suspicion, value, features, known=known, ground=ground, noise=noise)
    return suspicion


def see(suspicion, value, features, *, known=True, ground=True, noise=0.0):
    """Look at a window; known: the robot is; ground: it is as plausible ground is, or smooth."""
    baseline = SimpleNamespace(
        predict=lambda *_: np.zeros(21),
        unknown=lambda *_: np.full(21, 0.0 if known else 1.0),
        scatter=SimpleNamespace(variance=lambda prior: prior if ground else np.zeros(21)),
    )
    residual = np.zeros(21)
    residual[features] = value
    suspicion.look(residual, np.zeros(18), 0.0, np.full(21, noise), baseline)


def usual_after(limits, surprise, windows):
    """Suspicion of a window with a surprise of 100, after some usual ones."""
    suspicion = Suspicion(18, limits)
    for _ in range(windows):
        see(suspicion, np.sqrt(surprise) * 4e-3, SIX)
        suspicion.is_usual()
    see(suspicion, 0.04, SIX)
    return suspicion.value


def learnable(limits, deviation, windows=0):
    """Whether a window with a deviation is learnt, after some without."""
    suspicion = Suspicion(18, limits)
    for _ in range(windows):
        see(suspicion, 0.0, SIX)
    see(suspicion, np.sqrt(deviation) * 8e-3, SIX)
    return suspicion.learnable


def faded(limits):
    """Suspicion and deviation as shares of those of the window before, which was unusual."""
    suspicion = suspects(limits, 0.04, SIX)
    before = suspicion.value, suspicion.deviation
    see(suspicion, 0.0, SIX)
    return suspicion.value / before[0], suspicion.deviation / before[1]


def asks(limits, time, *banks, value=2.0):
    """Whether a bank is asked for at a time [s], after some at these times that found nothing at a suspicion of 2."""
    suspicion = Suspicion(18, limits)
    for at in banks:
        suspicion.found_nothing(at, 2.0)
    suspicion.value = value
    return suspicion.asks(time)


def ordered(limits):
    """Deviation of a window whose features are 9, 8, 7 ... times the variance."""
    return suspects(limits, 8e-3 * np.sqrt(np.arange(9.0, 0.0, -1.0)), list(range(9))).deviation


EDGES = {
    "identify_first": lambda l: near(learnt(l, lag=0.01)[1][0], 5.0, 0.1),
    "identify_again": lambda l: near(learnt(l, lag=0.01)[1][1], 9.5, 0.06),
    "identify_rate": lambda l: changes(lambda rate: learnt(l, 2, rate=rate)[0].walked > 0.0, 0.045, 0.055),
    "identify_moving": lambda l: changes(lambda share: learnt(l, 2, moving=share)[0].walked > 0.0, 0.27, 0.33),
    "widest_zone": lambda l: near(learnt(l, zone=0.03)[0].zone, 0.0157),
    "longest_lag": lambda l: near(learnt(l, lag=0.1, rate=0.4)[0].lag, 0.04),
    "least_lag": lambda l: changes(lambda lag: bool(learnt(l, 10, lag=lag)[1]), 2.7e-3, 3.3e-3),
    "least_zone": lambda l: changes(lambda zone: bool(learnt(l, 10, zone=zone)[1]), 2.3e-3, 2.8e-3),
    "start_windows": lambda l: starts(l) == 40,
    "relearnt_windows": lambda l: starts_again(l) == 16,
    "start_deviation": lambda l: changes(lambda deviation: starts(l, deviation) == 0, 380.0, 420.0),
    "load_sign": lambda l: near(sign_of_load(np.array(4e-3), l.load_sign), 0.707),
    "servo_lag": lambda l: near(identified(l, -0.02, 1.0, 0.0)[0], 0.00873, 0.1),
    "servo_trim": lambda l: near(identified(l, -0.02, 1.0, 0.0)[0], 0.00873, 0.1),
    "servo_zone": lambda l: near(identified(l, -0.05, 0.0, 0.012)[1], 0.00787, 0.1),
    "reading_spread": lambda l: near(identified(l, -0.05, 0.0, 0.012)[1], 0.00787),
    "servo_softness": lambda l: near(identified(l, -0.05, 0.0, 0.1)[1], 0.00333, 0.1),
    "reading_timing": lambda l: near(identified(l, -0.05, 10.0, 0.012, 3000)[1], 0.00215, 0.1),
    "reading_clip": lambda l: near(identified(l, -0.1, 1.0, 0.0)[0], 0.0262, 0.1),
    "least_reading": lambda l: near(noise_of(l)[0], 1.7e-3, 0.1),
    "window_timing": lambda l: near(noise_of(l, 1.0)[0], 4.35e-3, 0.1),
    "attitude_noise": lambda l: near(noise_of(l)[18], 1e-3) and near(noise_of(l)[19], 1e-3),
    "turn_noise": lambda l: near(noise_of(l)[20], 5e-3),
    "least_attitudes": lambda l: changes(lambda count: has_attitude(l, count, 0.2), 3, 4),
    "least_attitude_time": lambda l: changes(lambda span: has_attitude(l, 6, span), 0.09, 0.11),
    "late_moved": lambda l: changes(lambda move: judges_lag(l, move), 0.018, 0.022),
    "late_share": lambda l: changes(lambda count: judges_lag(l, moving=count), 5, 6),
    "command_pause": lambda l: changes(lambda until: commanded(l, until=until).model.tick > 0, 0.11, 0.13),
    "command_gap": lambda l: changes(lambda at: commanded(l, at, until=at + 0.018).late_at > 0.0, 0.14, 0.16),
    "model_settles": lambda l: near(commanded(l, *np.arange(0.02, 1.0, 0.02), until=1.0).in_step_from, 25, 0.1),
    "feet_carry": lambda l: changes(lambda share: stands(l, share), 0.75, 0.85),
    "learning_delay": lambda l: windows_until_learnt(l) == 7,
    "novelty_fades": lambda l: near(novelty(l), 0.4437),
    "prior_softness": lambda l: near(learns_from(l, 0.05), 0.00474, 0.1),
    "prior_offset": lambda l: near(expects(taught(l, 0.01, load=0.05)), 0.00474, 0.1),
    "prior_lag": lambda l: near(learns_from(l, 0.0, (1.0, 0.0)), 0.00474, 0.1),
    "prior_zone": lambda l: near(learns_from(l, 0.0, (0.0, 1.0)), 0.00126, 0.1),
    "prior_slope": lambda l: near(expects(taught(l, 0.02, feature=18), 18, yaw=-np.pi / 2), -0.01504),
    "prior_tilt": lambda l: near(expects(taught(l, 0.02, feature=18), 18, yaw=-np.pi / 2), -0.01504),
    "prior_turn": lambda l: near(unknown(taught(l, 0.0), 20), 0.316),
    "joint_noise": lambda l: near(unknown(taught(l, 0.0)), 0.316),
    "tilt_noise": lambda l: near(unknown(taught(l, 0.0), 18), 0.245),
    "yaw_noise": lambda l: near(unknown(taught(l, 0.0), 20), 0.316),
    "joint_forget": lambda l: near(expects(taught(l, *[0.01] * 60, *[0.0] * 60)), 0.00288, 0.1),
    "body_forget": lambda l: near(expects(taught(l, *[0.01] * 20, *[0.0] * 20, feature=20), 20), 0.00264, 0.1),
    "joint_clip": lambda l: near(expects(taught(l, 0.1)), 0.018, 0.1),
    "tilt_clip": lambda l: near(expects(taught(l, 0.2, feature=18), 18), 0.0564, 0.1),
    "turn_clip": lambda l: near(expects(taught(l, 1.0, feature=20), 20), 0.27, 0.1),
    "scatter_windows": lambda l: near(taught(l, *[0.0] * 8).scatter.variance(np.ones(21))[0], 0.543),
    "largest_features": lambda l: near(ordered(l), 6.5),
    "coarse_joint": lambda l: near(suspects(l, 8e-3, SIX).deviation, 1.0),
    "coarse_tilt": lambda l: near(suspects(l, 12e-3, TILTS).deviation, 0.333),
    "coarse_turn": lambda l: near(suspects(l, 0.06, TURN).deviation, 0.1667),
    "ground_joint": lambda l: near(suspects(l, 4e-3, SIX).value, 0.4),
    "ground_tilt": lambda l: near(suspects(l, 8e-3, TILTS).value, 0.1333),
    "ground_turn": lambda l: near(suspects(l, 0.03, TURN).value, 0.0667),
    "unknown_joint": lambda l: near(suspects(l, 4e-3, SIX, known=False, ground=False).value, 0.3636),
    "unknown_tilt": lambda l: near(suspects(l, 0.03, TILTS, known=False, ground=False).value, 0.1324),
    "unknown_turn": lambda l: near(suspects(l, 0.03, TURN, known=False, ground=False).value, 0.0606),
    "least_ground": lambda l: near(suspects(l, 4e-3, SIX, ground=False).value, 4.0),
    "suspicion_fades": lambda l: near(faded(l)[0], 0.75),
    "deviation_fades": lambda l: near(faded(l)[1], 0.7),
    "learnable": lambda l: changes(lambda deviation: not learnable(l, deviation, 13), 7.5, 8.5),
    "learnable_at_first": lambda l: changes(lambda deviation: not learnable(l, deviation), 38.0, 42.0),
    "first_windows": lambda l: changes(lambda windows: not learnable(l, 20.0, windows), 11, 12),
    "cannot_be_intact": lambda l: changes(lambda d: suspects(l, np.sqrt(d) * 8e-3, SIX).wrong, 28.0, 32.0),
    "unusual_times": lambda l: near(suspects(l, 4e-3 * np.sqrt(10.0), SIX).value, 4.0),
    "unusual_above": lambda l: near(suspects(l, 4e-3 * np.sqrt(10.0), SIX).value, 4.0, 0.03),
    "usual_gain": lambda l: near(usual_after(l, 2.0, 10), 27.5, 0.03),
    "usual_times": lambda l: near(usual_after(l, 100.0, 5), 17.24),
    "calm": lambda l: changes(lambda time: asks(l, time, 0.0), 0.45, 0.55),
    "longest_calm": lambda l: changes(lambda time: asks(l, time, 0.0, 0.6, 1.7, 3.8), 5.7, 5.9),
    "calm_grows": lambda l: changes(lambda value: asks(l, 0.1, 0.0, value=value), 2.5, 2.7),
    "calm_again": lambda l: not asks(l, 3.3, 0.0, 2.4) and asks(l, 3.2, 0.0, 2.6),
}
