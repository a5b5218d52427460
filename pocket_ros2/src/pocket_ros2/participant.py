"""One process' (more exactly: one rclpy context's) place on the network: a DDS participant and its nodes."""

from __future__ import annotations

import itertools
import threading

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile

from . import dds, graph_wire
from .dds import Policy, Qos
from .domain import open_domain, sockets_on_loopback
from .graph import Graph
from .idl import idl_class
from .wire_qos import endpoint_qos

_ANNOUNCE = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_LISTEN = QoSProfile(history=HistoryPolicy.KEEP_ALL, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class LocalNode:
    """What this process announces of one of its nodes."""

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace, self.name = namespace, name
        self.readers: list[bytes] = []
        self.writers: list[bytes] = []

    def entities(self) -> graph_wire.NodeEntities:
        """Return the form that goes onto the wire."""
        return graph_wire.NodeEntities(self.namespace, self.name, tuple(self.readers), tuple(self.writers))


class Endpoint:
    """A DataReader or DataWriter of a node; `close` deletes it and takes it out of the node's announcement."""

    def __init__(self, participant: Participant, node: LocalNode | None, handle: int, writer: bool) -> None:
        self.handle, self.participant, self.guid = handle, participant, dds.guid(handle)
        self._node, self._list = node, None if node is None else node.writers if writer else node.readers
        if self._list is not None:
            self._list.append(self.guid)

    def close(self) -> None:
        """Delete the endpoint; a second call does nothing."""
        handle, self.handle = self.handle, -1
        if handle == -1 or self.participant.closed:
            return
        if self._list is not None and self.guid in self._list:
            self._list.remove(self.guid)
            self.participant.announce()
        dds.delete(handle)


class Participant:
    """A DDS participant with one publisher and one subscriber, and the announcements of its nodes."""

    def __init__(self, domain_number: int) -> None:
        with sockets_on_loopback():
            self.domain_handle = open_domain(domain_number)
            self.closed = False
            self.handle = dds.create_participant(domain_number, Qos(Policy.Userdata(b"enclave=/;")))
        self.guid = dds.guid(self.handle)
        self._publisher = dds.create_publisher(self.handle)
        self._subscriber = dds.create_subscriber(self.handle)
        self._topics: dict[tuple[str, str], int] = {}
        self._nodes: list[LocalNode] = []
        self._lock = threading.RLock()
        self._batch = 0
        self._service_ids = itertools.count(1)
        topic = self._topic(graph_wire.TOPIC, graph_wire.TYPE)
        self._announcer = dds.create_writer(self._publisher, topic, endpoint_qos(_ANNOUNCE, writer=True))
        listener = dds.create_reader(self._subscriber, topic, endpoint_qos(_LISTEN, writer=False, ignore_local=True))
        self.graph = Graph(self, listener)

    def _topic(self, name: str, typename: str) -> int:
        key = (name, typename)
        with self._lock:
            if key not in self._topics:
                self._topics[key] = dds.create_topic(self.domain_handle, self.handle, name, idl_class(typename))
            return self._topics[key]

    def create_writer(
        self, node: LocalNode | None, topic: str, typename: str, profile: QoSProfile, user_data: bytes = b""
    ) -> Endpoint:
        """Create a DataWriter on a DDS topic name and announce it as the node's."""
        qos = endpoint_qos(profile, writer=True, user_data=user_data)
        handle = dds.create_writer(self._publisher, self._topic(topic, typename), qos)
        return self._added(Endpoint(self, node, handle, True))

    def create_reader(
        self, node: LocalNode | None, topic: str, typename: str, profile: QoSProfile, user_data: bytes = b""
    ) -> Endpoint:
        """Create a DataReader on a DDS topic name and announce it as the node's."""
        qos = endpoint_qos(profile, writer=False, user_data=user_data)
        handle = dds.create_reader(self._subscriber, self._topic(topic, typename), qos)
        return self._added(Endpoint(self, node, handle, False))

    def _added(self, endpoint: Endpoint) -> Endpoint:
        self.announce()
        return endpoint

    def next_service_id(self) -> str:
        """Return the id that a service's or client's two endpoints carry in their user data."""
        raw = self.guid[:12] + next(self._service_ids).to_bytes(4, "big")
        return ".".join([f"{raw[0]:2x}", *(f"{byte:x}" for byte in raw[1:])])

    def add_node(self, namespace: str, name: str) -> LocalNode:
        """Announce a node."""
        node = LocalNode(namespace, name)
        with self._lock:
            self._nodes.append(node)
        self.announce()
        return node

    def remove_node(self, node: LocalNode) -> None:
        """Withdraw a node's announcement."""
        with self._lock:
            if node in self._nodes:
                self._nodes.remove(node)
        self.announce()

    def local_nodes(self) -> list[graph_wire.NodeEntities]:
        """Return this process' own nodes."""
        with self._lock:
            return [node.entities() for node in self._nodes]

    def announce(self) -> None:
        """Tell the network all nodes of this participant and their endpoints."""
        with self._lock:
            if self._batch or self.closed:
                return
            code = dds.write(self._announcer, graph_wire.pack(self.guid, [n.entities() for n in self._nodes]))
            dds.check(code, "announcing the nodes of this process")

    def __enter__(self) -> None:
        """Hold announcements back until the `with` block ends."""
        with self._lock:
            self._batch += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._batch -= 1
        self.announce()

    def close(self) -> None:
        """Leave the network with everything created here; a second call does nothing."""
        with self._lock:
            if self.closed:
                return
            try:
                self.closed = True
            finally:  # also if Ctrl-C comes at this very moment
                dds.delete(self.handle)
        self.graph.close()
