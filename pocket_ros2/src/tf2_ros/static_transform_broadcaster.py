"""Sends transforms that stay to `/tf_static`."""

from __future__ import annotations

from collections.abc import Iterable

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from .transform_broadcaster import as_list


class StaticTransformBroadcaster:
    """Publishes transforms that do not change, for late joiners too."""

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        if qos is None:
            qos = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.pub_tf = node.create_publisher(TFMessage, "/tf_static", qos)
        self.net_message = TFMessage()

    def sendTransform(self, transform: TransformStamped | Iterable[TransformStamped]) -> None:
        """Publish all static transforms sent so far together with these; a child frame's newest counts."""
        for new in as_list(transform):
            kept = [t for t in self.net_message.transforms if t.child_frame_id != new.child_frame_id]
            self.net_message.transforms = [*kept, new]
        self.pub_tf.publish(self.net_message)
