"""The few calls of Cyclone DDS that pocket ROS 2 needs, on plain integer handles.

cyclonedds' own classes delete an entity when Python collects them, and not at all when the interpreter exits, which
leaves a ghost node on the network. Here nothing is deleted but by `delete`.
"""

from __future__ import annotations

import ctypes as ct
import threading
from collections.abc import Callable
from typing import Any

from cyclonedds import _clayer
from cyclonedds.core import DDSException
from cyclonedds.internal import DDS
from cyclonedds.qos import Policy, Qos, _CQos

__all__ = ["INFINITE", "DDSException", "Policy", "Qos", "Waitset", "take", "write"]

INFINITE = 2**63 - 1
ANY = 3 | 12 | 112  # every sample, view and instance state
OFFERED_INCOMPATIBLE_QOS, REQUESTED_INCOMPATIBLE_QOS = 1 << 3, 1 << 4

write = _clayer.ddspy_write
take = _clayer.ddspy_take

_library = ct.CDLL(DDS._dll_handle._name)  # a handle of our own: argtypes below are not seen by cyclonedds'
_entity, _pointer = ct.c_int32, ct.c_void_p


def _function(name: str, *arguments: Any, result: Any = _entity) -> Callable[..., Any]:
    function = getattr(_library, name)
    function.argtypes, function.restype = arguments, result
    return function


_create_domain = _function("dds_create_domain", ct.c_uint32, ct.c_char_p)
_create_participant = _function("dds_create_participant", ct.c_uint32, _pointer, _pointer)
_create_publisher = _function("dds_create_publisher", _entity, _pointer, _pointer)
_create_subscriber = _function("dds_create_subscriber", _entity, _pointer, _pointer)
_create_topic = _function(
    "dds_create_topic_sertype", _entity, ct.c_char_p, ct.POINTER(_pointer), _pointer, _pointer, _pointer
)
_get_type = _function("dds_get_entity_sertype", _entity, ct.POINTER(_pointer))
_add_type_reference = _function("ddsi_sertype_ref", _pointer, result=_pointer)
_create_writer = _function("dds_create_writer", _entity, _entity, _pointer, _pointer)
_create_reader = _function("dds_create_reader", _entity, _entity, _pointer, _pointer)
_create_readcondition = _function("dds_create_readcondition", _entity, ct.c_uint32)
_create_waitset = _function("dds_create_waitset", _entity)
_create_guard = _function("dds_create_guardcondition", _entity)
_delete = _function("dds_delete", _entity)
_get_guid = _function("dds_get_guid", _entity, ct.c_char * 16)
_get_handle = _function("dds_get_instance_handle", _entity, ct.POINTER(ct.c_uint64))
_set_guard = _function("dds_set_guardcondition", _entity, ct.c_bool)
_take_guard = _function("dds_take_guardcondition", _entity, ct.POINTER(ct.c_bool))
_waitset_attach = _function("dds_waitset_attach", _entity, _entity, ct.c_ssize_t)
_waitset_detach = _function("dds_waitset_detach", _entity, _entity)
_waitset_wait = _function("dds_waitset_wait", _entity, ct.POINTER(ct.c_ssize_t), ct.c_size_t, ct.c_int64)
_set_status_mask = _function("dds_set_status_mask", _entity, ct.c_uint32)
_matched_publications = _function("dds_get_matched_publications", _entity, _pointer, ct.c_size_t)
_matched_subscriptions = _function("dds_get_matched_subscriptions", _entity, _pointer, ct.c_size_t)
_wait_for_acks = _function("dds_wait_for_acks", _entity, ct.c_int64)


def check(code: int, what: str) -> int:
    """Return a non-negative result, raise DDSException for an error code."""
    if code < 0:
        raise DDSException(code, f"while {what}")
    return code


class _CreatedQos:
    """A Qos in Cyclone DDS's own form, for the length of a `with`."""

    def __init__(self, qos: Qos | None) -> None:
        self._pointer = _CQos.qos_to_cqos(qos) if qos is not None else None

    def __enter__(self) -> Any:
        return self._pointer

    def __exit__(self, *_: object) -> None:
        if self._pointer is not None:
            _CQos.cqos_destroy(self._pointer)


def create_domain(number: int, configuration: str) -> int:
    """Configure the domain before the first participant enters it."""
    return check(_create_domain(number, configuration.encode()), f"configuring DDS domain {number}: {configuration}")


def create_participant(domain: int, qos: Qos) -> int:
    """Join a domain."""
    with _CreatedQos(qos) as pointer:
        return check(_create_participant(domain, pointer, None), f"joining DDS domain {domain}")


def create_publisher(participant: int) -> int:
    """Create a DDS publisher with default QoS."""
    return check(_create_publisher(participant, None, None), "creating a DDS publisher")


def create_subscriber(participant: int) -> int:
    """Create a DDS subscriber with default QoS."""
    return check(_create_subscriber(participant, None, None), "creating a DDS subscriber")


# (domain, IDL class) -> its C structure, of which we hold a reference.
_registered_types: dict[tuple[int, type], int] = {}
_types_lock = threading.Lock()


