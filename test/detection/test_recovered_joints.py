"""A joint declared locked or limp by the detector is taken back when it is repaired; a person's declaration stands."""

import numpy as np
import pytest
from support.copies import on_a_copy
from support.walks import ROBOT, WHOLE, walking

from hexapod_dynamics.detection.recovered_joints import RecoveredJoints
from hexapod_dynamics.simulation import Truth


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


def test_a_joint_that_stays_locked_is_tried_ever_more_rarely_and_another_one_is_not_kept_waiting():
    watch = RecoveredJoints()
    watch.watch({4: 0.7})
    trials = [0.1 * k for k in range(6000) if watch.retest(0.1 * k) == 4]
    pauses = np.diff(trials)
    assert trials[0] == pytest.approx(3.0, abs=0.11)
    assert pauses[:5] == pytest.approx([6.0, 12.0, 24.0, 48.0, 96.0], abs=0.11)
    assert pauses[5:] == pytest.approx(120.0, abs=0.11) and len(pauses) > 6
    watch.watch({4: 0.7, 7: 0.2})
    assert next(k for k in range(100) if watch.retest(600.0 + 0.1 * k) == 7) <= 91


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
