"""damage_manager under storms of requests, and with parameters that do not follow: each request gets its answer."""

import time

import pytest
from support.ros_session import Process, wait_until

from hexapod_dynamics.nodes.damage_manager import DamageManager
from hexapod_dynamics.onboard.declarations import MOST_CHANGES, WINDOW
from hexapod_dynamics.robot import Morphology, Robot
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue, SetParametersResult
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile

WHOLE = Morphology.whole(Robot.jethexa()).parameters()
RATE, CALLS = 100.0, 300
# Replies of all clients pass through each one's reader: its usual ten overflow while this test's process waits for CPU.
CLIENT = QoSProfile(depth=2000)


def request(**values):
    parameters = [Parameter(name.replace("__", "."), value=value).to_parameter_msg() for name, value in values.items()]
    return SetParametersAtomically.Request(parameters=parameters)


@pytest.fixture(scope="module")
def manager(probe):
    with Process.node("damage_manager") as process:
        yield process


@pytest.mark.parametrize("count", [3])
def test_each_of_a_hundred_calls_a_second_is_answered_or_refused(probe, manager, count):
    last = probe.morphology()
    wait_until(last, 30, lambda: manager.output)
    clients = [
        probe.node.create_client(SetParametersAtomically, "set_morphology", qos_profile=CLIENT) for _ in range(count)
    ]
    assert all(client.wait_for_service(30) for client in clients)
    time.sleep(WINDOW)  # changes of another test count, too
    futures, begin = [], time.monotonic()
    for k in range(CALLS):
        futures += [client.call_async(request(legs__RM=bool(k % 2))) for client in clients]
        time.sleep(max(0.0, begin + (k + 1) / RATE - time.monotonic()))
    took = time.monotonic() - begin
    wait_until(lambda: all(future.done() for future in futures), 20, lambda: sum(f.done() for f in futures))
    results = [future.result().result for future in futures]
    accepted = sum(result.successful for result in results)
    assert MOST_CHANGES <= accepted <= MOST_CHANGES * (took / WINDOW + 3)
    assert all(f"{MOST_CHANGES} changes" in result.reason for result in results if not result.successful)
    assert accepted < len(results)
    # Nothing is left behind: after the window the next request is accepted, on the topic, too.
    time.sleep(WINDOW)
    assert probe.set("set_morphology", {"legs.RM": False}) == (True, "")
    wait_until(lambda: last()["legs.RM"] is False, 10, "the change is published")
    assert probe.set("set_morphology", {"legs.RM": True}) == (True, "")


def test_a_change_that_the_parameters_do_not_follow_is_refused_and_the_next_one_is_adopted(probe, manager):
    node = DamageManager()
    try:

        def refuse(parameters):
            late = any(parameter.name == "links.RM.femur" for parameter in parameters)
            return SetParametersResult(successful=not late, reason="not now" if late else "")

        node.add_on_set_parameters_callback(refuse)
        result = node.set_parameters_atomically([Parameter("legs.RM", value=False)])
        assert not result.successful and "not now" in result.reason
        assert {name: node.get_parameter(name).value for name in WHOLE} == WHOLE
        node.remove_on_set_parameters_callback(refuse)
        # An impossible set was accepted and ignored from then on.
        refused = node.set_parameters_atomically([Parameter("locked_at.LF.tibia", value=0.4)])
        assert not refused.successful and "give locked.LF.tibia" in refused.reason
        assert node.set_parameters_atomically([Parameter("legs.RM", value=False)]).successful
        assert not node.get_parameter("links.RM.femur").value
        assert node.set_parameters_atomically([Parameter("legs.RM", value=True)]).successful
        assert {name: node.get_parameter(name).value for name in WHOLE} == WHOLE
    finally:
        node.destroy_node()


def test_a_type_that_ros_has_not_is_refused(probe, manager):
    for kind in (77, 255):
        request = SetParametersAtomically.Request()
        request.parameters = [ParameterMessage(name="legs.RM", value=ParameterValue(type=kind))]
        result = probe.call(SetParametersAtomically, "set_morphology", request, timeout=30).result
        assert not result.successful and f"type {kind}" in result.reason
    assert manager.running(), manager.output
