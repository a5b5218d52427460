"""The STM32 board: frames against the vendor's table, bit by bit, and through noise; other devices on its port, resets,
failures, reports, and the times of its samples.
"""

import os
import struct
import threading
import time

import numpy as np
import pytest
import serial
from hypothesis import given
from hypothesis import strategies as st
from support.waiting import wait_until

from hexapod_dynamics.devices.board import BoardDevice
from hexapod_dynamics.devices.mpu6050 import VirtualMpu6050
from hexapod_dynamics.devices.serial_device import SerialDevice
from hexapod_dynamics.devices.servos import VirtualServos
from hexapod_dynamics.drivers.frame_finder import Answer
from hexapod_dynamics.drivers.imu.reader import RelayedImu
from hexapod_dynamics.drivers.servos.board import protocol as frames
from hexapod_dynamics.drivers.servos.board.protocol import (
    FrameParser,
    Function,
    Pad,
    ServoCommand,
    joy_values,
    remote_values,
)
from hexapod_dynamics.drivers.servos.board.servos import BoardServos, SampleClock
from hexapod_dynamics.drivers.servos.interface import BusError, Fault, PortSettings

IDS = list(range(1, 19))
TIMEOUT = 0.1


@pytest.fixture
def board(tmp_path):
    servos = VirtualServos(IDS, [1] * 18, np.full(18, 0.1), loaded=True)
    device = BoardDevice(servos, VirtualMpu6050(), tmp_path / "board")
    device.start()
    yield device
    device.stop()


@pytest.fixture
def driver(board):
    driver = BoardServos(PortSettings(str(board.link), board.baudrate, reply_timeout=TIMEOUT), IDS)
    driver.open()
    yield driver
    driver.release()


class OtherDevice(SerialDevice):
    """A receiver of satellites: it speaks by itself and understands nothing."""

    def __init__(self, link):
        super().__init__(link, 9600, frames.FrameParser())
        self.last_received = b""

    def receive(self, data, now):
        self.last_received += data
        self.send_unaltered(b"$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9\r\n")

    def execute_frame(self, packet, end):
        pass


def test_another_device_is_asked_and_never_moved(tmp_path):
    device = OtherDevice(tmp_path / "port")
    device.start()
    port = BoardServos(PortSettings(str(device.link), 1_000_000), [5, 6])
    with pytest.raises(BusError, match="no STM32 board.*bytes that are no frames.*Nothing was moved"):
        port.open()
    device.stop()
    question = frames.servo_request(frames.ServoCommand.READ_ID, 5)
    assert device.last_received.replace(question, b"") == b""
    assert not port.is_open


def test_another_baud_rate_is_named(board):
    port = BoardServos(PortSettings(str(board.link), 115200), IDS)
    with pytest.raises(BusError, match="at 115200 baud"):
        port.open()


def test_rts_and_dtr_are_false_before_the_port_is_opened(board, monkeypatch):
    seen = []

    class Watched(serial.Serial):
        def open(self):
            seen.append((self.rts, self.dtr))
            super().open()

    monkeypatch.setattr("hexapod_dynamics.drivers.servos.serial_servos.serial.Serial", Watched)
    port = BoardServos(PortSettings(str(board.link), board.baudrate), IDS)
    port.open()
    port.close()
    assert seen == [(False, False)]


def test_a_pose_is_one_frame_and_reaches_every_servo(board, driver):
    before = board.frames
    driver.write_pose([(k, 0.2, 0.05) for k in range(18)])
    time.sleep(0.2)
    assert board.frames == before + 1
    assert board.servos.setpoints(time.monotonic()) == pytest.approx(np.full(18, 0.2), abs=0.003)


def test_a_failure_of_the_board_is_no_answer_and_costs_no_time_out(board, driver):
    board.refuse_rate = 1.0
    begin = time.monotonic()
    assert driver.read(3, "position") is None and driver.fault is Fault.TIMEOUT
    assert time.monotonic() - begin < TIMEOUT
    board.refuse_rate = 0.0
    assert driver.read(3, "position") == pytest.approx(0.1, abs=0.003)


