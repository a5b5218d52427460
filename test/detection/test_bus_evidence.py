"""Evidence of the servo bus: servos that fall silent, block the bus, or come back."""

import numpy as np
import pytest
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.detection.bus_evidence import BusEvidence
from hexapod_dynamics.detection.decisions import DecisionMaker
from hexapod_dynamics.detection.hypotheses import name_part
from hexapod_dynamics.estimation import DamageDetector, DetectorSettings
from hexapod_dynamics.gait import AdaptiveGait

TORN = 2.0  # [s]


def bus_decisions(mute=(), ends=np.inf, shift=0, pause=0.0, limp=()):
    """Decisions while joints `mute` do not answer from TORN to `ends` [s] and the bus stands still for a pause [s] from
    TORN on; two of 18 are read every 20 ms, a report of the driver every 0.3 s; shift: ticks between the first reading
    and TORN, so which joint was read last; limp: joints without torque from TORN to `ends`. What is found at the end is
    what still holds.
    """
    evidence, maker, found, turn = BusEvidence(ROBOT, DetectorSettings().silent_after), DecisionMaker(ROBOT), [], 0
    for tick in range(-shift, 300):
        now = 0.02 * tick
        if not TORN <= now < TORN + pause:
            for joint in (turn % 18, (turn + 1) % 18):
                if not (joint in mute and TORN <= now < ends):
                    evidence.add_reading(now, joint)
            turn += 2
        if tick % 15 == 0:
            without_torque = np.isin(np.arange(18), limp if TORN <= now < ends else ())
            evidence.report(now, now - evidence.answered_at > 0.25, without_torque)
        decisions = maker.from_bus(now, evidence, WHOLE, np.zeros(18), True, lambda _: False)
        found += [(now - TORN, one) for one in decisions]
    holds = {one.name for one in maker.findings()}
    assert holds == ({one.name for _, one in found} if ends > now else set())
    return found


@pytest.mark.parametrize("shift", range(9))
def test_a_leg_whose_servos_fall_silent_one_after_another_is_named_whole_and_at_once(shift):
    (took, decision), *more = bus_decisions(tuple(ROBOT.leg_joints("RM")), shift=shift)
    assert decision.values == {"legs.RM": False} and took <= 0.6 and not more


@pytest.mark.parametrize("shift", range(9))
def test_a_leg_that_is_put_back_undeclared_is_no_longer_found_nor_a_part_of_it(shift):
    both = (*ROBOT.leg_joints("RM"), *ROBOT.leg_joints("LF"))
    found = bus_decisions(both, ends=TORN + 2.0, shift=shift)
    assert sorted(one.name for _, one in found) == ["LF missing", "RM missing"]


@pytest.mark.parametrize(
    ("legs", "joints"), [(("RM",), 3), (("RM", "LF"), 3), (("RM", "LF", "LM"), 1), (ROBOT.leg_names, 3)]
)
@pytest.mark.parametrize("ends", [TORN + 2.0, np.inf])
def test_a_leg_whose_servos_switch_off_is_limp_and_three_such_legs_are_a_fault_of_the_supply(legs, joints, ends):
    limp = [joint for leg in legs for joint in ROBOT.leg_joints(leg)[:joints]]
    found = {name for _, one in bus_decisions(limp=limp, ends=ends) for name in one.values}
    assert found == ({f"limp.{name_part(ROBOT, joint)}" for joint in limp} if len(legs) < 3 else set())


@pytest.mark.parametrize("shift", range(9))
def test_one_servo_that_misses_readings_for_half_a_second_is_not_missing(shift):
    tibia = ROBOT.leg_joints("RM")[2]
    assert bus_decisions((tibia,), ends=TORN + 0.3, shift=shift) == []
    assert [one.values for _, one in bus_decisions((tibia,), shift=shift)] == [{"links.RM.tibia": False}]


@pytest.mark.parametrize("shift", range(9))
@pytest.mark.parametrize("pause", [0.3, 0.45, 0.6, 1.0])
def test_a_bus_that_stands_still_for_a_moment_has_no_silent_servos(pause, shift):
    assert bus_decisions(shift=shift, pause=pause) == []


def test_two_torn_off_legs_that_block_the_bus_are_named_as_soon_as_it_works_again():
    """Recorded in the launched robot: six servos are asked in vain, for half a second hardly any other is read."""
    gait = AdaptiveGait().bind(ROBOT)
    gait.reset(walking=True)
    detector, turn, found = DamageDetector(ROBOT), 0, []
    gone = {*ROBOT.leg_joints("RM"), *ROBOT.leg_joints("LM")}
    healthy = [joint for joint in range(18) if joint not in gone]
    for tick in range(1, 200):
        now = 0.02 * tick
        detector.command(now, gait.step(0.02)[0].copy())
        blocked = TORN <= now < TORN + 0.5 and tick % 6
        for _ in range(0 if blocked else 2):
            joint = turn % 18 if now < TORN else healthy[turn % 12]
            detector.measure_joint(now, joint, float(gait.position[joint]))
            turn += 1
        detector.measure_attitude(now, np.eye(3))
        found += [(one.name, now - TORN) for one in detector.update(now)]
    assert sorted(name for name, _ in found) == ["LM missing", "RM missing"]
    assert max(took for _, took in found) < 1.0


@pytest.mark.parametrize("lost", [(), ("RM",), ("RM", "LM")])
def test_legs_that_never_answer_are_declared_missing_within_five_seconds(lost):
    detector = DamageDetector(ROBOT)
    silent = np.zeros(ROBOT.joint_count, bool)
    for leg in lost:
        silent[list(ROBOT.leg_joints(leg))] = True
    found = {}
    for tick in range(250):
        time = 0.02 * tick
        detector.command(time, np.full(ROBOT.joint_count, 0.1))
        for joint in np.flatnonzero(~silent).tolist():
            detector.measure_joint(time, joint, 0.1)
        if tick % 50 == 0:
            detector.bus(time, silent, np.zeros_like(silent))
        for decision in detector.update(time + 0.005):
            found |= decision.values
    assert found == {f"legs.{leg}": False for leg in lost}


def test_with_commands_that_are_too_rare_for_its_model_it_finds_what_the_bus_tells_and_says_so():
    detector = DamageDetector(ROBOT, DetectorSettings(command_period=0.05))
    silent = np.isin(np.arange(18), ROBOT.leg_joints("RM"))
    found = []
    for k in range(100):
        time = 0.05 * k
        detector.command(time, np.zeros(18))
        for joint in np.flatnonzero(~silent).tolist():
            detector.measure_joint(time, joint, 0.0)
        detector.measure_attitude(time, np.eye(3))
        if k % 20 == 0:
            detector.bus(time, silent, np.zeros(18, bool))
        found += [one.name for one in detector.update(time + 0.005)]
    assert found == ["RM missing"]
    assert "command_period is 0.05 s" in detector.missing_inputs(5.0)[0]
    assert not detector.features.model.started
