"""Bytes that the nodes read and write themselves are those of rclpy, whatever names and numbers they hold."""

import contextlib
import resource
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry_msgs.msg import Twist
from hexapod_dynamics.ros import cdr
from hexapod_dynamics.ros.cdr import (
    MALFORMED,
    START,
    ImuReader,
    JointStateReader,
    Template,
    joint_template,
    message_reader,
)
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import ParameterEvent
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu, JointState

NUMBERS = st.floats(width=64, allow_nan=False)
NAMES = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=12)
NANOSECONDS = st.integers(0, (1 << 31) * 10**9 - 1)
READER = JointStateReader()


def stamp(message, nanoseconds):
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(nanoseconds, 10**9)


@settings(max_examples=200, deadline=None)
@given(st.lists(NAMES, max_size=5), NAMES, NANOSECONDS, st.lists(NUMBERS, max_size=5), st.lists(NUMBERS, max_size=5))
def test_joint_states_are_read_as_rclpy_reads_them(names, frame, nanoseconds, position, effort):
    message = JointState(name=names, position=position, effort=effort)
    message.header.frame_id = frame
    stamp(message, nanoseconds)
    read = READER.read(serialize_message(message))
    assert read is READER
    assert read.name == names and read.header.frame_id == frame
    assert (read.header.stamp.sec, read.header.stamp.nanosec) == divmod(nanoseconds, 10**9)
    assert read.position.tolist() == position and read.effort.tolist() == effort and len(read.velocity) == 0


def test_the_list_of_names_is_the_same_while_the_names_are():
    reader = JointStateReader()
    data = serialize_message(JointState(name=["a", "bc"], position=[1.0, 2.0]))
    names = reader.read(data).name
    assert reader.read(data).name is names
    assert reader.read(serialize_message(JointState(name=["a", "bd"]))).name == ["a", "bd"]
    assert reader.read(serialize_message(JointState(name=["a"]))).name == ["a"]


@settings(max_examples=100, deadline=None)
@given(NAMES, NANOSECONDS, st.lists(NUMBERS, min_size=37, max_size=37))
def test_imus_are_read_as_rclpy_reads_them(frame, nanoseconds, numbers):
    message = Imu()
    message.header.frame_id = frame
    stamp(message, nanoseconds)
    o, w, a = message.orientation, message.angular_velocity, message.linear_acceleration
    (o.x, o.y, o.z, o.w), (w.x, w.y, w.z), (a.x, a.y, a.z) = numbers[:4], numbers[4:7], numbers[7:10]
    message.orientation_covariance, message.angular_velocity_covariance = numbers[10:19], numbers[19:28]
    message.linear_acceleration_covariance = numbers[28:]
    read = ImuReader().read(serialize_message(message))
    o, w, a = read.orientation, read.angular_velocity, read.linear_acceleration
    assert [o.x, o.y, o.z, o.w, w.x, w.y, w.z, a.x, a.y, a.z] == numbers[:10]
    assert list(read.orientation_covariance) == numbers[10:19]
    assert [*read.angular_velocity_covariance, *read.linear_acceleration_covariance] == numbers[19:]
    assert read.header.frame_id == frame
    assert (read.header.stamp.sec, read.header.stamp.nanosec) == divmod(nanoseconds, 10**9)


@pytest.mark.parametrize("reader, kind", [(JointStateReader, JointState), (ImuReader, Imu)])
def test_bytes_that_are_no_message_fail_as_they_do_in_rclpy(reader, kind):
    whole = serialize_message(JointState(name=["a"], position=[1.0]) if kind is JointState else Imu())
    for data in (whole[:-6], whole[:16], b"\x00\x01\x00\x00" + b"\xff" * 60):
        try:
            wanted = deserialize_message(data, kind)
        except Exception as error:
            with pytest.raises(type(error)):
                reader().read(data)
        else:
            assert reader().read(data).header.stamp.sec == wanted.header.stamp.sec


