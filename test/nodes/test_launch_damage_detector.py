"""The launched robot is broken and nobody tells its software: it finds out by itself. Minutes long: pytest -m slow."""

import time

import pytest
from support.launched_robot import Launched
from support.ros_session import separate

from diagnostic_msgs.msg import DiagnosticArray
from hexapod_dynamics.robot import Morphology, Robot

pytestmark = pytest.mark.slow
# [s] of walking in which the detector learns how this robot differs from its model; at first its servos, too.
WARM_UP, FIRST = 8.0, 17.0
# Robots whose servos are not springs: each draws its own.
REAL = [f"physics:=mujoco truth:=servos=real,seed={seed}" for seed in range(1, 11)]
REAL.append("physics:=built_in truth:=servos=real,seed=3")


class Session(Launched):
    """The launched robot, what it publishes and what is declared."""

    def __init__(self, physics):
        super().__init__("detect:=declare", *physics.split())
        self.hypotheses = self.probe.hear(DiagnosticArray, "damage_hypotheses", keep=20)

    def declared(self, name):
        """Value of a named value in the last morphology."""
        return self.morphology()[name]

    def broken(self):
        """What is declared otherwise than of a whole robot: the values of a whole one, by name."""
        whole = Morphology.whole(Robot.jethexa()).parameters()
        return {n: whole[n] for n, value in self.morphology().items() if value != whole[n] and "locked_at" not in n}

    def stands_still(self, part):
        """Whether the joint of a part is declared limp or locked: gears may hold a servo without torque."""
        return self.declared(f"limp.{part}") or self.declared(f"locked.{part}")

    def break_and_mend(self, damage, mended, found, within=15):
        """Break the simulated robot, wait until `found()` is declared, mend both and wait until it walks again."""
        assert self.probe.set("simulator/set_damage", damage) == (True, "")
        try:
            self.wait(found, within, f"{damage} is found")
        finally:  # whatever was declared instead: the next test begins with a whole robot
            assert self.probe.set("simulator/set_damage", mended) == (True, "")
            assert self.probe.set("set_morphology", mended | self.broken()) == (True, "")
        self.wait(lambda: self.speed(2.0) > 0.04, 30, "whole again, it walks")
        time.sleep(WARM_UP)


@pytest.fixture(scope="module", params=["physics:=built_in", "physics:=mujoco", *REAL])
def session(request):
    separate()
    session = Session(request.param)
    try:
        session.wait(lambda: session.speed(2.0) > 0.04, 240, "it walks")
        time.sleep(FIRST)
        yield session
    finally:
        session.close()


def test_a_healthy_walk_is_left_alone(session):
    assert not session.broken()
    heard = [message for at, message in list(session.hypotheses) if at > time.monotonic() - WARM_UP]
    assert len(heard) >= 0.5 * WARM_UP, "it publishes what it finds, nothing too"
    found = [status.name for message in heard for status in message.status if status.message != "suspected"]
    assert not found


def test_two_legs_that_are_torn_off(session):
    session.break_and_mend(
        {"legs.RM": False, "legs.LM": False},
        {"legs.RM": True, "legs.LM": True},
        lambda: not session.declared("legs.RM") and not session.declared("legs.LM"),
    )


def test_a_locked_femur(session):
    session.break_and_mend(
        {"locked.RF.femur": True}, {"locked.RF.femur": False}, lambda: session.declared("locked.RF.femur")
    )


def test_a_limp_femur(session):
    session.break_and_mend({"limp.LR.femur": True}, {"limp.LR.femur": False}, lambda: session.stands_still("LR.femur"))


def test_a_limp_tibia(session):
    session.break_and_mend({"limp.RM.tibia": True}, {"limp.RM.tibia": False}, lambda: session.stands_still("RM.tibia"))


def test_a_foot_broken_off(session):
    session.break_and_mend(
        {"remaining.RR.tibia": 0.85}, {"remaining.RR.tibia": 1.0}, lambda: session.declared("remaining.RR.tibia") < 1.0
    )


@pytest.mark.parametrize("leg", ["LM", "RF"])
def test_half_a_tibia_broken_off(session, leg):
    """On MuJoCo a robot with half a front tibia stood on the stump in each cycle; it was declared after 7.7 s."""
    name = f"remaining.{leg}.tibia"
    session.break_and_mend({name: 0.5}, {name: 1.0}, lambda: session.declared(name) < 1.0, within=4)


def test_a_leg_that_is_unplugged_and_plugged_in_again(session):
    names = " ".join(f"{link}_joint_RM" for link in ("coxa", "femur", "tibia"))
    assert session.probe.set("simulator/set_parameters_atomically", {"faults.servo.silent": names})[0]
    session.wait(lambda: not session.declared("legs.RM"), 15, "silence is found")
    assert session.probe.set("simulator/set_parameters_atomically", {"faults.servo.silent": ""})[0]
    session.wait(lambda: session.declared("legs.RM"), 20, "it is found to be back")


@pytest.mark.parametrize("joint", ["RF.femur", "LM.femur", "RM.coxa", "LR.tibia"])
def test_a_lock_that_is_repaired_is_taken_back_and_the_next_damage_is_found_as_on_a_fresh_robot(session, joint):
    """Half of these locks, those near the last set-point, were never taken back."""
    lock = f"locked.{joint}"
    assert session.probe.set("simulator/set_damage", {lock: True}) == (True, "")
    session.wait(lambda: session.declared(lock), 15, "it is declared")
    time.sleep(2.0)
    assert session.probe.set("simulator/set_damage", {lock: False}) == (True, "")
    session.wait(lambda: not session.declared(lock), 20, "it is taken back")
    session.wait(lambda: session.speed(2.0) > 0.04, 30, "whole again, it walks")
    time.sleep(WARM_UP)
    session.break_and_mend({"legs.LF": False}, {"legs.LF": True}, lambda: not session.declared("legs.LF"), within=2.0)
