"""What is on the network: nodes, topics, services and endpoints, as DDS and `ros_discovery_info` tell."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from cyclonedds import _clayer
from cyclonedds.qos import _CQos

from . import dds, graph_wire
from .cdr import CorruptMessage
from .graph_wire import NodeEntities
from .idl import ros_type_name

if TYPE_CHECKING:
    from .participant import Participant

_PARTICIPANTS, _PUBLICATIONS, _SUBSCRIPTIONS = 0x7FFF0001, 0x7FFF0003, 0x7FFF0004  # Cyclone DDS's built-in topics
_OWN_TYPES = "org::eclipse::cyclonedds::builtin::"  # of the readers below
_ALIVE = 16
_MANY = 1000


class RemoteEndpoint(NamedTuple):
    """A discovered DataReader or DataWriter, this process' own included."""

    guid: bytes
    topic: str  # DDS name, with rt/, rq/ or rr/
    type_name: str  # DDS name
    qos: Any


def _endpoint(
    key: bytes, _participant: bytes, _handle: int, topic: str, type_name: str, qos: Any, info: Any, _type: Any
) -> Any:
    return RemoteEndpoint(bytes(key), topic, type_name, qos), info


def _participant_key(key: bytes, _qos: Any, info: Any) -> Any:
    return bytes(key), info


def _nothing(_pointer: Any) -> None:
    """Stand in for a QoS that nobody asks for."""


class _Builtin:
    """Keeps a table of what one built-in topic says is alive."""

    def __init__(self, participant: int, topic: int) -> None:
        self._reader = dds.create_reader(participant, topic, None)
        self._participants = topic == _PARTICIPANTS
        self.alive: dict[bytes, Any] = {}

    def update(self) -> dict[bytes, Any]:
        while True:
            if self._participants:
                found = _clayer.ddspy_take_participant(self._reader, _MANY, _participant_key, _nothing)
            else:
                found = _clayer.ddspy_take_endpoint(self._reader, _MANY, _endpoint, _CQos.cqos_to_qos)
            if isinstance(found, int):
                dds.check(found, "reading what was discovered")
                return self.alive
            for value, info in found:
                key = value if self._participants else value.guid
                if info.instance_state != _ALIVE:
                    self.alive.pop(key, None)
                elif info.valid_data and (self._participants or not value.type_name.startswith(_OWN_TYPES)):
                    self.alive[key] = value
            if len(found) < _MANY:
                return self.alive


