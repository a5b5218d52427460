"""The six services by which others see and set a node's parameters."""

from __future__ import annotations

import weakref
from typing import Any

from rcl_interfaces.msg import ListParametersResult, SetParametersResult
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)

from .exceptions import ParameterNotDeclaredException, ParameterUninitializedException
from .parameter import PARAMETER_SEPARATOR_STRING, Parameter
from .qos import qos_profile_parameters


class ParameterService:
    """Offers the parameter services of a node."""

    def __init__(self, node: Any) -> None:
        self._node_reference = weakref.ref(node)
        for name, service in (
            ("describe_parameters", DescribeParameters),
            ("get_parameters", GetParameters),
            ("get_parameter_types", GetParameterTypes),
            ("list_parameters", ListParameters),
            ("set_parameters", SetParameters),
            ("set_parameters_atomically", SetParametersAtomically),
        ):
            callback = getattr(self, f"_{name}")
            node.create_service(service, f"{node.get_name()}/{name}", callback, qos_profile=qos_profile_parameters)

    @property
    def _node(self) -> Any:
        node = self._node_reference()
        if node is None:
            raise ReferenceError("Expected valid node weak reference")
        return node

    def _describe_parameters(self, request: Any, response: Any) -> Any:
        try:
            response.descriptors = self._node.describe_parameters(request.names)
        except ParameterNotDeclaredException:
            response.descriptors = []
        return response

    def _get_parameters(self, request: Any, response: Any) -> Any:
        try:
            response.values = [p.get_parameter_value() for p in self._node.get_parameters(request.names)]
        except (ParameterNotDeclaredException, ParameterUninitializedException):
            response.values = []
        return response

    def _get_parameter_types(self, request: Any, response: Any) -> Any:
        try:
            response.types = [
                kind.value if isinstance(kind, Parameter.Type) else kind
                for kind in self._node.get_parameter_types(request.names)
            ]
        except ParameterNotDeclaredException:
            response.types = []
        return response

    def _list_parameters(self, request: Any, response: Any) -> Any:
        names, depth, separator = [], request.depth, PARAMETER_SEPARATOR_STRING
        for name in self._node._parameters:
            if request.prefixes:
                for prefix in request.prefixes:
                    if name == prefix or name.startswith(prefix + separator):
                        below = name[len(prefix) + 1 :].count(separator) + 1 if name != prefix else 0
                        if depth == 0 or below <= depth:
                            names.append(name)
                            break
            elif depth == 0 or name.count(separator) < depth:
                names.append(name)
        prefixes = sorted({name.rpartition(separator)[0] for name in names if separator in name})
        response.result = ListParametersResult(names=names, prefixes=prefixes)
        return response

    def _set_parameters(self, request: Any, response: Any) -> Any:
        for message in request.parameters:
            try:
                result = self._node.set_parameters_atomically([Parameter.from_parameter_msg(message)])
            except (ParameterNotDeclaredException, ValueError) as error:
                result = SetParametersResult(successful=False, reason=str(error))
            response.results.append(result)
        return response

    def _set_parameters_atomically(self, request: Any, response: Any) -> Any:
        try:
            response.result = self._node.set_parameters_atomically(
                [Parameter.from_parameter_msg(message) for message in request.parameters]
            )
        except (ParameterNotDeclaredException, ValueError) as error:
            response.result = SetParametersResult(successful=False, reason=str(error))
        return response
