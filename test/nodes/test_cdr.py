"""Bytes that the nodes read and write themselves are those of rclpy, whatever names and numbers they hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapod_dynamics.nodes.cdr import ImuReader, JointStateReader, Template, joint_template
from nav_msgs.msg import Odometry
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


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(0, 5), NAMES, NANOSECONDS)
def test_a_template_gives_the_bytes_of_rclpy(data, n, frame, nanoseconds):
    names = data.draw(st.lists(NAMES, min_size=n, max_size=n))
    numbers = data.draw(st.lists(NUMBERS, min_size=2 * n, max_size=2 * n))
    message = JointState(name=names, position=numbers[:n], velocity=numbers[n:])
    message.header.frame_id = frame
    stamp(message, nanoseconds)
    template = joint_template(names, frame)
    template.bytes(0, np.ones(2 * n).tolist())
    assert template.bytes(nanoseconds, numbers) == serialize_message(message)
    message = JointState(name=names, effort=numbers[:n])
    stamp(message, nanoseconds)
    assert joint_template(names, effort=True).bytes(nanoseconds, numbers[:n]) == serialize_message(message)


def test_a_template_finds_numbers_that_are_apart():
    def fill(message, values):
        message.pose.pose.position.y, message.pose.covariance[35], message.twist.twist.angular.z = values

    message = Odometry(child_frame_id="left/base_link")
    message.twist.covariance = np.arange(36.0)
    template = Template(message, fill, 3)
    fill(message, [-1.5, 1e-300, np.pi])
    stamp(message, 12_345_678_901)
    assert template.bytes(12_345_678_901, [-1.5, 1e-300, np.pi]) == serialize_message(message)