VALID = {
    JointState: JointState(name=["a", "bcd"], position=[1.0, 2.0], velocity=[3.0, 4.0], effort=[5.0]),
    Imu: Imu(),
    Twist: Twist(),
    ParameterEvent: ParameterEvent(
        node="n",
        new_parameters=[Parameter("a", value=True).to_parameter_msg(), Parameter("b", value=[1.0]).to_parameter_msg()],
    ),
}
LENGTHS = (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x10", b"\0\0\0\0", b"\1\0\0\0")


@st.composite
def malformed(draw, whole):
    """Give random bytes, or a valid message with another encoding, flipped bits, another length, or its end cut off."""
    if draw(st.booleans()):
        return draw(st.sampled_from((b"", b"\0\1\0\0"))) + draw(st.binary(max_size=400))
    data = bytearray(whole)
    data[:2] = draw(st.sampled_from((b"\0\1", b"\0\1", b"\0\0", b"\0\3", b"\0\7", b"\0\x0b", b"\xff\1")))
    for _ in range(draw(st.integers(0, 3))):
        data[draw(st.integers(4, len(data) - 1))] ^= 1 << draw(st.integers(0, 7))
    if draw(st.booleans()):
        at = 4 * draw(st.integers(1, len(data) // 4 - 1))
        data[at : at + 4] = draw(st.sampled_from(LENGTHS))
    return bytes(data[: draw(st.integers(0, len(data)))]) if draw(st.booleans()) else bytes(data)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(list(VALID)), st.data())
def test_malformed_bytes_raise_what_the_nodes_expect_and_nothing_grows(kind, data):
    whole = serialize_message(VALID[kind])
    read = message_reader(kind)
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with contextlib.suppress(*MALFORMED):
        read(data.draw(malformed(whole)))
    assert time.process_time() - began < 2.0
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 64 << 20
    after = read(whole)  # what came before leaves nothing behind
    if kind is JointState:
        assert after.name == ["a", "bcd"] and [*after.position, *after.velocity, *after.effort] == [1, 2, 3, 4, 5]
        assert after.header.frame_id == "" and after.header.stamp.sec == 0
    elif kind is Imu:
        assert list(after.orientation_covariance) == [0.0] * 9 and after.orientation.w == VALID[kind].orientation.w
    else:
        assert after == VALID[kind]


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(0, 5), NAMES, NANOSECONDS)
def test_a_template_gives_the_message_of_rclpy(data, n, frame, nanoseconds):
    names = data.draw(st.lists(NAMES, min_size=n, max_size=n))
    numbers = data.draw(st.lists(NUMBERS, min_size=2 * n, max_size=2 * n))
    message = JointState(name=names, position=numbers[:n], velocity=numbers[n:])
    message.header.frame_id = frame
    stamp(message, nanoseconds)
    template = joint_template(names, frame)
    template.bytes(0, np.ones(2 * n).tolist())
    assert deserialize_message(template.bytes(nanoseconds, numbers), JointState) == message
    message = JointState(name=names, effort=numbers[:n])
    stamp(message, nanoseconds)
    assert (
        deserialize_message(joint_template(names, effort=True).bytes(nanoseconds, numbers[:n]), JointState) == message
    )


class Padded:
    """rclpy's serialisation as Fast DDS does it: bytes that belong to no member are what was in the memory before."""

    def __init__(self):
        self.random = np.random.default_rng(0)

    def __call__(self, message):
        plain = serialize_message(message)
        text = {
            START + 12 + k for k in range(len(message.header.frame_id.encode()) + 1)
        }  # the frame; padding follows it
        end = max(text) + 1
        data = bytearray(plain)
        for k in range(end, end + (START - end) % 4):
            data[k] = self.random.integers(1, 256)
        return bytes(data) + bytes(data[-8:])  # more than the message needs, with what was there before


@pytest.mark.parametrize("frame", ["", "ab", "base", "left/imu"])
def test_bytes_between_the_members_do_not_move_the_numbers(frame, monkeypatch):
    monkeypatch.setattr(cdr, "serialize_message", Padded())
    names, numbers = [f"joint_{'x' * k}" for k in range(6)], np.arange(12.0) - 3.5
    template = joint_template(names, frame)
    wanted = JointState(name=names, position=numbers[:6], velocity=numbers[6:])
    wanted.header.frame_id = frame
    stamp(wanted, 5_000_000_007)
    assert deserialize_message(template.bytes(5_000_000_007, numbers.tolist()), JointState) == wanted


def test_a_template_finds_numbers_that_are_apart():
    def fill(message, values):
        message.pose.pose.position.y, message.pose.covariance[35], message.twist.twist.angular.z = values

    message = Odometry(child_frame_id="left/base_link")
    message.twist.covariance = np.arange(36.0)
    template = Template(message, fill, 3)
    fill(message, [-1.5, 1e-300, np.pi])
    stamp(message, 12_345_678_901)
    assert deserialize_message(template.bytes(12_345_678_901, [-1.5, 1e-300, np.pi]), Odometry) == message
