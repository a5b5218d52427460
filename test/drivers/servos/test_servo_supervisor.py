"""What the node `servos` decides, without the node: over a real bus thread, a pty and simulated servos."""

import math
import time

import numpy as np
import pytest
from support.lx_rig import PATIENT, make_chain
from support.waiting import wait_until

from hexapod_dynamics.control.pose_guard import PoseGuard
from hexapod_dynamics.drivers.servos.supervisor import ServoSupervisor, SupervisorSettings

pytest_plugins = ["support.lx_fixtures"]
COUNT = math.radians(0.24)
EVERY = np.arange(18)
SEATED = np.tile([0.0, 1.2, -0.45], 6)
# A servo that lets go may be on the last move of 20 ms at 0.8 rad/s, and its set-point is rounded.
ALMOST = 0.8 * 0.02 + 2 * COUNT


@pytest.fixture
def servos(rig):
    return rig.servos


@pytest.fixture
def said():
    return []


@pytest.fixture
def control(rig, said):
    """Give a supervisor of servos whose bus thread has just started."""
    chain = make_chain(rig, **PATIENT)
    guard = PoseGuard(np.full(18, -1.5), np.full(18, 1.5), 30.0)
    control = ServoSupervisor(chain, guard, SupervisorSettings(SEATED), said.append)
    chain.start()
    yield control
    chain.stop()


def known(control, epoch=-1):
    """Wait until the pose is known, after the state `epoch`."""
    wait_until(lambda: control.chain.snapshot().epoch > epoch and control.chain.snapshot().settled, what="it is known")


def follow(control, servos, joints, pose, until, what):
    """Command 50 times a second until the condition on the servos' set-points holds; shafts go where they are told."""
    end = time.monotonic() + 10.0
    while not until(servos.setpoints(time.monotonic())):
        assert time.monotonic() < end, what
        control.follow(joints, pose, time.monotonic())
        servos.set_angles(servos.setpoints(time.monotonic()))
        time.sleep(0.02)


def test_nothing_moves_before_the_whole_pose_is_known(control, servos):
    control.follow(EVERY, np.full(18, 0.5), time.monotonic())  # the bus thread has just started
    assert not control.state.settled
    time.sleep(0.1)
    assert np.allclose(servos.setpoints(time.monotonic()), 0.1, atol=COUNT)


def test_what_is_no_number_is_counted_and_that_joint_holds(control, servos):
    pose = np.full(18, 0.3)
    pose[4] = np.nan
    follow(control, servos, EVERY, pose, lambda setpoints: abs(setpoints[5] - 0.3) < COUNT, "the others follow")
    assert servos.setpoints(time.monotonic())[4] == pytest.approx(0.1, abs=COUNT)
    assert control.guard.clamped["not finite"] > 0


def test_joints_that_are_not_named_hold(control, servos):
    there = lambda setpoints: np.allclose(setpoints[:3], 0.3, atol=COUNT)  # noqa: E731
    follow(control, servos, EVERY[:3], np.full(3, 0.3), there, "three joints follow")
    assert np.allclose(servos.setpoints(time.monotonic())[3:], 0.1, atol=COUNT)


def test_the_end_of_commands_is_told_once(control, said):
    control.follow(EVERY, np.full(18, 0.1), 100.0)
    control.hold_when_commands_stop(100.29)
    assert not said and control.doing() == ("ok", ["following commands"])
    for t in (100.31, 100.4):
        control.hold_when_commands_stop(t)
    assert len(said) == 1 and "no joint_commands for 0.3 s" in said[0]
    assert control.doing() == ("ok", ["holding the pose, no commands"])


def test_a_stop_that_no_tick_has_confirmed_is_reported_and_can_be_ended(control):
    known(control)
    assert control.chain.freeze()  # as the thread of a button sends it, which then waits in vain for a tick
    wait_until(lambda: control.chain.snapshot(control.state).frozen, what="the bus thread is frozen")
    assert control.doing()[0] == "error" and "has ended" in control.emergency_stop(False)[1]
    wait_until(lambda: not control.chain.snapshot().frozen, what="it follows again")


def test_who_switches_torque_on_in_an_emergency_stop_is_told_what_happens_after_it(control):
    known(control)
    assert control.emergency_stop(True)[0] and control.stand() == ""
    assert control.emergency_stop(False) == (True, "the emergency stop has ended: the pose is held until ~/follow")
    assert not control.is_following and control.resume()[0]


def test_sitting_down_ends_in_letting_go_and_commands_do_not_disturb_it(control, servos):
    known(control)
    assert control.sit_down("for the test", time.monotonic()) == "" and control.sitting is not None
    level, words = control.doing()
    assert level == "warn" and words == ["sitting down: for the test"]
    while control.sitting is not None:
        control.follow(EVERY, np.zeros(18), time.monotonic())
        control.step(time.monotonic())
        servos.set_angles(servos.setpoints(time.monotonic()))
        last = servos.setpoints(time.monotonic())
        time.sleep(0.02)
    assert np.allclose(last, SEATED, atol=ALMOST)
    wait_until(lambda: not servos.are_holding().any(), what="the servos let go")
    assert control.stand() == ""
    wait_until(lambda: servos.are_holding().all(), what="they hold again")
    # Seated as it is, there is nothing to sit down for.
    known(control)
    assert control.sit_down("once more", time.monotonic()) == "" and control.sitting is None
    wait_until(lambda: not servos.are_holding().any(), what="the servos let go at once")


