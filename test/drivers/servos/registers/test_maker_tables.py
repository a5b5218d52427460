"""What the makers' tables say: units by model, modes, error bits, ranges."""

import time

import numpy as np
import pytest

from hexapod_dynamics.devices.register_bus import RegisterBusDevice
from hexapod_dynamics.devices.servos import VirtualServos
from hexapod_dynamics.drivers.servos.chain import ServoChain
from hexapod_dynamics.drivers.servos.chain_state import ChainSettings
from hexapod_dynamics.drivers.servos.health import ServoHealth
from hexapod_dynamics.drivers.servos.interface import BusError, PortSettings, make_servos
from hexapod_dynamics.robot.servo_map import ServoMap

IDS, NAMES = [1, 2, 3], ["coxa", "femur", "tibia"]
# The simulated model whose registers a family has.
DEVICES = {"ax12": "ax12", "mx": "xl330", "xm": "xl330", "xl330": "xl330", "sts3215": "sts3215"}


class Rig:
    """Three simulated servos of a product whose registers hold other values: {address: (value, size)}."""

    def __init__(self, directory, model, number=None, registers=None):
        self.servos = VirtualServos(IDS, [1] * 3, np.full(3, 0.1), loaded=True)
        self.written = []
        self.device = RegisterBusDevice(
            self.servos, DEVICES[model], directory / "port", on_write=lambda *each: self.written.append(each)
        )
        values = dict(registers or {}) | ({0: (number, 2)} if number else {})
        for memory in self.device.memory:
            for address, (value, size) in values.items():
                memory[address : address + size] = value.to_bytes(size, "little", signed=value < 0)
        self.device.start()
        settings = PortSettings(str(self.device.link), 1_000_000, reply_timeout=0.1, model=model)
        self.driver = make_servos(settings, IDS, "feetech" if model == "sts3215" else "dynamixel")

    def close(self):
        self.driver.line.release()
        self.device.stop()


@pytest.fixture
def make(tmp_path):
    rigs = []

    def make_rig(*args, **kwargs):
        rigs.append(Rig(tmp_path, *args, **kwargs))
        return rigs[-1]

    yield make_rig
    for rig in rigs:
        rig.close()


@pytest.mark.parametrize(
    ("model", "number", "product", "count", "key", "value"),
    [
        ("xm", 1060, "XL430-W250", 100, "load [%]", 10.0),
        ("xm", 1160, "2XC430-W250", -500, "load [%]", -50.0),
        ("mx", 30, "MX-28(2.0)", 100, "load [%]", 10.0),
        ("mx", 321, "MX-106(2.0)", -100, "current [A]", -0.336),
        ("xm", 1000, "XH430-W350", 100, "current [A]", 0.269),
        ("xm", 1050, "XH430-V210", 100, "current [A]", 0.134),
        ("xm", 1150, "XH540-V150", 100, "current [A]", 0.269),
        ("xl330", 1240, "XC330-M288", -100, "current [A]", -0.1),
    ],
)
def test_effort_has_the_unit_of_the_product(make, model, number, product, count, key, value):
    rig = make(model, number, {126: (count, 2)})
    rig.driver.open()
    rig.driver.read(0, "position")
    figures = rig.driver.figures()
    assert figures["servo products"] == product
    assert figures[f"servo 1 {key}"] == pytest.approx(value)
    assert ("current of all servos [A]" in figures) == (key == "current [A]")


@pytest.mark.parametrize(
    ("model", "registers", "words"),
    [
        ("xm", {11: (1, 1)}, r"operating mode 1 \(velocity\): set register 11 to 3"),
        ("xl330", {11: (0, 1)}, r"operating mode 0 \(current\)"),
        ("mx", {11: (16, 1)}, r"operating mode 16 \(PWM\)"),
        ("xm", {10: (8, 1)}, "torque on with each set-point .*clear bit 3"),
        ("ax12", {8: (0, 2)}, "wheel mode .*turn for ever"),
        ("sts3215", {33: (1, 1)}, r"operating mode 1 \(wheel\): set register 33 to 0"),
    ],
)
def test_a_mode_without_positions_is_refused_before_anything_moves(make, model, registers, words):
    rig = make(model, {"xm": 1020, "mx": 30}.get(model), registers)
    with pytest.raises(BusError, match=f"servo 1, 2, 3 is .*{words}.*Nothing was moved"):
        rig.driver.open()
    assert rig.written == []


