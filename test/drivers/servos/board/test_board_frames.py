"""Frames of the STM32 board: against the vendor's table, bit by bit, and through noise."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapod_dynamics.drivers.frame_finder import Answer
from hexapod_dynamics.drivers.servos.board import protocol as frames
from hexapod_dynamics.drivers.servos.board.protocol import (
    FrameParser,
    Function,
    Pad,
    ServoCommand,
    joy_values,
    remote_values,
)

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
