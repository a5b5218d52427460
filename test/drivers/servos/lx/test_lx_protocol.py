"""Frames of the LX/HTD protocol: every command, every refusal, and what garbage does to the parsers."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapod_dynamics.devices.servos import VirtualServos
from hexapod_dynamics.drivers.servos.interface import PortSettings
from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.drivers.servos.lx.protocol import Command
from hexapod_dynamics.drivers.servos.lx.servos import LxServos
from hexapod_dynamics.drivers.servos.reader import PositionGate
from hexapod_dynamics.errors import DeviceError

COUNT = 1.0 / lx.BUS_SERVO.per_radian
IDS = st.integers(0, 253)


def answer_in(received, servo_id, command):
    """Return the data of the answer that the driver takes from these bytes, None without one."""
    found = LxServos(PortSettings("nowhere"), ())._parse(received, 0.0)
    return next((each.data for each in found if each.key == (servo_id, command) and each.alone), None)


def spoiled(received):
    """Return the last frame with a wrong checksum."""
    parser = lx.FrameParser()
    parser.feed(received)
    return parser.broken


def test_frames_are_those_of_the_protocol_document():
    assert lx.read_request(1, Command.POS_READ) == bytes.fromhex("55 55 01 03 1c df")
    assert lx.read_request(1, Command.VIN_READ) == bytes.fromhex("55 55 01 03 1b e0")
    assert lx.move_time(1, lx.angle_from_count(500), 1.0) == bytes.fromhex("55 55 01 07 01 f4 01 e8 03 16")
    assert lx.write(lx.BROADCAST_ID, Command.MOVE_START) == bytes.fromhex("55 55 fe 03 0b f3")
    assert lx.write(3, Command.LOAD_OR_UNLOAD_WRITE, False) == bytes.fromhex("55 55 03 04 1f 00 d9")


@pytest.mark.parametrize("command", sorted(lx.NEVER_BROADCAST), ids=lambda c: c.name)
def test_what_is_saved_is_never_broadcast(command):
    with pytest.raises(DeviceError, match="254"):
        lx.build(lx.BROADCAST_ID, command, b"\x01")


@given(st.floats(-2.0943, 2.0943), st.floats(0.0, 30.0), IDS)
def test_a_move_arrives_within_half_a_count_and_half_a_millisecond(angle, duration, servo_id):
    frame, start = lx.FrameParser().feed(lx.pose([(servo_id, lx.count_from_angle(angle), duration)]))
    assert start[:3] == (lx.BROADCAST_ID, Command.MOVE_START, b"")
    move = lx.decode(Command.MOVE_TIME_WAIT_READ, frame.payload)
    assert frame.servo_id == servo_id and frame.command == Command.MOVE_TIME_WAIT_WRITE
    assert abs(move.angle - angle) <= 0.5 * COUNT + 1e-12
    assert abs(move.duration - duration) <= 0.0005 + 1e-12


@given(st.integers(-32768, 32767))
def test_positions_are_signed(count):
    payload = answer_in(lx.encode_reply(7, Command.POS_READ, count), 7, Command.POS_READ)
    assert lx.decode(Command.POS_READ, payload) == pytest.approx((count - 500) * COUNT, abs=1e-12)


WRITES_AND_READS = [
    (lx.move_time(1, 0.5, 1.25), Command.MOVE_TIME_READ, lx.Move(lx.angle_from_count(lx.count_from_angle(0.5)), 1.25)),
    (
        lx.write(1, Command.MOVE_TIME_WAIT_WRITE, lx.count_from_angle(-0.5), 20),
        Command.MOVE_TIME_WAIT_READ,
        lx.Move(lx.angle_from_count(lx.count_from_angle(-0.5)), 0.02),
    ),
    (lx.angle_offset_adjust(1, -0.1), Command.ANGLE_OFFSET_READ, lx.offset_count(-0.1) * COUNT),
    (
        lx.write(1, Command.ANGLE_LIMIT_WRITE, lx.count_from_angle(-1.0), lx.count_from_angle(1.2)),
        Command.ANGLE_LIMIT_READ,
        (lx.angle_from_count(lx.count_from_angle(-1.0)), lx.angle_from_count(lx.count_from_angle(1.2))),
    ),
    (lx.write(1, Command.VIN_LIMIT_WRITE, 9000, 12600), Command.VIN_LIMIT_READ, (9.0, 12.6)),
    (lx.write(1, Command.TEMP_MAX_LIMIT_WRITE, 70), Command.TEMP_MAX_LIMIT_READ, 70),
    (lx.write(1, Command.OR_MOTOR_MODE_WRITE, 1, 0, -400), Command.OR_MOTOR_MODE_READ, lx.Mode(True, -0.4)),
    (lx.write(1, Command.LOAD_OR_UNLOAD_WRITE, True), Command.LOAD_OR_UNLOAD_READ, True),
    (lx.write(1, Command.LED_CTRL_WRITE, 1), Command.LED_CTRL_READ, False),
    (lx.write(1, Command.LED_ERROR_WRITE, 2), Command.LED_ERROR_READ, lx.LedError.OVER_VOLTAGE),
]


@pytest.mark.parametrize(("write", "read", "value"), WRITES_AND_READS, ids=lambda v: getattr(v, "name", ""))
def test_a_servo_reads_back_what_was_written(write, read, value):
    servos, parser = VirtualServos([1, 2], [1, -1]), lx.FrameParser()
    frame, request = parser.feed(write + lx.read_request(1, read))
    assert servos.execute(frame, 0.0) == []
    (answer,) = servos.execute(request, 0.1)
    found = lx.decode(read, answer_in(answer, 1, read))
    assert type(found) is type(value) and found == (pytest.approx(value) if type(value) is float else value)
    (other,) = servos.execute(request._replace(servo_id=2), 0.1)
    assert answer_in(other, 1, read) is None


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=12).filter(lambda b: 0x55 not in b),
            st.tuples(IDS, st.sampled_from(sorted(lx.READS))).map(lambda pair: lx.read_request(*pair)),
        ),
        max_size=20,
    ),
    st.lists(st.integers(1, 9), min_size=1, max_size=9),
)
def test_every_frame_between_garbage_is_found_however_it_is_cut(pieces, cuts):
    stream = b"".join(pieces)
    # Garbage without header bytes cannot hide a frame; the checksum 55 of a frame before could begin one.
    expected = [piece for piece in pieces if piece[:2] == lx.HEADER and len(piece) == 6]
    if any(piece[-1] == 0x55 for piece in expected):
        return
    parser, found, at = lx.FrameParser(), [], 0
    while at < len(stream):
        size = cuts[at % len(cuts)]
        chunk = stream[at : at + size]
        at += len(chunk)
        found += [(frame, at - frame.behind) for frame in parser.feed(chunk)]
    assert [lx.build(f.servo_id, f.command, f.payload) for f, _ in found] == expected
    for frame, end in found:
        assert stream[end - 6 : end] == lx.build(frame.servo_id, frame.command)


def test_an_answer_with_the_next_one_begun_behind_it_is_not_damaged():
    answer = lx.frame(1, Command.POS_READ, b"\x10\x02")
    for behind in range(len(answer)):
        received = answer + answer[:behind]
        assert not spoiled(received)
        assert (answer_in(received, 1, Command.POS_READ) is None) == (behind > 0)
    assert answer_in(answer + answer, 1, Command.POS_READ) == b"\x10\x02"
    for place in (5, 6, 7):  # the position and the checksum
        damaged = bytearray(answer)
        damaged[place] ^= 1
        assert spoiled(bytes(damaged)).startswith(lx.reply_begin(1, Command.POS_READ))
    assert not spoiled(answer[:-1])


@given(st.binary(max_size=200))
def test_garbage_raises_nothing_and_every_frame_found_is_really_there(data):
    parser = lx.FrameParser()
    for frame in parser.feed(data):
        assert lx.frame(frame.servo_id, frame.command, frame.payload) in data
    answer_in(data, 5, Command.POS_READ)
    servos = VirtualServos(range(6), [1] * 6)
    for frame in lx.FrameParser().feed(data):
        servos.execute(frame, 0.0)


@given(st.binary(min_size=1, max_size=20).filter(lambda b: 0x55 not in b))
def test_a_frame_after_a_false_header_is_found(garbage):
    frame = lx.write(lx.BROADCAST_ID, Command.MOVE_START)
    for lead in (b"\x55", b"\x55\x55", b"\x55\x55\x01", b"\x55\x55\x01\x07"):
        found = lx.FrameParser().feed(lead + frame + garbage + frame + bytes(12))
        assert len(found) >= 1 and found[-1].command == Command.MOVE_START


def test_own_echo_and_other_servos_answers_are_passed_over():
    request, answer = lx.read_request(4, Command.POS_READ), lx.encode_reply(4, Command.POS_READ, 321)
    other, late = lx.encode_reply(5, Command.POS_READ, 111), lx.encode_reply(4, Command.VIN_READ, 11800)
    payload = answer_in(request + other + late + b"\x00\x55" + answer, 4, Command.POS_READ)
    assert lx.decode(Command.POS_READ, payload) == pytest.approx(lx.angle_from_count(321))
    assert answer_in(request, 4, Command.POS_READ) is None
    assert answer_in(other + late, 4, Command.POS_READ) is None


ANSWER = lx.encode_reply(9, Command.POS_READ, 612)


@given(st.sampled_from(("changed", "inserted", "lost")), st.integers(0, len(ANSWER)), st.integers(0, 255))
def test_one_changed_inserted_or_lost_byte_is_never_taken_for_another_value(damage, at, value):
    behind = ANSWER[at:] if damage == "inserted" else ANSWER[at + 1 :]
    damaged = ANSWER[:at] + (b"" if damage == "lost" else bytes((value,))) + behind
    payload = answer_in(damaged, 9, Command.POS_READ)
    assert payload is None or damaged == ANSWER or (damage != "changed" and payload == ANSWER[5:7])


# Largest error [rad] of a reading that may be taken: two that agree, one of them perhaps wrong by as much, a count of
# resolution, and what the joint moves between the two.
WORST = PositionGate.AGREEMENT + 0.0042 + 1.2 * 0.002


def mutated(frame, chance):
    """Change a frame in one to four places: flip, replace, insert, drop, cut off, double."""
    data = bytearray(frame)
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = chance.randrange(256)
        elif kind == 2:
            data.insert(at, chance.randrange(256))
        elif kind == 3 and at < len(data):
            del data[at]
        elif kind == 4:
            del data[at:]
        else:
            data += frame
    return bytes(data)


def fuzz(seed, frames):
    """Read one servo over a line that damages nine answers of ten, and send servos as many damaged or random frames.

    Returns how many readings were taken and their largest error [rad]; how many answers were refused as damaged; how
    many frames the servos found in what was sent to them.
    """
    chance = random.Random(seed)
    check, truth, t, worst, taken, damaged, found = PositionGate(), 0.0, 0.0, 0.0, 0, 0, 0
    servos, parser = VirtualServos(range(20), [1] * 20, loaded=True), lx.FrameParser()
    commands = sorted(Command)
    for _ in range(frames):
        t += 0.002 if chance.random() < 0.8 else 0.16
        command = chance.choice(commands)
        sent = mutated(lx.frame(chance.randrange(20), command, chance.randbytes(chance.randrange(5))), chance)
        for frame in parser.feed(sent if chance.random() < 0.7 else chance.randbytes(chance.randrange(16))):
            servos.execute(frame, t)
            found += 1
        truth = 0.6 * math.sin(2.0 * t)
        answer = lx.encode_reply(9, Command.POS_READ, lx.count_from_angle(truth))
        heard = answer if chance.random() < 0.1 else mutated(answer, chance)
        payload = answer_in(heard, 9, Command.POS_READ)
        if payload is None:
            damaged += 1
            check.warn(t)
            continue
        value = lx.decode(Command.POS_READ, payload)
        if check.accept(value, t):
            taken += 1
            worst = max(worst, abs(value - truth))
    return taken, worst, damaged, found


@pytest.mark.parametrize("seed", range(4))
def test_no_value_that_is_far_off_gets_through_a_terrible_line(seed):
    taken, worst, damaged, found = fuzz(seed, 5000)
    assert taken > 100 and damaged > 2000 and found > 1000
    assert worst < WORST


@pytest.mark.parametrize(
    "readings",
    [
        # After a leap a second reading that agrees is needed.
        [(0.5, 0.0, False), (0.51, 0.002, True), (0.52, 0.05, True)]
        + [(1.2, 0.10, False), (-1.0, 0.102, False), (-1.0, 0.104, True)],
        # Near the target it is not.
        [(0.5, 0.0, True, 0.45), (-0.4, 0.16, True, -0.45)],
        # What no servo can read is never taken.
        [(lx.angle_from_count(1800), 0.001 * i, False) for i in range(10)],
    ],
)
def test_a_reading_is_taken_where_it_is_expected_or_if_a_second_one_agrees(readings):
    gate = PositionGate()
    for angle, t, accepted, *target in readings:
        assert gate.accept(angle, t, *target) == accepted