def test_a_board_that_restarts_answers_again_and_nothing_has_moved(board, driver):
    board.reset()
    assert driver.read(0, "position") is None
    end = time.monotonic() + 3.0
    while driver.read(0, "position") is None:
        assert time.monotonic() < end
    assert board.servos.setpoints(time.monotonic()) == pytest.approx(np.full(18, 0.1), abs=0.003)


def test_a_mute_board_is_told_from_mute_servos(board, driver):
    board.mute = True
    with pytest.raises(BusError, match="the board has sent nothing for 2"):
        for _ in range(100):
            driver.read(0, "position")
    board.mute = False
    driver.open()
    assert driver.read(0, "position") is not None


def test_a_set_point_is_known_only_if_it_was_sent_from_here(driver):
    assert not driver.can_read(0, "target")
    driver.write(0, 0.3, 0.1)
    assert driver.can_read(0, "target") and driver.read(0, "target") == pytest.approx(0.3)
    driver.stop()
    assert not driver.can_read(0, "target")
    # A stop of another thread may come between the two questions: no answer always has a reason.
    assert driver.read(0, "target") is None and driver.fault is Fault.TIMEOUT


def test_keys_gamepad_battery_and_imu_come_between_the_answers(board, driver):
    heard = {"imu": [], "keys": [], "pads": []}

    def listen(report, stamp):
        if isinstance(report, frames.ImuValues):
            heard["imu"].append((report.values, stamp))
        elif isinstance(report, frames.Button):
            heard["keys"].append(report)
        elif isinstance(report, frames.Pad):
            heard["pads"].append(report)

    driver.listener = listen
    end, answers = time.monotonic() + 1.2, 0
    board.press(1)
    board.move_pad(0x0200, 9, (1, -2, 3, -128))
    while time.monotonic() < end:
        answers += driver.read(answers % 18, "position") is not None
    assert answers > 30
    assert heard["keys"] == [(1, frames.PRESSED)] and heard["pads"][0].right_y == -128
    assert len(heard["imu"]) > 80 and heard["imu"][-1][0][2] == pytest.approx(1.01, abs=0.05)  # g upward
    figures = driver.figures()
    assert figures["battery, as the board reports it [V]"] == pytest.approx(11.8, abs=0.01)
    assert figures["IMU samples of the board [1/s]"] == pytest.approx(100.0, rel=0.1)
    assert figures["servo answers of the board [1/s]"] > 20


def test_the_reading_thread_ends_with_the_port(board):
    port = BoardServos(PortSettings(str(board.link), board.baudrate), IDS)
    before = {thread.name for thread in threading.enumerate()}, len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        port.open()
        port.close()
    assert ({thread.name for thread in threading.enumerate()}, len(os.listdir("/proc/self/fd"))) == before


def test_samples_reach_the_other_process_in_si_units(tmp_path):
    taken = []
    receiver = RelayedImu(tmp_path / "imu.sock", lambda sample, stamp: taken.append((sample, stamp)))
    sender = frames.ImuSender(tmp_path / "imu.sock")
    sender.send((0, 0, 1, 0, 0, 90), 1.0)  # nobody receives yet: dropped
    receiver.start()
    for k in range(30):
        sender.send((0.0, 0.001 * k, 1.0, 0.0, 0.0, 90.0), 2.0 + 0.01 * k)
        time.sleep(0.01)  # as the board sends them: the socket holds ten, further ones are dropped
    end = time.monotonic() + 3.0
    while len(taken) < 30 and time.monotonic() < end:
        time.sleep(0.01)
    assert len(taken) == 30 and receiver.health.connected and sender.dropped == 1
    sample, stamp = taken[0]
    assert stamp == 2.0
    assert sample.acceleration[2] == pytest.approx(9.80665) and sample.angular_velocity[2] == pytest.approx(np.pi / 2)
    for _ in range(12):  # a chip that stands still is no measurement
        sender.send((0.0, 0.0, 1.0, 0.0, 0.0, 0.0), 3.0)
        time.sleep(0.01)
    while receiver.health.connected and time.monotonic() < end:
        time.sleep(0.01)
    assert "identical samples" in receiver.health.last_error
    receiver.stop()
    sender.close()


