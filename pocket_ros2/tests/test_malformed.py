"""Bytes that are no message of their type: refused by every reader, and dropped by nodes, which go on."""

import contextlib
import random
import resource
import time

import pytest
from conftest import spin_until
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cdr import random_message

import rclpy
from pocket_ros2 import cdr, dds, definitions, graph_wire
from pocket_ros2.services import SERVICES
from rclpy.serialization import serialize_message
from std_msgs.msg import Header, String, UInt8MultiArray
from std_srvs.srv import SetBool

HALVES = [f"{service}_{half}" for service in SERVICES for half in ("Request", "Response")]
TYPES = sorted(
    {f"{package}/msg/{name}" for package in definitions.PACKAGES for name in definitions.message_names(package)}
    | set(HALVES)
)
LENGTHS = (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x10", b"\0\0\0\0")
LARGEST = 64 << 20  # bytes that the reader of a small sample may allocate


def is_refused_or_read(read, *arguments):
    """Call a reader; anything but a value or CorruptMessage, more than 2 s of CPU or 64 MB is a failure."""
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with contextlib.suppress(cdr.CorruptMessage):
        read(*arguments)
    assert time.process_time() - began < 2.0
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < LARGEST


@st.composite
def spoiled(draw, whole):
    """Give the bytes of a valid sample with bits flipped, a length made giant, or its end cut off."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(0, 3))):
        data[draw(st.integers(0, len(data) - 1))] ^= 1 << draw(st.integers(0, 7))
    if draw(st.booleans()) and len(data) >= 8:
        at = 4 * draw(st.integers(1, len(data) // 4 - 1))
        data[at : at + 4] = draw(st.sampled_from(LENGTHS))
    return bytes(data[: draw(st.integers(0, len(data)))]) if draw(st.booleans()) else bytes(data)


@settings(max_examples=1000, deadline=None)
@given(typename=st.sampled_from(TYPES), data=st.data())
def test_a_reader_raises_one_error_only(typename, data):
    header = cdr.HEADER + bytes(16) if typename in HALVES else cdr.HEADER
    message = random_message(typename, random.Random(data.draw(st.integers(0, 5))))
    whole = cdr.serializer(typename)(message, header)
    noise = st.binary(max_size=200)
    raw = data.draw(st.one_of(noise, noise.map(lambda tail: header + tail), spoiled(whole)))
    is_refused_or_read(cdr.deserializer(typename), raw, len(header))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_the_reader_of_announced_nodes_raises_one_error_only(data):
    nodes = [graph_wire.NodeEntities("/", "a", (bytes(16),), ()), graph_wire.NodeEntities("/b", "c", (), (bytes(16),))]
    whole = graph_wire.pack(bytes(range(16)), nodes)
    is_refused_or_read(graph_wire.unpack, data.draw(st.one_of(st.binary(max_size=200), spoiled(whole))))


def test_text_that_ends_behind_the_message_is_refused():
    whole = cdr.serializer("std_msgs/msg/String")(String(data="abcdefgh"))
    with pytest.raises(cdr.CorruptMessage, match="16 bytes; its members need 17"):
        cdr.deserializer("std_msgs/msg/String")(whole[:16])


def test_a_giant_count_of_octets_allocates_nothing():
    kind = "rcl_interfaces/msg/ParameterValue"
    whole = bytearray(cdr.serializer(kind)(random_message(kind, random.Random(1))))
    for at in range(4, len(whole) - 4, 4):
        giant = whole[:at] + b"\xff\xff\xff\x7f" + whole[at + 4 :]
        is_refused_or_read(cdr.deserializer(kind), bytes(giant))


@pytest.mark.parametrize("encoding", [b"\0\3", b"\0\7", b"\0\x0b", b"\1\1"])
def test_a_node_drops_a_message_of_another_encoding_and_names_its_publisher(ros, node, encoding, capfd):
    heard = []
    subscription = node.create_subscription(String, "spoken", heard.append, 10)
    other = ros.create_node("stranger")
    publisher = other.create_publisher(String, "spoken", 10)
    spin_until(node, lambda: subscription.get_publisher_count() == 1 and publisher.get_subscription_count() == 1)
    publisher.publish(encoding + serialize_message(String(data="bad"))[2:])
    publisher.publish(String(data="good"))
    spin_until(node, lambda: heard)
    assert heard == [String(data="good")]
    said = capfd.readouterr().err
    assert "/spoken" in said and encoding.hex() in said and "/stranger" in said, said
    other.destroy_node()


def test_a_subscription_knows_the_publisher_of_its_last_message(ros, node):
    subscription = node.create_subscription(Header, "stamped", lambda message: None, 10)
    assert subscription.handle.last_publisher_gid() is None
    publishers = [node.create_publisher(Header, "stamped", 10) for _ in range(2)]
    spin_until(node, lambda: subscription.get_publisher_count() == 2)
    known = [bytes(info.endpoint_gid[:16]) for info in node.get_publishers_info_by_topic("stamped")]
    found = []
    for publisher in publishers:
        publisher.publish(Header())
        end = time.monotonic() + 10
        while subscription.handle.take_message(Header, False) is None:
            assert time.monotonic() < end
            time.sleep(0.01)
        found.append(subscription.handle.last_publisher_gid())
    assert found == [publisher._endpoint.guid for publisher in publishers] and set(found) == set(known)


def test_a_server_drops_a_malformed_request_and_serves_the_next(node):
    calls = []

    def serve(request, response):
        calls.append(request.data)
        response.success = True
        return response

    node.create_service(SetBool, "switch", serve)
    client = node.create_client(SetBool, "switch")
    assert client.wait_for_service(timeout_sec=10)
    spoiled = b"\0\3\0\0" + bytes(16) + b"\1\0\0\0"
    assert dds.write(client.handle.handle, spoiled) >= 0
    future = client.call_async(SetBool.Request(data=True))
    rclpy.spin_until_future_complete(node, future, timeout_sec=10)
    assert future.result().success and calls == [True]


def test_a_client_drops_a_malformed_reply_and_gets_its_own(node):
    service = node.create_service(SetBool, "switch", lambda request, response: response)
    client = node.create_client(SetBool, "switch")
    assert client.wait_for_service(timeout_sec=10)
    future = client.call_async(SetBool.Request())
    reply = b"\0\3\0\0" + client._identity_bytes + (1).to_bytes(8, "little") + b"\1\0\0\0\1\0\0\0\0\0\0\0"
    assert dds.write(service._replies.handle, reply) >= 0
    rclpy.spin_until_future_complete(node, future, timeout_sec=10)
    assert future.done() and not future.result().success


def test_the_tool_that_prints_messages_goes_on(ros, node):
    """`ros2 topic echo` and others spin a node: an octet array that is no array does not end them."""
    heard = []
    subscription = node.create_subscription(UInt8MultiArray, "octets", heard.append, 10)
    publisher = node.create_publisher(UInt8MultiArray, "octets", 10)
    spin_until(node, lambda: subscription.get_publisher_count() == 1)
    for _ in range(20):
        publisher.publish(b"\0\3\0\0" + bytes(16))
    publisher.publish(UInt8MultiArray(data=[1]))
    spin_until(node, lambda: heard)
    assert list(heard[0].data) == [1]
