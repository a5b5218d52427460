"""Callbacks that raise: the request is refused, the message ignored; both are counted, and the node serves on."""

import threading
from unittest.mock import Mock

import pytest
from support.ros_session import ask, wait_until

import rclpy
from hexapod_dynamics.errors import DeviceError, HexapodError
from hexapod_dynamics.ros.guarded_node import GuardedNode
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger


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


def reported(node):
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
    level, message, values = reported(node)
    assert level == "warn" and "malformed requests to /defective/sets are refused" in message
    assert values["malformed requests to /defective/raises"] == 1
    assert not node.failed


def test_an_impossible_request_is_refused_and_logged_but_not_malformed(probe, node):
    log = Mock()
    node.get_logger = lambda: log
    answer = ask(probe.node.create_client(Trigger, "defective/cannot"), Trigger.Request())
    assert not answer.success and answer.message == "restore LM first"
    assert "restore LM first" in log.info.call_args.args[0] and log.info.call_args.kwargs["throttle_duration_sec"] > 0.0
    assert reported(node) == ("ok", "works", {})


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
    values = reported(node)[2]
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
    assert sum(reported(node)[2].values()) == 1 and "malformed messages on /words" in reported(node)[1]
    assert not node.failed
    publisher.publish(String(data="device"))
    wait_until(lambda: node.failed, 10, "the end of the node")
    assert isinstance(node.failed[0], DeviceError)
    probe.node.destroy_publisher(publisher)
    assert rclpy.ok()
