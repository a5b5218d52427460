"""Morphologies as ROS messages: parameters in a request, the whole set of named values in a ParameterEvent."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping

from hexapod_dynamics.damage import KINDS
from hexapod_dynamics.errors import MorphologyError
from hexapod_dynamics.robot import Morphology
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterEvent, ParameterType
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python

TYPES = {ParameterType.PARAMETER_BOOL: bool, ParameterType.PARAMETER_DOUBLE: float}


def read_values(parameters: Iterable[ParameterMessage]) -> dict[str, bool | float]:
    """Return {name: value} of rcl_interfaces/Parameter messages.

    Raises MorphologyError for a parameter that is neither bool nor double, has no value, is named twice, or
    has a name of more than 200 characters, because the reason repeats the name.
    """
    values = {}
    for parameter in parameters:
        if len(parameter.name) > 200:
            given = f"a name of {len(parameter.name)} characters given, at most 200 allowed"
            raise MorphologyError(f"{parameter.name[:200]}...: {given}")
        if parameter.value.type not in TYPES:
            try:
                given = reprlib.repr(parameter_value_to_python(parameter.value))
            except (RuntimeError, ValueError):  # a type that ROS does not have
                given = f"a value of type {parameter.value.type}"
            raise MorphologyError(f"{parameter.name}: {given} given, {_list_types()}")
        if parameter.name in values:
            raise MorphologyError(f"{parameter.name}: named twice in one request; name it once")
        values[parameter.name] = parameter_value_to_python(parameter.value)
    return values


def _list_types() -> str:
    """Return which named values are of which type: "a bool is needed (legs., links.) or a double (locked_at.: rad)"."""
    values = KINDS.values.values()
    bools = ", ".join(f"{value.prefix}." for value in values if isinstance(value.intact, bool))
    doubles = ", ".join(f"{value.prefix}.: {value.bounds}" for value in values if not isinstance(value.intact, bool))
    return f"a bool is needed ({bools}) or a double ({doubles})"


def request_of(values: Mapping[str, object]) -> SetParametersAtomically.Request:
    """Return the request of `set_morphology` or `simulator/set_damage` for {name: value}."""
    parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
    return SetParametersAtomically.Request(parameters=parameters)


def make_morphology_event(node: Node, morphology: Morphology) -> ParameterEvent:
    """Return the ParameterEvent for `morphology`: stamp, node, and the whole set of named values."""
    named = request_of(morphology.parameters()).parameters
    stamp = node.get_clock().now().to_msg()
    return ParameterEvent(node=node.get_fully_qualified_name(), stamp=stamp, new_parameters=named)
