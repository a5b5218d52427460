"""Transform broadcasters of tf2; the rest of tf2_ros is not covered."""

from __future__ import annotations

from collections.abc import Iterable

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros2_tools.errors import not_covered
from tf2_msgs.msg import TFMessage


class TransformBroadcaster:
    """Publishes transforms that change to `/tf`."""

    topic, profile = "/tf", QoSProfile(depth=100)

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        self.pub_tf = node.create_publisher(TFMessage, self.topic, self.profile if qos is None else qos)

    def sendTransform(self, transform: TransformStamped | Iterable[TransformStamped]) -> None:
        """Publish one transform, or several."""
        several = list(transform) if hasattr(transform, "__iter__") else [transform]
        self.pub_tf.publish(TFMessage(transforms=self._published(several)))

    def _published(self, new: list[TransformStamped]) -> list[TransformStamped]:
        return new


class StaticTransformBroadcaster(TransformBroadcaster):
    """Publishes transforms that do not change to `/tf_static`, for late joiners too: the newest of each child frame."""

    topic, profile = "/tf_static", QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

    def _published(self, new: list[TransformStamped]) -> list[TransformStamped]:
        self._sent = getattr(self, "_sent", {}) | {each.child_frame_id: each for each in new}
        return list(self._sent.values())


__getattr__ = not_covered(__name__)
