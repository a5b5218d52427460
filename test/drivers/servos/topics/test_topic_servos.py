"""Joints that another driver measures and moves, under the bus thread; those of lost legs that it still reports."""

import threading
import time

import numpy as np
import pytest
from support.waiting import wait_until

from hexapod_dynamics.drivers.servos.chain import ServoChain
from hexapod_dynamics.drivers.servos.chain_state import ChainSettings
from hexapod_dynamics.drivers.servos.interface import PortSettings
from hexapod_dynamics.drivers.servos.topics import FrozenChains, TopicServos
from hexapod_dynamics.robot.servo_map import ServoMap

NAMES = ("a", "b", "c")
MAP = ServoMap.from_joint_names(NAMES)


class OtherDriver:
    """Publishes measured angles 100 times a second; joints follow their set-points with a lag."""

    def __init__(self):
        self.servos = TopicServos(PortSettings("joint_states"), MAP.ids)
        self.servos.publish = self.command
        self.angles, self.wanted = np.array([0.1, -0.2, 0.3]), None
        self.kept = {}  # angle at which a joint is still reported, by joint
        self.sent, self.there, self.echo, self.silent, self.age = [], [0, 1, 2], False, False, 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.chain = ServoChain(self.servos, MAP, ChainSettings(position_rate=100.0, reopen_interval=0.05))
        self.chain.start()

    def command(self, angles, duration):
        self.sent.append((time.monotonic(), angles, duration))
        self.wanted = angles

    def _run(self):
        while not self._stop.wait(0.01):
            if self.wanted is not None:
                known = np.isfinite(self.wanted)
                self.angles[known] += 0.4 * (self.wanted - self.angles)[known]
            shown = self.wanted if self.echo and self.wanted is not None else self.angles
            if not self.silent:
                self.servos.accept(self.there, [float(self.kept.get(j, shown[j])) for j in self.there], self.age)

    @property
    def state(self):
        return self.chain.snapshot()

    def until(self, condition, what, timeout=8.0):
        wait_until(condition, timeout, what, patience=1)

    def close(self):
        self.chain.stop(3.0)
        self._stop.set()
        self._thread.join()


@pytest.fixture
def driver():
    driver = OtherDriver()
    driver.until(lambda: driver.state.settled and driver.state.known.all(), "all joints are measured")
    yield driver
    driver.close()


def test_it_follows_what_is_measured_and_sends_set_points(driver):
    assert driver.state.angle == pytest.approx([0.1, -0.2, 0.3])
    assert driver.sent == []  # nothing moves by itself
    pose = np.array([0.3, 0.0, 0.1])
    driver.chain.set_targets(pose, 0.1, driver.state.epoch)
    driver.until(lambda: np.allclose(driver.state.angle, pose, atol=1e-3), "it is measured there")
    assert driver.sent[0][1] == pytest.approx(pose) and driver.sent[0][2] == pytest.approx(0.1)
    assert driver.servos.list_warnings() == []


def test_a_joint_that_is_in_no_message_is_lost(driver):
    driver.there = [0, 2]
    driver.until(lambda: driver.state.silent.tolist() == [False, True, False], "it is silent")
    driver.there = [0, 1, 2]
    driver.until(lambda: driver.state.known.all(), "it is measured again")


def test_a_stop_holds_on_the_way_and_nothing_follows(driver):
    driver.chain.set_targets(driver.state.angle + 1.0, 2.0, driver.state.epoch)
    driver.until(lambda: driver.sent, "it is on its way")
    time.sleep(0.2)
    assert driver.chain.freeze()
    held = driver.sent[-1][1]
    assert (held - np.array([0.1, -0.2, 0.3]) < 0.6).all()
    driver.chain.set_targets(np.zeros(3), 0.1, driver.state.epoch)
    time.sleep(0.2)
    assert driver.sent[-1][1] == pytest.approx(held, abs=1e-6)


def test_silence_closes_it_until_messages_return(driver):
    driver.silent = True
    driver.until(lambda: not driver.state.connected, "it is lost")
    assert (
        "has the joints' driver ended" in driver.state.last_port_error or "no message" in driver.state.last_port_error
    )
    sent = len(driver.sent)
    driver.chain.set_targets(np.zeros(3), 0.1, driver.state.epoch)
    driver.silent = False
    driver.until(lambda: driver.state.connected and driver.state.known.all(), "it is measured again")
    assert len(driver.sent) == sent  # a pose of before is not sent


def test_silence_is_found_when_the_system_clock_is_set_back_meanwhile(driver, set_back):
    driver.silent = True
    driver.until(lambda: not driver.state.connected, "it is lost")


def test_stamps_of_another_clock_are_named(driver):
    driver.age = 100.0
    driver.until(lambda: any("clocks" in words for words in driver.servos.list_warnings()), "it is named")
    driver.until(lambda: not driver.state.connected, "they are no measurements")


def test_messages_that_are_rejected_are_the_reason_and_not_a_driver_that_is_absent(driver):
    reason, accept = "joint_states has 3 names and 2 values; as many are needed", driver.servos.accept
    driver.servos.accept = lambda *message: driver.servos.refuse(reason)
    driver.until(lambda: not driver.state.connected, "they are no measurements")
    driver.until(lambda: driver.state.last_port_error == reason, "the reason is named")
    driver.silent = True
    driver.until(lambda: "no message on" in driver.state.last_port_error, "later none come at all")
    driver.servos.accept, driver.silent = accept, False
    driver.until(lambda: driver.state.known.all() and not driver.servos.list_warnings(), "it is measured again")


