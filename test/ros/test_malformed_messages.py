"""Bytes that are no message of the type raise what the nodes expect; fifty times a second, nodes go on, serve, and name
the publisher. Callbacks that raise: the request is refused, the message ignored; both are counted.
"""

import contextlib
import resource
import threading
import time
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.driver_session import NAMES
from support.ros_session import LATCHED, NEWEST, Process, ask, wait_until

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Pose, Twist
from hexapod_dynamics.errors import DeviceError, HexapodError
from hexapod_dynamics.ros.guarded_node import MALFORMED, GuardedNode, read_message
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterEvent, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically
from rclpy._rclpy_pybind11 import RCLError
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool, Trigger

STRANGER = "stranger"
TOPICS = {
    "joint_commands": (JointState, 10),
    "feedforward_torques": (JointState, 10),
    "morphology": (ParameterEvent, LATCHED),
    "servos/measurements": (JointState, 10),
    "imu/data": (Imu, NEWEST),
    "cmd_vel": (Twist, 10),
    "body_pose": (Pose, 10),
    "press_foot": (String, 10),
    "try_joint": (String, 10),
    "servos/following": (Bool, LATCHED),
}
# The nodes and, of the topics that they subscribe to all the time, the types that are not read in the same way.
NODES = {
    "servos": ("joint_commands", "morphology"),
    "dynamics": ("joint_commands", "servos/measurements", "imu/data", "morphology", "servos/following"),
    "gait": ("cmd_vel", "imu/data", "morphology", "body_pose", "press_foot", "try_joint"),
}


