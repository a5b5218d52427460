"""Publishers."""

from __future__ import annotations

from typing import Any

from pocket_ros2 import dds
from pocket_ros2.cdr import serializer

from .duration import Duration
from .exceptions import InvalidHandle, RCLError
from .qos import QoSProfile
from .subscription import Entity


class Publisher(Entity):
    """Publishes messages of one type on one topic; made by `Node.create_publisher`."""

    def __init__(
        self, endpoint: Any, msg_type: type, topic: str, qos_profile: QoSProfile, event_callbacks: Any, context: Any
    ) -> None:
        self._endpoint, self._context = endpoint, context
        self.msg_type, self.topic, self.qos_profile = msg_type, topic, qos_profile
        self.event_callbacks = event_callbacks
        self.event_handlers: list[Any] = []
        self._pack = serializer(msg_type._typename)

    def publish(self, msg: Any) -> None:
        """Publish a message, or its bytes; TypeError for another type, RCLError after shutdown."""
        if isinstance(msg, self.msg_type):
            raw = self._pack(msg)
        elif isinstance(msg, bytes):
            raw = msg
        else:
            raise TypeError(f"Expected {self.msg_type}, got {type(msg)}")
        if not self._context._valid:
            raise RCLError("Failed to publish: publisher's context is invalid")
        code = dds.write(self._endpoint.handle, raw)
        if code < 0:
            self._failed(code)

    def _failed(self, code: int) -> None:
        if self._endpoint.handle == -1:
            raise InvalidHandle("cannot use Destroyable because destruction was requested")
        raise RCLError(f"Failed to publish on {self.topic_name}: {dds.DDSException(code)}")

    def get_subscription_count(self) -> int:
        """Return how many subscriptions are matched."""
        return dds.matched_subscriptions(self._endpoint.handle)

    @property
    def topic_name(self) -> str:
        """The fully qualified topic name."""
        return self._endpoint.topic_name

    @property
    def handle(self) -> Any:
        """The DDS endpoint behind the publisher."""
        return self._endpoint

    def destroy(self) -> None:
        """Stop publishing."""
        self.event_handlers.clear()
        self._endpoint.close()

    def wait_for_all_acked(self, timeout: Duration = Duration(seconds=-1)) -> bool:  # noqa: B008 - rclpy's signature
        """Wait until every reliable subscription has got all messages; False on timeout."""
        limit = timeout.nanoseconds if timeout.nanoseconds >= 0 else dds.INFINITE
        return dds.wait_for_acks(self._endpoint.handle, limit)
