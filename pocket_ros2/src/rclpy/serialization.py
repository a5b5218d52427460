"""Messages to bytes and back."""

from __future__ import annotations

from typing import Any

from pocket_ros2.cdr import deserializer, serializer


def serialize_message(message: Any) -> bytes:
    """Return the CDR bytes of a message, header included."""
    return serializer(type(message)._typename)(message)


def deserialize_message(serialized_message: bytes, message_type: type) -> Any:
    """Return the message of a type that CDR bytes hold."""
    return deserializer(message_type._typename)(bytes(serialized_message))
