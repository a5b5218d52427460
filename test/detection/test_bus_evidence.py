"""Evidence of the servo bus: servos that fall silent, block the bus, or come back. Servos that do not execute the
commands (emergency stop): prediction and detector know, and do not doubt. A joint declared locked or limp by the
detector is taken back when it is repaired; a person's declaration stands.
"""

import numpy as np
import pytest
from support.copies import on_a_copy
from support.jethexa import ROBOT, WHOLE
from support.sensed_walk import SensedWalk, errors
from support.walks import walking

from hexapod_dynamics.detection.bus_evidence import BusEvidence
from hexapod_dynamics.detection.decisions import DecisionMaker
from hexapod_dynamics.detection.recovered_joints import RecoveredJoints
from hexapod_dynamics.detection.trials import Trials, TriedFoot
from hexapod_dynamics.estimation import DamageDetector, DetectorSettings
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.simulation import Truth

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
    assert found == ({f"limp.{ROBOT.part_names[joint]}" for joint in limp} if len(legs) < 3 else set())


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


@pytest.fixture(scope="module")
def resumed():
    """A walk on MuJoCo that is frozen for three seconds while the gait goes on, and walks on; its rows since then."""
    walk = SensedWalk("mujoco", seed=3, gait="auto")
    walk.run(5.0)
    before = walk.physics.position.copy()
    walk.onboard.emergency_stop(True)
    walk.run(3.0)
    assert np.linalg.norm(walk.physics.position - before) < 0.02  # it stands
    walk.onboard.emergency_stop(False)
    return walk, walk.log(4.0)


def test_an_emergency_stop_is_no_contradiction(resumed):
    walk, _ = resumed
    assert walk.said == {}


def test_the_prediction_stands_still_meanwhile_and_walks_on(resumed):
    _, rows = resumed
    pose, tilt, *_ = errors(rows)
    assert np.linalg.norm(pose[-1, :2]) < 0.015  # [m] of 0.5
    assert np.abs(tilt).max() < np.radians(1.5)
    assert rows[-1, 1] - rows[0, 1] > 0.2  # it walks


@pytest.fixture(scope="module")
def frozen():
    """A walk that is frozen for three seconds while the gait goes on, and whose detector knows."""
    walk = walking(seed=1)
    walk.onboard.emergency_stop(True)
    walk.run(3.0)
    return walk


@on_a_copy
def test_a_leg_that_is_torn_off_a_frozen_robot_is_found_by_its_silence(frozen):
    walk = frozen
    walk.break_parts(WHOLE.without("RM"))
    assert walk.run(2.0, lambda w: not w.declared.has_link("RM", "coxa"))


@on_a_copy
def test_the_detector_finds_nothing_in_a_frozen_robot_and_damage_after_the_stop(frozen):
    walk = frozen
    assert walk.decisions == [] and walk.detector.findings() == []
    assert any("do not execute" in words for words in walk.detector.missing_inputs(walk.time))
    walk.twist[:] = 0.0
    walk.run(2.0)  # the gait stands; its joints are where they are commanded when the servos go on
    walk.onboard.emergency_stop(False)
    walk.twist[0] = 0.077
    walk.run(5.0)
    assert walk.decisions == []
    walk.break_parts(WHOLE.broken("LM.tibia", 0.5))
    assert walk.run(4.0, lambda w: w.declared.remaining("LM", "tibia") < 1.0)


@pytest.fixture(scope="module")
def walk():
    """A walk at 7.7 cm/s, on a robot and ground that differ from the model, that has gone on for 5 s; several tests go
    on with it, each in a copy of the process.
    """
    truth = Truth(mass=1.03, stiffness=0.94, friction=0.7, slope=1.0, slope_yaw=60.0, rough=0.003, seed=3)
    return walking(truth, 3)


@on_a_copy
def test_a_repaired_joint_is_taken_back_and_the_next_damage_is_found_as_on_a_fresh_robot(walk):
    walk.break_parts(WHOLE.locked("LM.femur", 0.7))
    assert walk.run(4.0, until=lambda walk: not walk.declared.is_intact), "it is declared"
    walk.run(2.0)
    walk.break_parts(WHOLE)
    assert walk.run(4.0, until=lambda walk: walk.declared.is_intact), walk.declared.describe()
    walk.run(6.0)
    assert walk.declared.is_intact, walk.decisions
    walk.break_parts(WHOLE.broken("RM.tibia", 0.05))
    assert walk.run(2.6, until=lambda walk: not walk.declared.is_intact), "two cycles, as on a fresh robot"
    assert walk.declared.remaining("RM", "tibia") < 1.0


