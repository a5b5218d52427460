"""Edges of the limits of the bus, of late data, of joints that follow again and of windows after a change."""

import numpy as np
from support.limit_edges.judging import changes

from hexapod_dynamics.detection.bus_evidence import BusEvidence
from hexapod_dynamics.detection.lateness import Lateness, common_lag
from hexapod_dynamics.detection.mended_joints import MendedJoints
from hexapod_dynamics.detection.settling import Settling
from hexapod_dynamics.robot import Robot

ROBOT = Robot.jethexa()
ALL = np.ones(18, bool)
NONE = np.zeros(18, bool)
LEG, SERVO = [0, 1, 2], [2]  # all servos of a leg, one alone
SINCE = 10.0  # [s] of the last answer of those that fall silent


def mask(joints):
    """(18,) bool."""
    found = NONE.copy()
    found[joints] = True
    return found


def bus_of(limits, silent, age, pace=0.0, told=False):
    """BusEvidence and the present time, `age` [s] after some servos answered last, `pace` [s] after the others did."""
    evidence, now = BusEvidence(ROBOT, 0.3, limits), SINCE + age
    for k in range(40):
        for joint in range(18):
            evidence.measured(SINCE - 0.05 * (39 - k), joint)
    for time in np.linspace(SINCE + 0.01, now - pace, 2 + int(age / 0.04)):
        for joint in np.flatnonzero(~mask(silent)):
            evidence.measured(time, joint)
    if told:
        evidence.told(now, mask(silent), NONE)
    return evidence, now


def falls_silent(limits, silent, age, **values):
    """Whether these servos are silent."""
    evidence, now = bus_of(limits, silent, age, **values)
    return bool(evidence.silent(now, ALL)[silent].all())


def silent_after_pause(limits, rest):
    """Whether a leg is silent `rest` [s] after a pause of 2 s in which nobody was read, from which on others are."""
    evidence, _ = bus_of(limits, LEG, 0.02)
    for time in np.linspace(SINCE + 2.02, SINCE + 2.02 + rest, 2 + int(rest / 0.02)):
        for joint in np.flatnonzero(~mask(LEG)):
            evidence.measured(time, joint)
    evidence.told(SINCE + 2.02 + rest, mask(LEG), NONE)
    return bool(evidence.silent(SINCE + 2.02 + rest, ALL)[LEG].all())


def is_overdue(limits, age, pace=0.0):
    """Whether a servo is late."""
    evidence, now = bus_of(limits, SERVO, age, pace)
    return bool(evidence.overdue(now, ALL)[SERVO].all())


def never_heard(limits, time):
    """Whether a servo that has never answered is silent at a time [s] after the first answer of another."""
    evidence = BusEvidence(ROBOT, 0.3, limits)
    for at in np.linspace(0.0, time, 40):
        for joint in range(17):
            evidence.measured(at, joint)
    return bool(evidence.silent(time, ALL)[17])


def round_of(limits, answering):
    """Polling round [s] where so many servos answer, a tenth of a second one after another; the others are silent."""
    evidence, now = BusEvidence(ROBOT, 0.3, limits), 20.0
    for joint in range(18):
        evidence.measured(now - (0.1 * joint if joint < answering else 9.0), joint)
    told = np.arange(18) >= answering
    evidence.told(now, told, NONE)
    return evidence.pace(now, ALL)


def is_passed_over(limits, readings, others=17):
    """Whether a servo is passed over after so many readings of other servos."""
    evidence = BusEvidence(ROBOT, 0.3, limits)
    for joint in range(18):
        evidence.measured(0.0, joint)
    evidence.measured(0.1, 17)
    for k in range(readings):
        evidence.measured(0.2 + 0.01 * k, k % others)
    return bool(evidence.passed_over(ALL)[17])


def lets_go(limits, age):
    """Whether a servo without torque for so long [s] counts."""
    evidence = BusEvidence(ROBOT, 0.3, limits)
    evidence.told(0.0, NONE, mask(SERVO))
    return bool(evidence.let_go(age)[2])


def is_back(limits, reports):
    """Whether a missing servo that answered in so many reports is back."""
    evidence = BusEvidence(ROBOT, 0.3, limits)
    for _ in range(reports):
        evidence.answered(mask(SERVO))
    return bool(evidence.back()[2])


