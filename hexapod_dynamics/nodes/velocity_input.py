"""The topic `cmd_vel`: geometry_msgs/Twist, or TwistStamped as Nav2 and teleop of Jazzy publish it."""

from __future__ import annotations

from collections.abc import Callable

from geometry_msgs.msg import Twist, TwistStamped
from hexapod_dynamics.nodes.robot_node import RobotNode, age_of
from hexapod_dynamics.ros.guarded_node import type_name
from rclpy.qos import QoSProfile, ReliabilityPolicy

TOPIC = "cmd_vel"
KINDS = Twist, TwistStamped


class VelocityInput:
    """Calls on_twist((vx, vy, wz)) for each command; oldest [s]: a stamped command older than this is refused.

    The subscription follows its publishers: a participant of DDS has one type for a topic, and reliable where all
    publishers are, so that the first command is not lost. While there are publishers of both types, the type stays as
    it is, and `ros.guarded_node` names the others.
    """

    def __init__(self, node: RobotNode, on_twist: Callable[[tuple[float, float, float]], None], oldest: float) -> None:
        self._node, self._on_twist, self._oldest = node, on_twist, oldest
        self._kind: type = Twist
        self._reliability = ReliabilityPolicy.RELIABLE
        self._subscription = self._subscribe()
        node.loop.every(0.5, self._attend)

    def _subscribe(self) -> object:
        qos = QoSProfile(depth=10, reliability=self._reliability)
        return self._node.loop.subscribe(self._kind, TOPIC, self._accept, qos)

    def _attend(self) -> None:
        """Subscribe anew if the publishers' type or reliability is another one."""
        if not self._node.count_publishers(TOPIC):
            return
        infos = self._node.get_publishers_info_by_topic(TOPIC)
        types = {info.topic_type for info in infos}
        kind = next((kind for kind in KINDS if types == {type_name(kind)}), self._kind)
        best_effort = any(info.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT for info in infos)
        reliability = ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE
        if (kind, reliability) != (self._kind, self._reliability):
            self._node.loop.unsubscribe(self._subscription)
            self._kind, self._reliability = kind, reliability
            self._subscription = self._subscribe()
            self._node.get_logger().info(f"{TOPIC} is published as {type_name(kind)}, {reliability.name.lower()}")

    def _accept(self, message: Twist | TwistStamped) -> None:
        twist = message
        if self._kind is TwistStamped:
            if self._node.rejects_stamp(TOPIC, age_of(message.header.stamp), self._oldest):
                return
            twist = message.twist
        self._on_twist((twist.linear.x, twist.linear.y, twist.angular.z))
