"""Names the publishers whose messages a node never receives: another type, or a QoS that does not match."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

if TYPE_CHECKING:
    from rclpy.subscription import Subscription

# Time [s] between two checks of one topic each, because the query takes a millisecond.
EVERY = 1.0


def type_name(kind: type) -> str:
    """Return the name of a message type as in the graph: geometry_msgs/msg/Twist."""
    return f"{kind.__module__.partition('.')[0]}/msg/{kind.__name__}"


class PublisherCheck:
    """Checks the publishers of a node's subscriptions, one topic at a time, for those that cannot be received."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._next, self._turn = 0.0, 0
        self._found: dict[str, str] = {}  # {topic: reason}

    def reasons(self) -> list[str]:
        """Return why publishers of subscribed topics are not received, as texts; checks the next topic."""
        now, subscriptions = time.monotonic(), list(self._node.subscriptions)
        if now >= self._next and subscriptions:
            self._next, self._turn = now + EVERY, (self._turn + 1) % len(subscriptions)
            subscription = subscriptions[self._turn]
            self._found[subscription.topic_name] = self._check(subscription)
            self._found = {s.topic_name: self._found.get(s.topic_name, "") for s in subscriptions}
        return [reason for reason in self._found.values() if reason]

    def _check(self, subscription: Subscription) -> str:
        topic, wanted = subscription.topic_name, type_name(subscription.msg_type)
        for info in self._node.get_publishers_info_by_topic(topic):
            who = f"{topic}: {info.node_namespace.rstrip('/')}/{info.node_name}"
            if info.topic_type != wanted:
                return f"{who} publishes {info.topic_type}, which is not received; {wanted} is"
            asked, offered = subscription.qos_profile, info.qos_profile
            if (asked.reliability, offered.reliability) == (ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT):
                return f"{who} publishes best effort (sensor-data QoS), which is not received here; make it reliable"
            if (asked.durability, offered.durability) == (DurabilityPolicy.TRANSIENT_LOCAL, DurabilityPolicy.VOLATILE):
                return f"{who} publishes volatile, which is not received here; make it transient local (latched)"
        return ""
