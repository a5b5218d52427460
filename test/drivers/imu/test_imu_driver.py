"""MPU6050 driver against the simulated chip: set-up, units, errors, brown-out; attitude and calibration."""

import math
import os
import sys
import threading
from collections import deque
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.waiting import wait_until

from hexapod_dynamics.devices.mpu6050 import I2cBusDevice, VirtualMpu6050
from hexapod_dynamics.drivers.imu import mpu6050 as chip
from hexapod_dynamics.drivers.imu.attitude import CalibratedImu, OrientationFilter, compute_offsets
from hexapod_dynamics.drivers.imu.mpu6050 import Mpu6050, Mpu6050Settings, SocketSMBus, UnexpectedAnswer, open_bus
from hexapod_dynamics.drivers.imu.reader import ImuReader
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.runtime_directory import calibration_file
from hexapod_dynamics.se3 import euler_zyx, rotation_from_quaternion, rotation_rpy

G = chip.STANDARD_GRAVITY


class DirectI2cBus(SocketSMBus):
    """The calls of smbus2 straight into the simulated chip; `now` [s] is its clock, `log` its last exchanges."""

    def __init__(self, sensor: VirtualMpu6050) -> None:
        self.sensor, self.now = sensor, 0.0
        self.log: deque[tuple] = deque(maxlen=100)

    def sleep(self, seconds: float) -> None:
        """Let the clock go on."""
        self.now += seconds

    def read_byte_data(self, i2c_addr: int, register: int) -> int:
        """Read one register."""
        self.log.append(("read", register))
        return self.sensor.read(register, 1, self.now)[0]

    def write_byte_data(self, i2c_addr: int, register: int, value: int) -> None:
        """Write one register."""
        self.log.append(("write", register, value))
        self.sensor.write(register, value)

    def read_i2c_block_data(self, i2c_addr: int, register: int, length: int) -> list[int]:
        """Read bytes, starting at a register."""
        self.log.append(("block", register, length))
        return list(self.sensor.read(register, length, self.now))

    def close(self) -> None:
        """There is nothing to close."""


def quiet(**options):
    return VirtualMpu6050(gyro_bias=(0, 0, 0), accel_bias=(0, 0, 0), noise=0.0, **options)


def started(sensor, **options):
    bus = DirectI2cBus(sensor)
    driver = Mpu6050(bus, Mpu6050Settings(**options), sleep=bus.sleep)
    driver.start()
    return driver, bus


def hold(sensor, bus, force, rate, seconds=2.0):
    for _ in range(round(seconds / 0.01)):
        bus.now += 0.01
        sensor.set_motion(force, rate, bus.now)


def test_start_resets_waits_wakes_sets_and_reads_back():
    driver, bus = started(quiet())
    assert list(bus.log)[:2] == [("write", 0x6B, 0x80), ("write", 0x68, 0x07)] and bus.now == pytest.approx(0.2)
    assert ("write", 0x6B, 0x01) in bus.log
    written = {entry[1]: entry[2] for entry in bus.log if entry[0] == "write" and entry[1] not in (0x68,)}
    assert written == {0x6B: 0x01, 0x1A: 4, 0x19: 4, 0x1B: 1 << 3, 0x1C: 1 << 3}
    assert {entry[1] for entry in bus.log if entry[0] == "read"} >= {0x75, 0x6B, 0x1A, 0x19, 0x1B, 0x1C}
    driver.read()
    assert bus.log[-1] == ("block", 0x3B, 14)


def test_a_register_that_does_not_take_is_an_error():
    sensor = quiet()
    write = sensor.write
    sensor.write = lambda register, value: None if register == chip.CONFIG else write(register, value)
    with pytest.raises(UnexpectedAnswer, match="register 0x1a reads 0x00 instead of 0x04"):
        started(sensor)


