"""Subscriptions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from pocket_ros2 import dds
from pocket_ros2.cdr import deserializer

from .callback_groups import CallbackGroup
from .qos import QoSProfile

entity_numbers = itertools.count(1)  # for all that hangs on an executor's waitset


class Entity:
    """Common to publishers, subscriptions, clients and services: a `with` block that destroys them at its end."""

    def destroy(self) -> None:
        """Take it off the network."""
        raise NotImplementedError

    def __enter__(self) -> Entity:
        return self

    def __exit__(self, *_: Any) -> None:
        self.destroy()


class SubscriptionHandle:
    """The DDS endpoint behind a subscription, from which messages can be taken without an executor."""

    def __init__(self, endpoint: Any, unpack: Callable[[bytes], Any] | None) -> None:
        self.endpoint, self._unpack = endpoint, unpack
        self._publication: int | None = None  # instance handle of the publisher of the last message taken

    def take_message(self, _msg_type: type, raw: bool) -> tuple[Any, dict] | None:
        """Return (message, information about it), the message as bytes if `raw`; None if there is none.

        Raises CorruptMessage for bytes that are no message of the type; they are taken, too.
        """
        while True:
            found = dds.take(self.endpoint.handle, dds.ANY, 1)
            if isinstance(found, int) or not found:
                return None
            data, info = found[0]
            if info.valid_data:  # else a publisher has left
                self._publication = info.publication_handle
                return (data if raw or self._unpack is None else self._unpack(data)), {}

    def last_publisher_gid(self) -> bytes | None:
        """Return the GUID (16 bytes) of the publisher of the last message taken, None if it has left.

        rclpy of Humble has nothing like it.
        """
        return None if self._publication is None else dds.writer_guid(self.endpoint.handle, self._publication)

    def __enter__(self) -> SubscriptionHandle:
        return self

    def __exit__(self, *_: Any) -> None:
        pass


class Subscription(Entity):
    """Has its callback called with each message of a topic; made by `Node.create_subscription`."""

    def __init__(
        self,
        endpoint: Any,
        msg_type: type,
        topic: str,
        callback: Callable[[Any], Any],
        callback_group: CallbackGroup,
        qos_profile: QoSProfile,
        raw: bool,
        event_callbacks: Any,
    ) -> None:
        if not callable(callback):
            raise TypeError(f"the callback of a subscription must be callable, got {callback!r}")
        self._endpoint = endpoint
        self.msg_type, self.topic, self.qos_profile, self.raw = msg_type, topic, qos_profile, raw
        self.callback, self.callback_group = callback, callback_group
        self.event_callbacks = event_callbacks
        self.event_handlers: list[Any] = []
        self._handle = SubscriptionHandle(endpoint, None if raw else deserializer(msg_type._typename))
        self._number = next(entity_numbers)
        self._condition = dds.create_read_condition(endpoint.handle)

    def _take_job(self) -> tuple[Callable[..., Any], tuple] | None:
        taken = self._handle.take_message(self.msg_type, self.raw)
        return None if taken is None else (self.callback, (taken[0],))

    def _sender(self) -> bytes | None:
        """Return the GUID of the publisher of the last message."""
        return self._handle.last_publisher_gid()

    def get_publisher_count(self) -> int:
        """Return how many publishers are matched."""
        return dds.matched_publications(self._endpoint.handle)

    @property
    def topic_name(self) -> str:
        """The fully qualified topic name."""
        return self._endpoint.topic_name

    @property
    def handle(self) -> SubscriptionHandle:
        """What messages can be taken from."""
        return self._handle

    def destroy(self) -> None:
        """Hear no more."""
        self.event_handlers.clear()
        self._endpoint.close()