class Graph:
    """Answers questions about the network."""

    def __init__(self, participant: Participant, listener: int) -> None:
        self._participant = participant
        self._listener = listener
        self._lock = threading.RLock()
        self._announced: dict[bytes, bytes] = {}  # participant GUID -> latest message, decoded when asked for
        self._builtins: dict[int, _Builtin] = {}
        self._guard = dds.create_guard(participant.domain_handle)
        self._waitset = dds.Waitset(participant.domain_handle)
        self._waitset.attach(self._guard, 0)
        self._waitset.attach(dds.create_read_condition(listener), 1)
        self._thread = threading.Thread(target=self._listen, name="ros_discovery_info", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        """Keep the announcements of others; runs in its own thread, which wakes only when the graph changes."""
        while not self._participant.closed:
            if 1 in self._waitset.wait(dds.INFINITE) and not self._participant.closed:
                self._collect()

    def _collect(self) -> None:
        with self._lock:
            if self._participant.closed:
                return
            found = dds.take(self._listener, dds.ANY, _MANY)
            if isinstance(found, int):
                return
            for raw, info in found:
                if info.valid_data:
                    self._announced[raw[4:20]] = raw

    def close(self) -> None:
        """Stop the thread."""
        dds.set_guard(self._guard)
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self._waitset.close()
        dds.delete(self._guard)

    def _builtin(self, topic: int) -> dict[bytes, Any]:
        if topic not in self._builtins:
            self._builtins[topic] = _Builtin(self._participant.handle, topic)
        return self._builtins[topic].update()

    def nodes(self) -> list[NodeEntities]:
        """Return every node of the network, this process' own first."""
        with self._lock:
            if self._participant.closed:
                return []
            self._collect()
            alive = self._builtin(_PARTICIPANTS)
            found = self._participant.local_nodes()
            for key, raw in list(self._announced.items()):
                if key not in alive:
                    del self._announced[key]
                    continue
                try:
                    found += graph_wire.unpack(raw)[1]
                except CorruptMessage:
                    continue  # a node of another ROS 2 release, whose announcement has another layout
            return found

    def writers(self) -> list[RemoteEndpoint]:
        """Return every DataWriter of the network."""
        with self._lock:
            return [] if self._participant.closed else list(self._builtin(_PUBLICATIONS).values())

    def readers(self) -> list[RemoteEndpoint]:
        """Return every DataReader of the network."""
        with self._lock:
            return [] if self._participant.closed else list(self._builtin(_SUBSCRIPTIONS).values())

    def size(self) -> tuple[int, int, int]:
        """Return the number of processes, of those that announced their nodes, and of endpoints heard of."""
        with self._lock:
            if self._participant.closed:
                return 0, 0, 0
            self._collect()
            endpoints = len(self._builtin(_PUBLICATIONS)) + len(self._builtin(_SUBSCRIPTIONS))
            return len(self._builtin(_PARTICIPANTS)), len(self._announced), endpoints

    def complete(self) -> bool:
        """Tell whether all that has been heard of is known: every process' nodes and every endpoint of theirs.

        It stays false beside a process that is no ROS 2 node, which announces nothing.
        """
        with self._lock:
            if self._participant.closed:
                return False
            nodes = self.nodes()
            discovered = self._builtin(_PUBLICATIONS).keys() | self._builtin(_SUBSCRIPTIONS).keys()
            others = self._builtin(_PARTICIPANTS).keys() - {self._participant.guid}
            return others <= self._announced.keys() and all(
                discovered.issuperset(node.writers) and discovered.issuperset(node.readers) for node in nodes
            )

    def node_of(self, guid: bytes, *, writer: bool) -> NodeEntities | None:
        """Return the node an endpoint belongs to, None if no node has announced it."""
        for node in self.nodes():
            if guid in (node.writers if writer else node.readers):
                return node
        return None

    def endpoints_of(self, node: NodeEntities, *, writers: bool) -> list[RemoteEndpoint]:
        """Return the DataWriters or DataReaders of a node."""
        mine = set(node.writers if writers else node.readers)
        return [e for e in (self.writers() if writers else self.readers()) if e.guid in mine]


def topic_name(dds_name: str) -> str | None:
    """Return the ROS topic of a DDS topic name, None if it is no ROS topic."""
    return dds_name[2:] if dds_name.startswith("rt/") else None


def request_name(dds_name: str) -> str | None:
    """Return the service whose requests travel on a DDS topic."""
    return dds_name[2:-7] if dds_name.startswith("rq/") and dds_name.endswith("Request") else None


def reply_name(dds_name: str) -> str | None:
    """Return the service whose replies travel on a DDS topic."""
    return dds_name[2:-5] if dds_name.startswith("rr/") and dds_name.endswith("Reply") else None


def service_name(dds_name: str) -> str | None:
    """Return the service that a DDS topic belongs to."""
    return request_name(dds_name) or reply_name(dds_name)


def service_type(dds_type: str) -> str | None:
    """Return `pkg/srv/Name` for the DDS type of a request or reply."""
    ros = ros_type_name(dds_type)
    if ros is None:
        return None
    for half in ("_Request", "_Response"):
        if ros.endswith(half):
            return ros[: -len(half)]
    return ros


def names_and_types(
    endpoints: Iterable[RemoteEndpoint],
    name_of: Callable[[str], str | None] = topic_name,
    type_of: Callable[[str], str | None] = ros_type_name,
) -> list[tuple[str, list[str]]]:
    """Return (name, [types]) sorted by name of the endpoints that have a name of the asked kind."""
    found: dict[str, set[str]] = {}
    for endpoint in endpoints:
        name = name_of(endpoint.topic)
        if name is not None:
            found.setdefault(name, set()).add(type_of(endpoint.type_name) or endpoint.type_name)
    return [(name, sorted(types)) for name, types in sorted(found.items())]