@settings(deadline=None, max_examples=50)
@given(
    st.sampled_from(sorted(chip.ACCEL_RANGES)),
    st.sampled_from(sorted(chip.GYRO_RANGES)),
    st.integers(0, 6),
    st.lists(st.floats(-0.95, 0.95), min_size=6, max_size=6),
    st.floats(-20.0, 60.0),
)
def test_units_are_si_in_every_range(accel_range, gyro_range, dlpf, shares, temperature):
    sensor = quiet()
    driver, bus = started(sensor, accel_range=accel_range, gyro_range=gyro_range, dlpf=dlpf)
    force, rate = np.array(shares[:3]) * accel_range * G, np.array(shares[3:]) * math.radians(gyro_range)
    sensor._filtered[:] = (*force, *rate)
    sensor.set_motion(force, rate, bus.now, temperature)
    bus.now += 1.0
    sample = driver.read()
    # Half a unit of the last place.
    assert np.allclose(sample.acceleration, force, rtol=0, atol=0.51 * G / chip.ACCEL_RANGES[accel_range])
    gyro_unit = math.radians(1.0) / chip.GYRO_RANGES[gyro_range]
    assert np.allclose(sample.angular_velocity, rate, rtol=0, atol=0.51 * gyro_unit)
    assert sample.temperature == pytest.approx(temperature, abs=0.51 / 340.0)
    assert not sample.saturated


def test_the_chip_samples_at_least_twice_as_often_as_it_is_read():
    for rate in (50.0, 100.0, 200.0, 250.0):
        for dlpf in range(7):
            settings_ = Mpu6050Settings(rate=rate, dlpf=dlpf)
            base = 8000 if dlpf == 0 else 1000
            assert base / (1 + settings_.divider) >= 2 * rate
    sensor = VirtualMpu6050()
    driver, bus = started(sensor)
    raw = set()
    for _ in range(200):
        bus.now += 0.01
        raw.add(driver.read().raw)
    assert len(raw) == 200


def test_a_brown_out_is_seen_in_the_registers():
    sensor = VirtualMpu6050()
    driver, bus = started(sensor)
    bus.now += 1.0
    driver.read()
    sensor.brown_out()
    bus.now += 1.0
    assert driver.read().raw == driver.read().raw, "frozen data, no error"
    with pytest.raises(UnexpectedAnswer, match="asleep after a brown-out"):
        driver.verify()
    driver.start()
    driver.verify()


@pytest.mark.parametrize(
    ("identity", "words"), [(0x68, ""), (0x98, "known clone"), (0x70, "known clone"), (0x33, "unknown chip")]
)
def test_clones_are_accepted_with_a_warning(identity, words):
    """Also one that nobody knows is filtered if it can be."""
    driver, bus = started(quiet(identity=identity))
    assert words in driver.warning and bool(driver.warning) == bool(words)
    assert bus.read_byte_data(0x68, 0x1D) == 4 * driver.chip.own_filter == 4 * (identity != 0x68)


