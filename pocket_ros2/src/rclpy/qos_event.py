"""The event of an endpoint of another QoS, with which this one does not match."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from pocket_ros2 import dds
from pocket_ros2.errors import NotCovered

from .callback_groups import CallbackGroup
from .logging import get_logger
from .qos import QoSPolicyKind, qos_policy_name_from_kind
from .subscription import entity_numbers

_POLICIES = {  # DDS policy id -> rmw's kind
    2: QoSPolicyKind.DURABILITY, 4: QoSPolicyKind.DEADLINE, 8: QoSPolicyKind.LIVELINESS,
    11: QoSPolicyKind.RELIABILITY, 13: QoSPolicyKind.HISTORY, 10: QoSPolicyKind.LIFESPAN,
}  # fmt: skip


class QoSRequestedIncompatibleQoSInfo(NamedTuple):
    """How many incompatible endpoints there were, and the policy of the last."""

    total_count: int
    total_count_change: int
    last_policy_kind: QoSPolicyKind


QoSOfferedIncompatibleQoSInfo = QoSRequestedIncompatibleQoSInfo


class _Status(ctypes.Structure):
    """Room for a status: its counters, all 32 bit, and an instance handle."""

    _fields_ = [("values", ctypes.c_uint32 * 4), ("handle", ctypes.c_int64)]


class QoSEventHandler:
    """Calls back when one endpoint has found an incompatible one."""

    def __init__(
        self, endpoint: Any, event: str, callback: Callable[[Any], Any], callback_group: CallbackGroup
    ) -> None:
        """`event`: offered_incompatible_qos of a publisher, requested_incompatible_qos of a subscription."""
        self.callback, self.callback_group = callback, callback_group
        self._endpoint = endpoint
        self._number = next(entity_numbers)
        self._condition = endpoint.handle  # the endpoint itself triggers, for the statuses in its mask
        self._read = dds._function(f"dds_get_{event}_status", ctypes.c_int32, ctypes.POINTER(_Status))
        dds.set_status_mask(endpoint.handle, getattr(dds, event.upper()))

    def _take_job(self) -> tuple[Callable[..., Any], tuple] | None:
        status = _Status()
        if self._read(self._endpoint.handle, ctypes.byref(status)) < 0 or not status.values[1]:
            return None
        total, change, policy, _ = status.values
        kind = _POLICIES.get(policy, QoSPolicyKind.INVALID)
        return self.callback, (QoSRequestedIncompatibleQoSInfo(total, ctypes.c_int32(change).value, kind),)


class PublisherEventCallbacks:
    """What to call for events of a publisher: of those of rclpy, `incompatible_qos` is covered."""

    event = "offered_incompatible_qos"
    warning = "New subscription discovered on topic '{}', requesting incompatible QoS. No messages will be sent to it. "

    def __init__(
        self,
        *,
        incompatible_qos: Callable[[QoSOfferedIncompatibleQoSInfo], None] | None = None,
        use_default_callbacks: bool = True,
        **others: Any,
    ) -> None:
        for name, callback in others.items():
            if callback is not None:
                raise NotCovered(f"the event {name} of {type(self).__name__}")
        self.incompatible_qos, self.use_default_callbacks = incompatible_qos, use_default_callbacks

    def _callback(self, topic: str, logger_name: str) -> Callable[[Any], Any] | None:
        def warn(event: Any) -> None:
            policy = qos_policy_name_from_kind(event.last_policy_kind)
            get_logger(logger_name).warning(f"{self.warning.format(topic)}Last incompatible policy: {policy}")

        return self.incompatible_qos or (warn if self.use_default_callbacks else None)


class SubscriptionEventCallbacks(PublisherEventCallbacks):
    """What to call for events of a subscription: of those of rclpy, `incompatible_qos` is covered."""

    event = "requested_incompatible_qos"
    warning = (
        "New publisher discovered on topic '{}', offering incompatible QoS. No messages will be received from it. "
    )
