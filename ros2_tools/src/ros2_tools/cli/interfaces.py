"""Interfaces by name: `pkg/msg/Name` to its class, and what can be listed of them."""

import importlib


def _load(name, kind):
    """Return the class that `pkg/Name` or `pkg/kind/Name` names; ValueError, ModuleNotFoundError or AttributeError."""
    parts = name.split("/")
    if len(parts) == 2:
        parts.insert(1, kind)
    if len(parts) != 3 or not all(parts):
        raise ValueError(f"'{name}' is not of the form package/{kind}/Name")
    return getattr(importlib.import_module(".".join(parts[:2])), parts[2])


def is_message(value):
    """Tell whether a value (or class) is a message."""
    return hasattr(value, "get_fields_and_field_types")


def message_class(name, refusal="The passed message type is invalid"):
    """Return the class of the message `pkg/msg/Name` or `pkg/Name`; RuntimeError with `refusal` if there is none."""
    try:
        found = _load(name, "msg")
    except (AttributeError, ModuleNotFoundError, ValueError):
        raise RuntimeError(refusal) from None
    if not is_message(found):
        raise RuntimeError(refusal)
    return found


def service_class(name):
    """Return the class of the service `pkg/srv/Name` or `pkg/Name`; RuntimeError if there is none."""
    try:
        found = _load(name, "srv")
    except (AttributeError, ModuleNotFoundError, ValueError):
        raise RuntimeError("The passed service type is invalid") from None
    if not (hasattr(found, "Request") and hasattr(found, "Response")):
        raise RuntimeError("The passed type is not a service")
    return found
