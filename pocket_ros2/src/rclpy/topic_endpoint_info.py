"""What is known of one endpoint of a topic."""

from __future__ import annotations

from enum import IntEnum

from .qos import QoSProfile


class TopicEndpointTypeEnum(IntEnum):
    """Publisher or subscription."""

    INVALID = 0
    PUBLISHER = 1
    SUBSCRIPTION = 2


class TopicEndpointInfo:
    """Node, type, GID and QoS of a publisher or subscription on the network."""

    def __init__(
        self,
        *,
        node_name: str = "",
        node_namespace: str = "",
        topic_type: str = "",
        endpoint_type: TopicEndpointTypeEnum = TopicEndpointTypeEnum.INVALID,
        endpoint_gid: list[int] | None = None,
        qos_profile: QoSProfile | None = None,
    ) -> None:
        self.node_name, self.node_namespace, self.topic_type = node_name, node_namespace, topic_type
        self.endpoint_type = endpoint_type
        self.endpoint_gid = [] if endpoint_gid is None else endpoint_gid
        self.qos_profile = qos_profile

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TopicEndpointInfo) and vars(self) == vars(other)

    __hash__ = None

    def __str__(self) -> str:
        gid = ".".join(f"{byte:02x}" for byte in self.endpoint_gid)
        qos = self.qos_profile

        return (
            f"Node name: {self.node_name}\n"
            f"Node namespace: {self.node_namespace}\n"
            f"Topic type: {self.topic_type}\n"
            f"Endpoint type: {self.endpoint_type.name}\n"
            f"GID: {gid}\n"
            "QoS profile:\n"
            f"  Reliability: {qos.reliability.name}\n"
            f"  History (Depth): {qos.history.name}{f' ({qos.depth})' if qos.depth else ''}\n"
            f"  Durability: {qos.durability.name}\n"
            f"  Lifespan: {qos.lifespan}\n"
            f"  Deadline: {qos.deadline}\n"
            f"  Liveliness: {qos.liveliness.name}\n"
            f"  Liveliness lease duration: {qos.liveliness_lease_duration}"
        )
