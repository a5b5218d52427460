"""The generated serialiser against that of rosbags, for every type and random contents."""

import random
import struct

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from pocket_ros2 import cdr, checks, definitions, messages
from pocket_ros2.services import SERVICES

STORE = get_typestore(Stores.ROS2_HUMBLE)
DUMMY = "structure_needs_at_least_one_member"


def fields(typename):
    return [f for f in definitions.definition(typename).fields if f.name != DUMMY]


def random_value(field, rng):
    if field.is_message:
        return random_message(field.base, rng)
    if field.base == "string":
        return "".join(rng.choice("abcdäö") for _ in range(rng.randrange(9)))
    if field.base == "bool":
        return rng.random() < 0.5
    if field.base == "byte":
        return bytes([rng.randrange(256)])
    if field.base.startswith("float"):
        return float(np.dtype(field.base).type(rng.gauss(0, 1e3)))
    return rng.randint(*checks._integer_range(field.base))


def random_message(typename, rng):
    message = messages.message_class(typename)()
    for field in fields(typename):
        if not field.container:
            setattr(message, field.name, random_value(field, rng))
            continue
        size = field.size if field.container == "array" else rng.randrange(min(field.size or 4, 4) + 1)
        setattr(message, field.name, [random_value(field, rng) for _ in range(size)])
    return message


def as_rosbags(typename, message):
    values = {}
    for field in definitions.definition(typename).fields:
        if field.name == DUMMY:
            values[field.name] = 0
            continue
        value = getattr(message, field.name)
        if field.is_message:
            value = [as_rosbags(field.base, v) for v in value] if field.container else as_rosbags(field.base, value)
        elif field.base == "byte":
            value = np.frombuffer(b"".join(value), np.uint8) if field.container else struct.unpack("b", value)[0]
        elif field.container and field.base != "string":
            value = np.array(value, "bool" if field.base == "bool" else checks.DTYPES[field.base])
        values[field.name] = value
    return STORE.types[typename](**values)


@pytest.mark.parametrize("package", [*definitions.PACKAGES, "rmw_dds_common"])
def test_bytes_are_those_of_rosbags_and_come_back(package):
    rng = random.Random(package)
    known = [t for t in STORE.fielddefs if t.startswith(f"{package}/msg/")]
    for typename in known:
        for _ in range(10):
            message = random_message(typename, rng)
            raw = cdr.serializer(typename)(message)
            expected = bytes(STORE.serialize_cdr(as_rosbags(typename, message), typename))
            assert raw == expected.ljust(len(raw), b"\0") and len(raw) % 4 == 0, typename
            assert cdr.deserializer(typename)(raw) == message, typename


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_services_come_back_behind_their_header(service):
    rng = random.Random(service)
    for half in (f"{service}_Request", f"{service}_Response"):
        message = random_message(half, rng)
        raw = cdr.serializer(half)(message, cdr.HEADER + bytes(range(16)))
        assert raw[4:20] == bytes(range(16))
        assert cdr.deserializer(half)(raw, 20) == message


def test_the_same_names_again_are_new_lists():
    kind = messages.message_class("sensor_msgs/msg/JointState")
    raw = cdr.serializer(kind._typename)(kind(name=["a", "b"]))
    first, second = (cdr.deserializer(kind._typename)(raw) for _ in range(2))
    first.name.append("c")
    assert second.name == ["a", "b"]
    assert cdr.deserializer(kind._typename)(raw).name == ["a", "b"]


def test_text_that_is_no_utf8_is_replaced_as_by_rosidl():
    assert cdr.deserializer("std_msgs/msg/String")(b"\0\1\0\0\3\0\0\0\xff\x41\0").data == "\N{REPLACEMENT CHARACTER}A"


def test_arrays_that_come_back_can_be_written():
    kind = messages.message_class("sensor_msgs/msg/Imu")
    back = cdr.deserializer(kind._typename)(cdr.serializer(kind._typename)(kind()))
    back.orientation_covariance[0] = 1.0
    assert back.orientation_covariance[0] == 1.0


@pytest.mark.parametrize("broken", [["a", 3], [None], [b"x"]])
def test_a_value_spoiled_after_the_check_is_named(broken):
    kind = messages.message_class("sensor_msgs/msg/JointState")
    message = kind()
    message.name = []
    message.name.extend(broken)
    with pytest.raises(TypeError, match="sensor_msgs/msg/JointState holds a value"):
        cdr.serializer(kind._typename)(message)


@pytest.mark.parametrize("raw", [b"\0\1\0\0", b"\0\1\0\0\x05\0\0\0", b"\0\0\0\0\0\0\0\1\0"])
def test_bytes_that_do_not_fit_are_refused(raw):
    with pytest.raises(cdr.CorruptMessage, match="std_msgs/msg/Float64"):
        cdr.deserializer("std_msgs/msg/Float64")(raw)
