"""When log odds become decisions; one decision for a part and a kind of damage; what is not repeated has ended; nothing
grows while nothing moves.
"""

import numpy as np
import pytest
from support.allocations import least_growth
from support.jethexa import ROBOT, WHOLE
from support.random_robots import random_robot

from hexapod_dynamics.detection import features
from hexapod_dynamics.detection.bus_evidence import BusEvidence
from hexapod_dynamics.detection.decisions import DecisionMaker
from hexapod_dynamics.detection.features import STEP
from hexapod_dynamics.detection.hypotheses import limp, locked, missing
from hexapod_dynamics.detection.network import CLASSES, LIMP, LOCKED, LOST
from hexapod_dynamics.detection.posterior import KIND_WAIT, PAIR_WAIT, WAIT, Judgement, Posterior
from hexapod_dynamics.estimation import DamageDetector
from hexapod_dynamics.robot import Morphology

COUNT = np.radians(0.24)


@pytest.fixture
def maker():
    return DecisionMaker(ROBOT)


def decide(maker, time, what, *servos):
    return maker.decide(time, "declare", what, 0.99, what.name, time, *servos)


@pytest.mark.parametrize("joint", [1, 8, 17])
@pytest.mark.parametrize("flip", [COUNT, -COUNT, 1e-15])
def test_a_locked_joint_whose_reading_flips_is_decided_once(maker, joint, flip):
    assert len(decide(maker, 1.0, locked(ROBOT, joint, 0.3))) == 1
    for k in range(2, 20):
        assert not decide(maker, 1.0 + 0.1 * k, locked(ROBOT, joint, 0.3 + (k % 2) * flip))
    assert len(maker.findings()) == 1


def test_a_decided_lock_is_not_suspected_beside_it_at_another_reading(monkeypatch):
    detector = DamageDetector(ROBOT)
    joint = int(detector.features.slots[0, 1])
    decide(detector.decisions, 1.0, locked(ROBOT, joint, 0.3))
    detector._latest, detector._angle[joint] = np.zeros((6, features.COUNT)), 0.31
    monkeypatch.setattr(detector.posterior, "list_suspected", lambda: [Judgement(0, LOCKED + 1, 3.0, 1.0)])
    assert [one.decided for one in detector.findings()] == [True]


def test_another_kind_or_joint_is_another_decision(maker):
    for what in (locked(ROBOT, 1, 0.3), locked(ROBOT, 2, 0.3), limp(ROBOT, 1)):
        assert len(decide(maker, 1.0, what)) == 1


def test_a_lock_that_was_declared_at_another_angle_is_known_as_its_own(maker):
    what = locked(ROBOT, 4, 0.3)
    decide(maker, 1.0, what)
    maker.follow(WHOLE, WHOLE.updated({**what.values, next(k for k in what.values if "locked_at" in k): 0.31}))
    assert maker.find_own_joints() == {4: pytest.approx(0.31)}
    assert maker.findings()[0].declared


def test_after_a_restart_what_it_had_declared_is_its_own_as_far_as_it_is_still_declared(maker):
    tibia, stale = locked(ROBOT, 5, 0.3).values, locked(ROBOT, 8, 0.3).values
    maker.restore_own({"legs.RM": False, "legs.LM": False, **tibia, **stale}, WHOLE.without("RM").updated(tibia))
    assert maker.own == {"legs.RM": False, **tibia} and maker.find_own_joints() == {5: 0.3}


def test_a_decision_that_nobody_executes_holds_while_it_is_repeated_and_then_ends(maker):
    what = limp(ROBOT, 3)
    for k in range(200):
        decide(maker, 0.1 * k, what)
        maker.drop_ended(0.1 * k)
        found = maker.findings()
        assert len(found) == 1 and found[0].decided and not found[0].declared and found[0].since == 0.0
    maker.drop_ended(40.0)
    assert not maker.findings()


def test_a_joint_that_was_found_is_reported_while_the_robot_stands_and_a_leg_no_longer_than_it_is_silent(maker):
    decide(maker, 0.0, limp(ROBOT, 3))
    decide(maker, 0.0, missing(ROBOT, "RM", 0), *ROBOT.leg_joints("RM"))
    for k in range(600):
        maker.drop_ended(0.1 * k, judged=False)
    assert [one.name for one in maker.findings()] == ["LM.coxa limp"]
    maker.drop_ended(70.0)
    assert not maker.findings()