def test_joints_of_a_leg_that_are_still_reported_where_they_were_are_lost(driver):
    """As ros2_control's broadcaster reports joints that no message of the robot has any more."""
    driver.servos.set_legs([[0], [1, 2]])
    driver.kept = {1: -0.2, 2: 0.3}
    for k in range(200):
        if driver.state.silent.sum() == 2:
            break
        pose = np.array([0.1, -0.2, 0.3]) + 0.2 * np.sin(0.15 * k)
        driver.chain.set_targets(pose, 0.02, driver.state.epoch)
        time.sleep(0.02)
    assert driver.state.silent.tolist() == [False, True, True]
    driver.kept = {}
    driver.until(lambda: driver.state.known.all(), "they are measured again")


@pytest.mark.parametrize("echo", [True, False])
def test_echoed_commands_are_found(driver, echo):
    driver.echo = echo
    for k in range(80):
        pose = np.array([0.1, -0.2, 0.3]) + 0.2 * np.sin(0.15 * k)
        driver.chain.set_targets(pose, 0.02, driver.state.epoch)
        time.sleep(0.02)
    assert driver.servos.figures()["joints that report commands"] == 3 * echo
    assert any("commands, not measurements" in words for words in driver.servos.list_warnings()) is echo


def test_torque_is_not_ours_and_stays_unconfirmed(driver):
    driver.chain.set_torque(False)
    driver.until(lambda: not driver.state.torque, "it was asked")
    assert not driver.chain.wait_confirmed(0.2)


# Joints of lost legs that another driver still reports, with their last position --------------------------------------

LEGS = [[0, 1, 2], [3, 4, 5]]
COUNT = np.radians(0.29)  # [rad] of an AX-12's encoder


def walk(frozen, seconds=3.0, quick=1.0):
    """What is found at the end of a walk in which some joints keep their position from 1 s on, and when [s]."""
    chains, kept, first = FrozenChains(6, LEGS), None, np.inf
    phases = np.linspace(0.0, 2.0, 6)
    for now in np.arange(0.0, seconds, 0.01):
        targets = 0.2 * np.sin(4.0 * quick * now + phases)
        shown = np.round(0.2 * np.sin(4.0 * quick * (now - 0.05) + phases) / COUNT) * COUNT
        if now >= 1.0:
            kept = shown.copy() if kept is None else kept
            shown[frozen] = kept[frozen]
        found = chains.update(100.0 + now, shown, targets)
        if found.any():
            first = min(first, now - 1.0)
    return np.flatnonzero(found).tolist(), first


@pytest.mark.parametrize("lost", [[3, 4, 5], [4, 5], [0, 1, 2, 4, 5], [0, 1, 2, 3, 4, 5]])
def test_legs_and_links_that_report_one_position_are_found_within_a_second(lost):
    found, after = walk(lost)
    assert found == lost
    assert 0.28 < after < 0.8


@pytest.mark.parametrize("stuck", [[], [5], [4], [3], [0, 4]])
def test_single_joints_that_stand_still_are_left_to_the_detector(stuck):
    assert walk(stuck) == ([], np.inf)


def test_joints_that_are_not_commanded_to_move_may_stand_still():
    assert walk([3, 4, 5], quick=0.0) == ([], np.inf)


def test_joints_that_are_measured_seldom_and_reported_often_are_not_lost():
    """Each joint is measured every 0.48 s, and its value repeated 100 times a second."""
    chains, shown, found = FrozenChains(6, LEGS), np.zeros(6), []
    for k in range(800):
        targets = 0.4 * np.sin(4.0 * 0.01 * k + np.linspace(0.0, 2.0, 6))
        measured = np.arange(6) == (k % 48) / 8
        shown[measured] = targets[measured] + 1e-4
        found.append(chains.update(0.01 * k, shown, targets).any())
    assert not any(found[200:])


def test_what_moves_again_is_measured_again():
    chains, targets = FrozenChains(6, LEGS), np.zeros(6)
    for now in np.arange(0.0, 1.0, 0.01):
        targets[:] = now
        found = chains.update(now, np.array([now, now, now, 0.0, 0.0, 0.0]), targets)
    assert found.tolist() == [False] * 3 + [True] * 3
    assert not chains.update(1.0, np.array([1.0, 1.0, 1.0, 1e-9, 1e-9, 1e-9]), targets).any()


def test_after_a_restart_a_joint_that_is_declared_missing_is_measured_once_it_moves():
    """Else the last position of a lost leg, which is still reported, would look like its return."""
    chains, none = FrozenChains(6, LEGS), np.full(6, np.nan)
    chains.set_missing(np.array([False] * 3 + [True] * 3))
    for now in np.arange(0.0, 1.0, 0.01):
        assert chains.update(now, np.zeros(6), none).tolist() == [False] * 3 + [True] * 3
    moved = np.array([0.0, 0.0, 0.0, 0.0, 0.01, 0.0])
    assert chains.update(1.0, moved, none).tolist() == [False] * 3 + [True, False, True]


def test_joints_without_commands_are_never_found():
    chains = FrozenChains(6, LEGS)
    for now in np.arange(0.0, 1.0, 0.01):
        assert not chains.update(now, np.zeros(6), np.full(6, np.nan)).any()