def is_dead(limits, age):
    """Whether the bus is no evidence after so long [s] without any answer."""
    evidence = BusEvidence(ROBOT, 0.3, limits)
    evidence.measured(0.0, 1)
    return evidence.dead(age)


# ---- lateness


def is_late(limits, *, reading=None, command=None, stood=None, gap=None):
    """Whether data of such an age, or such a pause [s], are late."""
    late = Lateness(limits)
    if reading is not None:
        late.reading(0.0)
    if command is not None:
        late.command(0.0)
    if stood is not None:
        late.look(0.0)
    if gap is not None:
        late.reading(0.0)
        late.look(0.0)
        late.look(0.12)
        late.reading(gap)
    return late.look(next(one for one in (reading, command, stood, gap) if one is not None))


def lags(limits, lag, usual=0.0, count=0):
    """Whether all joints are late by a lag [s], after `count` windows with the usual one."""
    late = Lateness(limits)
    for k in range(count):
        late.lags(0.3 * k, usual)
    return late.lags(99.0, lag)


def has_lag(limits, joints, rate=1.0):
    """Whether readings of these joints at a rate [rad/s] show a lag."""
    joints = np.array(joints)
    return bool(np.isfinite(common_lag(joints, np.zeros(len(joints)), np.full(len(joints), rate), limits)))


def recent(limits, age):
    """Whether lateness so long ago [s] still counts."""
    late = Lateness(limits)
    late.lags(0.0, 1.0)
    return late.recent(age)


def often(limits, count=3, apart=1.0, age=0.0):
    """Whether a computer is often late, `age` [s] after the last of so many signs of it."""
    late = Lateness(limits)
    for k in range(count):
        late.lags(k * apart, 1.0)
    return late.often((count - 1) * apart + age)


# ---- joints that follow again


def mends(limits, angles, *, command=0.0, locked=0.0, step=0.25, first=None):
    """Whether a joint is intact again after these readings [rad]; locked: its angle, None: limp."""
    watch = MendedJoints(limits)
    watch.watch({4: locked})
    watch.reading(0.0, 4, 0.0 if locked is not None else 1.0, command)
    for k, angle in enumerate(angles):
        watch.reading(1.0 + step * k, 4, angle, command)
    return watch.mended(1.0 + step * (len(angles) - 1) if first is None else 1.0 + first) == [4]


def trials_of(limits, until, step=0.1):
    """Times [s] of the trials of a locked joint."""
    watch = MendedJoints(limits)
    watch.watch({4: 0.7})
    return np.array([step * k for k in range(round(until / step)) if watch.tries(step * k) == 4])


# ---- after a change


def skips(limits, time, *, on_feet=1.0, lean=0.0, apart=0.0, before=()):
    """Whether the window that ends at `time` [s] after a change is not compared."""
    settling = Settling(0.32, limits)
    settling.change(0.0)
    for at in before:
        settling.skips(at, on_feet, lean, np.array([apart, 0.0]))
    return settling.skips(time, on_feet, lean, np.array([apart, 0.0]))


def settled(limits, time):
    """Whether all evidence counts at a time [s] after a change."""
    settling = Settling(0.32, limits)
    settling.change(0.0)
    return settling.settled(time)


