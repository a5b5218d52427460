"""Publishers and subscriptions over DDS."""

import pytest
from conftest import spin_until

import rclpy
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSPresetProfiles, QoSProfile, ReliabilityPolicy
from rclpy.qos_event import PublisherEventCallbacks, QoSPolicyKind, SubscriptionEventCallbacks
from rclpy.serialization import deserialize_message
from rclpy.wait_for_message import wait_for_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String, UInt8MultiArray
from std_srvs.srv import SetBool

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def test_messages_arrive_whole_and_in_order(node):
    got = []
    node.create_subscription(JointState, "joints", got.append, 50)
    publisher = node.create_publisher(JointState, "joints", 50)
    sent = [JointState(name=[f"j{i}"], position=[float(i)] * i) for i in range(30)]
    for message in sent:
        publisher.publish(message)
    spin_until(node, lambda: len(got) == 30)
    assert got == sent


def test_only_the_newest_are_kept(node):
    got = []
    node.create_subscription(String, "words", lambda m: got.append(m.data), 3)
    publisher = node.create_publisher(String, "words", 3)
    for number in range(10):
        publisher.publish(String(data=str(number)))
    spin_until(node, lambda: len(got) == 3)
    assert got == ["7", "8", "9"]


def test_a_late_joiner_gets_what_is_latched_and_a_volatile_one_does_not(node):
    publisher = node.create_publisher(String, "kept", LATCHED)
    publisher.publish(String(data="old"))
    publisher.publish(String(data="new"))
    late, volatile = [], []
    node.create_subscription(String, "kept", lambda m: volatile.append(m.data), 10)
    node.create_subscription(String, "kept", lambda m: late.append(m.data), LATCHED)
    spin_until(node, lambda: late)
    publisher.publish(String(data="next"))
    spin_until(node, lambda: len(late) == 2 and volatile)
    assert late == ["new", "next"] and volatile == ["next"]


@pytest.mark.parametrize(
    ("offered", "requested", "kind"),
    [
        (
            QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT),
            QoSProfile(depth=1),
            QoSPolicyKind.RELIABILITY,
        ),
        (QoSProfile(depth=1), LATCHED, QoSPolicyKind.DURABILITY),
    ],
)
def test_incompatible_endpoints_do_not_match_and_both_are_told(node, offered, requested, kind):
    got, told = [], []
    publisher = node.create_publisher(
        String, "words", offered, event_callbacks=PublisherEventCallbacks(incompatible_qos=told.append)
    )
    callbacks = SubscriptionEventCallbacks(incompatible_qos=told.append)
    subscription = node.create_subscription(String, "words", got.append, requested, event_callbacks=callbacks)
    publisher.publish(String(data="lost"))
    spin_until(node, lambda: len(told) == 2)
    assert [event.last_policy_kind for event in told] == [kind, kind]
    assert publisher.get_subscription_count() == subscription.get_publisher_count() == 0 and not got