def test_an_error_of_the_consumer_does_not_end_the_samples(tmp_path):
    taken = []

    def take(sample, stamp):
        taken.append(stamp)
        if len(taken) == 1:
            raise ValueError("the consumer has a fault")

    receiver, sender = RelayedImu(tmp_path / "imu.sock", take), frames.ImuSender(tmp_path / "imu.sock")
    receiver.start()
    for k in range(5):
        sender.send((0.0, 0.001 * k, 1.0, 0.0, 0.0, 90.0), 2.0 + 0.01 * k)
    wait_until(lambda: len(taken) == 5, 5.0, "all samples are passed on")
    receiver.stop()
    sender.close()


def test_the_frame_of_the_buzzer_is_the_makers_and_the_servos_answer_on(board, driver):
    frame = frames.beep(1900, 0.15, 0.35, 4)
    assert frame[:-1] == bytes.fromhex("AA55 02 08 6C07 9600 5E01 0400")  # the maker's SDK: "<HHHH", times in ms
    driver.send(frame)
    assert driver.read(0, "position") == pytest.approx(0.1, abs=0.005)
    assert board.beeps == [(1900, 150, 350, 4)]


def arrivals(rng, rate, count, delay, lost=0.0):
    """Times of samples (n,) [s], their arrivals in order, whether bytes before each were damaged."""
    times = 5.0 + np.arange(count) / rate
    came = np.maximum.accumulate(times + delay(times, rng) + (rng.random(count) < 0.002) * 0.05)
    there = rng.random(count) >= lost
    noisy = np.append(False, ~there[:-1])
    return times[there], came[there], noisy[there]


@pytest.mark.parametrize(
    ("delay", "spread"),
    [
        (lambda t, rng: rng.exponential(0.002, len(t)), 0.3e-3),
        (lambda t, rng: np.ceil(t / 0.016) * 0.016 - t, 0.6e-3),  # the latency timer of an FTDI adapter
    ],
    ids=["jitter", "latency timer"],
)
def test_stamps_are_ten_times_better_than_arrivals(delay, spread):
    times, came, noisy = arrivals(np.random.default_rng(3), 100.7, 4000, delay)
    clock = SampleClock()
    stamps = np.array([clock.stamp(t, bad) for t, bad in zip(came, noisy, strict=True)])
    error = (stamps - times)[300:]
    assert clock.rate == pytest.approx(100.7, rel=1e-3)
    assert error.std() < spread < 0.12 * (came - times)[300:].std()
    assert (stamps <= came).all() and (np.diff(stamps) >= 0.0).all()


def test_lost_samples_leave_the_others_at_their_times():
    delay = lambda t, rng: rng.exponential(0.001, len(t))  # noqa: E731
    times, came, noisy = arrivals(np.random.default_rng(4), 99.0, 4000, delay, lost=0.02)
    clock = SampleClock()
    error = np.array([clock.stamp(t, bad) for t, bad in zip(came, noisy, strict=True)])[300:] - times[300:]
    assert np.percentile(np.abs(error), 95) < 2e-3


def test_a_pause_begins_anew():
    clock = SampleClock()
    for k in range(200):
        clock.stamp(k * 0.01)
    assert clock.rate == pytest.approx(100.0, rel=1e-3)
    assert clock.stamp(60.0) == 60.0
    assert np.isnan(clock.rate)


# The beginning of the vendor's table (ros_robot_controller_sdk.py).
VENDORS_TABLE = [0, 94, 188, 226, 97, 63, 221, 131, 194, 156, 126, 32, 163, 253, 31, 65]


def test_the_checksum_is_that_of_the_vendors_table():
    assert [frames.crc8(bytes((value,))) for value in range(16)] == VENDORS_TABLE
    assert frames.crc8(b"123456789") == 0xA1  # check value of CRC-8/MAXIM


