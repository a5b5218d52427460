"""Faults of the simulated devices by name: all or none, each as it says, and gone when set back."""

import math

import numpy as np
import pytest

from hexapod_dynamics.devices.faults import FAULTS, FaultInjector, parse
from hexapod_dynamics.devices.lx_bus import ServoBusDevice
from hexapod_dynamics.devices.mpu6050 import VirtualMpu6050
from hexapod_dynamics.devices.servos import VirtualServos
from hexapod_dynamics.errors import DeviceError

JOINTS = ("coxa_joint_LF", "femur_joint_LF", "tibia_joint_LF")


@pytest.fixture
def injector(tmp_path):
    servos = VirtualServos([5, 3, 1], [-1, -1, -1], np.zeros(3), loaded=True)
    bus = ServoBusDevice(servos, tmp_path / "bus")
    return FaultInjector(JOINTS, bus, VirtualMpu6050())


def test_a_launch_argument_is_read_with_each_faults_type():
    assert parse("bus.drop_rate=0.01, bus.echo=true,servo.silent=coxa_joint_LF tibia_joint_LF,imu.identity=152") == {
        "bus.drop_rate": 0.01,
        "bus.echo": True,
        "servo.silent": "coxa_joint_LF tibia_joint_LF",
        "imu.identity": 152,
    }
    assert parse("") == {}


@pytest.mark.parametrize("text", ["bus.drop=0.1", "bus.drop_rate", "bus.drop_rate=much", "bus.echo=perhaps"])
def test_what_is_no_fault_is_refused(text):
    with pytest.raises(DeviceError):
        parse(text)


@pytest.mark.parametrize(
    "values",
    [
        {"bus.drop_rate": 1.5},
        {"bus.drop_rate": math.nan},
        {"bus.drop_rate": True},
        {"bus.echo": 1},
        {"nothing": 1},
        {"servo.silent": "coxa_joint_XX"},
        {"servo.duplicate": "coxa_joint_LF"},
        {"battery.voltage": -1.0},
        {"board.mute": True},  # this robot has no board
    ],
)
def test_a_refused_set_changes_nothing(injector, values):
    with pytest.raises(DeviceError):
        injector.set({"bus.flip_rate": 0.5} | values)
    assert injector.active == [] and injector._bus.faults.flip_rate == 0.0


def test_every_fault_is_active_when_set_and_gone_when_set_back(injector):
    servos, bus, chip = injector._servos, injector._bus, injector._sensor
    wrong = {
        name: fault.high if fault.high is not None else not fault.healthy
        for name, fault in FAULTS.items()
        if not isinstance(fault.healthy, str) and not name.startswith("board.")
    }
    wrong |= {
        "servo.silent": "coxa_joint_LF",
        "servo.hot": "femur_joint_LF",
        "battery.voltage": 8.0,
        "servo.duplicate": "coxa_joint_LF tibia_joint_LF",
        "servo.power": True,
        "bus.unplugged": False,
    }
    injector.set(wrong)
    of_boards = {name for name in FAULTS if name.startswith("board.")}
    assert set(injector.active) == set(FAULTS) - {"servo.power", "bus.unplugged"} - of_boards
    assert bus.faults.echo and bus.faults.drop_rate == 1.0 and bus.faults.silent == {5}
    assert servos.ids.tolist() == [1, 3, 1] and servos.temperature[1] > 85 and not servos.are_holding().any()
    assert chip.faults.locked and chip.faults.absent and injector._sensor.identity == 255
    injector.set({name: fault.healthy for name, fault in FAULTS.items()})
    assert injector.active == [] and servos.ids.tolist() == [5, 3, 1] and servos.are_holding().all()
    assert not bus.faults.echo and bus.faults.silent == set() and not chip.faults.draw_error()
    assert injector._sensor.identity == 0x68
