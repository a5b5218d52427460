"""Sends transforms to `/tf`."""

from __future__ import annotations

from collections.abc import Iterable

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile
from tf2_msgs.msg import TFMessage


def as_list(transform: TransformStamped | Iterable[TransformStamped]) -> list[TransformStamped]:
    """Return one transform or several as a list."""
    return list(transform) if hasattr(transform, "__iter__") else [transform]


class TransformBroadcaster:
    """Publishes transforms that change."""

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        self.pub_tf = node.create_publisher(TFMessage, "/tf", QoSProfile(depth=100) if qos is None else qos)

    def sendTransform(self, transform: TransformStamped | Iterable[TransformStamped]) -> None:
        """Publish one transform, or several."""
        self.pub_tf.publish(TFMessage(transforms=as_list(transform)))
