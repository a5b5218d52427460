"""Edges of the limits of single joints, of decisions and of the detector itself."""

import math
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
from support.limit_edges.bank import HYPOTHESES, of_joint
from support.limit_edges.judging import changes, near

from hexapod_dynamics.detection.bus_evidence import SilentChain
from hexapod_dynamics.detection.decisions import DecisionMaker
from hexapod_dynamics.detection.detector import DamageDetector
from hexapod_dynamics.detection.disturbance import Disturbance
from hexapod_dynamics.detection.hypotheses import limp
from hexapod_dynamics.detection.joint_evidence import JointCondition, look
from hexapod_dynamics.detection.joint_watch import JointWatch
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.detection.slice_evaluation import SliceEvaluation
from hexapod_dynamics.detection.torn_legs import TornLegs
from hexapod_dynamics.robot import Morphology, Robot

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
LIMP = limp(ROBOT, 0)


def settings_of(limits):
    """DetectorSettings with these limits."""
    return replace(DetectorSettings(), limits=limits)


# ---- joints


def condition(limits, times, angles, modelled):
    """JointCondition of readings at times [s] of angles and modelled angles [rad], without any lag allowed."""
    times, angles, modelled = (np.asarray(one, float) for one in (times, angles, modelled))
    return look(times / 0.02, angles, angles - modelled, (modelled, modelled), 0.0, np.inf, -np.inf, limits)


