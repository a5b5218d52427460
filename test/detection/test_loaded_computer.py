"""No healthy joint is declared because processes of a loaded computer stand still for a moment; locked ones are."""

import pytest
from loaded_walk import PROCESSES, LoadedWalk
from support.copies import on_a_copy
from support.walks import ROBOT, WHOLE

# What stands still, for how long (mean, most) [s], and for which share of the time.
LOADS = {
    "servos": {"servos": (0.04, 0.14, 0.4)},
    "all": dict.fromkeys(PROCESSES, (0.015, 0.08, 0.5)),
    "all, too long": dict.fromkeys(PROCESSES, (0.1, 0.35, 0.4)),
}
SLOW = (0.04, 0.0, 0.0)  # twist: its femurs stand still for 0.8 s in each stance


def loaded_walk(load, seed=1, **arguments):
    walk = LoadedWalk(LOADS[load], seed, twist=SLOW, **arguments)
    walk.run(6.0)
    walk.load()
    return walk


@pytest.mark.parametrize("load, seconds", [("servos", 10.0), ("all", 20.0)])
def test_no_healthy_joint_is_declared_while_processes_stand_still_for_moments(load, seconds):
    """RR.femur and LF.femur were declared: ten readings a second fit nine of them into a stance phase, and in the last
    one the femur had not been lifted yet, because the robot stood still.
    """
    walk = loaded_walk(load)
    walk.run(seconds)
    assert walk.decisions == []
    walk.rest()
    walk.run(6.0)
    assert walk.decisions == [] and walk.detector.missing_inputs(walk.time) == []
    walk.break_parts(WHOLE.broken("RM.tibia", 0.05))
    walk.run(6.0, until=lambda walk: walk.decisions)
    assert [decision.text.partition(" ")[0] for decision in walk.decisions] == ["RM.tibia"]


def test_the_reason_for_which_nothing_is_judged_is_named():
    walk, reasons = loaded_walk("all, too long"), set()
    for _ in range(120):
        walk.run(0.1)
        reasons |= {text for text in walk.detector.missing_inputs(walk.time) if walk.detector.disturbed}
    assert walk.decisions == [] and reasons
    assert all(one.startswith(("readings come late: not judged (", "commands or readings arrive")) for one in reasons)
    assert any("readings come late: not judged (" in one for one in reasons)


@pytest.fixture(scope="module")
def walk():
    return loaded_walk("all", 2)


@pytest.mark.parametrize("joint", ["RR.femur", "RM.coxa"])
@on_a_copy
def test_a_joint_that_is_locked_on_a_loaded_computer_is_found(walk, joint):
    index = [f"{leg.name}.{link.name}" for leg in ROBOT.legs for link in leg.links].index(joint)
    walk.break_parts(WHOLE.locked(joint, float(walk.physics.q[index])))
    assert walk.run(8.0, until=lambda walk: walk.decisions)
    assert [decision.text.partition(" locked")[0] for decision in walk.decisions] == [joint]


@pytest.mark.parametrize("joint, reads", [("LM.femur", 1.0), ("RF.coxa", 1.8), ("LR.tibia", 2.5)])
def test_a_locked_joint_is_found_within_two_cycles_at_each_pace_of_the_bus(joint, reads):
    walk = LoadedWalk({}, 3, reads=reads)
    walk.run(6.0)
    index = [f"{leg.name}.{link.name}" for leg in ROBOT.legs for link in leg.links].index(joint)
    walk.break_parts(WHOLE.locked(joint, float(walk.physics.q[index])))
    assert walk.run(2.4, until=lambda walk: walk.decisions)
    assert [decision.text.partition(" locked")[0] for decision in walk.decisions] == [joint]
