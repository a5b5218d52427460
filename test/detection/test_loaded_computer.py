"""No healthy joint is declared locked because processes of a loaded computer stand still for a moment; locked ones are.

The hypothesis banks of these walks never end, as on a computer without time for them: joints decide alone.
"""

from concurrent.futures import Executor, Future

import numpy as np
import pytest
from loaded_walk import PROCESSES, ROBOT, LoadedWalk

from hexapod_dynamics.detection import joint_evidence
from hexapod_dynamics.robot import Morphology

WHOLE = Morphology.whole(ROBOT)
# What stands still, for how long (mean, most) [s], and for which share of the time.
LOADS = {
    "robot": {"robot": (0.04, 0.14, 0.4)},
    "servos": {"servos": (0.04, 0.14, 0.4)},
    "gait": {"gait": (0.04, 0.1, 0.4)},
    "detector": {"detector": (0.04, 0.1, 0.4)},
    "all": dict.fromkeys(PROCESSES, (0.015, 0.08, 0.5)),
    "all for long": dict.fromkeys(PROCESSES, (0.03, 0.12, 0.4)),
}
SLOW = (0.04, 0.0, 0.0)  # twist: its femurs stand still for 0.8 s in each stance


class NoTime(Executor):
    """Runs nothing."""

    def submit(self, *_):
        return Future()


def loaded_walk(load, seed=1, **arguments):
    walk = LoadedWalk(LOADS[load], seed, twist=SLOW, executor=NoTime(), **arguments)
    walk.run(6.0)
    walk.load()
    return walk


# The other loads: more of what "robot", the one that declared healthy joints, and "all" hold.
@pytest.mark.parametrize(
    "load", [name if name == "all" else pytest.param(name, marks=pytest.mark.slow) for name in LOADS]
)
def test_no_healthy_joint_is_declared_while_processes_stand_still_for_moments(load):
    """With "robot" RR.femur and LF.femur were declared: ten readings a second fit nine of them into a stance phase, and
    in the last one the femur had not been lifted yet, because the robot stood still.
    """
    walk = loaded_walk(load)
    walk.run(20.0 if load != "robot" else 50.0)
    assert walk.decisions == []


def test_the_reason_for_which_nothing_is_judged_is_named():
    walk, reasons = loaded_walk("all for long"), set()
    for _ in range(300):
        walk.run(0.1)
        reasons |= {text for text in walk.detector.cannot_know(walk.time) if walk.detector.disturbed}
    assert walk.decisions == [] and reasons
    assert all(one.startswith(("readings come late: not judged (", "commands or readings arrive")) for one in reasons)
    assert any("readings come late: not judged (" in one for one in reasons)


@pytest.mark.parametrize("load", ["all", *(pytest.param(load, marks=pytest.mark.slow) for load in ("robot", "gait"))])
@pytest.mark.parametrize("joint", ["RR.femur", "RM.coxa"])
def test_a_joint_that_is_locked_on_a_loaded_computer_is_found(load, joint):
    walk = loaded_walk(load, 2)
    index = [f"{leg.name}.{link.name}" for leg in ROBOT.legs for link in leg.links].index(joint)
    walk.damage(WHOLE.locked(joint, float(walk.physics.q[index])))
    assert walk.run(8.0, until=lambda walk: walk.decisions)
    assert [decision.name.partition(" locked")[0] for _, decision in walk.decisions] == [joint]


@pytest.mark.parametrize("reads", [1.0, 1.8, 2.5])
@pytest.mark.parametrize("joint", ["LM.femur", "RF.coxa", "LR.tibia"])
def test_a_locked_joint_is_found_within_two_cycles_at_each_pace_of_the_bus(joint, reads):
    walk = LoadedWalk({}, 3, reads=reads, executor=NoTime())
    walk.run(6.0)
    index = [f"{leg.name}.{link.name}" for leg in ROBOT.legs for link in leg.links].index(joint)
    walk.damage(WHOLE.locked(joint, float(walk.physics.q[index])))
    assert walk.run(2.4, until=lambda walk: walk.decisions)
    assert [decision.name.partition(" locked")[0] for _, decision in walk.decisions] == [joint]


# Readings of a healthy femur whose robot stood still for a moment at the end of its stance, and its model.
PLACES = np.array([1013.1, 1018.6, 1024.1, 1029.6, 1034.6, 1039.6, 1044.6, 1049.6, 1054.6])
ANGLES = np.array([0.214, 0.046, 0.046, 0.046, 0.046, 0.046, 0.042, 0.042, 0.042])
MODEL = np.array([0.081, 0.039, 0.044, 0.045, 0.046, 0.044, 0.042, 0.049, 0.262])
LIFTED = np.array([0.0] * 7 + [0.2, 0.3])  # what the model does within the lag that a stall explains


def condition(angles=ANGLES, model=MODEL, places=PLACES, valid=-np.inf, reach=None):
    reach = (np.minimum(model, 0.049), np.maximum(model, LIFTED + 0.04)) if reach is None else reach
    return joint_evidence.look(places, angles, angles - model, reach, 0.0, np.inf, valid)


def test_a_stance_in_which_the_last_reading_is_late_is_no_lock():
    assert condition().state != "locked" and condition().evidence < 1.0


def swinging(count=17, period=5.0):
    """A stuck joint: places, angles, model, reach of a model that swings by 0.3 rad in each cycle of 1.2 s."""

    def model(places):
        return 0.04 + 0.3 * np.maximum(np.sin(2 * np.pi * places / 60.0), 0.0)

    places = 1000.0 + period * np.arange(count)
    around = model(places[:, None] + np.arange(-5.0, 6.0))
    return places, np.full(count, 0.042), model(places), (around.min(axis=1), around.max(axis=1))


def test_a_lock_needs_readings_that_last_longer_than_a_stance():
    places, angles, model, reach = swinging()
    assert condition(angles, model, places, reach=reach).state == "locked"
    for last in (8, 10):  # 0.7 s, 0.9 s
        few = (reach[0][-last:], reach[1][-last:])
        assert condition(angles[-last:], model[-last:], places[-last:], reach=few).state != "locked"


def test_readings_before_the_model_is_in_step_with_the_servos_are_no_evidence():
    places, angles, model, reach = swinging()
    assert condition(angles, model, places, places[4], reach).state == "locked"
    assert condition(angles, model, places, places[9], reach).state != "locked"
    assert condition(angles, model, places, np.inf, reach).state != "locked"


def test_a_joint_that_was_not_read_for_half_a_second_counts_again_when_its_driver_has_approached_its_command():
    places, angles, model, reach = swinging(36)
    assert condition(angles, model, places, reach=reach).state == "locked"
    late = places + np.where(np.arange(36) >= 10, 30.0, 0.0)
    assert condition(angles[:21], model[:21], late[:21], reach=(reach[0][:21], reach[1][:21])).state != "locked"
    assert condition(angles, model, late, reach=reach).state == "locked"