EDGES = {
    "told_silences": lambda l: changes(lambda age: falls_silent(l, SERVO, age, told=True), 0.55, 0.62),
    "told_rounds": lambda l: changes(lambda age: falls_silent(l, SERVO, age, told=True, pace=0.2), 0.95, 1.05),
    "silent_silences": lambda l: changes(lambda age: falls_silent(l, SERVO, age), 1.42, 1.58),
    "chain_silences": lambda l: changes(lambda age: falls_silent(l, LEG, age), 0.36, 0.42),
    "chain_rounds": lambda l: changes(lambda age: falls_silent(l, LEG, age, pace=0.2, told=True), 0.85, 0.95),
    "longest_gap": lambda l: changes(lambda rest: silent_after_pause(l, rest), 0.16, 0.2),
    "late_round": lambda l: changes(lambda pace: not falls_silent(l, LEG, 0.9, pace=pace), 0.13, 0.17),
    "overdue_silences": lambda l: changes(lambda age: is_overdue(l, age), 0.21, 0.24),
    "overdue_rounds": lambda l: changes(lambda age: is_overdue(l, age, pace=0.2), 0.41, 0.47),
    "dead_silences": lambda l: changes(lambda age: is_dead(l, age), 0.85, 0.95),
    "let_go_for": lambda l: changes(lambda age: lets_go(l, age), 0.18, 0.22),
    "back_reports": lambda l: changes(lambda count: is_back(l, count), 1, 2),
    "first_round": lambda l: changes(lambda time: never_heard(l, time), 3.4, 3.6),
    "fewest_answer": lambda l: changes(lambda count: round_of(l, count) < 0.5, 5, 6),
    "most_answer": lambda l: changes(lambda count: round_of(l, count) > 0.65, 10, 11),
    "rounds_over": lambda l: changes(lambda count: is_passed_over(l, count), 24, 27),
    "over_share": lambda l: changes(lambda others: is_passed_over(l, 60, others), 5, 7),
    "late_reading": lambda l: changes(lambda age: is_late(l, reading=age), 0.14, 0.16),
    "late_command": lambda l: changes(lambda age: is_late(l, command=age), 0.11, 0.13),
    "late_update": lambda l: changes(lambda age: is_late(l, stood=age), 0.18, 0.22),
    "late_gap": lambda l: changes(lambda age: is_late(l, gap=age), 0.23, 0.27),
    "late_lag": lambda l: changes(lambda lag: lags(l, lag), 0.028, 0.032),
    "late_usual_gain": lambda l: changes(lambda lag: lags(l, lag, 0.02, 20), 0.0385, 0.04),
    "late_most_usual": lambda l: changes(lambda lag: lags(l, lag, 0.2, 500), 0.078, 0.082),
    "lag_rate": lambda l: changes(lambda rate: has_lag(l, np.arange(10), rate), 0.38, 0.42),
    "lag_readings": lambda l: changes(lambda count: has_lag(l, np.arange(count)), 7, 8),
    "lag_joints": lambda l: changes(lambda count: has_lag(l, np.arange(12) % count), 5, 6),
    "late_for": lambda l: changes(lambda age: not recent(l, age), 0.28, 0.32),
    "busy_signs": lambda l: changes(lambda count: often(l, count), 2, 3),
    "busy_within": lambda l: changes(lambda age: not often(l, age=age), 17.0, 19.0),
    "busy_apart": lambda l: changes(lambda apart: often(l, apart=apart), 0.48, 0.52),
    "mended_away": lambda l: changes(lambda angle: mends(l, [angle] * 8), 0.076, 0.084),
    "mended_near": lambda l: changes(lambda angle: mends(l, [angle] * 8, locked=None), 0.037, 0.033),
    "mended_for": lambda l: changes(lambda first: mends(l, [0.3] * 10, step=0.1, first=first), 1.15, 1.25),
    "mended_readings": lambda l: changes(lambda count: mends(l, [0.3] * count, step=0.5), 4, 5),
    "mended_still": lambda l: changes(lambda move: mends(l, [0.3, 0.3 + move] * 5), 0.022, 0.018),
    "first_trial": lambda l: changes(lambda until: len(trials_of(l, until)) == 1, 2.8, 3.2),
    "trial_pause": lambda l: changes(lambda until: len(trials_of(l, until)) == 2, 8.6, 9.4),
    "longest_pause": lambda l: abs(np.diff(trials_of(l, 600.0, 0.5)).max() - 120.0) < 5.0,
    "settling": lambda l: changes(lambda time: settled(l, time), 0.95, 1.05),
    "longest_settling": lambda l: changes(
        lambda time: not skips(l, time, on_feet=0.0, before=np.arange(0.3, 7.6, 0.3)), 7.6, 8.5
    ),
    "may_fall": lambda l: changes(lambda time: not skips(l, time, lean=0.3), 2.9, 3.2),
    "lies_otherwise": lambda l: changes(lambda apart: skips(l, 1.5, apart=apart), 0.065, 0.075),
    "tipped": lambda l: changes(lambda lean: skips(l, 1.5, lean=lean), 0.14, 0.16),
    "stands": lambda l: changes(lambda share: not skips(l, 1.5, on_feet=share), 0.88, 0.92),
}