def test_all_set_points_are_one_frame():
    frame = frames.set_positions(0.02, [(servo_id, 500 + servo_id) for servo_id in range(1, 19)])
    assert frame[:9] == bytes((0xAA, 0x55, 5, 4 + 18 * 3, 1, 20, 0, 18, 1))
    assert len(frame) == 5 + 4 + 18 * 3
    assert frames.stop([3, 4])[2:8] == bytes((5, 4, 3, 2, 3, 4))


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=4), st.binary(max_size=12), st.data())
def test_frames_are_found_behind_noise_in_pieces_of_any_size(parts, noise, data):
    stream = noise.replace(b"\xaa", b"") + b"".join(frames.build(Function.IMU, part) for part in parts)
    parser, found = FrameParser(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += parser.feed(stream[:size])
        stream = stream[size:]
    assert [frame.data for frame in found] == parts


@given(st.binary(min_size=3, max_size=10), st.integers(0, 119))
def test_one_changed_bit_is_never_accepted_and_the_next_frame_is_found(payload, place):
    frame = bytearray(frames.build(Function.BUS_SERVO, payload))
    frame[place // 8 % len(frame)] ^= 1 << place % 8
    good = frames.build(Function.SYSTEM, b"\x04\x10\x27")
    parser = FrameParser()
    found = parser.feed(bytes(frame) + good)
    while parser.incomplete:  # a changed length waits for bytes that do not come
        found += parser.give_up()
    assert bytes(payload) not in [each.data for each in found if each.function == Function.BUS_SERVO]
    assert found[-1].data == b"\x04\x10\x27"


def test_an_answer_with_success_other_than_zero_has_no_values():
    good = bytes((7, ServoCommand.READ_POSITION, 0)) + struct.pack("<h", -12)
    assert frames.parse_answer(good) == Answer((7, ServoCommand.READ_POSITION), struct.pack("<h", -12))
    assert frames.parse_answer(bytes((7, ServoCommand.READ_POSITION, 0xFF, 0, 0))) == Answer((7, 5), b"", code=0xFF)
    assert frames.parse_answer(good[:-1]) is None
    assert frames.parse_answer(b"\x07\x99\x00\x01") is None


def test_a_remote_control_walks_like_a_gamepad_and_releases_everything_when_its_signal_is_lost():
    channels = [992, 1792, 192, 592, 1792, 192] + [992] * 10  # forward, half to the left; its switches: drive, no stop
    remote = frames.parse_report(Function.SBUS, struct.pack("<16h4B", *channels, 1, 0, 0, 0))
    assert remote.channels[:6] == pytest.approx((0.0, 1.0, -1.0, -0.5, 1.0, -1.0)) and not remote.lost
    axes, buttons = remote_values(remote)
    assert axes == pytest.approx([0.0, 1.0, 1.0, 0.5, -1.0, 1.0, 0.0, 0.0])
    assert [index for index, down in enumerate(buttons) if down] == [4]
    for lost, fail_safe in ((1, 0), (0, 1)):
        gone = frames.parse_report(Function.SBUS, struct.pack("<16h4B", *channels, 0, 0, lost, fail_safe))
        assert gone.lost and remote_values(gone) == ([0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0], [0] * 11)
    beyond = frames.parse_report(Function.SBUS, struct.pack("<16h4B", *[2047] * 16, 0, 0, 0, 0))
    assert beyond.channels == (1.0,) * 16
    assert frames.parse_report(Function.SBUS, b"\x00" * 35) is None


def test_battery_imu_button_and_gamepad():
    assert frames.parse_report(Function.SYSTEM, b"\x04" + struct.pack("<H", 11740)).voltage == pytest.approx(11.74)
    assert frames.parse_report(Function.SYSTEM, b"\x05\x00\x00") is None
    assert frames.parse_report(Function.IMU, struct.pack("<6f", 0, 0, 1, 0, 0, 2)).values == (0, 0, 1, 0, 0, 2)
    assert frames.parse_report(Function.BUTTON, b"\x01\x20") == (1, 0x20)
    pad = frames.parse_report(Function.GAMEPAD, struct.pack("<HB4b", 0x4200, 9, -128, 127, 0, 64))
    assert pad == Pad(0x4200, 9, -128, 127, 0, 64)
    axes, buttons = joy_values(pad)
    assert axes == pytest.approx([1.0, 1.0, 1.0, 0.0, 64 / 127, 1.0, 1.0, 0.0])
    assert [index for index, down in enumerate(buttons) if down] == [1, 4]  # circle and L1