def test_an_incompatible_subscription_is_warned_of(node, capfd):
    node.create_publisher(String, "words", QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
    node.create_subscription(String, "words", print, 1)
    for _ in range(10):
        rclpy.spin_once(node, timeout_sec=0.05)
    text = capfd.readouterr().err
    assert "New publisher discovered on topic '/words', offering incompatible QoS." in text
    assert "Last incompatible policy: RELIABILITY_QOS_POLICY" in text


def test_raw_subscription_and_publisher(node):
    got = []
    node.create_subscription(String, "words", got.append, 10, raw=True)
    publisher = node.create_publisher(String, "words", 10)
    publisher.publish(String(data="x"))
    spin_until(node, lambda: got)
    assert deserialize_message(got[0], String) == String(data="x")
    publisher.publish(got[0])
    spin_until(node, lambda: len(got) == 2)
    assert got[1] == got[0]


def test_large_messages(node):
    got = []
    node.create_subscription(UInt8MultiArray, "large", got.append, 1)
    data = bytes(range(256)) * 1200
    node.create_publisher(UInt8MultiArray, "large", 1).publish(UInt8MultiArray(data=data))
    spin_until(node, lambda: got)
    assert got[0].data.tobytes() == data


def test_a_message_that_cannot_be_sent_is_named(node):
    publisher = node.create_publisher(JointState, "joints", 10)
    message = JointState()
    message.name.append(3)
    with pytest.raises(TypeError, match="sensor_msgs/msg/JointState"):
        publisher.publish(message)
    with pytest.raises(TypeError, match="Expected.*JointState.*got.*String"):
        publisher.publish(String())


def test_types_that_are_none_are_refused(node):
    with pytest.raises(AttributeError, match="<class 'int'> is no message or service class"):
        node.create_publisher(int, "x", 1)
    with pytest.raises(RuntimeError, match="must be a message, got the service std_srvs/srv/SetBool"):
        node.create_publisher(SetBool, "x", 1)
    with pytest.raises(RuntimeError, match="must be a service, got the message std_msgs/msg/String"):
        node.create_service(String, "x", print)
    with pytest.raises(NotImplementedError, match="pocket ROS 2 does not cover QoS profiles overridden"):
        node.create_publisher(String, "x", 1, qos_overriding_options=object())


def test_graph_of_the_own_process(node):
    other = rclpy.create_node("other", namespace="/far")
    other.create_subscription(String, "words", print, 3)
    other.create_client(SetBool, "~/switch")
    assert ("other", "/far") in node.get_node_names_and_namespaces()
    assert ("/far/words", ["std_msgs/msg/String"]) in node.get_topic_names_and_types()
    assert node.get_client_names_and_types_by_node("other", "/far") == [("/far/other/switch", ["std_srvs/srv/SetBool"])]
    assert len(node.get_service_names_and_types_by_node("other", "/far")) == 6
    (info,) = node.get_subscriptions_info_by_topic("/far/words")
    assert (info.node_name, info.node_namespace, info.topic_type) == ("other", "/far", "std_msgs/msg/String")
    assert info.qos_profile.depth == 3 and info.qos_profile.reliability == ReliabilityPolicy.RELIABLE
    other.destroy_node()
    assert ("other", "/far") not in node.get_node_names_and_namespaces()
    assert not node.get_subscriptions_info_by_topic("/far/words")
    with pytest.raises(rclpy.node.NodeNameNonExistentError, match="'other' in '/far'"):
        node.get_client_names_and_types_by_node("other", "/far")


def test_transform_broadcasters(node):
    from geometry_msgs.msg import TransformStamped
    from tf2_msgs.msg import TFMessage
    from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster

    moving, still = [], []
    node.create_subscription(TFMessage, "/tf", moving.append, 10)
    node.create_subscription(TFMessage, "/tf_static", still.append, LATCHED)
    TransformBroadcaster(node).sendTransform(TransformStamped(child_frame_id="a"))
    broadcaster = StaticTransformBroadcaster(node)
    broadcaster.sendTransform(TransformStamped(child_frame_id="b"))
    broadcaster.sendTransform([TransformStamped(child_frame_id="c")])
    spin_until(node, lambda: moving and still and len(still[-1].transforms) == 2)
    assert [t.child_frame_id for t in still[-1].transforms] == ["b", "c"]


def test_old_messages_expire(node):
    profile = QoSProfile(depth=5, durability=DurabilityPolicy.TRANSIENT_LOCAL, lifespan=Duration(seconds=0.05))
    publisher = node.create_publisher(String, "kept", profile)
    publisher.publish(String(data="old"))
    node.get_clock().sleep_for(Duration(seconds=0.2))
    got = []
    node.create_subscription(String, "kept", lambda m: got.append(m.data), LATCHED)
    publisher.publish(String(data="new"))
    spin_until(node, lambda: got)
    assert got == ["new"]


def test_an_endpoint_needs_known_policies(node):
    with pytest.raises(ValueError, match="QoS policy history is UNKNOWN"):
        node.create_publisher(String, "x", QoSPresetProfiles.UNKNOWN.value)


def test_wait_for_message(node):
    assert wait_for_message(String, node, "kept", time_to_wait=0.05) == (False, None)
    node.create_publisher(String, "kept", LATCHED).publish(String(data="x"))
    assert wait_for_message(String, node, "kept", qos_profile=LATCHED, time_to_wait=10) == (True, String(data="x"))
