"""Checks a parameter name."""

from .exceptions import InvalidParameterException


def validate_parameter_name(name: str) -> bool:
    """Return True; InvalidParameterException if the name is empty."""
    if not name:
        raise InvalidParameterException(name)
    return True