def test_a_leg_that_answers_again_may_take_its_time_to_follow_its_commands(maker):
    evidence, returned = BusEvidence(ROBOT, 0.3), []
    decide(maker, 0.0, limp(ROBOT, 0))  # by its motion: answers do not refute it
    for now in np.arange(0.0, 3.1, 0.02):
        for joint in range(18):
            if joint not in ROBOT.leg_joints("RM") or not 1.0 <= now < 3.0:
                evidence.add_reading(now, joint)
        maker.from_bus(now, evidence, WHOLE, np.zeros(18), True, lambda _: False)
        returned += maker.returned
        moves, *found = [one.name for one in maker.findings()]
        assert moves == "LF.coxa limp" and found == (["RM missing"] if 1.4 < now < 2.99 else []) or 1.3 < now < 1.5
    assert returned == [ROBOT.leg_names.index("RM")]  # the detector does not judge it for RETURNS


def test_a_leg_whose_robot_has_other_joints_is_judged_and_named_by_those_that_it_has():
    robot = random_robot(np.random.default_rng(3), 3, 4)  # legs of four and three joints
    evidence, legs = BusEvidence(robot, 0.3), [list(robot.leg_joints(name)) for name in robot.leg_names]
    for now in np.arange(0.0, 4.0, 0.02):
        for joint in range(robot.joint_count):
            if now < 3.0 or joint not in legs[0]:
                evidence.add_reading(now, joint)
    found = DecisionMaker(robot).from_bus(
        3.9, evidence, Morphology.whole(robot), np.zeros(robot.joint_count), True, lambda _: False
    )
    assert [one.values for one in found] == [{"legs.L0": False}] and "its 4 servos" in found[0].text


class Certain:
    """A network that sees one class of damage in all legs."""

    def __init__(self, kind):
        self.p = 0.99 * np.eye(CLASSES)[kind] + 0.01 * np.eye(CLASSES)[0]

    def step(self, features):
        return np.tile(self.p, (len(features), 1))

    def reset(self):
        pass


@pytest.mark.parametrize("family", [1, 4])
def test_no_joint_that_a_leg_has_not_is_damaged(family):
    robot = random_robot(np.random.default_rng(family), family, 4)
    detector, n = DamageDetector(robot, network=Certain(LOCKED + 2)), robot.joint_count
    for k in range(400):
        t, angles = 0.02 * k, 0.1 * np.sin(0.06 * k + np.arange(n))
        detector.command(t, angles)
        detector.measure_attitude(t, np.eye(3))
        for joint in range(n):
            detector.measure_joint(t, joint, angles[joint])
        detector.update(t)
    damaged = {one.name.partition(" ")[0] for one in detector.findings()}
    assert damaged == {f"{leg.name}.{leg.links[-1].name}" for leg in robot.legs if len(leg.links) > 2}


def test_a_command_of_long_ago_does_not_stop_the_detector_when_the_first_servos_answer():
    detector = DamageDetector(ROBOT)
    for k in range(1, 3000):
        if k < 5:
            detector.command(0.04 * k, np.zeros(18))
        for joint in range(18 if k > 2900 else 0):
            detector.measure_joint(0.04 * k, joint, 0.0)
        detector.update(0.04 * k)
    assert detector.features.model.started and detector.features.model.tick < 300


@pytest.mark.parametrize("case", ["stopped", "no commands", "one joint never measured"])
def test_an_hour_in_which_the_model_does_not_run_needs_no_memory(case):
    detector, t = DamageDetector(ROBOT), 0.0
    angles, rng = np.zeros(18), np.random.default_rng(0)
    if case == "stopped":
        detector.follow(False)
    if case == "one joint never measured":
        angles[5] = np.nan

    def tick():
        nonlocal t
        t += 0.04
        if case != "no commands":
            detector.command(t, np.zeros(18))
        for joint in np.flatnonzero(np.isfinite(angles)).tolist():
            detector.measure_joint(t, joint, 1e-4 * rng.normal())
        detector.measure_attitude(t, np.eye(3))
        if round(25 * t) % 25 == 0:
            detector.bus(t, np.isnan(angles), np.zeros(18, bool))
        detector.update(t)

    for _ in range(250):  # what is bounded by a time is full then
        tick()
    assert least_growth(tick, ticks=50, stretches=2) < 6000  # bytes; unbounded, 900 readings need 0.1 million


LEGS, THRESHOLD = 6, 2.3


def probabilities(odds):
    """Probabilities (LEGS, CLASSES) of {(leg, class): log odds against intact}; all else is 1e-6 as likely."""
    p = np.full((LEGS, CLASSES), 1e-6)
    p[:, 0] = 1.0
    for (leg, kind), value in odds.items():
        p[leg, kind] = np.exp(value)
    return p / p.sum(axis=1, keepdims=True)


ALL = np.ones(LEGS, bool)


