"""Servos with registers on their virtual hardware: what the makers' tables say, groups, motions, errors, echo."""

import time

import numpy as np
import pytest
from support.waiting import wait_until

from hexapod_dynamics.devices.register_bus import RegisterBusDevice
from hexapod_dynamics.devices.servos import VirtualServos
from hexapod_dynamics.drivers.servos.chain import ServoChain
from hexapod_dynamics.drivers.servos.chain_state import ChainSettings
from hexapod_dynamics.drivers.servos.health import ServoHealth
from hexapod_dynamics.drivers.servos.interface import BusError, Fault, PortSettings, make_servos
from hexapod_dynamics.robot.servo_map import ServoMap

IDS, NAMES = [1, 2, 3], ["coxa", "femur", "tibia"]
# The simulated model whose registers a family has, where that is another one; a product of a family.
DEVICES = {"mx_protocol1": "ax12", "mx": "xl330", "xm": "xl330"}
PRODUCTS = {"xm": 1020, "mx": 30}


class Rig:
    """Three simulated servos of a product whose registers hold other values: {address: (value, size)}."""

    def __init__(self, directory, model, number=None, registers=None, baudrate=1_000_000):
        self.servos = VirtualServos(IDS, [1] * 3, np.full(3, 0.1), loaded=True)
        self.written, number = [], number or PRODUCTS.get(model)
        self.device = RegisterBusDevice(
            self.servos,
            DEVICES.get(model, model),
            directory / "port",
            on_write=lambda *each: self.written.append(each),
        )
        values = dict(registers or {}) | ({0: (number, 2)} if number else {})
        for memory in self.device.memory:
            for address, (value, size) in values.items():
                memory[address : address + size] = value.to_bytes(size, "little", signed=value < 0)
        self.device.start()
        settings = PortSettings(str(self.device.link), baudrate, reply_timeout=0.1, model=model)
        self.driver = make_servos(settings, IDS, "feetech" if model == "sts3215" else "dynamixel")

    @property
    def setpoints(self):
        return self.servos.setpoints(time.monotonic())

    def close(self):
        self.driver.release()
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


@pytest.fixture(params=["ax12", "xl330", "sts3215"])
def rig(request, make):
    rig = make(request.param)
    rig.driver.open()
    return rig


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
        ("xm", 1310, "XW540-H260", 100, "current [A]", 0.269),
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
    ("model", "number", "registers", "words"),
    [
        ("xm", None, {11: (1, 1)}, r"operating mode 1 \(velocity\): set register 11 to 3"),
        ("xl330", None, {11: (0, 1)}, r"operating mode 0 \(current\)"),
        ("mx", None, {11: (16, 1)}, r"operating mode 16 \(PWM\)"),
        ("xm", None, {10: (8, 1)}, "torque on with each set-point .*clear bit 3"),
        ("ax12", None, {8: (0, 2)}, "wheel mode .*turn for ever"),
        ("sts3215", None, {33: (1, 1)}, r"operating mode 1 \(wheel\): set register 33 to 0"),
        ("xl330", 1060, {}, r"no xl330 \(model number 1060, XL430-W250\): set servo_model to xm"),
        (
            "sts3215",
            None,
            {3: (521, 2)},
            r"model number 521, unknown\): its registers are not known; known are STS3215, STS3250",
        ),
        ("mx_protocol1", None, {}, r"no mx_protocol1 \(model number 12, AX-12A\): set servo_model to ax12"),
    ],
)
def test_another_model_or_a_mode_without_positions_is_refused_before_anything_moves(
    make, model, number, registers, words
):
    rig = make(model, number, registers)
    with pytest.raises(BusError, match=f"servo 1, 2, 3 is .*{words}.*Nothing was moved"):
        rig.driver.open()
    assert rig.written == []


@pytest.mark.parametrize("drive_mode", [4, 5])
def test_a_time_based_profile_gets_the_duration(make, drive_mode):
    rig = make("xm", registers={10: (drive_mode, 1)})
    rig.driver.open()
    rig.driver.read(0, "position")
    rig.driver.write_pose([(k, 0.6, duration) for k, duration in enumerate((0.5, 0.02, 2.0))])
    time.sleep(0.1)
    goals = {servo: data for servo, address, data, _ in rig.written if address == 112}
    assert [int.from_bytes(goals[servo][:4], "little") for servo in IDS] == [500, 20, 2000]  # [ms]


