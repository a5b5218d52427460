"""Servos with registers on their virtual hardware: models, groups, hardware errors, echo."""

import time

import numpy as np
import pytest
from support.waiting import wait_until

from hexapod_dynamics.devices.register_bus import RegisterBusDevice
from hexapod_dynamics.devices.servos import VirtualServos
from hexapod_dynamics.drivers.servos.interface import BusError, Fault, PortSettings, make_servos
from hexapod_dynamics.errors import DeviceError

IDS = [1, 2, 3, 4]
KINDS = {"ax12": "dynamixel", "xl330": "dynamixel", "sts3215": "feetech"}


@pytest.fixture(params=KINDS)
def rig(request, tmp_path):
    servos = VirtualServos(IDS, [1] * 4, np.full(4, 0.1), loaded=True)
    device = RegisterBusDevice(servos, request.param, tmp_path / "port")
    device.start()
    settings = PortSettings(str(device.link), 1_000_000, reply_timeout=0.1, model=request.param)
    driver = make_servos(settings, IDS, KINDS[request.param])
    driver.open()
    yield servos, device, driver
    driver.line.release()
    device.stop()


def test_another_model_is_refused_before_anything_moves(tmp_path):
    servos = VirtualServos(IDS, [1] * 4, np.full(4, 0.1), loaded=True)
    written = []
    device = RegisterBusDevice(servos, "ax12", tmp_path / "port", on_write=lambda *each: written.append(each))
    device.start()
    settings = PortSettings(str(device.link), 1_000_000, reply_timeout=0.1, model="mx_protocol1")
    with pytest.raises(
        BusError,
        match=r"1, 2, 3, 4 is no mx_protocol1 \(model number 12, AX-12A\): set servo_model to ax12.*Nothing was moved",
    ):
        make_servos(settings, IDS, "dynamixel").open()
    assert written == []
    device.stop()
    with pytest.raises(DeviceError, match="servo model 'ax13' is unknown; known are ax12"):
        make_servos(PortSettings("nowhere", model="ax13"), IDS, "dynamixel")


def test_one_request_reads_all_where_the_model_can(rig):
    _, device, driver = rig
    before = device.counters.frames
    assert [driver.read(index, "position") for index in range(4)] == pytest.approx([0.1] * 4, abs=0.003)
    assert device.counters.frames - before == (1 if driver.model.group_read else 4)


def test_a_servo_that_is_missing_does_not_hide_those_behind_it(rig):
    _, device, driver = rig
    device.faults.silent = {2}
    read = [driver.read(index, "position", timeout=0.03) for _ in range(4) for index in range(4)][-4:]
    assert [value is None for value in read] == [False, True, False, False]
    device.faults.silent = set()
    read = [driver.read(index, "position") for _ in range(3) for index in range(4)][-4:]
    assert None not in read


def test_an_echo_of_the_adapter_is_passed_over(rig):
    _, device, driver = rig
    device.faults.echo = True
    assert driver.read(1, "position") == pytest.approx(0.1, abs=0.003)
    assert driver.read(1, "loaded") is True and driver.read(1, "target") == pytest.approx(0.1, abs=0.003)


def test_the_motion_takes_its_time_and_a_stop_ends_it(rig):
    servos, _, driver = rig
    driver.read(0, "position")
    begin = time.monotonic()
    driver.write_pose([1.1] * 4, [3.0] * 4, [True] * 4)
    wait_until(lambda: servos.setpoints(time.monotonic())[0] > 0.4, what="it is on its way")
    assert time.monotonic() - begin > 0.7, "a third of the way takes a third of the time"
    assert driver.stop_now() and driver.line.interrupted
    driver.resume()

    def stands():
        now = time.monotonic()
        return np.array_equal(servos.setpoints(now), servos.setpoints(now + 0.1))

    wait_until(stands, what="it stands")  # a device that computes beside others takes its time to read the stop
    assert servos.setpoints(time.monotonic())[0] < 1.0, "on its way"


def test_torque_comes_where_the_servo_stands_not_where_it_was_sent(rig):
    servos, _, driver = rig
    driver.write_pose([0.5] * 4, [0.05] * 4, [True] * 4)
    time.sleep(0.15)
    driver.switch_torque(range(4), False)
    time.sleep(0.05)
    assert not servos.loaded.any() and driver.read(0, "loaded") is False
    servos.set_angles(np.full(4, -0.6))
    driver.switch_torque(range(4), True)
    time.sleep(0.1)
    assert servos.loaded.all()
    assert servos.setpoints(time.monotonic()) == pytest.approx(np.full(4, -0.6), abs=0.01)


def test_a_hot_servo_is_named_with_its_error(rig):
    servos, _, driver = rig
    servos.temperature[1] = 95.0
    for _ in range(2):
        driver.read(1, "position")
    assert driver.read(1, "loaded") is False
    assert "servo 2 hardware error" in driver.figures()


def test_another_baud_rate_is_silence_and_moves_nothing(rig):
    servos, device, driver = rig
    driver.line.release()
    other = make_servos(
        PortSettings(str(device.link), 57600, reply_timeout=0.01, model=driver.model.name),
        IDS,
        KINDS[driver.model.name],
    )
    other.open()
    assert other.read(0, "position") is None and other.fault in (Fault.TIMEOUT, Fault.GARBAGE)
    assert servos.setpoints(time.monotonic()) == pytest.approx(np.full(4, 0.1), abs=0.003)
    other.line.release()