def test_the_right_servo_model_is_named(make):
    rig = make("xl330", 1060)
    with pytest.raises(BusError, match="no xl330 .model number 1060, XL430-W250.: set servo_model to xm"):
        rig.driver.open()


@pytest.mark.parametrize("drive_mode", [4, 5])
def test_a_time_based_profile_gets_the_duration(make, drive_mode):
    rig = make("xm", 1020, {10: (drive_mode, 1)})
    rig.driver.open()
    rig.driver.read(0, "position")
    rig.driver.write_pose([0.6] * 3, [0.5, 0.02, 2.0], [True] * 3)
    time.sleep(0.1)
    goals = {servo: data for servo, address, data, _ in rig.written if address == 112}
    assert [int.from_bytes(goals[servo][:4], "little") for servo in IDS] == [500, 20, 2000]  # [ms]


def test_a_limit_of_the_acceleration_is_taken_back(make):
    rig = make("xm", 1020, {108: (20, 4)})
    rig.driver.open()
    time.sleep(0.05)
    assert [(servo, data) for servo, address, data, _ in rig.written if address == 108] == [(k, bytes(4)) for k in IDS]


@pytest.mark.parametrize(
    ("model", "bits", "words"),
    [
        ("xm", 0x20, "overload"),
        ("xl330", 0x18, "encoder, electrical shock"),
        ("xm", 0x01, "supply outside its limits"),
        ("ax12", 0x24, "too hot, overload"),
        ("sts3215", 0x28, "too much current, overload"),
        ("sts3215", 0x02, "angle sensor"),
    ],
)
def test_error_bits_are_told_in_words(make, model, bits, words):
    rig = make(model, 1020 if model == "xm" else None)
    rig.driver.open()
    rig.device.errors[1] = bits
    for _ in range(3):
        rig.driver.read(1, "position")
    assert words in rig.driver.figures()["servo 2 hardware error"]
    assert words in rig.driver.reports[1] and not rig.driver.reports[0]
    rig.device.errors.clear()
    rig.driver.read(1, "position")
    time.sleep(0.03)
    rig.driver.read(1, "position")
    assert rig.driver.reports[1] == "" and "servo 2 hardware error" not in rig.driver.figures()


@pytest.mark.parametrize(
    ("model", "count"), [("xm", 6144), ("xl330", -1024), ("sts3215", 4196), ("sts3215", -100), ("mx", 9000)]
)
def test_a_position_of_another_turn_is_told_as_that(make, model, count):
    rig = make(model, {"xm": 1020, "mx": 30}.get(model))
    servo_map = ServoMap(tuple(NAMES), tuple(IDS), (1, 1, 1))
    chain, health = ServoChain(rig.driver, servo_map, ChainSettings(position_rate=50.0)), ServoHealth(NAMES)
    rig.servos.set_angles(np.array([0.1, (count - 2048) * 2.0 * np.pi / 4096, 0.1]))
    chain.start()
    try:
        end, said = time.monotonic() + 5.0, ""
        while "turn" not in said and time.monotonic() < end:
            time.sleep(0.05)
            said = "; ".join(health.assess(chain.snapshot(), time.monotonic())[1])
        time.sleep(1.0)
        level, words = health.assess(chain.snapshot(), time.monotonic())
    finally:
        chain.stop()
    assert level == "error"
    assert words == [f"femur reports {count}, outside 0..4095: multi-turn mode?"]  # and nothing about a cable