@pytest.mark.parametrize(
    ("identity", "dlpf", "rate"),
    [(0x68, 3, 100.0), (0x68, 2, 200.0), (0x68, 4, 50.0), (0x68, 0, 100.0)]
    + [(each, 4, 100.0) for each in (0x70, 0x71, 0x73, 0x98, 0x12, 0xAF)],
)
def test_each_chip_is_filtered_and_its_covariance_is_that_of_its_noise(identity, dlpf, rate):
    """The accelerometer's own filter (register 0x1D) is written, read back and watched."""
    sensor = VirtualMpu6050(gyro_bias=(0.02, -0.03, 0.01), accel_bias=(0.1, -0.2, 0.3), identity=identity)
    driver, bus = started(sensor, dlpf=dlpf, rate=rate, accel_range=2, gyro_range=250)
    assert bus.read_byte_data(0x68, 0x1D) == (0 if identity == 0x68 else dlpf)
    hold(sensor, bus, (0, 0, G), (0, 0, 0))
    samples = np.zeros((2000, 6))
    for row in samples:
        bus.now += 1.0 / rate
        sample = driver.read()
        row[:3], row[3:] = sample.acceleration, sample.angular_velocity
    assert np.allclose(samples.mean(axis=0), [0.1, -0.2, 0.3 + G, 0.02, -0.03, 0.01], atol=0.01)
    lsb = driver._accel_unit, driver._gyro_unit
    variances = driver.chip.accel_variance(dlpf), driver.chip.gyro_variance(dlpf)
    # 2000 samples: standard error of a variance 3 %; quantisation adds lsb^2/12.
    for part, unit, variance in zip((samples[:, :3], samples[:, 3:]), lsb, variances, strict=True):
        assert part.var(axis=0) == pytest.approx(np.full(3, variance + unit**2 / 12.0), rel=0.2)
    assert sample.temperature == pytest.approx(31.0, abs=0.1)
    if identity != 0x68:
        bus.write_byte_data(0x68, 0x1D, 0)  # 460 Hz again, as after a brown-out
        with pytest.raises(UnexpectedAnswer, match="register 0x1d reads 0x00"):
            driver.verify()


def test_a_dead_data_line_is_not_taken_for_a_clone():
    with pytest.raises(UnexpectedAnswer, match="WHO_AM_I"):
        started(quiet(identity=0xFF))


# Over the socket, with its thread ------------------------------------------------------------------------------------


@pytest.fixture
def device(tmp_path):
    device = I2cBusDevice(VirtualMpu6050(), tmp_path / "imu.sock")
    device.start()
    yield device
    device.stop()


@pytest.fixture
def reading(device):
    """Give a reader at 100 Hz and what it delivered."""
    samples = []
    reader = ImuReader(str(device.path), Mpu6050Settings(), lambda sample, t: samples.append((t, sample)))
    reader.start()
    yield SimpleNamespace(reader=reader, samples=samples, device=device, health=reader.health)
    reader.stop()
    assert not reader._thread.is_alive()


def test_a_bus_that_cannot_be_opened_is_named_with_the_remedy(tmp_path, monkeypatch):
    import smbus2

    with pytest.raises(DeviceError, match="i2cdetect") as raised:
        open_bus("97")
    assert "simulator" not in str(raised.value)
    with pytest.raises(DeviceError, match="simulator running"):
        open_bus(str(tmp_path / "none.sock"))

    def refuse(_number):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(smbus2, "SMBus", refuse)
    with pytest.raises(DeviceError, match='group "i2c"'):
        open_bus("1")


def test_a_missing_library_is_named_and_awaited(monkeypatch):
    monkeypatch.setitem(sys.modules, "smbus2", None)
    reader = ImuReader("97", Mpu6050Settings(), print)
    reader.start()
    wait_until(lambda: "smbus2" in reader.health.last_error)
    monkeypatch.undo()
    wait_until(lambda: "i2cdetect" in reader.health.last_error, what="it is tried again")
    reader.stop()


def test_samples_come_at_the_rate(reading):
    wait_until(lambda: len(reading.samples) > 150)
    times = np.array([t for t, _ in reading.samples])
    # The median, because a busy machine leaves periods out.
    assert np.median(np.diff(times)) == pytest.approx(0.01, rel=0.1)
    assert reading.health.starts == 1 and reading.health.connected


def test_single_errors_leave_no_gap(reading):
    wait_until(lambda: reading.samples)
    reading.device.faults.error_rate = 0.05
    count = len(reading.samples)
    wait_until(lambda: len(reading.samples) > count + 150)
    assert set(reading.health.errors) <= {"errno 5", "errno 110", "errno 121"}
    assert sum(reading.health.errors.values()) > 1
    assert reading.health.starts == 1


