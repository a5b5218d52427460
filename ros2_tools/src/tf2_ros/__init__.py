"""Transform broadcasters of tf2; the rest of tf2_ros is not covered."""

from __future__ import annotations

from collections.abc import Iterable

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros2_tools.errors import not_covered
from tf2_msgs.msg import TFMessage


def _as_list(transform: TransformStamped | Iterable[TransformStamped]) -> list[TransformStamped]:
    return list(transform) if hasattr(transform, "__iter__") else [transform]


class TransformBroadcaster:
    """Publishes transforms that change to `/tf`."""

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        self.pub_tf = node.create_publisher(TFMessage, "/tf", QoSProfile(depth=100) if qos is None else qos)

    def sendTransform(self, transform: TransformStamped | Iterable[TransformStamped]) -> None:
        """Publish one transform, or several."""
        self.pub_tf.publish(TFMessage(transforms=_as_list(transform)))


class StaticTransformBroadcaster:
    """Publishes transforms that do not change to `/tf_static`, for late joiners too."""

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        if qos is None:
            qos = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.pub_tf = node.create_publisher(TFMessage, "/tf_static", qos)
        self.net_message = TFMessage()

    def sendTransform(self, transform: TransformStamped | Iterable[TransformStamped]) -> None:
        """Publish all static transforms sent so far together with these; a child frame's newest counts."""
        for new in _as_list(transform):
            kept = [t for t in self.net_message.transforms if t.child_frame_id != new.child_frame_id]
            self.net_message.transforms = [*kept, new]
        self.pub_tf.publish(self.net_message)


__getattr__ = not_covered(__name__, ["StaticTransformBroadcaster", "TransformBroadcaster"])
