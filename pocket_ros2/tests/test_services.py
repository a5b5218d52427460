"""Services, clients and the parameter services."""

import threading

import pytest
from conftest import spin_until

import rclpy
from rcl_interfaces.msg import ParameterEvent, ParameterType
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger


def call(node, client, request, timeout=10.0):
    assert client.wait_for_service(timeout_sec=timeout)
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future, timeout_sec=timeout)
    assert future.done()
    return future.result()


def echo(request, response):
    response.success, response.message = request.data, "said"
    return response


def test_every_client_gets_its_own_answers(node):
    node.create_service(SetBool, "say", echo)
    clients = [node.create_client(SetBool, "say") for _ in range(3)]
    futures = [(c.call_async(SetBool.Request(data=bool(i % 2))), bool(i % 2)) for i, c in enumerate(clients * 3)]
    spin_until(node, lambda: all(future.done() for future, _ in futures))
    assert all(future.result().success is expected for future, expected in futures)


def test_a_service_may_await(node):
    async def later(request, response):
        return echo(request, response)

    node.create_service(SetBool, "say", later)
    assert call(node, node.create_client(SetBool, "say"), SetBool.Request(data=True)).message == "said"


def test_call_waits_in_another_thread(node):
    group = ReentrantCallbackGroup()
    node.create_service(SetBool, "say", echo, callback_group=group)
    client = node.create_client(SetBool, "say", callback_group=group)
    executor = MultiThreadedExecutor(2)
    executor.add_node(node)
    spinner = threading.Thread(target=executor.spin)
    spinner.start()
    try:
        assert client.call(SetBool.Request(data=True)).success
    finally:
        executor.shutdown()
        spinner.join(10)


def test_a_service_can_be_called_from_a_callback_of_another(node):
    """The inner client is in a group of its own, and the executor has two threads."""
    group = ReentrantCallbackGroup()
    client = node.create_client(SetBool, "inner", callback_group=group)
    node.create_service(SetBool, "inner", echo, callback_group=group)

    def outer(request, response):
        response.success = client.call(SetBool.Request(data=True)).success
        return response

    node.create_service(Trigger, "outer", outer)
    executor = MultiThreadedExecutor(2)
    executor.add_node(node)
    caller = rclpy.create_node("caller")
    executor.add_node(caller)
    future = caller.create_client(Trigger, "outer").call_async(Trigger.Request())
    executor.spin_until_future_complete(future, timeout_sec=10)
    executor.shutdown()
    assert future.done() and future.result().success


def test_a_server_that_leaves_is_noticed(node):
    service = node.create_service(Trigger, "here", lambda request, response: response)
    client = node.create_client(Trigger, "here")
    assert client.wait_for_service(timeout_sec=10)
    node.destroy_service(service)
    assert not client.service_is_ready()


def test_a_wrong_request_or_response_is_refused(node):
    client = node.create_client(Trigger, "wrong")
    with pytest.raises(TypeError, match="Expected.*Trigger_Request"):
        client.call_async(SetBool.Request())
    node.create_service(Trigger, "wrong", lambda request, response: None)
    client.call_async(Trigger.Request())
    with pytest.raises(TypeError, match="service wrong must return.*Trigger_Response.*got None"):
        spin_until(node, lambda: False)


def test_parameter_services_and_events(node):
    events = []
    node.create_subscription(ParameterEvent, "/parameter_events", events.append, 100)
    node.declare_parameter("gain", 1.5)
    node.declare_parameter("leg.length", 3)
    user = rclpy.create_node("user")
    spin_until(node, lambda: [e for e in events if e.new_parameters and e.new_parameters[0].name == "leg.length"])
    executor = MultiThreadedExecutor(2)
    executor.add_node(node)
    executor.add_node(user)

    def ask(kind, name, request):
        future = user.create_client(kind, f"/tested/{name}").call_async(request)
        executor.spin_until_future_complete(future, timeout_sec=10)
        return future.result()

    listed = ask(ListParameters, "list_parameters", ListParameters.Request()).result
    assert sorted(listed.names) == ["gain", "leg.length", "use_sim_time"] and listed.prefixes == ["leg"]
    answered = ask(
        SetParameters,
        "set_parameters",
        SetParameters.Request(
            parameters=[
                Parameter("gain", value=2.0).to_parameter_msg(),
                Parameter("gain", value=2).to_parameter_msg(),
                Parameter("nope", value=2).to_parameter_msg(),
            ]
        ),
    )
    assert [result.successful for result in answered.results] == [True, False, False]
    assert "Wrong parameter type" in answered.results[1].reason and "undeclared" in answered.results[2].reason
    values = ask(GetParameters, "get_parameters", GetParameters.Request(names=["gain"])).values
    assert (values[0].type, values[0].double_value) == (ParameterType.PARAMETER_DOUBLE, 2.0)
    assert ask(GetParameters, "get_parameters", GetParameters.Request(names=["gain", "nope"])).values == []
    changed = [e for e in events if e.changed_parameters]
    assert changed[-1].node == "/tested" and changed[-1].changed_parameters[0].name == "gain"
    executor.shutdown()