def test_failed_questions_after_the_registers_do_not_restart_the_chip(reading, monkeypatch):
    wait_until(lambda: reading.samples)
    asked = []

    def fail(_bus, _address, register):
        asked.append(register)
        raise OSError(121, "Remote I/O error")

    monkeypatch.setattr(SocketSMBus, "read_byte_data", fail)
    count = len(reading.samples)
    wait_until(lambda: len(asked) > 30, what="the registers are asked for")
    wait_until(lambda: len(reading.samples) > count + 20)
    assert reading.health.starts == 1 and reading.health.connected


def test_a_brown_out_is_healed(reading):
    wait_until(lambda: len(reading.samples) > 5)
    reading.device.sensor.brown_out()
    wait_until(lambda: reading.health.starts == 2, 5.0, "the chip is set up again")
    count = len(reading.samples)
    wait_until(lambda: len(reading.samples) > count + 10, 5.0, "samples again")
    # While frozen, nothing is passed on for a measurement more than ten times.
    raws = [sample.raw for _t, sample in reading.samples]
    assert max(raws.count(raw) for raw in set(raws)) <= 11
    assert all(t2 > t1 for (t1, _), (t2, _) in zip(reading.samples, reading.samples[1:], strict=False))


def test_the_simulator_may_come_later_and_go_while_the_system_clock_is_set_back(tmp_path, set_back):
    samples = []
    reader = ImuReader(str(tmp_path / "imu.sock"), Mpu6050Settings(), lambda sample, t: samples.append(sample))
    reader.start()
    wait_until(lambda: "does not exist" in reader.health.last_error)
    for _ in range(2):
        device = I2cBusDevice(VirtualMpu6050(), tmp_path / "imu.sock")
        device.start()
        count = len(samples)
        wait_until(lambda: len(samples) > count + 5)  # noqa: B023
        device.stop()
        wait_until(lambda: not reader.health.connected)
    reader.stop()


# Attitude and calibration --------------------------------------------------------------------------------------------


def rocking(t):
    """Roll, pitch and yaw [rad] of a walking body that starts from rest, and their rates."""
    w = 2 * math.pi * 1.5

    def angles(t):
        return min(1.0, 0.5 * t) * np.array([0.05 * math.sin(w * t), 0.03 * math.cos(w * t), 0.2 * math.sin(0.3 * t)])

    return angles(t), (angles(t + 1e-5) - angles(max(0.0, t - 1e-5))) / (1e-5 + min(t, 1e-5))


@pytest.mark.parametrize("rate", [100.0, 200.0])
def test_attitude_of_a_rocking_body_within_a_degree(rate):
    """The whole chain on a clock of its own: chip with bias and noise, 3 s of calibration at rest, 60 s of walking."""
    sensor = VirtualMpu6050()
    driver, bus = started(sensor, rate=rate)
    mount = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # base <- chip, +90 deg
    hold(sensor, bus, (0, 0, G), (0, 0, 0), 1.0)
    samples = []
    for _ in range(round(rate)):
        bus.now += 1.0 / rate
        samples.append(sum(driver.read()[:2], ()))
    offsets = compute_offsets(samples, mount.T[:, 2])
    assert np.allclose(offsets.gyro, sensor.gyro_bias, atol=5e-4)
    assert np.allclose(offsets.accel, sensor.accel_bias, atol=0.02)
    estimate = OrientationFilter(rate, heading=math.pi / 2)
    errors, begin, chance = [], bus.now, np.random.default_rng(1)
    for k in range(round(60 * rate)):
        t = k / rate
        ramp = min(1.0, t / 2.0)
        (roll, pitch, yaw), (dr, dp, dy) = rocking(t)
        R = rotation_rpy(roll, pitch, yaw)
        omega = np.array(
            [
                dr - math.sin(pitch) * dy,
                math.cos(roll) * dp + math.sin(roll) * math.cos(pitch) * dy,
                -math.sin(roll) * dp + math.cos(roll) * math.cos(pitch) * dy,
            ]
        )
        shake = 1.5 * chance.standard_normal(3) * ramp  # foot impacts [m/s^2]
        bus.now = begin + t
        sensor.set_motion(mount.T @ (R.T @ [0, 0, G] + shake), mount.T @ omega, bus.now)
        sample = driver.read()
        q = estimate.update(
            np.array(sample.acceleration) - offsets.accel, np.array(sample.angular_velocity) - offsets.gyro, bus.now
        )
        found = euler_zyx(rotation_from_quaternion(q) @ mount.T)
        if t > 5.0:
            errors.append(found - [yaw, pitch, roll])
    rms = np.degrees(np.sqrt(np.mean(np.square(errors), axis=0)))
    assert rms[1] < 1.0 and rms[2] < 1.0, f"yaw, pitch, roll {rms} deg"
    assert rms[0] < 1.0


