"""The same table of faults for each protocol: the bus thread on virtual hardware at the pace of the real one."""

import time

import numpy as np
import pytest
import serial
from support.failing_once import failing_once
from support.waiting import wait_until

from hexapod_dynamics.devices.hardware import BUSES
from hexapod_dynamics.devices.suspended_robot import SuspendedRobot
from hexapod_dynamics.drivers.servos.chain import ServoChain
from hexapod_dynamics.drivers.servos.chain_state import ChainSettings
from hexapod_dynamics.drivers.servos.health import ServoHealth
from hexapod_dynamics.drivers.servos.interface import BusError, PortSettings, make_servos
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.runtime_directory import SERVO_BUS

MAP = ServoMap.from_robot(Robot.jethexa())
NAMES = list(MAP.joint_names)
# [s] to wait for an answer: this machine may be busy. One count of the coarsest servo, and its rounding.
TIMEOUT, COUNT = 0.05, 0.006


class Rig:
    """A robot without dynamics on the hardware of a bus, and the bus thread."""

    def __init__(self, bus, directory):
        self.robot = SuspendedRobot(Robot.jethexa(), directory, loaded=True, bus=bus)
        self.servos, self.faults = self.robot.servos, self.robot.faults
        self.robot.start()
        self.port = str(directory / SERVO_BUS)
        self.driver = make_servos(
            PortSettings(self.port, self.robot.servo_bus.baudrate, reply_timeout=TIMEOUT, patience=0.1), MAP.ids, bus
        )
        self.chain = ServoChain(self.driver, MAP, ChainSettings(reopen_interval=0.1, position_rate=50.0))
        self.health = ServoHealth(NAMES)
        self.chain.start()

    @property
    def pose(self):
        return self.servos.setpoints(time.monotonic())

    @property
    def state(self):
        return self.chain.snapshot()

    def until(self, condition, what, timeout=12.0):
        wait_until(condition, timeout, lambda: f"{what}; {self.words()}", patience=1)

    def words(self):
        return "; ".join(self.health.assess(self.state, time.monotonic())[1])

    def close(self):
        self.chain.stop(3.0)
        self.robot.stop()


# The same faults of the LX servos: test/devices/test_device_faults.py, test/drivers/servos/lx/test_servo_bus.py.
OTHERS = [bus for bus in BUSES if bus != "lx"]


@pytest.fixture(params=BUSES)
def rig(request, tmp_path):
    rig = Rig(request.param, tmp_path)
    rig.until(lambda: rig.state.settled and rig.state.known.all(), "all joints are measured")
    yield rig
    rig.close()


def move(rig, pose, duration=0.05):
    rig.chain.set_targets(np.asarray(pose, float), duration, rig.state.epoch)


def test_it_measures_moves_stops_and_lets_go(rig):
    assert rig.state.angle == pytest.approx(np.full(18, 0.1), abs=COUNT)
    assert rig.pose == pytest.approx(np.full(18, 0.1), abs=COUNT)  # nothing has moved by itself
    assert rig.state.start_angle == pytest.approx(rig.pose, abs=COUNT) and (rig.state.generation == 1).all()
    pose = np.linspace(-0.3, 0.4, 18)
    move(rig, pose)
    rig.until(lambda: np.allclose(rig.pose, pose, atol=COUNT), "the pose is reached")
    rig.until(lambda: np.allclose(rig.state.angle, pose, atol=2 * COUNT), "it is measured")
    # A long motion is frozen on its way, and no command moves it afterwards.
    move(rig, pose + 0.8, 2.0)
    rig.until(lambda: (rig.pose - pose).min() > 0.1, "it is on its way")
    assert rig.chain.freeze()
    time.sleep(0.15)
    held = rig.pose
    assert (held - pose).max() < 0.7
    move(rig, pose)
    time.sleep(0.3)
    assert rig.pose == pytest.approx(held, abs=COUNT)
    rig.until(lambda: not rig.state.moving.any(), "it is read that they stand")
    rig.chain.unfreeze()
    rig.until(lambda: not rig.state.frozen and rig.state.settled, "it is measured again")
    # Torque off reaches every servo and is read back; torque on holds where each one stands.
    rig.chain.set_torque(False)
    rig.until(lambda: not rig.servos.loaded.any(), "no servo has torque")
    assert rig.chain.wait_confirmed(8.0)
    fallen = np.full(18, -0.2)
    with rig.servos.lock:
        rig.servos.set_angles(fallen)
    move(rig, pose)
    time.sleep(0.1)
    assert not rig.servos.loaded.any(), "a pose while limp must not stiffen the legs"
    assert rig.chain.freeze()
    time.sleep(0.1)
    assert not rig.servos.loaded.any(), "nor a stop"
    rig.chain.unfreeze()
    rig.chain.set_torque(True)
    rig.until(lambda: rig.servos.loaded.all(), "every servo has torque")
    assert rig.chain.wait_confirmed(8.0)
    rig.until(
        lambda: rig.state.settled and np.allclose(rig.state.start_angle, fallen, atol=2 * COUNT),
        "it starts from the measured pose",
    )
    assert rig.pose == pytest.approx(fallen, abs=2 * COUNT)


