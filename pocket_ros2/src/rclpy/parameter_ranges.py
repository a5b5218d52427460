"""Does a parameter's value keep to its descriptor's type and range."""

from __future__ import annotations

import math
from typing import Any

from rcl_interfaces.msg import SetParametersResult

from .parameter import Parameter

_RELATIVE_TOLERANCE = 1e-6


def _refused(reason: str) -> SetParametersResult:
    return SetParametersResult(successful=False, reason=reason)


def check_integer(name: str, value: int, limits: Any) -> SetParametersResult:
    """Return whether an integer is in its range and on a step of it."""
    low, high = sorted((limits.from_value, limits.to_value))
    if value in (low, high):
        return SetParametersResult(successful=True)
    if not low < value < high:
        return _refused(f"Parameter {name} out of range. Min: {low}, Max: {high}, value: {value}")
    if limits.step and (value - low) % limits.step:
        return _refused(
            f"The parameter value for {name} is not a valid step. "
            f"Min: {low}, max: {high}, value: {value}, step: {limits.step}"
        )
    return SetParametersResult(successful=True)


def check_double(name: str, value: float, limits: Any) -> SetParametersResult:
    """Return whether a double is in its range and close to a step of it."""
    low, high = sorted((limits.from_value, limits.to_value))

    def close(a: float, b: float) -> bool:
        return math.isclose(a, b, rel_tol=_RELATIVE_TOLERANCE)

    if close(value, low) or close(value, high):
        return SetParametersResult(successful=True)
    if not low < value < high:
        return _refused(f"Parameter {name} out of range Min: {low}, Max: {high}, value: {value}")
    if limits.step and not close(low + round((value - low) / limits.step) * limits.step, value):
        return _refused(
            f"The parameter value for {name} is not close enough to a valid step. "
            f"Min: {low}, max: {high}, value: {value}, step: {limits.step}"
        )
    return SetParametersResult(successful=True)


def check_descriptor(
    parameter: Parameter, descriptor: Any, *, declared: bool, check_read_only: bool
) -> SetParametersResult:
    """Return whether a parameter may get its value under a descriptor."""
    kinds = Parameter.Type
    if check_read_only and descriptor.read_only:
        return _refused(f"Trying to set a read-only parameter: {parameter.name}.")
    if descriptor.dynamic_typing:
        descriptor.type = parameter.type_.value
    elif declared and parameter.type_ == kinds.NOT_SET:
        return _refused("Static parameter cannot be undeclared")
    elif parameter.type_ != kinds.NOT_SET and parameter.type_.value != descriptor.type:
        return _refused(f"Wrong parameter type, expected '{kinds(descriptor.type)}' got '{parameter.type_}'")
    if parameter.type_ == kinds.INTEGER and descriptor.integer_range:
        return check_integer(parameter.name, parameter.value, descriptor.integer_range[0])
    if parameter.type_ == kinds.DOUBLE and descriptor.floating_point_range:
        return check_double(parameter.name, parameter.value, descriptor.floating_point_range[0])
    return SetParametersResult(successful=True)