def test_the_attitude_is_half_a_period_newer_than_its_sample():
    """Of a level body that turns to and fro by 0.3 rad about its z axis, once a second."""

    def yaw(t):
        return 0.3 * np.sin(2.0 * np.pi * t)

    sensor = quiet()
    driver, bus = started(sensor)
    estimate, found, begin = OrientationFilter(Mpu6050Settings().rate), [], bus.now
    for k in range(1, 1001):
        t = 5e-3 * k
        bus.now = begin + t
        sensor.set_motion((0, 0, G), (0, 0, (yaw(t) - yaw(t - 5e-3)) / 5e-3), bus.now)
        if k % 2 == 0:
            sample = driver.read()
            turn = estimate.update(sample.acceleration, sample.angular_velocity, t)
            found.append((t, euler_zyx(rotation_from_quaternion(turn))[0]))
    at, seen = np.array(found)[200:].T
    age = min(np.arange(-5e-3, 20e-3, 1e-4), key=lambda age: (seen - yaw(at - age)).std())
    # The filter turns on by the newest rate for a whole period, half of which lies after the rate's own time.
    assert age == pytest.approx(chip.MPU6050.delay(Mpu6050Settings().dlpf) - 5e-3, abs=1e-3)


def test_calibration_while_moving_is_refused_with_the_figures():
    samples = [(0.0, 0.0, G, 0.1 * math.sin(0.3 * k), 0.0, 0.0) for k in range(100)]
    with pytest.raises(DeviceError, match=r"not at rest: angular velocity varies by 0\.07"):
        compute_offsets(samples)


def test_calibration_of_a_robot_on_its_back_is_refused():
    with pytest.raises(DeviceError, match=r"not level: 19\.6 m/s"):
        compute_offsets([(0.0, 0.0, -G, 0.0, 0.0, 0.0)] * 100, (0.0, 0.0, 1.0))


def test_a_short_gap_is_bridged_with_the_rates_at_its_ends():
    estimate = OrientationFilter(100.0)
    t = 0.0
    for _ in range(100):
        t += 0.01
        estimate.update((0, 0, G), (0, 0, 0), t)
    for _ in range(10):
        t += 0.05
        q = estimate.update((0, 0, G), (0, 0, 0.5), t)
    assert euler_zyx(rotation_from_quaternion(q))[0] == pytest.approx(0.24, abs=0.003)  # half of the first gap at rest


def test_a_sample_that_comes_after_a_later_one_turns_nothing_twice():
    estimate = OrientationFilter(100.0)
    for k in range(200):
        for late in (0, 1) if k % 5 == 0 else (0,):
            q = estimate.update((0, 0, G), (0, 0, 0.5), 0.01 * (k - late))
    assert euler_zyx(rotation_from_quaternion(q))[0] == pytest.approx(1.0, abs=0.01)


