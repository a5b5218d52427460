"""What the network sees: alike for all legs, learnt of this robot, the same however the updates fall."""

import math

import numpy as np
import pytest
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.detection import DetectorSettings
from hexapod_dynamics.detection.features import (
    COUNT,
    JOINTS,
    OF_JOINT,
    OF_LEG,
    STEP,
    FeatureExtractor,
    are_setpoints_moving,
    find_joint_slots,
)
from hexapod_dynamics.gait import AdaptiveGait

LEFT, RIGHT = ("LF", "LM", "LR"), ("RF", "RM", "RR")


def column(name, joint=None):
    """Column of a feature of a leg, or of one of its joints."""
    if joint is None:
        return JOINTS * len(OF_JOINT) + list(OF_LEG).index(name)
    return joint * len(OF_JOINT) + list(OF_JOINT).index(name)


def walked(seconds, roll=0.0, offset=0.0, twist=(0.06, 0.0, 0.0), change=None, speed=1.0):
    """Features (T, legs, COUNT) of a robot that does what is commanded, but leans by `roll`, and reads `offset` more
    at RM's femur [rad]; change: (time [s], Morphology) that is declared.
    """
    gait = AdaptiveGait().bind(ROBOT)
    gait.command(*twist)
    extractor, found, due = FeatureExtractor(ROBOT, DetectorSettings()), [], 0.0
    femur = ROBOT.leg_joints("RM")[1]
    for tick in range(1, round(seconds / 0.02)):
        now = 0.02 * tick
        if change is not None and now >= change[0]:
            extractor.set_morphology(now, change[1])
            change = None
        command = gait.step(0.02)[0] * speed
        extractor.command(now, command)
        extractor.add_attitude(now, roll if now > 0.5 * seconds else 0.0, 0.0, 0.0)
        for joint in (2 * tick % 18, (2 * tick + 1) % 18):
            extractor.add_reading(now, joint, command[joint] + offset * (joint == femur))
        if now >= due:
            due += STEP
            features = extractor.step(now)
            if features is not None:
                found.append(features)
    return np.array(found)


def test_a_robot_that_leans_to_the_right_leans_toward_its_right_legs():
    lean = walked(4.0, roll=math.radians(4.0))[-1, :, column("lean toward the leg")]
    of = dict(zip(ROBOT.leg_names, lean, strict=True))
    assert all(of[leg] > 0.3 for leg in RIGHT) and all(of[leg] < -0.3 for leg in LEFT)


def test_legs_of_both_sides_see_the_same_in_a_mirrored_walk():
    """A walk to the left seen by the left legs is a walk to the right seen by the right ones."""
    left, right = walked(5.0, twist=(0.0, 0.04, 0.0)), walked(5.0, twist=(0.0, -0.04, 0.0))
    names = list(ROBOT.leg_names)
    mine, theirs = ([names.index(leg) for leg in side] for side in (LEFT, RIGHT))
    same = [column(name, joint) for joint in range(JOINTS) for name in ("lead of the set-point", "rate")]
    # The gait starts with the same tripod in both: the means over the walk are alike, not each moment.
    for one in same:
        assert left[20:, mine, one].std() == pytest.approx(right[20:, theirs, one].std(), rel=0.15, abs=0.02)
    np.testing.assert_allclose(left[0][mine][:, column("place along x")], left[0][theirs][:, column("place along x")])


def test_an_offset_of_a_servo_is_learnt_and_what_came_a_moment_ago_is_not():
    features = walked(20.0, offset=math.radians(2.0))
    leg = ROBOT.leg_names.index("RM")
    apart, residual = features[:, leg, column("reading less model", 1)], features[:, leg, column("residual", 1)]
    assert abs(np.mean(apart[-40:])) == pytest.approx(2.0 / 5.0, abs=0.15)  # in its unit
    assert abs(np.mean(residual[:20])) > 0.4 and abs(np.mean(residual[-40:])) < 0.25


def test_a_declared_loss_shows_in_what_is_left_and_how_long_ago():
    lost = WHOLE.broken("LM.tibia", 0.5).limp("RF.femur")
    features = walked(5.0, change=(3.0, lost))
    left = dict(zip(ROBOT.leg_names, features[-1, :, column("what is left of the leg")], strict=True))
    assert left == {leg: {"LM": 0.5, "RF": 0.0}.get(leg, 1.0) for leg in ROBOT.leg_names}
    assert features[-1, 0, column("time since a change")] == pytest.approx(2.0 / 3.0, abs=0.05)


def test_a_robot_that_stands_does_not_move():
    assert not are_setpoints_moving(walked(3.0, twist=(0.0, 0.0, 0.0))[-1]) and are_setpoints_moving(walked(3.0)[-1])


def test_after_a_restart_the_model_starts_again_and_what_was_learnt_stays():
    extractor = FeatureExtractor(ROBOT, DetectorSettings())
    for k in range(20):
        extractor.command(0.02 * k, np.zeros(18))
        for joint in range(18):
            extractor.add_reading(0.02 * k, joint, 0.0)
    assert extractor.step(0.4) is None and extractor.model.started
    assert extractor.step(0.48).shape == (6, COUNT)
    extractor.restart()
    assert not extractor.model.started and extractor.step(0.56) is None


@pytest.mark.parametrize("links, slots", [(1, (0,)), (2, (0, 1)), (3, (0, 1, 2)), (4, (0, 2, 3)), (6, (0, 4, 5))])
def test_legs_of_other_shapes_are_seen_by_their_first_and_last_joints(links, slots):
    assert find_joint_slots(links) == slots