@pytest.mark.parametrize(("model", "number", "register", "size"), [("xm", 1020, 108, 4), ("sts3215", None, 41, 1)])
def test_a_limit_of_the_acceleration_is_taken_back(make, model, number, register, size):
    rig = make(model, number, {register: (20, size)})
    rig.driver.open()
    time.sleep(0.05)
    written = [(servo, data) for servo, address, data, _ in rig.written if address == register]
    assert written == [(k, bytes(size)) for k in IDS]


@pytest.mark.parametrize(
    ("model", "bits", "words"),
    [
        ("xm", 0x20, "overload"),
        ("xl330", 0x18, "encoder, electrical shock"),
        ("xm", 0x01, "supply outside its limits"),
        ("ax12", 0x24, "too hot, overload"),
        ("sts3215", 0x28, "too much current, overload"),
        ("sts3215", 0x02, "angle sensor"),
        ("xm", 0x60, "overload, an error that its tables do not name (0x40)"),
        ("ax12", 0x82, "set-point beyond its angle limits, an error that its tables do not name (0x80)"),
    ],
)
def test_error_bits_are_told_in_words(make, model, bits, words):
    rig = make(model)
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
    rig = make(model)
    servo_map = ServoMap(tuple(NAMES), tuple(IDS), (1, 1, 1))
    chain, health = ServoChain(rig.driver, servo_map, ChainSettings(position_rate=50.0)), ServoHealth(NAMES)
    rig.servos.set_angles(np.array([0.1, (count - 2048) * 2.0 * np.pi / 4096, 0.1]))
    told = "error", [f"femur reports {count}, outside 0..4095: multi-turn mode?"]  # and nothing about a cable

    def said():
        return health.assess(chain.snapshot(), time.monotonic())

    chain.start()
    try:
        wait_until(lambda: "turn" in "; ".join(said()[1]), 5.0, said)
        time.sleep(1.0)
        wait_until(lambda: said() == told, 5.0, said)  # answers that a busy computer has brought late are forgotten
    finally:
        chain.stop()


def test_one_request_reads_all_where_the_model_can(rig):
    before = rig.device.frames
    assert [rig.driver.read(index, "position") for index in range(3)] == pytest.approx([0.1] * 3, abs=0.003)
    assert rig.device.frames - before == (1 if rig.driver.model.group_read else 3)


def test_a_servo_that_is_missing_does_not_hide_those_behind_it(rig):
    rig.device.faults.silent = {2}
    read = [rig.driver.read(index, "position", timeout=0.03) for _ in range(4) for index in range(3)][-3:]
    assert [value is None for value in read] == [False, True, False]
    rig.device.faults.silent = set()
    read = [rig.driver.read(index, "position") for _ in range(3) for index in range(3)][-3:]
    assert None not in read


def test_an_echo_of_the_adapter_is_passed_over(rig):
    rig.device.faults.echo = True
    assert rig.driver.read(1, "position") == pytest.approx(0.1, abs=0.003)
    assert rig.driver.read(1, "loaded") is True and rig.driver.read(1, "target") == pytest.approx(0.1, abs=0.003)


def test_the_motion_takes_its_time_and_a_stop_ends_it(rig):
    rig.driver.read(0, "position")
    begin = time.monotonic()
    rig.driver.write_pose([(k, 1.1, 3.0) for k in range(3)])
    wait_until(lambda: rig.setpoints[0] > 0.4, what="it is on its way")
    assert time.monotonic() - begin > 0.7, "a third of the way takes a third of the time"
    assert rig.driver.stop_now() and rig.driver.interrupted
    rig.driver.resume()

    def stands():
        now = time.monotonic()
        return np.array_equal(rig.servos.setpoints(now), rig.servos.setpoints(now + 0.1))

    wait_until(stands, what="it stands")  # a device that computes beside others takes its time to read the stop
    assert rig.setpoints[0] < 1.0, "on its way"


def test_a_pose_that_a_stop_has_kept_back_leaves_no_trace(rig, monkeypatch):
    """The stop comes while the pose is prepared: a second stop must not take the servos along its way."""
    assert rig.driver.read(0, "position") is not None
    monkeypatch.setattr(rig.driver, "_measure_unknown", lambda indices: rig.driver.stop_now())
    rig.driver.write_pose([(k, 1.1, 0.5) for k in range(3)])
    time.sleep(0.2)
    rig.driver.resume()
    rig.driver.stop()
    time.sleep(0.2)
    assert rig.setpoints == pytest.approx(np.full(3, 0.1), abs=0.01)


