"""Which servos a pose is written to, and how fast they are told to move: with a clock and a wire of the test."""

import numpy as np
import pytest

from hexapod_dynamics.drivers.servos import chain as pose_writer
from hexapod_dynamics.drivers.servos.chain import PoseWriter
from hexapod_dynamics.drivers.servos.chain_state import ChainSettings, ChainState
from hexapod_dynamics.drivers.servos.interface import PortSettings
from hexapod_dynamics.drivers.servos.lx import protocol as lx
from hexapod_dynamics.drivers.servos.lx.protocol import Command
from hexapod_dynamics.drivers.servos.lx.servos import LxServos
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap

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
def state():
    state = ChainState(18)
    state.angle[:], state.stamp[:] = 0.0, 100.0
    return state


def moves_of(wire, state, seconds):
    """All joints move at SPEED for some seconds, 50 poses a second; (time, count, duration [s]) of each joint's."""
    writer = PoseWriter(wire, ChainSettings())
    for _ in range(round(seconds / PERIOD)):
        wire.now += PERIOD
        state.stamp[:] = wire.now
        targets = angles(np.full(18, round(300 + SPEED * (wire.now - 100.0))))
        assert writer.write(targets, PERIOD, SPEEDS, state, lambda: False)
    found = {servo_id: [] for servo_id in MAP.ids}
    for t, frame in wire.frames:
        if frame.command == Command.MOVE_TIME_WAIT_WRITE:
            count, milliseconds = lx.REQUEST[frame.command].unpack(frame.payload)
            found[frame.servo_id].append((t, count, 1e-3 * milliseconds))
    return [found[servo_id] for servo_id in MAP.ids]


def test_servos_that_do_not_answer_are_moved_five_times_a_second_and_the_others_with_each_pose(wire, state):
    state.silent[:9] = True
    moves = moves_of(wire, state, 2.0)
    assert [len(each) for each in moves] == [10] * 9 + [100] * 9


def test_a_servo_that_is_written_seldom_moves_no_faster_than_allowed_and_delays_no_other(wire, state):
    state.silent[4] = True
    moves = moves_of(wire, state, 2.0)
    for (_, before, _), (_, count, duration) in zip(moves[4], moves[4][1:], strict=False):
        assert (count - before) / duration < 1.15 * SPEED  # 1.1 and the millisecond to which times are rounded
    assert max(duration for _, _, duration in moves[5]) < 1.5 * PERIOD  # the silent one needs 0.18 s


def test_a_pose_that_is_sent_late_takes_longer_for_all_joints_together(wire, state):
    writer = PoseWriter(wire, ChainSettings())
    writer.write(angles(np.full(18, 300)), PERIOD, SPEEDS, state, lambda: False)
    wire.now += 1.0
    counts = np.full(18, 300)
    counts[3] = 324  # 0.2 s at SPEED
    wire.frames.clear()
    writer.write(angles(counts), PERIOD, SPEEDS, state, lambda: False)
    durations = {
        lx.REQUEST[frame.command].unpack(frame.payload)[1]
        for _, frame in wire.frames
        if frame.command == Command.MOVE_TIME_WAIT_WRITE
    }
    assert durations == {round(200 / 1.1)}


def test_a_cancelled_pose_is_not_sent(wire, state):
    writer = PoseWriter(wire, ChainSettings())
    assert not writer.write(angles(np.full(18, 300)), PERIOD, None, state, lambda: True)
    assert not wire.frames
