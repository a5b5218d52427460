"""Bytes that are no message of the type raise what the nodes expect."""

import contextlib
import resource
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from geometry_msgs.msg import Twist
from hexapod_dynamics.ros.guarded_node import MALFORMED, read_message
from rcl_interfaces.msg import ParameterEvent
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState

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
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with contextlib.suppress(*MALFORMED):
        read_message(data.draw(malformed(whole)), kind)
    assert time.process_time() - began < 2.0
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 64 << 20
    assert serialize_message(read_message(whole, kind)) == whole  # what came before leaves nothing behind
