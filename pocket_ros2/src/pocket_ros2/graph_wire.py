"""`ros_discovery_info`: which node an endpoint belongs to, as rmw_dds_common/msg/ParticipantEntitiesInfo of Humble."""

from __future__ import annotations

import struct
from typing import NamedTuple

from .cdr import HEADER, CorruptMessage

TYPE = "rmw_dds_common/msg/ParticipantEntitiesInfo"
TOPIC = "ros_discovery_info"
_GID = 16  # a GUID; Humble pads it to 24 bytes
_GID_ON_WIRE = 24


class NodeEntities(NamedTuple):
    """One node and the GUIDs (16 bytes each) of its DataReaders and DataWriters, those of services included."""

    namespace: str
    name: str
    readers: tuple[bytes, ...]
    writers: tuple[bytes, ...]


def _text(value: str) -> bytes:
    raw = value.encode() + b"\0"
    return struct.pack("<I", len(raw)) + raw + bytes(-len(raw) % 4)


def _gids(values: tuple[bytes, ...]) -> bytes:
    return struct.pack("<I", len(values)) + b"".join(v.ljust(_GID_ON_WIRE, b"\0") for v in values)


def pack(participant: bytes, nodes: list[NodeEntities]) -> bytes:
    """Return the message of a participant (its GUID) and all its nodes."""
    parts = [HEADER, participant.ljust(_GID_ON_WIRE, b"\0"), struct.pack("<I", len(nodes))]
    for node in nodes:
        parts += [_text(node.namespace), _text(node.name), _gids(node.readers), _gids(node.writers)]
    return b"".join(parts)


class _Walk:
    def __init__(self, raw: bytes) -> None:
        self.raw, self.at = raw, len(HEADER)

    def number(self) -> int:
        self.at += -self.at % 4
        (value,) = struct.unpack_from("<I", self.raw, self.at)
        self.at += 4
        return value

    def text(self) -> str:
        size = self.number()
        value = self.raw[self.at : self.at + size - 1].decode()
        self.at += size
        return value

    def gid(self) -> bytes:
        value = self.raw[self.at : self.at + _GID]
        if len(value) < _GID:
            raise CorruptMessage(f"a {TYPE} ends too early")
        self.at += _GID_ON_WIRE
        return value

    def gids(self) -> tuple[bytes, ...]:
        count = self.number()
        return tuple(self.gid() for _ in range(count))


def unpack(raw: bytes) -> tuple[bytes, list[NodeEntities]]:
    """Return the participant's GUID and its nodes; CorruptMessage if the bytes are none of this message."""
    walk = _Walk(raw)
    try:
        participant = walk.gid()
        count = walk.number()
        nodes = [NodeEntities(walk.text(), walk.text(), walk.gids(), walk.gids()) for _ in range(count)]
    except (struct.error, UnicodeDecodeError) as error:
        raise CorruptMessage(f"the bytes of a {TYPE} do not fit its type: {error}") from error
    return participant, nodes
