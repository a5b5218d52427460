"""Messages between nodes of one process: handed over while nobody else subscribes, else through the middleware."""

import time
from unittest.mock import patch

import numpy as np
import pytest
from support.ros_session import LATCHED, wait_until

from geometry_msgs.msg import PoseStamped
from hexapod_dynamics.ros import guarded_node
from hexapod_dynamics.ros.guarded_node import GuardedNode
from hexapod_dynamics.ros.tick_loop import HandingPublisher, TickLoop, copy_message
from nav_msgs.msg import Path
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState


@pytest.fixture
def pair(probe):
    """Two nodes: one publishes JointStates on the topic `handed`, one hears their efforts when its loop polls."""
    nodes = GuardedNode("publishes"), GuardedNode("polls")
    publisher, loop, heard = nodes[0].create_publisher(JointState, "handed", 100), TickLoop(nodes[1], 1.0), []
    loop.subscribe(JointState, "handed", lambda message: heard.append(message.effort[0]), QoSProfile(depth=100))
    wait_until(lambda: publisher.get_subscription_count() == 1, 10, "a subscription")
    yield publisher, loop, heard
    for node in nodes:
        node.destroy_node()


def test_a_message_is_handed_over_without_being_written_or_read_and_may_be_changed_afterwards(pair):
    publisher, loop, heard = pair
    message = JointState()
    with patch.object(guarded_node, "read_message", side_effect=AssertionError("it was read from bytes")):
        for number in (1.0, 2.0):
            message.effort = [number]
            publisher.publish(message)
        loop.poll()
    assert heard == [1.0, 2.0]


def test_all_hear_each_message_once_and_in_order_while_others_come_and_go(pair, probe):
    publisher, loop, heard = pair
    sent = 0

    def publish():
        nonlocal sent
        publisher.publish(JointState(effort=[float(sent)]))
        sent += 1

    for turn in range(6):
        others, outside = [], None
        if turn % 2:
            outside = probe.node.create_subscription(JointState, "handed", others.append, 100)
        wait_until(lambda n=1 + turn % 2: publisher.get_subscription_count() == n, 10, "the subscriptions")
        first = sent
        publish()
        wait_until(lambda: loop.poll() or len(heard) == sent, 10, "the first one is heard")
        for _ in range(4):  # they wait, with those of the next turn, which come the other way
            publish()
        if outside is not None:
            wait_until(lambda count=sent - first, others=others: len(others) == count, 10, "the others hear all")
            assert [message.effort[0] for message in others] == list(range(first, sent))
            probe.node.destroy_subscription(outside)
    wait_until(lambda: loop.poll() or len(heard) == sent, 10, "all were heard")
    time.sleep(0.2)
    loop.poll()
    assert heard == list(range(sent))


def test_after_the_end_of_a_node_that_polled_others_hear_all(pair, probe):
    publisher, loop, heard = pair
    loop._node.destroy_node()
    others = []
    outside = probe.node.create_subscription(JointState, "handed", lambda m: others.append(m.effort[0]), 100)
    wait_until(lambda: publisher.get_subscription_count() == 1, 10, "the other subscription")
    publisher.publish(JointState(effort=[3.0]))
    wait_until(lambda: others == [3.0], 10, "the message")
    assert heard == []
    probe.node.destroy_subscription(outside)


def test_latched_topics_are_not_handed_over(pair):
    assert isinstance(pair[0], HandingPublisher)
    latched = pair[1]._node.create_publisher(JointState, "latched", LATCHED)
    assert not isinstance(latched, HandingPublisher)


def test_a_copy_has_all_fields_and_shares_nothing_that_can_change():
    message = Imu(orientation_covariance=np.arange(9.0))
    message.header.frame_id, message.header.stamp.sec, message.linear_acceleration.z = "chip", 7, np.float64(9.8)
    copy = copy_message(message)
    assert serialize_message(copy) == serialize_message(message)
    message.header.stamp.sec, message.linear_acceleration.z = 8, 1.0
    message.orientation_covariance[4] = 0.5
    assert (copy.header.stamp.sec, copy.linear_acceleration.z, copy.orientation_covariance[4]) == (7, 9.8, 4.0)
    assert type(copy.linear_acceleration.z) is float, "as read from bytes"
    states, path = JointState(name=["a"], position=[1.0]), Path(poses=[PoseStamped()])
    copies = copy_message(states), copy_message(path)
    states.name[0], states.position[0], path.poses[0].pose.position.x = "b", 2.0, 3.0
    assert (copies[0].name, list(copies[0].position), copies[1].poses[0].pose.position.x) == (["a"], [1.0], 0.0)