def test_after_a_stall_on_the_way_down_it_sits_down_before_it_lets_go(control, servos):
    known(control)
    begin, stalled = time.monotonic(), None
    assert control.sit_down("for the test", begin) == ""
    assert control.sitting.duration > 1.5
    while control.sitting is not None:
        step(control, servos)
        last = servos.setpoints(time.monotonic())
        if time.monotonic() > begin + 1.0 and not stalled:
            time.sleep(1.7)  # the seated pose should have been reached meanwhile
            stalled = time.monotonic()
    assert time.monotonic() - stalled > 0.4  # 0.5 rad at 0.8 rad/s: it does not make haste
    assert np.allclose(last, SEATED, atol=ALMOST)


def step(control, servos):
    control.step(time.monotonic())
    servos.set_angles(servos.setpoints(time.monotonic()))
    time.sleep(0.02)


def test_with_the_port_lost_nothing_is_promised_and_nothing_happens_when_it_is_back(control, servos, rig):
    known(control)
    epoch = control.chain.snapshot().epoch
    rig.unplug()
    wait_until(lambda: not control.chain.snapshot().connected, what="the loss is noticed")
    for refusal in (control.disable_torque(), control.sit_down("asked", time.monotonic()), control.stand()):
        assert "nothing is changed, the servos cannot be reached: servo port" in refusal
    control.chain.set_torque(False)  # as a wish that came just as the cable was pulled
    wait_until(lambda: control.chain.snapshot().port_errors > 2, what="the port is tried again")
    rig.plug_in()
    known(control, epoch)
    time.sleep(0.1)
    assert servos.are_holding().all() and control.sitting is None


@pytest.fixture
def deaf(rig):
    """Nothing is heard on the line."""
    rig.faults.drop_rate = 1.0


def test_before_the_pose_is_known_a_robot_that_may_stand_is_not_let_go(deaf, control, servos):
    wait_until(lambda: control.chain.snapshot().connected, what="the port is open")  # too soon to call servos silent
    assert "not all measured yet" in control.sit_down("asked", time.monotonic())
    control.chain.stop()
    assert servos.are_holding().all()


def test_sitting_down_goes_on_from_where_the_robot_stands_when_the_port_was_lost_meanwhile(control, servos, rig):
    known(control)
    epoch = control.chain.snapshot().epoch
    assert control.sit_down("for the test", time.monotonic()) == ""
    while servos.setpoints(time.monotonic())[1] < 0.3:
        step(control, servos)
    rig.unplug()
    end = time.monotonic() + 1.2 * (control.sitting.duration + 0.5)  # longer than the rest would have taken
    while time.monotonic() < end:
        step(control, servos)
    assert control.sitting is not None and servos.are_holding().all()
    rig.plug_in()
    known(control, epoch)
    back = time.monotonic()
    while servos.are_holding().any():
        step(control, servos)
        last = servos.setpoints(time.monotonic())
        assert time.monotonic() < back + 10.0
    assert np.allclose(last, SEATED, atol=ALMOST)
    assert time.monotonic() - back > 1.0  # some 0.8 rad at 0.6 rad/s are left


def test_low_supply_sits_lets_go_and_refuses_to_stand(control, servos, said):
    known(control)
    servos.voltage[:] = 9.4  # below sit_voltage, the servos still hold
    end = time.monotonic() + 20.0
    while control.chain.snapshot().torque:
        assert time.monotonic() < end
        step(control, servos)
        if control.sitting is not None and len(said) == 1:  # an emergency stop on the way down, which ends
            assert control.emergency_stop(True)[0] and control.emergency_stop(False)[0]
    assert said == ["sitting down: supply at 9.4 V"] * 2
    assert "charge the battery" in control.stand() and control.doing()[0] == "error"
    wait_until(lambda: not servos.are_holding().any(), what="the servos let go")


@pytest.mark.parametrize("declared", [True, False])
def test_a_leg_that_comes_back_starts_from_where_it_was_put_meanwhile(control, servos, rig, declared):
    known(control)
    back = EVERY < 3
    follow(control, servos, EVERY, np.full(18, 0.4), lambda q: np.abs(q - 0.4).max() < ALMOST, "it has arrived")
    control.chain.set_missing(back & declared)
    rig.faults.silent = set() if declared else set(servos.ids[:3].tolist())
    wait_until(lambda: not control.chain.snapshot().known[:3].any(), what="the leg is gone")
    for _ in range(5):  # the others are commanded on
        control.follow(EVERY, np.full(18, 0.4), time.monotonic())
        time.sleep(0.02)
    for i in range(3):  # unplugged, moved by hand, and plugged in again
        servos.switch_torque(i, False, time.monotonic())
    servos.set_angles(np.where(back, -0.8, 0.4))
    with control.chain._pending_commands.lock:  # the thread of the bus finds all at once
        rig.faults.silent = set()
        control.chain.set_missing(np.zeros(18, bool))
        control.follow(EVERY, np.full(18, 0.5), time.monotonic())
    begin, faster = time.monotonic(), []
    while (t := time.monotonic()) < begin + (0.4 if declared else 2.0):  # what is silent is asked twice a second
        control.follow(EVERY, np.full(18, 0.5), t)
        moved = servos.setpoints(t)[:3] + 0.8
        faster.append((moved - 0.8 * (t - begin)).max())  # [rad] than an approach
        time.sleep(0.005)
    assert moved.min() > 0.0 and max(faster) < 2.0 * ALMOST