@on_a_copy
def test_a_joint_that_stays_damaged_is_not_taken_back(walk):
    walk.break_parts(WHOLE.limp("RR.femur"))
    walk.run(12.0)
    assert walk.declared == WHOLE.limp("RR.femur")


@on_a_copy
def test_what_a_person_declared_stands(walk):
    """Of the healthy robot, whose servos answer and move all the time."""
    walk.onboard.declare(WHOLE.locked("LM.femur", 0.7).without("RM"))
    walk.run(6.0)
    assert walk.declared == WHOLE.locked("LM.femur", 0.7).without("RM") and walk.decisions == []


def run(watch, angles, command=0.0, start=0.0):
    for k, angle in enumerate(angles):
        watch.add_reading(start + 0.2 * k, 4, angle, command)
    return watch.find_recovered(start + 0.2 * len(angles))


def test_a_limp_joint_counts_only_where_it_was_away_from_its_command():
    watch = RecoveredJoints()
    watch.watch({4: None})
    assert run(watch, [0.0] * 20) == []
    assert run(watch, [0.4, 0.4, *[0.01] * 8], start=4.0) == [4]


def test_what_stays_declared_is_tried_ever_more_rarely_and_another_part_is_not_kept_waiting():
    trials = Trials()
    times = [0.1 * k for k in range(6000) if trials.choose(0.1 * k, [4]) == 4]
    pauses = np.diff(times)
    assert times[0] == pytest.approx(2.0, abs=0.11)
    assert pauses[:5] == pytest.approx([6.0, 12.0, 24.0, 48.0, 96.0], abs=0.11)
    assert pauses[5:] == pytest.approx(120.0, abs=0.11) and len(pauses) > 6
    assert next(k for k in range(100) if trials.choose(600.0 + 0.1 * k, [4, 7]) == 7) <= 81
    assert trials.choose(620.0, []) is None


@pytest.mark.parametrize("pushed, stands", [(0.025, True), (0.006, False)])
def test_a_foot_that_stands_is_pushed_up_and_a_leg_that_was_not_moved_shows_nothing(pushed, stands):
    foot, joint = TriedFoot(ROBOT), 7
    for moved in (0.0, 0.5):
        foot.begin(0.0, "LR", joint)
        for k in range(28):
            down = k > 14
            foot.add_reading(joint, 0.4 - moved * down + pushed * down, 0.4 - moved * down)
        assert foot.moves == (moved > 0.0) and foot.find_standing(2.7) is None and foot.leg == "LR"
        assert foot.find_standing(2.8) == ("LR" if stands and moved else None) and not foot.moves


@pytest.mark.parametrize("angles", [[0.7] * 20, [0.7, *[0.4] * 4], [0.7, *np.tile([0.2, 0.7], 10)]])
def test_a_lock_that_moves_for_a_moment_is_one(angles):
    watch = RecoveredJoints()
    watch.watch({4: 0.7})
    assert run(watch, angles) == []


def test_a_joint_is_taken_back_once():
    watch = RecoveredJoints()
    watch.watch({4: 0.7})
    assert run(watch, [0.7, *[0.1] * 10]) == [4]
    watch.note_restored(4)
    watch.watch({4: 0.7})
    assert run(watch, [0.7, *[0.1] * 10], start=9.0) == []


@on_a_copy
def test_a_joint_that_was_locked_where_its_servo_asks_it_to_be_is_taken_back(walk):
    """The servo holds the last set-point: locks near it were never taken back."""
    k = ROBOT.joint_names.index("coxa_joint_RM")
    walk.break_parts(WHOLE.locked("RM.coxa", float(walk.physics.q[k])))
    assert walk.run(4.0, until=lambda walk: not walk.declared.is_intact), "it is declared"
    # What the guard has sent last: the angle of the lock.
    walk.physics.command(np.where(np.arange(ROBOT.joint_count) == k, walk.physics.q, np.nan), 0.02)
    walk.run(2.0)
    walk.break_parts(WHOLE)
    assert walk.run(9.0, until=lambda walk: walk.declared.is_intact), walk.declared.describe()
    walk.run(6.0)
    assert walk.declared.is_intact, walk.decisions


@on_a_copy
def test_a_joint_that_stays_locked_is_tried_and_stays_declared(walk):
    walk.break_parts(WHOLE.locked("RM.coxa", 0.1))
    walk.run(16.0)
    assert not walk.declared.is_intact and [one.text.partition(":")[0] for one in walk.decisions] == [
        "RM.coxa locked at 0.10 rad"
    ]