def create_topic(domain: int, participant: int, name: str, idl_class: type) -> int:
    """Create a topic of an IDL class (see `idl.py`) with default QoS.

    The wheel makes a new C structure for each topic, and when Cyclone DDS knows an equal one already it frees the new
    one before all of it is initialised: a crash, now and then. So the wheel makes the first topic of a type only.
    """
    key = (domain, idl_class)
    with _types_lock:
        if key in _registered_types:
            kind = _pointer(_add_type_reference(_registered_types[key]))
            code = _create_topic(participant, name.encode(), ct.byref(kind), None, None, None)
            return check(code, f"creating topic {name}")
        idl_class.__idl__.populate()
        idl_class.__idl__.fill_type_data()
        code = _clayer.ddspy_topic_create(participant, name, idl_class, None, None)
        topic = check(code, f"creating topic {name}")
        kind = _pointer()
        check(_get_type(topic, ct.byref(kind)), f"asking for the type of topic {name}")
        _registered_types[key] = _add_type_reference(kind)
        return topic


def create_writer(publisher: int, topic: int, qos: Qos) -> int:
    """Create a DataWriter."""
    with _CreatedQos(qos) as pointer:
        return check(_create_writer(publisher, topic, pointer, None), "creating a DataWriter")


def create_reader(subscriber: int, topic: int, qos: Qos | None) -> int:
    """Create a DataReader."""
    with _CreatedQos(qos) as pointer:
        return check(_create_reader(subscriber, topic, pointer, None), "creating a DataReader")


def create_read_condition(reader: int) -> int:
    """Create a condition that holds as long as the reader has anything to take."""
    return check(_create_readcondition(reader, ANY), "creating a read condition")


def create_guard(owner: int) -> int:
    """Create a guard condition."""
    return check(_create_guard(owner), "creating a guard condition")


def set_guard(guard: int) -> None:
    """Trigger a guard condition; harmless when it is gone."""
    _set_guard(guard, True)


def take_guard(guard: int) -> bool:
    """Reset a guard condition and return whether it was triggered."""
    was = ct.c_bool()
    _take_guard(guard, ct.byref(was))
    return was.value


def delete(entity: int) -> None:
    """Delete an entity and all that hangs on it; harmless when it is gone."""
    _delete(entity)


def guid(entity: int) -> bytes:
    """Return the 16 bytes that name an entity on the network."""
    raw = (ct.c_char * 16)()
    check(_get_guid(entity, raw), "asking for a GUID")
    return raw.raw


def instance_handle(entity: int) -> int:
    """Return the entity's instance handle as an unsigned number."""
    handle = ct.c_uint64()
    check(_get_handle(entity, ct.byref(handle)), "asking for an instance handle")
    return handle.value


def matched_publications(reader: int) -> int:
    """Return how many writers are matched with a reader."""
    return max(0, _matched_publications(reader, None, 0))


def matched_subscriptions(writer: int) -> int:
    """Return how many readers are matched with a writer."""
    return max(0, _matched_subscriptions(writer, None, 0))


def matched_handles(endpoint: int, *, of_writer: bool) -> list[int]:
    """Return the instance handles of the endpoints matched with a writer or a reader."""
    function = _matched_subscriptions if of_writer else _matched_publications
    count = max(0, function(endpoint, None, 0))
    handles = (ct.c_uint64 * (count + 8))()
    count = max(0, function(endpoint, ct.cast(handles, _pointer), len(handles)))
    return list(handles[: min(count, len(handles))])


def writer_guid(reader: int, publication_handle: int) -> bytes | None:
    """Return the GUID of the writer that a sample of this reader came from; None if the writer has left."""

    def key(*endpoint: Any) -> bytes:
        return bytes(endpoint[0])

    found = _clayer.ddspy_get_matched_publication_data(reader, publication_handle, key, _CQos.cqos_to_qos)
    return found if isinstance(found, bytes) else None


def set_status_mask(entity: int, mask: int) -> None:
    """Choose the statuses that make an entity attached to a waitset trigger."""
    check(_set_status_mask(entity, mask), "enabling statuses")


def wait_for_acks(writer: int, nanoseconds: int) -> bool:
    """Wait until every matched reliable reader has all samples; False on timeout."""
    code = _wait_for_acks(writer, nanoseconds)
    if code == DDSException.DDS_RETCODE_TIMEOUT:
        return False
    check(code, "waiting for acknowledgements")
    return True


class Waitset:
    """Waits for several conditions and tells which of them hold, by the number each was attached with."""

    def __init__(self, owner: int) -> None:
        self._ref = check(_create_waitset(owner), "creating a waitset")
        self._size = 64
        self._slots = (ct.c_ssize_t * self._size)()

    def attach(self, entity: int, number: int) -> bool:
        """Wait for this entity too; False if it is gone."""
        code = _waitset_attach(self._ref, entity, number)
        if code in (DDSException.DDS_RETCODE_BAD_PARAMETER, DDSException.DDS_RETCODE_ALREADY_DELETED):
            return False
        check(code, "attaching to a waitset")
        return True

    def detach(self, entity: int) -> None:
        """Wait no longer for this entity; harmless when it is gone."""
        _waitset_detach(self._ref, entity)

    def wait(self, nanoseconds: int) -> list[int]:
        """Return the numbers of what is triggered, an empty list on timeout."""
        count = _waitset_wait(self._ref, self._slots, self._size, nanoseconds)
        if count < 0:
            raise DDSException(count, "while waiting")
        if count > self._size:
            self._size = 2 * count
            self._slots = (ct.c_ssize_t * self._size)()
            return self.wait(0)
        return self._slots[:count]

    def close(self) -> None:
        """Delete the waitset."""
        _delete(self._ref)
