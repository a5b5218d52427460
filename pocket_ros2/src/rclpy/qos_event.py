"""Events of QoS: incompatible endpoints, missed deadlines, liveliness."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from pocket_ros2 import dds
from pocket_ros2.errors import NotCovered

from ._rclpy_pybind11 import UnsupportedEventTypeError as UnsupportedEventTypeError
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


class QoSRequestedDeadlineMissedInfo(NamedTuple):
    """How many deadlines were missed."""

    total_count: int
    total_count_change: int


class QoSLivelinessLostInfo(NamedTuple):
    """How often liveliness was lost."""

    total_count: int
    total_count_change: int


class QoSLivelinessChangedInfo(NamedTuple):
    """How many matched publishers are alive and not alive."""

    alive_count: int
    not_alive_count: int
    alive_count_change: int
    not_alive_count_change: int


QoSOfferedIncompatibleQoSInfo = QoSRequestedIncompatibleQoSInfo
QoSOfferedDeadlineMissedInfo = QoSRequestedDeadlineMissedInfo


class _Status(ctypes.Structure):
    """Room for any of the statuses: counters first, all 32 bit."""

    _fields_ = [("values", ctypes.c_uint32 * 4), ("handle", ctypes.c_int64)]


def _status_reader(function: str) -> Callable[[int], list[int]]:
    call = dds._function(f"dds_get_{function}_status", ctypes.c_int32, ctypes.POINTER(_Status))

    def read(entity: int) -> list[int]:
        status = _Status()
        if call(entity, ctypes.byref(status)) < 0:
            return []
        return list(status.values)

    return read


def _incompatible(values: list[int]) -> Any:
    kind = _POLICIES.get(values[2], QoSPolicyKind.INVALID)
    return QoSRequestedIncompatibleQoSInfo(values[0], ctypes.c_int32(values[1]).value, kind)


def _counted(info: type) -> Callable[[list[int]], Any]:
    return lambda values: info(values[0], ctypes.c_int32(values[1]).value)


def _changed(values: list[int]) -> Any:
    return QoSLivelinessChangedInfo(
        values[0], values[1], ctypes.c_int32(values[2]).value, ctypes.c_int32(values[3]).value
    )


_EVENTS = {
    "offered_incompatible_qos": (dds.OFFERED_INCOMPATIBLE_QOS, _incompatible),
    "requested_incompatible_qos": (dds.REQUESTED_INCOMPATIBLE_QOS, _incompatible),
    "offered_deadline_missed": (dds.OFFERED_DEADLINE_MISSED, _counted(QoSRequestedDeadlineMissedInfo)),
    "requested_deadline_missed": (dds.REQUESTED_DEADLINE_MISSED, _counted(QoSRequestedDeadlineMissedInfo)),
    "liveliness_lost": (dds.LIVELINESS_LOST, _counted(QoSLivelinessLostInfo)),
    "liveliness_changed": (dds.LIVELINESS_CHANGED, _changed),
}


class QoSEventHandler:
    """Calls back with all events that one endpoint is to report."""

    def __init__(
        self, endpoint: Any, callbacks: dict[str, Callable[[Any], Any]], callback_group: CallbackGroup
    ) -> None:
        self.callback_group = callback_group
        self._events = [(_status_reader(name), _EVENTS[name][1], callback) for name, callback in callbacks.items()]
        self._endpoint = endpoint
        self._number = next(entity_numbers)
        self._condition = endpoint.handle  # the endpoint itself triggers, for the statuses in its mask
        mask = 0
        for name in callbacks:
            mask |= _EVENTS[name][0]
        dds.set_status_mask(endpoint.handle, mask)

    def _take_job(self) -> tuple[Callable[..., Any], tuple] | None:
        calls = []
        for read, convert, callback in self._events:
            values = read(self._endpoint.handle)
            if values:
                info = convert(values)
                if any(change for name, change in info._asdict().items() if name.endswith("change")):
                    calls.append((callback, info))
        return (self._report, (calls,)) if calls else None

    @staticmethod
    def _report(calls: list[tuple[Callable[[Any], Any], Any]]) -> None:
        for callback, info in calls:
            callback(info)

    def destroy(self) -> None:
        """Report no more."""
        self._events = []


class SubscriptionEventCallbacks:
    """What to call for events of a subscription."""

    def __init__(
        self,
        *,
        deadline: Callable[[QoSRequestedDeadlineMissedInfo], None] | None = None,
        incompatible_qos: Callable[[QoSRequestedIncompatibleQoSInfo], None] | None = None,
        liveliness: Callable[[QoSLivelinessChangedInfo], None] | None = None,
        message_lost: Callable[[Any], None] | None = None,
        use_default_callbacks: bool = True,
    ) -> None:
        if message_lost is not None:
            raise NotCovered("the message_lost event of a subscription")
        self.deadline, self.incompatible_qos, self.liveliness = deadline, incompatible_qos, liveliness
        self.message_lost, self.use_default_callbacks = message_lost, use_default_callbacks

    def _callbacks(self, topic: str, logger_name: str) -> dict[str, Callable[[Any], Any]]:
        def warn(event: Any) -> None:
            get_logger(logger_name).warning(
                f"New publisher discovered on topic '{topic}', offering incompatible QoS. No messages will be "
                f"received from it. Last incompatible policy: {qos_policy_name_from_kind(event.last_policy_kind)}"
            )

        chosen = {
            "requested_incompatible_qos": self.incompatible_qos or (warn if self.use_default_callbacks else None),
            "requested_deadline_missed": self.deadline,
            "liveliness_changed": self.liveliness,
        }
        return {name: callback for name, callback in chosen.items() if callback is not None}


class PublisherEventCallbacks:
    """What to call for events of a publisher."""

    def __init__(
        self,
        *,
        deadline: Callable[[QoSOfferedDeadlineMissedInfo], None] | None = None,
        liveliness: Callable[[QoSLivelinessLostInfo], None] | None = None,
        incompatible_qos: Callable[[QoSOfferedIncompatibleQoSInfo], None] | None = None,
        use_default_callbacks: bool = True,
    ) -> None:
        self.deadline, self.incompatible_qos, self.liveliness = deadline, incompatible_qos, liveliness
        self.use_default_callbacks = use_default_callbacks

    def _callbacks(self, topic: str, logger_name: str) -> dict[str, Callable[[Any], Any]]:
        def warn(event: Any) -> None:
            get_logger(logger_name).warning(
                f"New subscription discovered on topic '{topic}', requesting incompatible QoS. No messages will be "
                f"sent to it. Last incompatible policy: {qos_policy_name_from_kind(event.last_policy_kind)}"
            )

        chosen = {
            "offered_incompatible_qos": self.incompatible_qos or (warn if self.use_default_callbacks else None),
            "offered_deadline_missed": self.deadline,
            "liveliness_lost": self.liveliness,
        }
        return {name: callback for name, callback in chosen.items() if callback is not None}
