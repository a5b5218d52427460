"""The detector on servos with dead zone, play, lag, friction and mounting errors, in walks of both physics."""

import itertools

import numpy as np
import pytest
from support.walks import ROBOT, WHOLE, disturb_walk, servo_walk

WARM_UP = 6.0  # [s] of an intact walk


def broken_walk(seed, damage, physics="mujoco"):
    """Return a walk at the moment at which `damage` (a Morphology) happens, and this time [s]."""
    walk, random = servo_walk(seed, "real", physics=physics)
    walk.run(WARM_UP + random.uniform(0.0, 1.3))
    assert walk.decisions == []
    walk.break_parts(damage)
    return walk, walk.time


def declared(walk):
    """Return the names of the values that the detector has declared."""
    return [name for decision in walk.decisions if decision.action == "declare" for name in decision.values]


# The body sinks onto the stump of RF (26) and hits the ground: braced against as if pushed, it was not found in 4 s.
@pytest.mark.parametrize("seed, leg, left, physics", [(22, "RM", 0.5, "built_in"), (26, "RF", 0.5, "mujoco")])
def test_a_lost_foot_whose_servos_answer_is_found(seed, leg, left, physics):
    walk, begin = broken_walk(seed, WHOLE.broken(f"{leg}.tibia", left), physics)
    assert walk.run(2.0, until=declared), f"{walk.detector.findings()}, suspicion {walk.detector.suspicion}"
    assert declared(walk) == [f"remaining.{leg}.tibia"] and begin < walk.decisions[-1].time <= begin + 2.0


def test_three_legs_torn_off_in_the_air_of_a_robot_that_stays_level_are_damage_as_it_walks():
    lost = ("LM", "RR", "RF")  # those that are left bear the body, and it lies level on the ground when they step
    walk, begin = broken_walk(5402, WHOLE.without(*lost))
    walk.run(1.5)
    assert sorted(declared(walk)) == sorted(f"legs.{leg}" for leg in lost)
    assert begin + 0.5 < walk.decisions[-1].time <= begin + 1.5


def test_a_healthy_walk_with_pushes_and_changing_commands_declares_nothing_and_presses_no_foot():
    walk, random = servo_walk(8001, "real")
    walk.run(WARM_UP)
    disturb_walk(walk, random, 15.0)
    assert walk.decisions == [] and walk.detector.probes == 0


def test_a_push_that_is_braced_against_is_no_lost_foot():
    walk, random = servo_walk(69, "real")
    walk.run(14.0)  # until a phase of the gait in which it is braced against
    angle, force = random.uniform(-np.pi, np.pi), random.uniform(28.0, 36.0)
    walk.push(0.3, force, angle, 0.03)
    walk.run(5.0)
    assert walk.onboard.parts.gait.brace.count == 1 and walk.physics.rotation[2, 2] > 0.99 and walk.decisions == []


def test_three_silent_legs_of_a_robot_that_stands_and_moves_as_its_model_are_a_fault_of_the_bus():
    walk, _ = servo_walk(24, "real")
    walk.run(6.0)
    walk.twist[:] = 0.0
    walk.run(3.0)
    for joint in itertools.chain(*(ROBOT.leg_joints(leg) for leg in ("LF", "LR", "RM"))):
        walk.unplugged[joint] = True
    walk.run(2.0)
    assert walk.decisions == []
    assert walk.detector.bus_evidence.silent(walk.time, WHOLE.existing_mask).sum() == 9