def test_torque_comes_where_the_servo_stands_not_where_it_was_sent_and_a_hot_one_has_none(rig):
    rig.driver.write_pose([(k, 0.5, 0.05) for k in range(3)])
    time.sleep(0.15)
    rig.driver.switch_torque(range(3), False)
    time.sleep(0.05)
    assert not rig.servos.loaded.any() and rig.driver.read(0, "loaded") is False
    rig.servos.set_angles(np.full(3, -0.6))
    rig.driver.switch_torque(range(3), True)
    time.sleep(0.1)
    assert rig.servos.loaded.all()
    assert rig.setpoints == pytest.approx(np.full(3, -0.6), abs=0.01)
    rig.servos.temperature[1] = 95.0
    for _ in range(2):
        rig.driver.read(1, "position")
    assert rig.driver.read(1, "loaded") is False
    assert "servo 2 hardware error" in rig.driver.figures()


@pytest.mark.parametrize("damaged", [1, 9])
def test_torque_is_not_switched_on_before_the_servo_has_its_set_point(rig, damaged):
    """A write that is lost, or damaged with the right sum, is not noticed: the leg would go to another place."""
    device, goal, left = rig.device, rig.device.model.goal, [damaged]

    def damage(servo_id, address, data, when):
        if servo_id == 2 and address <= goal.address < address + len(data) and left[0]:
            left[0] -= 1
            device.memory[1][goal.address : goal.address + goal.size] = goal.pack(device.model.counts.count(1.0))

    rig.driver.switch_torque(range(3), False)
    time.sleep(0.05)
    device.on_write = damage
    rig.driver.switch_torque(range(3), True)
    time.sleep(0.1)
    there = damaged == 1 or device.model.protocol == 1  # where the set-point itself switches the torque on
    assert rig.servos.loaded.tolist() == [True, there, True]
    assert rig.setpoints == pytest.approx(np.full(3, 0.1), abs=0.01)


def test_a_stop_holds_a_servo_whose_set_point_came_but_was_not_confirmed(rig):
    """With protocol 1 it has torque by then; it went to where it had been sent before its torque was off."""
    rig.driver.write_pose([(k, 0.5, 0.05) for k in range(3)])
    time.sleep(0.15)
    rig.driver.switch_torque(range(3), False)
    time.sleep(0.05)
    rig.servos.set_angles(np.full(3, -0.6))
    rig.device.on_write = lambda servo, *_: servo == 2 and rig.device.faults.silent.add(2)
    rig.driver.switch_torque(range(3), True)
    rig.device.on_write = None
    rig.device.faults.silent.clear()
    assert rig.driver.read(1, "loaded") is (rig.device.model.protocol == 1)
    assert rig.driver.stop_now()
    time.sleep(0.3)
    assert rig.setpoints == pytest.approx(np.full(3, -0.6), abs=0.01)


@pytest.mark.parametrize("reopened", [False, True])
def test_a_stop_of_servos_without_torque_gives_them_none(rig, reopened):
    """With protocol 1 a set-point switches the torque on: the legs would go to where they were sent last."""
    rig.driver.write_pose([(k, 0.5, 0.05) for k in range(3)])
    time.sleep(0.15)
    rig.driver.switch_torque(range(3), False)
    time.sleep(0.05)
    rig.servos.set_angles(np.full(3, -0.6))
    if reopened:
        rig.driver.close()
        rig.driver.open()
    for index in range(3):
        assert rig.driver.read(index, "position") is not None and rig.driver.read(index, "loaded") is False
    assert rig.driver.stop_now()
    time.sleep(0.1)
    assert not rig.servos.loaded.any()
    rig.driver.resume()
    rig.driver.write_pose([(k, 0.2, 0.05) for k in range(3)])
    rig.driver.stop(1)
    time.sleep(0.15)
    assert rig.servos.loaded.all() == (rig.driver.model.name != "xl330")  # there torque is switched on by its register


@pytest.mark.parametrize("model", ["ax12", "xl330", "sts3215"])
def test_another_baud_rate_is_silence_and_moves_nothing(make, model):
    rig = make(model, baudrate=57600)
    rig.driver.open()
    assert rig.driver.read(0, "position", timeout=0.01) is None and rig.driver.fault in (Fault.TIMEOUT, Fault.GARBAGE)
    assert rig.setpoints == pytest.approx(np.full(3, 0.1), abs=0.003)
