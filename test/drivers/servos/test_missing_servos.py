"""Servos of legs that are declared missing, and the end of the bus thread, over a real pty with simulated servos."""

import threading
import time

import numpy as np
import pytest
from support.lx_rig import MAP, PATIENT, make_chain, settled
from support.waiting import wait_until

from hexapod_dynamics.drivers.servos.health import ServoHealth, figures
from hexapod_dynamics.drivers.servos.interface import BusError
from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.drivers.servos.lx.protocol import Command

pytest_plugins = ["support.lx_fixtures"]


@pytest.fixture
def chain(brisk_chain):
    return brisk_chain


def are_missing(chain, joints):
    return np.flatnonzero(chain.snapshot().missing).tolist() == list(joints)


def declare_missing(chain, joints, wait=True):
    chain.set_missing(np.isin(np.arange(18), joints))
    wait_until(lambda: not wait or are_missing(chain, joints), what="it is declared")


HANGING = list(range(12, 18))  # two legs


def test_legs_declared_missing_as_the_port_is_lost_are_missing_when_it_is_back(chain, monkeypatch):
    settled(chain)
    resume, failures = chain.servos.resume, [BusError("unplugged")]

    def resume_or_fail():
        if failures:
            chain.servos.close()
            raise failures.pop()
        resume()

    monkeypatch.setattr(chain.servos, "resume", resume_or_fail)
    with chain._pending_commands.lock:  # the thread of the bus finds both at once
        declare_missing(chain, HANGING, wait=False)
        chain.freeze()
    wait_until(lambda: not failures and chain.snapshot().opened == 2, what="the port is opened again")
    wait_until(lambda: are_missing(chain, HANGING), 2.0, what="the legs are missing")


def test_torque_off_reaches_servos_that_are_declared_missing_but_hang_there(rig, chain):
    settled(chain)
    declare_missing(chain, HANGING)
    chain.set_torque(False)
    wait_until(lambda: not rig.servos.are_holding().any(), what="all let go")
    assert chain.wait_confirmed(5.0)
    assert (chain.snapshot().torque_on == 0.0).all(), "each was read back"
    rig.servos.loaded[14] = True  # as by a stray frame
    wait_until(lambda: not rig.servos.are_holding().any(), 15.0, "it is found and switched off again")
    chain.set_torque(True)
    wait_until(lambda: rig.servos.are_holding()[:12].all(), what="those that are there hold")
    time.sleep(0.2)
    assert not rig.servos.are_holding()[HANGING].any()


def test_on_a_bad_line_servos_declared_missing_let_go_and_one_that_does_not_is_named(rig, chain):
    settled(chain)
    declare_missing(chain, HANGING)
    deaf = HANGING[0]
    rig.faults.drop_rate = 0.1
    chain.set_torque(False)
    wait_until(lambda: not rig.servos.are_holding().any(), 30.0, "the command is repeated on a bad line")
    rig.faults.drop_rate = 0.0
    wait_until(lambda: chain.wait_confirmed(1.0), 30.0, "all confirm")
    state = chain.snapshot()
    state.unconfirmed[deaf] = state.missing_but_answering[deaf] = True
    state.torque_on[deaf] = 1.0
    level, words = ServoHealth(MAP.joint_names).assess(state, time.monotonic() + 2.0)
    assert level == "error" and any(MAP.joint_names[deaf] in text and "still has torque" in text for text in words)


def test_servos_that_are_really_missing_are_given_up_soon_and_not_named(rig, chain):
    settled(chain)
    rig.faults.silent = {MAP.ids[i] for i in HANGING}
    declare_missing(chain, HANGING)
    chain.set_torque(False)
    assert chain.wait_confirmed(5.0)
    wait_until(lambda: not chain.snapshot().unconfirmed.any(), 3.0, "nobody is asked for ever", patience=1)
    assert figures(chain.snapshot(), MAP.joint_names, time.monotonic())["torque not confirmed"] == ""
    assert not rig.servos.are_holding()[:12].any()
    rig.faults.silent = set()  # plugged in again, with torque
    wait_until(lambda: not rig.servos.are_holding().any(), 15.0, "they are found and switched off")


def test_servos_that_answered_once_and_are_silent_since_do_not_keep_the_torque_command_open(rig, chain):
    settled(chain)
    declare_missing(chain, HANGING)
    wait_until(lambda: chain.snapshot().missing_but_answering[HANGING].all(), 15.0, "they hang there")
    rig.faults.silent = {MAP.ids[i] for i in HANGING}  # now they are torn off
    chain.set_torque(False)
    wait_until(lambda: not chain.snapshot().missing_but_answering.any(), 30.0, "they answer no more")
    assert chain.wait_confirmed(5.0) and not figures(chain.snapshot(), MAP.joint_names, 0.0)["torque not confirmed"]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_leg_that_was_missing_when_torque_was_switched_on_is_said_to_be_without(rig, chain, restarted):
    settled(chain)
    chain.set_torque(False)
    wait_until(lambda: not rig.servos.are_holding().any(), what="all let go")
    if restarted:
        chain.stop()
        chain = make_chain(rig, **PATIENT)
        chain.restore(torque=False, frozen=False)
        chain.start()
        settled(chain)
    declare_missing(chain, HANGING)
    chain.set_torque(True)
    wait_until(lambda: rig.servos.are_holding()[:12].all(), what="those that are there hold")
    declare_missing(chain, [])
    names, health = [MAP.joint_names[i] for i in HANGING], ServoHealth(MAP.joint_names)

    def said():
        return "; ".join(health.assess(chain.snapshot(), time.monotonic())[1])

    wait_until(lambda: all(name in said() for name in names), 10.0, said)
    assert "declared missing when it was switched on" in said() and "too hot" not in said()
    assert not chain.snapshot().limp.any(), "no servo has failed"
    chain.set_torque(True)
    wait_until(lambda: rig.servos.are_holding().all() and "declared missing" not in said(), 10.0, said)
    chain.stop()


def test_the_emergency_stop_is_for_every_servo_on_the_bus(rig, chain):
    settled(chain)
    declare_missing(chain, HANGING)
    rig.last_received.clear()
    assert chain.freeze()
    wait_until(lambda: any(frame.command == Command.MOVE_STOP for _, frame in rig.last_received), what="it is stopped")
    assert {f.servo_id for _, f in rig.last_received if f.command == Command.MOVE_STOP} == {lx.BROADCAST_ID}


class StuckDirection:
    """A direction pin whose driver hangs while `free` is not set."""

    def __init__(self):
        self.free, self.hung, self.closed = threading.Event(), threading.Event(), False
        self.hang = False

    def send(self):
        if self.hang:
            self.hung.set()
            assert self.free.wait(30)

    def listen(self):
        pass

    def close(self):
        self.closed = True


def test_the_port_stays_open_while_the_bus_thread_still_uses_it(rig):
    """Its number would be given to another file, into which the thread would write."""
    direction = StuckDirection()
    chain = make_chain(rig, direction, **PATIENT)
    chain.start()
    settled(chain)
    direction.hang = True
    assert direction.hung.wait(10)
    try:
        chain.stop(0.1)
        assert chain.servos.is_open and not direction.closed
    finally:
        direction.free.set()
    wait_until(lambda: not chain.servos.is_open and direction.closed, what="the thread closes it at its end")