def malformed(kind):
    """Give bytes of other encodings (PL_CDR, XCDR2, PL_CDR2, a foreign first byte), cut off, and with giant lengths."""
    message = kind()
    if kind is JointState:
        message = JointState(name=NAMES, position=[0.1] * len(NAMES))
    whole = serialize_message(message)
    yield from (encoding + whole[2:] for encoding in (b"\0\3", b"\0\7", b"\0\x0b", b"\7\3"))
    yield from (whole[:-5], whole[: len(whole) // 2], whole[:8], whole[:4], b"\0\0" + whole[2:])
    yield from (whole[:4] + giant * (len(whole) // 4) for giant in (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f"))


class Stranger:
    """A node that publishes malformed messages on several topics."""

    def __init__(self, topics):
        self.node = rclpy.create_node(STRANGER)
        self._publishers = []
        for topic in topics:
            kind, qos = TOPICS[topic]
            publisher = self.node.create_publisher(kind, topic, qos)
            self._publishers.append((publisher, self._accepted(publisher, kind)))
        self._next = 0

    @staticmethod
    def _accepted(publisher, kind):
        """Return what this ROS 2 lets a program publish: Cyclone DDS's wheel for Python refuses most of it itself."""
        accepted = []
        for data in malformed(kind):
            try:
                publisher.publish(data)
            except RCLError:
                continue
            accepted.append(data)
        assert len(accepted) >= 2
        return accepted

    def found(self):
        return all(publisher.get_subscription_count() > 0 for publisher, _ in self._publishers)

    def publish(self, seconds=0.0, rate=50.0, until=lambda: False):
        """Publish on each topic so many times a second (at least once), until a condition holds."""
        end = time.monotonic() + seconds
        while True:
            for publisher, accepted in self._publishers:
                publisher.publish(accepted[self._next % len(accepted)])
            self._next += 1
            if until() or time.monotonic() >= end:
                return
            time.sleep(1.0 / rate)

    def close(self):
        self.node.destroy_node()


def reported(probe, name, topic):
    """Return the number of malformed messages on a topic that a node reports of the stranger."""
    start = f"malformed messages on /{topic} from "
    return sum(
        int(pair.value)
        for pair in probe.statuses(name).values
        if pair.key.startswith(start) and f"/{STRANGER}" in pair.key
    )


def test_the_emergency_stop_works_while_malformed_messages_come(probe, robot):
    process, stranger = Process.node("servos"), None
    joints = probe.hear(JointState, "joint_states", keep=5)
    commands = probe.node.create_publisher(JointState, "joint_commands", 10)
    before = robot.pose.copy()
    message = JointState(name=NAMES)
    message.header.frame_id = "walker"  # two publishers that cannot be told apart make servos hold

    def moves_to(pose):
        message.position = pose.tolist()
        commands.publish(message)
        return np.abs(robot.pose - pose).max() < 0.01

    def commanded_to(pose, publish):
        end = time.monotonic() + 15.0
        while not moves_to(pose):
            publish()
            assert time.monotonic() < end, (probe.statuses("servos"), process.output)

    try:
        wait_until(lambda: joints and commands.get_subscription_count() > 0, 60, lambda: process.output)
        commanded_to(before + 0.05, lambda: time.sleep(0.02))
        stranger = Stranger(("joint_commands", "feedforward_torques", "morphology"))
        wait_until(stranger.found, 60, lambda: process.output)
        commanded_to(before, lambda: stranger.publish(0.02))  # commands are followed meanwhile
        client = probe.node.create_client(SetBool, "emergency_stop")
        assert client.wait_for_service(10)
        for data in (True, False, True):
            future = client.call_async(SetBool.Request(data=data))
            stranger.publish(10.0, until=future.done)
            assert future.done() and future.result().success, process.output
        stopped = robot.pose.copy()
        stranger.publish(1.0, until=lambda: moves_to(before + 0.05) and False)
        assert np.abs(robot.pose - stopped).max() < 0.01
        wait_until(lambda: reported(probe, "servos", "joint_commands") > 0, 5, lambda: probe.statuses("servos"))
        joints.clear()
        wait_until(lambda: joints, 5, "joint states after the flood")
        assert process.running() and "Traceback" not in process.output, process.output
        assert probe.call(SetBool, "emergency_stop", SetBool.Request(data=False)).success
    finally:
        if stranger is not None:
            stranger.close()
        probe.node.destroy_publisher(commands)
        process.interrupt()
        process.end()


@pytest.fixture(scope="module")
def nodes(probe, robot):
    """The nodes of a robot, {name: process}; in the end they have served on, and end cleanly."""
    nodes = {name: Process.node(name) for name in NODES}
    yield nodes
    for process in nodes.values():
        _, code = process.interrupt()
        process.end()
        assert code == 0 and "Traceback" not in process.output, process.output


def test_nodes_survive_malformed_messages_count_them_and_serve(probe, nodes):
    stranger = Stranger({topic for topics in NODES.values() for topic in topics})
    try:
        wait_until(stranger.found, 60, lambda: {name: process.output for name, process in nodes.items()})

        def unreported():
            return [(name, topic) for name in NODES for topic in NODES[name] if not reported(probe, name, topic)]

        stranger.publish(15.0, until=lambda: not unreported())
        assert not unreported()
        for name in NODES:
            status, process = probe.statuses(name), nodes[name]
            assert status.level != DiagnosticStatus.OK and "malformed messages on /" in status.message
            request = GetParameters.Request(names=["use_sim_time"])
            assert len(probe.call(GetParameters, f"{name}/get_parameters", request).values) == 1
            assert process.running() and "Traceback" not in process.output, process.output
    finally:
        stranger.close()


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
def spoiled(draw, whole):
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
        read_message(data.draw(spoiled(whole)), kind)
    assert time.process_time() - began < 2.0
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 64 << 20
    assert serialize_message(read_message(whole, kind)) == whole  # what came before leaves nothing behind


class Defective(GuardedNode):
    """A node whose callbacks raise what a request or message makes them raise."""

    def __init__(self):
        super().__init__("defective")
        self.taken = []
        self.declare_parameter("speed", 1.0)
        self.create_service(SetBool, "~/raises", self._raise)
        self.create_service(Trigger, "~/awaits", self._await)
        self.create_service(Trigger, "~/forgets", lambda request, response: None)
        self.create_service(SetParametersAtomically, "~/sets", self._raise)
        self.create_service(Trigger, "~/cannot", self._refuse_it)
        self.create_subscription(String, "words", self._take, 10)

    def _raise(self, request, response):
        raise RuntimeError(f"no way {'x' * 1000}")

    def _refuse_it(self, request, response):
        raise HexapodError("restore LM first")

    async def _await(self, request, response):
        raise KeyError("nobody")

    def _take(self, message):
        if message.data == "device":
            raise DeviceError("the bus is gone")
        self.taken.append(float(message.data))


@pytest.fixture
def node(probe):
    node = Defective()
    executor, failed = SingleThreadedExecutor(), []
    executor.add_node(node)

    def spin():
        try:
            executor.spin()
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=spin)
    thread.start()
    node.failed = failed
    yield node
    executor.shutdown()
    thread.join(10.0)
    node.destroy_node()


def counts_of(node):
    return node.malformed.report("ok", "works", {})


def test_services_whose_callback_raises_refuse_and_are_counted(probe, node):
    def call(kind, name, request):
        return ask(probe.node.create_client(kind, f"defective/{name}"), request)

    answer = call(SetBool, "raises", SetBool.Request(data=True))
    assert not answer.success and "RuntimeError: no way" in answer.message and len(answer.message) < 400
    for name, words in (("awaits", "KeyError: 'nobody'"), ("forgets", "no Trigger.Response")):
        answer = call(Trigger, name, Trigger.Request())
        assert not answer.success and words in answer.message
    result = call(SetParametersAtomically, "sets", SetParametersAtomically.Request()).result
    assert not result.successful and "RuntimeError" in result.reason
    level, message, values = counts_of(node)
    assert level == "warn" and "malformed requests to /defective/sets are refused" in message
    assert values["malformed requests to /defective/raises"] == 1
    assert not node.failed


def test_an_impossible_request_is_refused_and_logged_but_not_malformed(probe, node):
    log = Mock()
    node.get_logger = lambda: log
    answer = ask(probe.node.create_client(Trigger, "defective/cannot"), Trigger.Request())
    assert not answer.success and answer.message == "restore LM first"
    assert "restore LM first" in log.info.call_args.args[0] and log.info.call_args.kwargs["throttle_duration_sec"] > 0.0
    assert counts_of(node) == ("ok", "works", {})


def test_parameters_of_no_known_type_are_refused_and_those_beside_them_are_set(probe, node):
    wrong = [ParameterMessage(name="speed", value=ParameterValue(type=kind)) for kind in (77, 255)]
    right = ParameterMessage(name="speed", value=ParameterValue(type=3, double_value=2.5))
    client = probe.node.create_client(SetParameters, "defective/set_parameters")
    results = ask(client, SetParameters.Request(parameters=[wrong[0], right, wrong[1]])).results
    assert [result.successful for result in results] == [False, True, False]
    assert "type 77; allowed are 0 to 9" in results[0].reason
    assert node.get_parameter("speed").value == 2.5
    client = probe.node.create_client(SetParametersAtomically, "defective/set_parameters_atomically")
    assert not ask(client, SetParametersAtomically.Request(parameters=[right, *wrong])).result.successful
    client = probe.node.create_client(GetParameters, "defective/get_parameters")
    assert len(ask(client, GetParameters.Request(names=["speed"])).values) == 1
    values = counts_of(node)[2]
    assert values["malformed requests to /defective/set_parameters"] == 2
    assert values["malformed requests to /defective/set_parameters_atomically"] == 1
    assert not node.failed


def test_a_parameter_that_the_node_has_not_is_refused_with_the_nearest_name(probe, node):
    value = ParameterValue(type=3, double_value=2.5)
    given = [ParameterMessage(name=name, value=value) for name in ("speeed", "speed")]
    client = probe.node.create_client(SetParameters, "defective/set_parameters")
    unknown, known = ask(client, SetParameters.Request(parameters=given)).results
    assert not unknown.successful and known.successful
    assert "speeed: defective has no such parameter; did you mean 'speed'?" in unknown.reason


def test_a_message_whose_callback_raises_is_ignored_and_counted_and_a_failed_device_ends_the_node(probe, node):
    publisher = probe.node.create_publisher(String, "words", 10)
    wait_until(lambda: publisher.get_subscription_count() > 0, 10, "the subscription")
    for text in ("no number", "3"):
        publisher.publish(String(data=text))
    wait_until(lambda: node.taken == [3.0], 10, lambda: node.failed)
    assert sum(counts_of(node)[2].values()) == 1 and "malformed messages on /words" in counts_of(node)[1]
    assert not node.failed
    publisher.publish(String(data="device"))
    wait_until(lambda: node.failed, 10, "the end of the node")
    assert isinstance(node.failed[0], DeviceError)
    probe.node.destroy_publisher(publisher)
    assert rclpy.ok()