def stuck(limits, count=12, step=0.2, spread=0.0, move=0.3, gap=0.0, at=0):
    """Condition of a joint that stands, but for its readings' spread [rad], while its model moves to and fro.

    gap: further time [s] without a reading after reading `at`.
    """
    k = np.arange(count)
    times = step * k + np.where(k > at, gap, 0.0)
    sign = np.where(k % 2, 1.0, -1.0)
    return condition(limits, times, 0.5 * spread * np.where(k // 2 % 2, 1.0, -1.0), move * sign)


def is_locked(limits, **values):
    """Whether it is locked."""
    return stuck(limits, **values).state == "locked"


class Readings:
    """A window of joints: the first stands while its model moves, some of the others move with it."""

    def __init__(self, move, moving, joints, step=0.15):
        self.move, self.moving, self.joints, self.step = move, moving, joints, step
        self.counts, self.lags = [], []

    def recent(self, joint, count):
        """Readings of a joint."""
        self.counts.append(count)
        k = np.arange(12)
        swing = np.where(k % 2, 0.5, -0.5)
        if joint == 0:
            return 7.5 * k, np.zeros(12), -0.6 * swing
        return 7.5 * k, self.move * swing * (joint <= self.moving), np.zeros(12)

    def reach(self, joint, places, lag):
        """Least and largest modelled angles."""
        self.lags.append(lag)
        modelled = 0.6 * np.where(np.arange(len(places)) % 2, 0.5, -0.5) if joint == 0 else np.zeros(len(places))
        return modelled, modelled


def watched(limits, move=0.1, moving=20, joints=20):
    """Whether the first joint of 20 is locked, where so many others move by an angle [rad]; the Readings."""
    watch, window = JointWatch(joints, 16, limits), Readings(move, moving, joints)
    watch.look(window, 100, np.arange(joints), np.zeros(joints))
    return any(one.state == "locked" for one in watch.news.values()), window


def remembers(limits, ticks):
    """Whether a joint that follows is still suspected so many ticks after a bank has blamed it."""
    watch = JointWatch(20, 16, limits)
    watch.suspect(5, 100)
    watch.look(Readings(0.1, 20, 20), 100 + ticks, np.arange(1, 20), np.zeros(20))
    return 5 in watch.news


def looked_at(limits, step):
    """Number of readings that are looked at, of 60 that are a time [s] apart."""
    return len(JointWatch(18, 16, limits)._last_readings(step / 0.02 * np.arange(60.0))[0])


# ---- decisions


def bus_decides(limits, *, let_go=(), silence=None, time=10.0):
    """Whether the bus leads to a decision."""
    mask = np.zeros(18, bool)
    mask[list(let_go)] = True
    evidence = MagicMock()
    evidence.dead.return_value = False
    evidence.chains.return_value = [silence] if silence else []
    evidence.overdue.return_value = evidence.back.return_value = np.zeros(18, bool)
    evidence.let_go.return_value = mask
    return bool(DecisionMaker(ROBOT, settings_of(limits)).from_bus(time, evidence, WHOLE, np.zeros(18), True))


def kind_of(limits, spread=0.0, zone=0.0, count=10, lasts=2.0, apart=1.0):
    """Kind of damage of a joint whose readings spread [rad], are so many, last so long [s] and deviate so far [rad]."""
    maker = DecisionMaker(ROBOT, settings_of(limits))
    maker.zone = zone
    news = {0: JointCondition("astray", 0.0, 0.0, spread, count, lasts, apart)}
    found = maker._kind_of(LIMP, news, True)
    return None if found is None else found.kind


def declared_beside_another(limits, share):
    """Whether a joint is declared beside which another of its leg does not follow, and that leaves this share."""
    news = {joint: JointCondition("astray", 0.0, 0.0, 0.1, 10, 2.0) for joint in (0, 1)}
    bank = of_joint(misfit=20.0 * share, declared=20.0)
    return bool(DecisionMaker(ROBOT, settings_of(limits)).from_bank(0.0, HYPOTHESES, bank, news))


def warns(limits, *times, probability=0.95):
    """Whether the last of some banks [s], and no other, is worth a warning."""
    maker, found = DecisionMaker(ROBOT, settings_of(limits)), []
    for time in times:
        maker._lasting.suspected = "LM lost", probability
        maker._note_suspected(time)
        found.append(maker._lasts)
    return found[-1] and not any(found[:-1])


def blames(limits, probability):
    """Whether the joint that is suspected with a probability is."""
    maker = DecisionMaker(ROBOT, settings_of(limits))
    maker.suspect = "joint 0", probability, 0.0
    return maker.suspected_joint == 0


def repeats(limits, age):
    """Whether a decision is repeated after so long [s]."""
    maker = DecisionMaker(ROBOT, settings_of(limits))
    maker._decide(0.0, "declare", "LM", {"legs.LM": False}, 0.99, "", 0.0)
    return bool(maker._decide(age, "declare", "LM", {"legs.LM": False}, 0.99, "", 0.0))


def says(limits, times):
    """Whether a joint is declared at the last of these times [s], at all of which it looks locked: often late."""
    maker, detector = DecisionMaker(ROBOT, settings_of(limits)), stand_in(limits)
    detector.decisions = maker
    DamageDetector.update(detector, 0.0)  # it is late, and often
    return [maker._lasts_enough(time, "2 locked") for time in times][-1]


def after_slow_round(limits, age):
    """A stand-in for a detector, so long [s] after a slow polling round."""
    detector = stand_in(limits)
    detector.decisions, detector.morphology = DecisionMaker(ROBOT, settings_of(limits)), WHOLE
    detector._timing = Disturbance(limits)
    detector._timing.check(0.0, 0.2, -math.inf)
    detector._slices.complete.return_value = False
    DamageDetector.update(detector, age)
    return detector


def with_pause(pause):
    """Times every 0.1 s for 4 s, with a pause [s] after 2 s."""
    return [*np.arange(0.0, 2.05, 0.1), *np.arange(2.0 + pause, 4.05, 0.1)]


# ---- the detector: its methods on a stand-in


def stand_in(limits, **values):
    """An object with the settings of a detector, and whatever else is asked for."""
    detector = MagicMock(**values)
    detector.settings = settings_of(limits)
    return detector


def torn_legs(limits, *leans):
    """TornLegs that have noted leans of the body, (time [s], roll [rad]), beyond the model's, which walks."""
    model = MagicMock(started=True, tick=1000, tilt=np.zeros((1000, 3)), targets=np.zeros((1000, 18)))
    model.row = lambda tick: tick - 1
    model.targets[:, 3] = np.sin(0.1 * np.arange(1000))
    torn = TornLegs(model, settings_of(limits))
    for time, roll in leans:
        torn.measure_attitude(time, roll, 0.0)
    return torn


def are_gone(limits, age=2.0, *, torn=None, link=0, comparable=True, suspicion=0.0):
    """Whether three legs whose servos have not answered for a time [s] are gone; by default the body stays level."""
    bus = MagicMock()
    bus.silence.return_value = age
    silences = [SilentChain(leg, link, False, 10.0 - age, (0, 1, 2)) for leg in ("LM", "RR", "RF")]
    torn = torn or torn_legs(limits, (10.0, 0.0))
    return torn.are_gone(silences, bus, 10.0, suspicion, comparable=comparable)


def leant(limits, age):
    """Whether silent legs of which nothing else speaks are gone, so long [s] after the body has leant."""
    return are_gone(limits, 0.5, torn=torn_legs(limits, (10.0 - age, 0.5), (10.0, 0.0)))


def evaluation(limits):
    """A SliceEvaluation of a model that has slices 0 to 99 and stands, and that sees nothing."""
    commanded = MagicMock(in_step_from=0)
    commanded.model.on_feet, commanded.model.row = np.ones(4096), lambda tick: tick
    commanded.model.snapshots, commanded.model.slice_ticks, commanded.model.tick = dict.fromkeys(range(100)), 40, 4000
    slices = SliceEvaluation(ROBOT, settings_of(limits), commanded)
    slices.suspicion, slices._measured = MagicMock(deviation=0.0, learnable=False), True
    return slices


def looked_for(limits, piece):
    """Whether suspicion is looked for in a slice after a start."""
    slices = evaluation(limits)
    slices.next = piece
    slices.evaluate(5.0, 0.0, WHOLE, suspect=False)
    return slices.suspicion.look.called


def asks_bank(limits, piece, first=0):
    """Whether a bank compares the slices up to this one, after a loss from which on all slices from `first` count."""
    slices = evaluation(limits)
    slices.next, slices.first, slices.moved = piece + 1, first, {first: np.zeros(21)}
    return slices.for_bank() is not None


def after_a_slow_bus(limits, pace, later=0.0):
    """Whether a bus with this polling round [s] is no evidence, so long [s] later."""
    timing = Disturbance(limits)
    slow = timing.check(10.0, pace, -math.inf)
    if not later:
        return slow
    timing.check(10.0 + later, 0.0, -math.inf)
    return timing.disturbed


def braced(limits, lasted):
    """A detector that was told at last, so long [s] after its begin, that the robot braces."""
    detector = stand_in(limits, _braced=-math.inf, _brace_began=-math.inf)
    for time in np.arange(0.0, lasted, 0.04):
        DamageDetector.braces(detector, time)
    detector._slices.disregard.reset_mock()
    DamageDetector.braces(detector, lasted)
    return detector._slices.disregard


def lag_of_slow_servos(limits):
    """Lag [s] of all joints that counts, of 50 ms, before that of the servos is identified."""
    detector = stand_in(limits)
    late = detector._timing.lateness
    late.look.return_value = late.recent.return_value = False
    detector._slices.complete.side_effect = [True, False]
    detector._from_bus.return_value = []
    detector._slices.lag.return_value, detector.servos.identified = 0.05, False
    DamageDetector.update(detector, 5.0)
    return late.lags.call_args.args[1]


def watched_again(limits):
    """Time [s] from which a joint that came back is watched."""
    detector = stand_in(limits, time=0.0, _onsets=[])
    detector._slices.follows_from = np.full(18, -math.inf)
    detector.morphology = WHOLE.limp("LF.coxa")
    DamageDetector.set_morphology(detector, WHOLE)
    return detector._slices.follows_from[0]


def nothing_found(limits, misfit, *, usual=0.0, declared=0.99):
    """Whether a bank that leaves this chi-square to the declared robot is calming; the usual one after it."""
    detector = stand_in(limits, _usual_misfit=usual, disturbed=True)
    posterior = SimpleNamespace(declared=declared, misfit_declared=misfit)
    result = SimpleNamespace(posterior=posterior, hypotheses=[], suspicion=2.0)
    detector._bank.collect.return_value = result
    detector._found_nothing = lambda *both: DamageDetector._found_nothing(detector, *both)
    DamageDetector._collect(detector, 5.0)
    return detector._slices.suspicion.found_nothing.called, detector._usual_misfit


EDGES = {
    "lock_readings": lambda l: changes(lambda count: is_locked(l, count=count, step=0.25), 6, 7),
    "lock_time": lambda l: changes(lambda step: is_locked(l, count=7, step=step), 0.16, 0.175),
    "lock_range": lambda l: changes(lambda spread: is_locked(l, spread=spread), 0.0071, 0.006),
    "stuck_spread": lambda l: near(stuck(l, spread=0.006, move=0.05).evidence, 25.7),
    "follow_spread": lambda l: near(stuck(l, move=0.05).evidence, 36.7),
    "follow_timing": lambda l: near(stuck(l, count=20, step=0.06, move=0.3).evidence, 294.8),
    "lock_evidence": lambda l: changes(lambda move: is_locked(l, count=8, move=move), 0.0345, 0.038),
    "lock_lag": lambda l: near(watched(l)[1].lags[0], 0.1),
    "lock_unread": lambda l: changes(lambda gap: not is_locked(l, count=10, gap=gap - 0.2, at=4), 0.46, 0.54),
    "lock_approach": lambda l: changes(lambda count: is_locked(l, count=count, gap=1.0, at=0), 12, 13),
    "astray": lambda l: changes(
        lambda apart: condition(l, [0.0, 0.1, 0.2], [apart] * 3, [0.0] * 3).state == "astray", 0.033, 0.037
    ),
    "watch_period": lambda l: near(looked_at(l, 0.1), 17, 0.1),
    "watch_least": lambda l: looked_at(l, 1.0) == 9,
    "watch_most": lambda l: watched(l)[1].counts[0] == 40,
    "forgiven": lambda l: changes(lambda ticks: not remembers(l, ticks), 78, 82),
    "watch_moved": lambda l: changes(lambda move: watched(l, move=move)[0], 0.018, 0.022),
    "watch_share": lambda l: changes(lambda moving: watched(l, moving=moving)[0], 5, 7),
    "many": lambda l: changes(lambda count: not bus_decides(l, let_go=range(0, 3 * count, 3)), 2, 3),
    "alone_silent": lambda l: changes(
        lambda age: bus_decides(l, silence=SilentChain("LF", 0, True, 10.0 - age, (0,))), 1.45, 1.55
    ),
    "limp_moves": lambda l: changes(lambda spread: kind_of(l, spread) == "limp", 0.01, 0.0111),
    "limp_follows": lambda l: changes(lambda apart: kind_of(l, 0.8, apart=apart) == "limp", 0.15, 0.17),
    "stuck_zones": lambda l: changes(lambda spread: kind_of(l, spread, zone=0.01) == "limp", 0.029, 0.032),
    "stands_still": lambda l: changes(lambda count: kind_of(l, count=count) == "locked", 5, 6),
    "stands_still_for": lambda l: changes(lambda lasts: kind_of(l, lasts=lasts) == "locked", 0.8, 0.9),
    "explains_leg": lambda l: changes(lambda share: declared_beside_another(l, share), 0.022, 0.018),
    "blamed": lambda l: changes(lambda probability: blames(l, probability), 0.88, 0.92),
    "warned_banks": lambda l: warns(l, 0.0, 1.5, 3.0),
    "warned": lambda l: changes(lambda p: warns(l, 0.0, 1.5, 3.0, probability=p), 0.88, 0.92),
    "warned_after": lambda l: changes(lambda last: warns(l, 0.0, 0.5, last), 1.15, 1.25),
    "busy_patience": lambda l: changes(lambda last: says(l, np.arange(0.0, last, 0.1)), 2.8, 3.2),
    "seldom_for": lambda l: changes(lambda age: not after_slow_round(l, age).decisions.patience, 4.8, 5.2),
    "busy_timing": lambda l: near(after_slow_round(l, 1.0).window.timing, 0.1),
    "busy_pause": lambda l: changes(lambda pause: not says(l, with_pause(pause)), 1.4, 1.6),
    "repeat_after": lambda l: changes(lambda age: repeats(l, age), 4.8, 5.2),
    "torn_lean": lambda l: changes(lambda roll: torn_legs(l, (1.0, roll))._leant == 1.0, 0.115, 0.125),
    "torn_for": lambda l: changes(lambda age: not leant(l, age), 1.9, 2.1),
    "torn_walking": lambda l: changes(lambda age: are_gone(l, age), 0.95, 1.05),
    "torn_suspicion": lambda l: changes(lambda value: are_gone(l, 0.5, suspicion=value), 5.7, 6.3),
    "lean_gain": lambda l: near(torn_legs(l, (1.0, 0.1))._usual[0], 1e-3),
    "bank_windows": lambda l: changes(lambda piece: asks_bank(l, piece, first=20), 22, 23),
    "falling_windows": lambda l: changes(lambda piece: looked_for(l, piece), 2, 3),
    "slow_bus": lambda l: changes(lambda pace: after_a_slow_bus(l, pace), 0.43, 0.47),
    "disturbed_for": lambda l: changes(lambda later: not after_a_slow_bus(l, 1.0, later), 2.4, 2.6),
    "push_before": lambda l: near(braced(l, 0.1).call_args.args[0], 0.15),
    "push_for": lambda l: changes(lambda lasted: not braced(l, lasted).called, 0.34, 0.36),
    "push_long": lambda l: changes(lambda lasted: braced(l, lasted).called, 0.88, 0.92),
    "slow_servos": lambda l: near(lag_of_slow_servos(l), 0.03),
    "returning": lambda l: near(watched_again(l), 5.0),
    "nothing": lambda l: changes(lambda p: nothing_found(l, 0.1, declared=p)[0], 0.88, 0.92),
    "as_usual": lambda l: changes(lambda misfit: not nothing_found(l, misfit)[0], 0.41, 0.45),
    "usual_misfit": lambda l: changes(lambda misfit: not nothing_found(l, misfit, usual=10.0)[0], 14.5, 15.5),
    "misfit_gain": lambda l: near(nothing_found(l, 15.0, usual=10.0)[1], 11.0, 0.02),
}
