"""The detector on servos with dead zone, play, lag, friction and mounting errors, in walks of both physics.

Recorded without a detector and replayed to it, in the robot's clock.
"""

import itertools

import numpy as np
import pytest
from support.recorded_walk import Recorder, replay
from support.servo_walk import disturb_walk, servo_walk

from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import MujocoSimulator, Simulator

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
WARM_UP = 6.0  # [s] of an intact walk


def broken_walk(seed, damage, seconds, physics=MujocoSimulator):
    """Return the calls of a walk in which `damage` (a function of the joint angles) happens, and its time [s]."""
    recorder = Recorder()
    blind, random = servo_walk(seed, "real", recorder, physics=physics)
    blind.run(WARM_UP + random.uniform(0.0, 1.3))
    blind.damage(damage(blind.physics.q))
    begin = blind.time
    blind.run(seconds)
    return recorder.calls, begin


def find(seed, damage, seconds, more=0.0, physics=MujocoSimulator):
    """Return the values that the detector declares, the time that the last took [s], and the detector."""
    calls, begin = broken_walk(seed, damage, seconds, physics)
    decisions, detector = replay(ROBOT, calls, more=more)
    assert decisions, f"nothing was found; {detector.findings()}, suspicion {detector.suspicion}"
    values = {name: value for _, decision in decisions for name, value in decision.values.items()}
    return values, decisions[-1][0] - begin, detector


# The body sinks onto the stump of RF (26) and hits the ground: braced against as if pushed, it was not found in 4 s.
@pytest.mark.parametrize(
    "seed, leg, left, physics",
    [
        (22, "RM", 0.5, Simulator),
        (26, "RF", 0.5, MujocoSimulator),
    ],
)
def test_a_lost_foot_whose_servos_answer_is_found(seed, leg, left, physics):
    values, took, detector = find(seed, lambda _: WHOLE.broken(f"{leg}.tibia", left), 2.0, physics=physics)
    assert list(values) == [f"remaining.{leg}.tibia"] and 0.0 < took <= 2.0


def test_three_legs_torn_off_in_the_air_of_a_robot_that_stays_level_are_damage_as_it_walks():
    lost = ("LM", "RR", "RF")  # those that are left bear the body, and it lies level on the ground when they step
    recorder = Recorder()
    blind, random = servo_walk(5402, "real", recorder)
    blind.run(WARM_UP + random.uniform(0.0, 1.3))
    begin = blind.time
    blind.damage(WHOLE.without(*lost))
    blind.run(1.5)
    decisions, _ = replay(ROBOT, recorder.calls, more=0.8)
    assert sorted(name for _, decision in decisions for name in decision.values) == sorted(
        f"legs.{leg}" for leg in lost
    )
    assert begin + 0.5 < decisions[-1][0] <= begin + 1.5


def test_a_healthy_walk_with_pushes_and_changing_commands_declares_nothing_and_presses_no_foot():
    recorder = Recorder()
    blind, random = servo_walk(8001, "real", recorder)
    blind.run(WARM_UP)
    disturb_walk(blind, random, 30.0)
    decisions, detector = replay(ROBOT, recorder.calls)
    assert decisions == [] and detector.asked == []


def test_a_push_that_is_braced_against_is_no_lost_foot():
    recorder = Recorder()
    blind, random = servo_walk(68, "real", recorder)
    blind.run(14.0)  # until a phase of the gait in which it is braced against
    angle, force = random.uniform(-np.pi, np.pi), random.uniform(28.0, 36.0)
    blind.push[:3] = force * np.cos(angle), force * np.sin(angle), 0.0
    blind.push[3:] = np.cross([0.0, 0.0, 0.03], blind.push[:3])
    blind.run(0.3)
    blind.push[:] = 0.0
    blind.run(5.0)
    decisions, _ = replay(ROBOT, recorder.calls)
    assert blind.brace.count == 1 and blind.physics.rotation[2, 2] > 0.99
    assert decisions == []


def test_three_silent_legs_of_a_robot_that_stands_and_moves_as_its_model_are_a_fault_of_the_bus():
    recorder = Recorder()
    blind, _ = servo_walk(24, "real", recorder)
    blind.run(6.0)
    blind.gait.command(0.0, 0.0, 0.0)
    blind.run(3.0)
    for joint in itertools.chain(*(ROBOT.leg_joints(leg) for leg in ("LF", "LR", "RM"))):
        blind.unplugged[joint] = True
    blind.run(2.0)
    decisions, detector = replay(ROBOT, recorder.calls)
    assert decisions == []
    assert detector.bus_evidence.silent(blind.time, WHOLE.existing_mask).sum() == 9
