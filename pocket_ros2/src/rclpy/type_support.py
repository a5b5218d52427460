"""Tells message and service types."""

from __future__ import annotations

from typing import Any


def check_for_type_support(msg_or_srv_type: Any) -> None:
    """Raise AttributeError for what is no message or service class."""
    if not isinstance(getattr(msg_or_srv_type, "_typename", None), str):
        raise AttributeError(f"{msg_or_srv_type!r} is no message or service class of ROS 2 (it has no type support)")


def check_is_valid_msg_type(msg_type: Any) -> None:
    """Raise for what is no message class; the text says what was given."""
    check_for_type_support(msg_type)
    if hasattr(msg_type, "Request"):
        raise RuntimeError(f"the type of a topic must be a message, got the service {msg_type._typename}")


def check_is_valid_srv_type(srv_type: Any) -> None:
    """Raise for what is no service class; the text says what was given."""
    check_for_type_support(srv_type)
    if not (hasattr(srv_type, "Request") and hasattr(srv_type, "Response")):
        raise RuntimeError(f"the type of a service must be a service, got the message {srv_type._typename}")