def run(steps, moving=True, intact=ALL, answers=None, stands=None):
    """(time [s] since the first step, legs and classes) of the first decision of steps, each as in `probabilities`."""
    posterior = Posterior(LEGS, np.full(2, THRESHOLD), 0.0)
    for k, odds in enumerate(steps):
        posterior.update(STEP * k, probabilities(odds), moving, intact, ALL if answers is None else answers[k])
        found = posterior.decide(STEP * k, lambda *_: stands)
        if found:
            return round(STEP * k, 2), {(one.leg, one.kind) for one in found}
    return None


QUIET = [{}] * 4


def test_a_foot_is_lost_when_half_a_second_says_so_and_a_moment_is_no_evidence():
    assert run([*QUIET, *[{(2, LOST): 16.0}] * 2, *QUIET, *QUIET]) is None
    at, found = run([*QUIET, *[{(2, LOST): 8.0}] * 9])
    assert found == {(2, LOST)} and at - 4 * STEP < 0.5
    assert run([*QUIET, *[{(2, LOST): THRESHOLD - 0.1}] * 20]) is None
    at, found = run([*QUIET, *[{(2, LOST): THRESHOLD + 0.3}] * 20])  # weak, but it lasts
    assert found == {(2, LOST)} and 0.4 < at - 4 * STEP < 0.8


def test_a_robot_that_stands_has_lost_nothing_and_a_leg_that_is_not_judged_neither():
    steps = [*QUIET, *[{(2, LOST): 8.0}] * 9]
    assert run(steps, moving=False) is None
    assert run(steps, intact=np.arange(LEGS) != 2) is None
    assert run(steps, answers=[np.arange(LEGS) != 2] * len(steps)) is None


def test_what_a_leg_showed_while_a_servo_was_silent_counts_once_it_answers():
    answers = [np.arange(LEGS) != 2] * 12 + [ALL] * 8
    assert run([*QUIET, *[{(2, LOST): 8.0}] * 16], answers=answers) == (round(12 * STEP + WAIT, 2), {(2, LOST)})


def test_a_suspected_leg_is_named_with_the_joint_and_kind_that_the_network_sees():
    posterior = Posterior(LEGS, np.full(2, THRESHOLD), 0.0)
    for k in range(12):
        posterior.update(STEP * k, probabilities({(3, LOCKED + 1): THRESHOLD - 0.5}), True, ALL, ALL)
    assert [(one.leg, one.kind) for one in posterior.list_suspected()] == [(3, LOCKED + 1)]


def test_both_of_a_pair_are_declared_at_once_if_the_second_follows_soon():
    rising = [
        {(1, LOST): 8.0, (4, LOST): value} for value in (-2.0, -2.0, -1.0, 0.5, 2.5, 4.0, 5.0, 6.0, 6.0, 6.0, 6.0)
    ]
    assert run([*QUIET, *rising])[1] == {(1, LOST), (4, LOST)}
    at, found = run([*QUIET, *[{(1, LOST): 8.0, (4, LOST): 0.5}] * 25])
    assert found == {(1, LOST)} and at - 7 * STEP == pytest.approx(PAIR_WAIT, abs=2 * STEP)


def test_a_leg_below_both_thresholds_keeps_no_lost_foot_waiting():
    at, found = run([*QUIET, *[{(2, LOST): 8.0, (4, LOST): 2.1, (4, LIMP): 2.2}] * 9])
    assert found == {(2, LOST)} and at - 4 * STEP < 0.5


@pytest.mark.parametrize("kind, stands", [(LIMP + 2, False), (LOCKED + 1, True)])
def test_whether_a_joint_is_limp_or_locked_is_said_by_its_readings(kind, stands):
    other = kind + 3 if kind < LOCKED else kind - 3
    at, found = run([*QUIET, *[{(3, other): 8.0, (3, kind): 6.0}] * 9], stands=stands)
    assert found == {(3, kind)} and at - 7 * STEP == pytest.approx(WAIT, abs=STEP)


def test_a_joint_whose_readings_do_not_tell_waits_and_is_then_what_was_likelier_all_the_time():
    either = {(3, LIMP + 1): 7.0, (3, LOCKED + 1): 7.2}
    at, found = run([*QUIET, *[either] * 30])
    assert found == {(3, LOCKED + 1)}
    assert at - 7 * STEP == pytest.approx(KIND_WAIT, abs=STEP)


def test_a_suspicion_has_a_beginning_and_survives_a_moment_without():
    posterior = Posterior(LEGS, np.full(2, THRESHOLD), 0.0)
    for k in range(20):
        odds = {} if k == 12 else {(5, LOST): 2.0}
        posterior.update(STEP * k, probabilities(odds), True, ALL, ALL)
    (only,) = posterior.list_suspected()
    assert (only.leg, only.kind) == (5, LOST) and only.since == pytest.approx(3 * STEP, abs=STEP)
    posterior.forget()
    assert posterior.list_suspected() == []