def test_pauses_of_a_busy_computer_tilt_a_walking_robot_by_a_few_degrees_and_keep_its_turn():
    """The body rocks with 1.5 rad/s at 2.3 Hz and turns with 0.3 rad/s; every 2 s nothing is read for 0.7 s."""
    estimate, worst = OrientationFilter(100.0), 0.0
    for k in range(4000):
        t = 0.01 * k
        if 1.3 < t % 2.0 or t < 0.01:
            continue
        rock = 2 * math.pi * 2.3
        roll = 1.5 / rock * math.sin(rock * t)
        up = (0.0, G * math.sin(roll), G * math.cos(roll))
        q = estimate.update(up, (1.5 * math.cos(rock * t), 0.0, 0.3), t)
        yaw, pitch, found = euler_zyx(rotation_from_quaternion(q))
        worst = max(worst, abs(found - roll), abs(pitch))
    assert math.degrees(worst) < 20.0
    assert math.remainder(yaw - 0.3 * t, 2 * math.pi) == pytest.approx(0.0, abs=0.5)


# Offsets of a running IMU --------------------------------------------------------------------------------------------


@pytest.fixture
def imu(tmp_path):
    """Give a maker of calibrated IMUs (chip turned as on the robot) that share a memory, and what they warn."""
    said = []
    rotation = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    return SimpleNamespace(
        said=said,
        memory=tmp_path / "there" / "offsets.json",
        make=lambda: CalibratedImu(100.0, rotation, 3.0, True, tmp_path / "there" / "offsets.json", said.append),
    )


def feed(imu, seconds, gyro=(0.02, -0.03, 0.01), accel=(0.1, 0.0, G), begin=0.0):
    for k in range(round(100 * seconds)):
        taken = imu.accept(accel, gyro, begin + 0.01 * k)
    return taken


def test_standing_still_calibrates_the_gyro_by_itself_and_survives_a_restart(imu):
    first = imu.make()
    feed(first, 0.9)
    assert not first.calibrated
    accel, gyro, _ = feed(first, 0.2, begin=0.9)
    assert first.calibrated and np.allclose(gyro, 0.0, atol=1e-3)
    assert np.allclose(accel, (0.1, 0.0, G))  # nobody said that it stands level
    second = imu.make()
    assert second.calibrated and np.allclose(second.offsets.gyro, (0.02, -0.03, 0.01))
    os.utime(imu.memory, (1.6e9, 1.6e9))
    assert not imu.make().calibrated  # nobody knows what the chip has done since
    second.keep()  # it has run all the time
    assert imu.make().calibrated and not imu.said


@pytest.mark.parametrize("kept", ["not json", "[1, 2]", '{"gyro": "now"}'])
def test_a_memory_that_makes_no_sense_is_not_used_and_named(imu, kept):
    imu.memory.parent.mkdir()
    imu.memory.write_text(kept, encoding="utf-8")
    assert not imu.make().calibrated
    assert ["offsets.json is not used" in text for text in imu.said] == [True]


def test_asked_to_calibrate_it_waits_for_samples_and_finds_both_offsets(imu):
    running = imu.make()
    assert "too few samples" in running.calibrate(0.05)
    stop = threading.Event()

    def samples():
        k = 0
        while not stop.wait(0.001):
            running.accept((0.1, 0.0, G + 0.2), (0.02, -0.03, 0.01), 0.01 * k)
            k += 1

    thread = threading.Thread(target=samples)
    thread.start()
    try:
        assert running.calibrate(10.0) == ""
    finally:
        stop.set()
        thread.join()
    assert np.allclose(running.offsets.accel, (0.1, 0.0, 0.2))
    assert np.allclose(running.offsets.gyro, (0.02, -0.03, 0.01))


def test_an_imus_offsets_lie_below_ros_home_one_file_for_each_chip(monkeypatch):
    monkeypatch.setenv("ROS_HOME", "/home/robot/.ros")
    directory = Path("/home/robot/.ros/hexapod_dynamics")
    assert calibration_file("1", 0x68) == directory / "imu_offsets.1.0x68.json"
    assert calibration_file("/tmp/a/imu.sock", 0x69) == directory / "imu_offsets.tmp.a.imu.sock.0x69.json"
