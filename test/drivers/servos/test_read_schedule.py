"""Whose turn it is on the servo bus, when silence is a servo's and not the line's, which servos a pose is written to
and how fast they are told to move: with a clock and a wire of the test.
"""

import numpy as np
import pytest

from hexapod_dynamics.drivers.servos import chain as pose_writer
from hexapod_dynamics.drivers.servos.chain import PoseWriter
from hexapod_dynamics.drivers.servos.chain_state import (
    SILENT_PROBE,
    ChainSettings,
    ChainState,
    ReadSchedule,
    ServoLossDetector,
)
from hexapod_dynamics.drivers.servos.interface import PortSettings
from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.drivers.servos.lx.protocol import Command
from hexapod_dynamics.drivers.servos.lx.servos import LxServos
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap

N = 6
SETTINGS = ChainSettings()


@pytest.fixture
def state():
    """Six joints that all are known, with torque."""
    state = ChainState(N)
    state.angle[:] = state.stamp[:] = 0.0
    state.torque_on[:] = 1.0
    return state


def positions(state, count, interval=0.01):
    """Which joints are asked, one every `interval` s."""
    schedule, asked = ReadSchedule(N, SETTINGS), []
    for k in range(count):
        index, due = schedule.position(state, interval * k)
        asked.append(index if due <= interval * k else None)
        if due <= interval * k:
            schedule.note_request(index, interval * k)
    return asked


def test_positions_are_read_round_robin_and_no_joint_more_often_than_its_rate(state):
    assert positions(state, 12) == [*range(N), *range(N)]
    asked = positions(state, 200, interval=0.001)
    assert [asked.count(index) for index in range(N)] == [4] * N  # 20 a second, in 0.2 s


def test_what_is_gone_is_never_asked_and_what_is_silent_seldom(state):
    state.missing[1] = state.silent[2] = True
    state.stamp[2] = -10.0
    asked = positions(state, 100)
    assert 1 not in asked
    assert asked.count(2) == pytest.approx(1.0 / SILENT_PROBE, abs=1)
    state.missing[:] = True
    assert positions(state, 3) == [None] * 3


def test_what_has_just_fallen_silent_is_asked_again_soon(state):
    """With 0.5 % of the bytes lost five reads in a row fail by chance once in two hours, eight do not."""
    state.silent[2] = True
    state.stamp[2] = -0.2
    asked = positions(state, 36)
    assert asked.count(2) >= 5  # until 0.56 s after its last answer; after 0.585 s the detector calls it missing
    state.stamp[2] = -1.0
    assert positions(state, 60).count(2) <= 2


def test_an_unknown_pose_is_always_due(state):
    schedule = ReadSchedule(N, SETTINGS)
    for index in range(N):
        schedule.note_request(index, 0.01 * index)
    state.angle[4] = np.nan
    assert schedule.position(state, 0.049) == (4, 0.049)


def test_a_joint_in_doubt_is_asked_before_its_turn(state):
    schedule = ReadSchedule(N, SETTINGS)
    for index in range(N):
        schedule.note_request(index, 0.1 * index)
    schedule.ask_soon(5)
    turns = []
    for k in range(3):
        turns.append(schedule.position(state, 1.0 + 0.01 * k)[0])
        schedule.note_request(turns[-1], 1.0 + 0.01 * k)
    assert turns == [5, 0, 1]


def test_however_many_are_in_doubt_every_second_question_is_to_another(state):
    schedule, turns = ReadSchedule(N, SETTINGS), []
    for k in range(60):
        for index in (1, 2, 4, 5):
            schedule.ask_soon(index)
        index, due = schedule.position(state, 1.0 + 0.03 * k)
        assert due <= 1.0 + 0.03 * k
        schedule.note_request(index, due)
        turns.append(index)
    assert turns.count(0) >= 14 and turns.count(3) >= 14 and min(turns.count(index) for index in (1, 2, 4, 5)) >= 6


@pytest.mark.parametrize(("age", "least", "most"), [(10.0, 25, 34), (0.0, 35, 45)])
def test_many_silent_servos_take_few_of_the_questions(state, age, least, most):
    """Those that have just fallen silent take one in seven for a second."""
    state.silent[:5], state.stamp[:5] = True, -age
    schedule, turns, now = ReadSchedule(N, SETTINGS), [], 0.0
    while now < 5.0:
        index, due = schedule.position(state, now)
        if due <= now:
            schedule.note_request(index, now, bool(state.silent[index]))
            turns.append(index)
        now += 0.01
    assert set(turns) == set(range(N)) and least <= sum(index < 5 for index in turns) <= most
    assert turns.count(5) > 80


def slow_reads(state, seconds):
    schedule, reads = ReadSchedule(N, SETTINGS), []
    for k in range(round(seconds / 0.01)):
        kind, index = schedule.slow(state, 0.01 * k)
        if index >= 0:
            reads.append((kind, index))
    return reads


def test_every_joint_has_its_slow_reads(state):
    reads = slow_reads(state, 6 * N)
    for kind in ("voltage", "temperature", "loaded"):
        assert {index for k, index in reads if k == kind} == set(range(N))
    state.silent[3] = True
    assert 3 not in {index for _, index in slow_reads(state, 6 * N)}


