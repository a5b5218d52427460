"""The topic `cmd_vel`: geometry_msgs/Twist, or TwistStamped as Nav2 and teleop of Jazzy publish it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

import rclpy
from geometry_msgs.msg import Twist, TwistStamped
from hexapod_dynamics.nodes.robot_node import RobotNode
from hexapod_dynamics.ros.guarded_node import GuardedNode, describe_error, type_name
from hexapod_dynamics.ros.tick_loop import TickLoop
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

TOPIC = "cmd_vel"


class VelocityInput:
    """Calls on_twist((vx, vy, wz)) for each command; oldest [s]: a stamped command older than this is refused.

    A participant of DDS has one type for a topic: Twist is received by the node's own one, and TwistStamped by a second
    one, once somebody publishes it; if that cannot be made, it is tried again. The subscription to Twist is reliable
    where all publishers are, so that the first command is not lost.
    """

    def __init__(self, node: RobotNode, on_twist: Callable[[tuple[float, float, float]], None], oldest: float) -> None:
        self._node, self._on_twist, self._oldest = node, on_twist, oldest
        self._reliability = ReliabilityPolicy.RELIABLE
        self._subscribe(ReliabilityPolicy.RELIABLE)
        self._subscribe(ReliabilityPolicy.BEST_EFFORT)
        self._second: TickLoop | None = None
        self._making, self._ending = threading.Thread(), contextlib.ExitStack()
        node.loop.call_every(0.5, self._attend)
        node.loop.call_every(0.0, self._poll_second)

    def _subscribe(self, reliability: ReliabilityPolicy) -> None:
        qos = QoSProfile(depth=10, reliability=reliability)
        self._node.loop.subscribe(Twist, TOPIC, self._accept, qos, lambda: self._reliability == reliability)

    def _attend(self) -> None:
        """Note the publishers' reliability; subscribe to TwistStamped if it is published."""
        if not self._node.count_publishers(TOPIC):
            return
        infos = self._node.get_publishers_info_by_topic(TOPIC)
        best_effort = any(info.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT for info in infos)
        self._reliability = ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE
        needed = any(info.topic_type == type_name(TwistStamped) for info in infos)
        if needed and not self._making.is_alive() and self._second is None:  # the thread sets it, then ends
            self._making = threading.Thread(target=self._make_second, daemon=True)
            self._making.start()  # a participant takes longer than a tick

    def _make_second(self) -> None:
        context, node = rclpy.Context(), self._node
        topic = node.resolve_topic_name(TOPIC)
        domain, signals = node.context.get_domain_id(), SignalHandlerOptions.NO
        small = dict.fromkeys(("use_global_arguments", "enable_rosout", "start_parameter_services"), False)
        try:
            with contextlib.ExitStack() as ending:
                rclpy.init(context=context, domain_id=domain, signal_handler_options=signals)
                ending.callback(context.try_shutdown)
                second = GuardedNode("_cmd_vel", context=context, namespace=node.get_namespace(), **small)
                ending.callback(second.destroy_node)
                loop, second.malformed = TickLoop(second, 0.0), node.malformed
                loop.subscribe(TwistStamped, topic, self._accept_stamped, 10)
                self._ending = ending.pop_all()
        except Exception as error:
            text = f"TwistStamped on {topic} is not received, it is tried again: {describe_error(error)}"
            node.get_logger().error(text, throttle_duration_sec=5.0)
            return
        node.received.add((topic, type_name(TwistStamped)))
        self._second = loop

    def _poll_second(self) -> None:
        if self._second is not None:
            self._second.poll()

    def _accept_stamped(self, message: TwistStamped) -> None:
        if self._node.find_age(TOPIC, message.header.stamp, self._oldest) is not None:
            self._accept(message.twist)

    def _accept(self, twist: Twist) -> None:
        values = twist.linear.x, twist.linear.y, twist.angular.z
        self._node.sources.update(TOPIC, enumerate(values))
        self._on_twist(values)

    def close(self) -> None:
        """End the second participant, if there is one."""
        if self._making.is_alive():
            self._making.join()
        self._ending.close()
