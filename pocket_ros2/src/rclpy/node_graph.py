"""What a Node can tell about the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pocket_ros2 import graph
from pocket_ros2.idl import ros_type_name
from pocket_ros2.wire_qos import profile_of

from ._rclpy_pybind11 import NodeNameNonExistentError
from .topic_endpoint_info import TopicEndpointInfo, TopicEndpointTypeEnum

NamesAndTypes = list[tuple[str, list[str]]]


def _raw(name: str) -> str:
    return name


class GraphMixin:
    """Graph queries; needs `_participant`, `resolve_topic_name` and the node's name and namespace."""

    _participant: Any

    @property
    def _graph(self) -> graph.Graph:
        return self._participant.graph

    # --- nodes -----------------------------------------------------------------------------------------------------

    def get_node_names_and_namespaces(self) -> list[tuple[str, str]]:
        """Return (name, namespace) of every node."""
        return [(node.name, node.namespace) for node in self._graph.nodes()]

    def get_node_names(self) -> list[str]:
        """Return the name of every node."""
        return [node.name for node in self._graph.nodes()]

    def get_fully_qualified_node_names(self) -> list[str]:
        """Return the fully qualified name of every node."""
        return [f"{node.namespace.rstrip('/')}/{node.name}" for node in self._graph.nodes()]

    def _node(self, name: str, namespace: str) -> Any:
        for node in self._graph.nodes():
            if (node.name, node.namespace) == (name, namespace or "/"):
                return node
        raise NodeNameNonExistentError(
            f"Cannot get topics or services of node '{name}' in '{namespace}': it is not there"
        )

    def _by_node(
        self,
        name: str,
        namespace: str,
        *,
        writers: bool,
        name_of: Callable[[str], str | None],
        type_of: Callable[[str], str | None],
    ) -> NamesAndTypes:
        found = self._graph.endpoints_of(self._node(name, namespace), writers=writers)
        return graph.names_and_types(found, name_of, type_of)

    def get_publisher_names_and_types_by_node(
        self, node_name: str, node_namespace: str, no_demangle: bool = False
    ) -> NamesAndTypes:
        """Return (topic, [types]) of a node's publishers; NodeNameNonExistentError if it is not there."""
        return self._by_node(
            node_name,
            node_namespace,
            writers=True,
            name_of=_raw if no_demangle else graph.topic_name,
            type_of=_raw if no_demangle else ros_type_name,
        )

    def get_subscriber_names_and_types_by_node(
        self, node_name: str, node_namespace: str, no_demangle: bool = False
    ) -> NamesAndTypes:
        """Return (topic, [types]) of a node's subscriptions; NodeNameNonExistentError if it is not there."""
        return self._by_node(
            node_name,
            node_namespace,
            writers=False,
            name_of=_raw if no_demangle else graph.topic_name,
            type_of=_raw if no_demangle else ros_type_name,
        )

    def get_service_names_and_types_by_node(self, node_name: str, node_namespace: str) -> NamesAndTypes:
        """Return (service, [types]) of a node's services; NodeNameNonExistentError if it is not there."""
        return self._by_node(
            node_name, node_namespace, writers=False, name_of=graph.request_name, type_of=graph.service_type
        )

    def get_client_names_and_types_by_node(self, node_name: str, node_namespace: str) -> NamesAndTypes:
        """Return (service, [types]) of a node's clients; NodeNameNonExistentError if it is not there."""
        return self._by_node(
            node_name, node_namespace, writers=False, name_of=graph.reply_name, type_of=graph.service_type
        )

    # --- topics and services ---------------------------------------------------------------------------------------

    def get_topic_names_and_types(self, no_demangle: bool = False) -> NamesAndTypes:
        """Return (topic, [types]) of every topic."""
        found = self._graph.writers() + self._graph.readers()
        if no_demangle:
            return graph.names_and_types(found, _raw, _raw)
        return graph.names_and_types(found)

    def get_service_names_and_types(self) -> NamesAndTypes:
        """Return (service, [types]) of every service."""
        found = self._graph.writers() + self._graph.readers()
        return graph.names_and_types(found, graph.service_name, graph.service_type)

    def _dds_topic(self, topic_name: str, no_mangle: bool) -> str:
        return topic_name if no_mangle else f"rt{self.resolve_topic_name(topic_name)}"

    def count_publishers(self, topic_name: str) -> int:
        """Return how many publishers a topic has."""
        wanted = self._dds_topic(topic_name, False)
        return sum(e.topic == wanted for e in self._graph.writers())

    def count_subscribers(self, topic_name: str) -> int:
        """Return how many subscriptions a topic has."""
        wanted = self._dds_topic(topic_name, False)
        return sum(e.topic == wanted for e in self._graph.readers())

    def count_clients(self, service_name: str) -> int:
        """Return how many clients a service has."""
        wanted = f"rr{self.resolve_service_name(service_name)}Reply"
        return sum(e.topic == wanted for e in self._graph.readers())

    def count_services(self, service_name: str) -> int:
        """Return how many servers a service has."""
        wanted = f"rq{self.resolve_service_name(service_name)}Request"
        return sum(e.topic == wanted for e in self._graph.readers())

    def _infos(self, topic_name: str, no_mangle: bool, *, writers: bool) -> list[TopicEndpointInfo]:
        wanted = self._dds_topic(topic_name, no_mangle)
        nodes = self._graph.nodes()
        owners = {guid: node for node in nodes for guid in (node.writers if writers else node.readers)}
        infos = []
        for endpoint in self._graph.writers() if writers else self._graph.readers():
            if endpoint.topic != wanted:
                continue
            node = owners.get(endpoint.guid)
            infos.append(
                TopicEndpointInfo(
                    node_name=node.name if node else "_NODE_NAME_UNKNOWN_",
                    node_namespace=node.namespace if node else "_NODE_NAMESPACE_UNKNOWN_",
                    topic_type=endpoint.type_name
                    if no_mangle
                    else ros_type_name(endpoint.type_name) or endpoint.type_name,
                    endpoint_type=TopicEndpointTypeEnum.PUBLISHER if writers else TopicEndpointTypeEnum.SUBSCRIPTION,
                    endpoint_gid=list(endpoint.guid.ljust(24, b"\0")),
                    qos_profile=profile_of(endpoint.qos),
                )
            )
        return infos

    def get_publishers_info_by_topic(self, topic_name: str, no_mangle: bool = False) -> list[TopicEndpointInfo]:
        """Return what is known of each publisher of a topic."""
        return self._infos(topic_name, no_mangle, writers=True)

    def get_subscriptions_info_by_topic(self, topic_name: str, no_mangle: bool = False) -> list[TopicEndpointInfo]:
        """Return what is known of each subscription of a topic."""
        return self._infos(topic_name, no_mangle, writers=False)
