"""Looks at talker.py (`graph`), talks with it (`talk`) or waits for it to go (`watch`), in plain rclpy; prints JSON."""

import json
import sys
import time

import rclpy
from rcl_interfaces.msg import ParameterEvent
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_event import PublisherEventCallbacks, SubscriptionEventCallbacks
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BEST_EFFORT = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


def wait(node, condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"waited in vain: {condition.__code__.co_names}")
        rclpy.spin_once(node, timeout_sec=0.05)


def is_there(node):
    return ("talker", "/ns") in node.get_node_names_and_namespaces()


def described(info):
    return [
        info.node_name,
        info.node_namespace,
        info.topic_type,
        info.endpoint_type.name,
        len(info.endpoint_gid),
        str(info).split("QoS profile:")[1],
    ]


def graph(node):
    wait(node, lambda: is_there(node) and len(node.get_service_names_and_types_by_node("talker", "/ns")) == 7)
    time.sleep(0.5)
    seen = {
        name: getattr(node, f"get_{name}_names_and_types_by_node")("talker", "/ns")
        for name in ("publisher", "subscriber", "service", "client")
    }
    seen["raw"] = [
        node.get_publisher_names_and_types_by_node("talker", "/ns", True),
        node.get_subscriber_names_and_types_by_node("talker", "/ns", True),
    ]
    seen["topics"] = node.get_topic_names_and_types()
    seen["services"] = node.get_service_names_and_types()
    for topic in ("/ns/words", "/ns/joints", "/ns/kept", "/ns/heard", "/rosout", "/parameter_events"):
        infos = node.get_publishers_info_by_topic(topic) + node.get_subscriptions_info_by_topic(topic)
        seen[topic] = sorted(described(info) for info in infos)
        seen[f"{topic} counted"] = [node.count_publishers(topic), node.count_subscribers(topic)]
    return seen


def talk(node):
    seen, latched, joints, words, events, told = {}, [], [], [], [], []
    node.create_subscription(String, "/ns/kept", lambda m: latched.append(m.data), LATCHED)
    node.create_subscription(JointState, "/ns/joints", lambda m: joints.append([m.name, list(m.position)]), BEST_EFFORT)
    node.create_subscription(String, "/ns/words", lambda m: words.append(m.data), 10)
    node.create_subscription(ParameterEvent, "/parameter_events", events.append, 100)
    reliable = SubscriptionEventCallbacks(incompatible_qos=lambda event: told.append(event.last_policy_kind))
    node.create_subscription(JointState, "/ns/joints", print, 10, event_callbacks=reliable)
    node.create_subscription(String, "/ns/words", print, LATCHED, event_callbacks=reliable)
    speaker = node.create_publisher(String, "/ns/heard", 10, event_callbacks=PublisherEventCallbacks())
    switch = node.create_client(SetBool, "/ns/talker/switch")
    clients = {
        kind: node.create_client(kind, f"/ns/talker/{name}")
        for kind, name in (
            (ListParameters, "list_parameters"),
            (GetParameters, "get_parameters"),
            (SetParameters, "set_parameters"),
        )
    }

    def ask(client, request):
        future = client.call_async(request)
        wait(node, future.done)
        return future.result()

    for client in (switch, *clients.values()):
        wait(node, client.service_is_ready)
    wait(node, lambda: speaker.get_subscription_count() and latched and joints and words and len(told) == 2)
    speaker.publish(String(data="me"))
    wait(node, lambda: "heard me" in words)
    seen["switch"] = []
    for number in range(20):
        answer = ask(switch, SetBool.Request(data=number % 2 == 0))
        seen["switch"].append([answer.success, answer.message])
    names = ask(clients[ListParameters], ListParameters.Request()).result.names
    values = ask(clients[GetParameters], GetParameters.Request(names=names)).values
    seen["parameters"] = {
        name: Parameter.from_parameter_msg(rclpy.parameter.ParameterMsg(name=name, value=value)).value
        for name, value in zip(names, values, strict=True)
    }
    wanted = [
        Parameter("gain", value=0.5),
        Parameter("gain", value=5.0),
        Parameter("legs.RM", value=1),
        Parameter("nope", value=1),
    ]
    request = SetParameters.Request(parameters=[p.to_parameter_msg() for p in wanted])
    results = ask(clients[SetParameters], request).results
    seen["set"] = [[result.successful, result.reason] for result in results]
    wait(node, lambda: any(event.changed_parameters for event in events))
    event = next(event for event in events if event.changed_parameters)
    changed = event.changed_parameters[0]
    seen["event"] = [event.node, changed.name, changed.value.double_value]
    seen.update(
        latched=latched[0],
        joints=joints[0],
        words=sorted(set(words)),
        incompatible=sorted((kind.name.removeprefix("RMW_QOS_POLICY_") for kind in told), reverse=True),
    )
    return seen


def watch(node):
    wait(node, lambda: is_there(node))
    print("there", flush=True)
    wait(node, lambda: not is_there(node), 30)
    print("gone", flush=True)


def main():
    rclpy.init(args=[])
    node = rclpy.create_node("observer")
    seen = {"graph": graph, "talk": talk, "watch": watch}[sys.argv[1]](node)
    if seen is not None:
        print(json.dumps(seen))
    node.destroy_node()
    rclpy.shutdown()


main()