def test_joints_that_do_not_follow_are_asked_whether_they_hold_within_a_second(state):
    state.lagging[[0, 2, 5]] = True
    reads = slow_reads(state, 1.0)
    assert {index for kind, index in reads if kind == "loaded"} == {0, 2, 5}
    assert sum(kind == "voltage" for kind, _ in reads) >= 3  # the supply may be why
    reads = slow_reads(state, 6.0)
    assert {index for kind, index in reads if kind == "temperature"} == {0, 2, 5}


def asked(judge, answers):
    """Ask the joints of {joint: it answers} in turn, four times; return who is called silent after each round."""
    rounds = []
    for _ in range(4):
        for index, answered in answers.items():
            judge.note_exchange(index, answered)
        rounds.append([index for index in answers if judge.is_silent(index)])
    return rounds


def test_on_a_clean_line_three_failures_are_silence():
    assert asked(ServoLossDetector(18), dict.fromkeys(range(18), True) | {1: False})[1:] == [[], [1], [1]]


@pytest.mark.parametrize("silent", [range(9), range(16), [0, 5]])
def test_however_many_are_silent_each_is_named_after_four_failures(silent):
    judge = ServoLossDetector(18)
    assert asked(judge, {index: index not in silent for index in range(18)})[-1] == list(silent)


def test_on_a_bad_line_silence_takes_more_failures():
    judge, chance = ServoLossDetector(N), np.random.default_rng(0)
    wrong = 0
    for _ in range(5000):
        index = int(chance.integers(N))
        judge.note_exchange(index, bool(chance.random() < 0.5))
        wrong += judge.is_silent(index)
    assert wrong < 3  # 5000 times 1e-5 was asked for; the loss itself is an estimate
    for _ in range(30):
        judge.note_exchange(1, False)
        judge.note_exchange(0, True)
    assert judge.is_silent(1)


def test_a_servo_that_is_asked_again_and_again_while_a_computer_stands_still_is_not_silent():
    judge = ServoLossDetector(18)
    asked(judge, dict.fromkeys(range(18), True))
    for _ in range(20):  # nothing is answered
        judge.note_exchange(3, False)
        judge.note_exchange(4, False)
    for index in (*range(3), *range(5, 18)):
        judge.note_exchange(index, True)
    judge.note_exchange(3, False)
    assert judge.failing[3] == 2 and not judge.is_silent(3) and not judge.is_silent(4)


def test_when_nobody_answers_no_servo_is_to_blame():
    judge = ServoLossDetector(N)
    for k in range(200):
        judge.note_exchange(k % N, False)
    assert not any(judge.is_silent(index) for index in range(N))
    judge.forget()
    assert not judge.failing.any()


MAP = ServoMap.from_robot(Robot.jethexa())
PERIOD, SPEED = 0.02, 120.0  # [s], [counts/s]
SPEEDS = np.full(18, SPEED) / lx.BUS_SERVO.per_radian  # [rad/s]


def angles(counts):
    return (counts - lx.BUS_SERVO.centre) / lx.BUS_SERVO.per_radian


class Wire(LxServos):
    """Servos behind a wire of the test; frames: (time, Frame) of all that was sent. The clock is the test's."""

    def __init__(self):
        super().__init__(PortSettings("wire"), MAP.ids)
        self.now, self.frames = 100.0, []

    def monotonic(self):
        return self.now

    def send(self, data):
        self.free_at = self.now + len(data) * self.byte_time
        self.frames += [(self.now, frame) for frame in lx.FrameParser().feed(data)]


@pytest.fixture
def wire(monkeypatch):
    wire = Wire()
    monkeypatch.setattr(pose_writer, "time", wire)
    return wire


@pytest.fixture
def robot_state():
    state = ChainState(18)
    state.angle[:], state.stamp[:] = 0.0, 100.0
    return state


def test_servos_that_do_not_answer_are_not_moved(wire, robot_state):
    robot_state.silent[:9] = True
    writer = PoseWriter(wire, ChainSettings())
    assert writer.write(angles(np.full(18, 300)), PERIOD, SPEEDS, robot_state, lambda: False)
    moved = {frame.servo_id for _, frame in wire.frames if frame.command == Command.MOVE_TIME_WAIT_WRITE}
    assert moved == set(MAP.ids[9:])


def test_a_pose_that_is_sent_late_takes_longer_for_all_joints_together(wire, robot_state):
    writer = PoseWriter(wire, ChainSettings())
    writer.write(angles(np.full(18, 300)), PERIOD, SPEEDS, robot_state, lambda: False)
    wire.now += 1.0
    counts = np.full(18, 300)
    counts[3] = 324  # 0.2 s at SPEED
    wire.frames.clear()
    writer.write(angles(counts), PERIOD, SPEEDS, robot_state, lambda: False)
    durations = {
        lx.REQUEST[frame.command].unpack(frame.payload)[1]
        for _, frame in wire.frames
        if frame.command == Command.MOVE_TIME_WAIT_WRITE
    }
    assert durations == {round(200 / 1.1)}


def test_a_cancelled_pose_is_not_sent(wire, robot_state):
    writer = PoseWriter(wire, ChainSettings())
    assert not writer.write(angles(np.full(18, 300)), PERIOD, None, robot_state, lambda: True)
    assert not wire.frames