@pytest.mark.parametrize("rig", OTHERS, indirect=True)
def test_silent_hot_unplugged_and_without_supply_are_named_and_come_back(rig):
    rig.faults.set({"servo.silent": "femur_joint_RM tibia_joint_LF"})
    rig.until(lambda: set(np.flatnonzero(rig.state.silent)) == {NAMES.index("femur_joint_RM"), 2}, "two are silent")
    assert "femur_joint_RM" in rig.words() and "does not answer" in rig.words()
    rig.faults.set({"servo.silent": "", "servo.hot": "coxa_joint_LM"})
    rig.until(lambda: rig.state.known.all(), "they are measured again")
    rig.until(lambda: rig.state.torque_on[NAMES.index("coxa_joint_LM")] == 0.0, "the hot one has no torque")
    assert "coxa_joint_LM has switched its torque off" in rig.words()
    rig.faults.set({"servo.hot": "", "bus.unplugged": True})
    rig.until(lambda: not rig.state.connected, "the port is lost")
    epoch = rig.state.epoch
    before = rig.pose
    rig.chain.set_targets(before + 0.3, 0.05, epoch)  # planned before the port is opened again
    rig.faults.set({"bus.unplugged": False})
    rig.until(lambda: rig.state.connected and rig.state.known.all(), "the port is open again")
    assert rig.pose == pytest.approx(before, abs=COUNT)
    rig.faults.set({"battery.voltage": 3.0})
    rig.until(lambda: rig.state.limp.all(), "all are found without torque, before they count as broken", 6.0)
    rig.faults.set({"servo.power": False})
    rig.until(lambda: "no servo answers" in rig.words() or rig.state.silent.all(), "no servo answers")


def test_noise_costs_answers_but_brings_no_wrong_value(rig):
    move(rig, np.full(18, 0.2))
    rig.until(lambda: np.allclose(rig.state.angle, 0.2, atol=2 * COUNT), "the pose is measured")
    rig.faults.set({"bus.flip_rate": 0.003, "bus.drop_rate": 0.001})
    end, reads = time.monotonic() + 0.8, rig.state.reads
    while time.monotonic() < end:
        known = rig.state.known
        assert np.abs(rig.state.angle[known] - 0.2).max(initial=0.0) < 2 * COUNT
        time.sleep(0.02)
    assert rig.state.reads > reads and rig.state.errors[:, 1:].sum() + rig.state.errors[:, 0].sum() > 0
    rig.faults.set({"bus.flip_rate": 0.0, "bus.drop_rate": 0.0})
    rig.until(lambda: rig.state.known.all(), "all are measured")
    assert rig.pose == pytest.approx(np.full(18, 0.2), abs=COUNT)


@pytest.mark.parametrize("rig", OTHERS, indirect=True)
def test_two_servos_with_one_id_are_no_measurement(rig):
    pose = np.linspace(-0.3, 0.4, 18)  # answers with the same angle would be the same
    move(rig, pose)
    rig.until(lambda: np.allclose(rig.pose, pose, atol=COUNT), "the pose is reached")
    rig.faults.set({"servo.duplicate": "coxa_joint_LF coxa_joint_RF"})
    lost, doubled = NAMES.index("coxa_joint_LF"), NAMES.index("coxa_joint_RF")
    rig.until(lambda: rig.state.silent[lost], "the id that is missing is silent")
    rig.until(lambda: rig.state.errors[doubled].sum() > 0, "the doubled id fails")


def test_a_port_belongs_to_one_process(rig):
    for protocol in ("board", "lx"):
        other = make_servos(PortSettings(rig.port, 1_000_000), MAP.ids, protocol)
        with pytest.raises(BusError, match="in use by another process.*jethexa_bringup"):
            other.open()


def test_a_stop_while_the_port_is_being_opened_is_sent_as_soon_as_it_is_open(rig, monkeypatch):
    opens, stops = serial.Serial.fileno, []

    def fileno(port):
        stops.append(rig.driver.stop_now())
        return opens(port)

    rig.chain.stop(3.0)
    monkeypatch.setattr(serial.Serial, "fileno", fileno)
    rig.driver.open()
    assert stops and not any(stops)
    rig.driver.close()


@pytest.mark.parametrize("bus", [*BUSES, "topics"])
def test_a_stop_of_a_closed_port_says_that_it_was_not_sent(bus, tmp_path):
    driver = make_servos(PortSettings(str(tmp_path / "nothing")), MAP.ids, bus)
    chain = ServoChain(driver, MAP, ChainSettings())
    assert driver.stop_now() is False
    assert chain.freeze() is False


def test_no_error_in_a_driver_ends_the_bus_thread(rig, monkeypatch):
    """Even if the port cannot be closed after it, as while the board's reading thread is not started yet."""
    opened = rig.state.opened
    for name in ("read", "close"):
        monkeypatch.setattr(rig.driver, name, failing_once(getattr(rig.driver, name), RuntimeError("a defect")))
    rig.until(lambda: rig.state.opened > opened and rig.state.known.all(), "the port is opened again")


def test_a_stop_while_the_port_is_closed_does_not_keep_it_closed(rig):
    """Nor where the STM32 board reports nothing unasked: neither its IMU nor its battery."""
    rig.faults.set({"bus.unplugged": True, "imu.absent": True, "battery.voltage": 0.0})
    rig.until(lambda: not rig.state.connected, "the port is lost")
    assert not rig.chain.freeze()
    rig.faults.set({"bus.unplugged": False})
    rig.until(lambda: rig.state.connected and rig.state.frozen and rig.state.known.all(), "it is open again, frozen")
