"""The learned detector in closed loop, on servos and a physics that it was not trained on."""

import numpy as np
import pytest
from support.blind_walk import BlindWalk
from support.servo_walk import disturb_walk, servo_walk

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.learning.detector import LearnedDetector
from hexapod_dynamics.learning.detector.walks import WalkingRobot
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Simulator, Truth

pytest.importorskip("mujoco")
pytest.importorskip("vqf")
ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
PARTS = [f"{leg.name}.{link.name}" for leg in ROBOT.legs for link in leg.links]


def walked(seed, seconds=6.0):
    """A walk on MuJoCo with servos that are no springs, until the detector judges."""
    walk, random = servo_walk(seed, "real", LearnedDetector(ROBOT), obey=True)
    walk.run(seconds)
    assert walk.decisions == []
    return walk, random


@pytest.mark.parametrize("leg, left", [("RM", 0.02), ("LF", 0.5)])
def test_a_lost_foot_whose_servos_answer_is_found_within_two_seconds(leg, left):
    walk, _ = walked(31)
    walk.damage(WHOLE.broken(f"{leg}.tibia", left))
    assert walk.run(2.0, until=lambda walk: not walk.declared.is_intact)
    (_, decision), *more = walk.decisions
    assert decision.values == {f"remaining.{leg}.tibia": 0.5} and not more
    assert decision.probability > 0.9 and "leans" in decision.text


def test_both_feet_of_a_pair_are_declared_at_once():
    walk, _ = walked(33)
    walk.damage(WHOLE.broken("LF.tibia", 0.05).broken("LR.tibia", 0.05))
    assert walk.run(3.0, until=lambda walk: not walk.declared.is_intact)
    walk.run(2.0)
    assert {name for _, one in walk.decisions for name in one.values} == {"remaining.LF.tibia", "remaining.LR.tibia"}
    assert len({at for at, _ in walk.decisions}) == 1


@pytest.mark.parametrize("joint", ["RM.coxa", "LR.femur"])
def test_a_locked_joint_is_found_with_its_angle_and_told_from_a_limp_one(joint):
    walk, _ = walked(34)
    angle = float(walk.physics.q[PARTS.index(joint)])
    walk.damage(WHOLE.locked(joint, angle))
    assert walk.run(2.5, until=lambda walk: not walk.declared.is_intact)
    values = walk.decisions[0][1].values
    assert values[f"locked.{joint}"] is True
    assert values[f"locked_at.{joint}"] == pytest.approx(angle, abs=np.radians(3.0))  # zeros are off by up to 2 degrees


def test_a_limp_joint_is_found():
    walk, _ = walked(35)
    walk.damage(WHOLE.limp("RF.femur"))
    assert walk.run(2.5, until=lambda walk: not walk.declared.is_intact)
    assert walk.decisions[0][1].values == {"limp.RF.femur": True}


def test_legs_torn_off_are_found_by_their_silence_alone():
    walk, _ = walked(36)
    walk.damage(WHOLE.without("RM", "LM"))
    walk.run(1.5)
    assert walk.declared == WHOLE.without("RM", "LM")


def test_a_healthy_robot_that_is_pushed_and_commanded_about_is_left_alone():
    walk, random = walked(37)
    disturb_walk(walk, random, 30.0)
    walk.gait.command(0.0, 0.0, 0.0)
    walk.run(5.0)  # it stands
    assert walk.decisions == []


def test_it_takes_the_place_of_the_detector_in_onboard():
    walk = WalkingRobot(ROBOT, "built_in", Truth.parse("servos=real,seed=4"), 4, detector=LearnedDetector(ROBOT))
    while walk.time < 12.0:
        walk.twist[0] = 0.07 if walk.time > 2.5 else 0.0
        if round(walk.time, 2) == 7.0:
            walk.damage(WHOLE.broken("LM.tibia", 0.3))
        walk.step()
    walk.onboard.close()
    (only,) = walk.onboard.decisions
    assert only.values == {"remaining.LM.tibia": 0.5} and 7.0 < only.time < 9.0
    assert walk.onboard.morphology == WHOLE.broken("LM.tibia", 0.5)
    assert "damage_detector" in walk.onboard.diagnostics


def test_a_robot_that_is_not_followed_and_one_that_lies_are_not_judged():
    walk = BlindWalk(ROBOT, Simulator(ROBOT, timestep=2e-3), AdaptiveGait(), detector=LearnedDetector(ROBOT), seed=1)
    walk.gait.command(0.077, 0.0, 0.0)
    walk.run(5.0)
    walk.frozen = True
    walk.detector.follow(False)
    walk.run(3.0)
    assert walk.decisions == [] and walk.detector.findings() == []
    walk.detector.off_its_feet(walk.time)
    assert walk.detector.press(walk.time) is None and walk.detector.cannot_tell(walk.time) is None
