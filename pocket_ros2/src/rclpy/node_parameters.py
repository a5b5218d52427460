"""The parameter side of a Node."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import Parameter as ParameterMsg
from rcl_interfaces.msg import ParameterDescriptor, ParameterEvent, ParameterType, ParameterValue, SetParametersResult

from .exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterAlreadyDeclaredException,
    ParameterImmutableException,
    ParameterNotDeclaredException,
    ParameterUninitializedException,
)
from .parameter import PARAMETER_SEPARATOR_STRING, Parameter
from .parameter_ranges import check_descriptor
from .validate_parameter_name import validate_parameter_name

ParameterCallback = Callable[[list[Parameter]], SetParametersResult]


class ParameterMixin:
    """Declares, gets and sets parameters; needs `get_fully_qualified_name`, `get_clock` and the event publisher."""

    _allow_undeclared_parameters: bool
    _parameter_event_publisher: Any

    def _init_parameters(self, allow_undeclared: bool, overrides: dict[str, Parameter]) -> None:
        self._parameters: dict[str, Parameter] = {}
        self._descriptors: dict[str, ParameterDescriptor] = {}
        self._parameters_callbacks: list[ParameterCallback] = []
        self._allow_undeclared_parameters = allow_undeclared
        self._parameter_overrides = overrides

    # --- declaring -------------------------------------------------------------------------------------------------

    def declare_parameter(
        self,
        name: str,
        value: Any = None,
        descriptor: ParameterDescriptor | None = None,
        ignore_override: bool = False,
    ) -> Parameter:
        """Declare a parameter with a default value (or a Parameter.Type) and return it with the value it gets."""
        if value is None and descriptor is None:
            arguments: tuple = (name,)
        else:
            arguments = (name, value, ParameterDescriptor() if descriptor is None else descriptor)
        return self.declare_parameters("", [arguments], ignore_override)[0]

    def declare_parameters(
        self, namespace: str, parameters: list[tuple], ignore_override: bool = False
    ) -> list[Parameter]:
        """Declare parameters from tuples (name, [value or type, [descriptor]]), as `namespace.name`."""
        declared, descriptors = [], {}
        for index, entry in enumerate(parameters):
            parameter, descriptor = self._read_declaration(namespace, index, entry, ignore_override)
            declared.append(parameter)
            descriptors[parameter.name] = descriptor
        known = [parameter.name for parameter in declared if parameter.name in self._parameters]
        if known:
            raise ParameterAlreadyDeclaredException(known)
        self._set_parameters(declared, descriptors, raise_on_failure=True, allow_undeclared_parameters=True)
        return [self._parameters[parameter.name] for parameter in declared]

    def _read_declaration(
        self, namespace: str, index: int, entry: tuple, ignore_override: bool
    ) -> tuple[Parameter, ParameterDescriptor]:
        if not 1 <= len(entry) <= 3:
            raise TypeError(
                f"Invalid parameter tuple length at index {index} in parameters list: {entry}; "
                "expecting length between 1 and 3"
            )
        name, value = entry[0], entry[1] if len(entry) > 1 else None
        descriptor = entry[2] if len(entry) > 2 else ParameterDescriptor()
        if not isinstance(name, str):
            raise TypeError(f"First element {name} at index {index} in parameters list is not a str.")
        if not isinstance(descriptor, ParameterDescriptor):
            raise TypeError(
                f"Third element {descriptor} at index {index} in parameters list is not a ParameterDescriptor."
            )
        if len(entry) == 1:
            warnings.warn(
                f"when declaring parameter named '{name}', declaring a parameter only providing its name is "
                "deprecated. Pass a default value, a parameter type, or a descriptor with `dynamic_typing=True`",
                stacklevel=4,
            )
            descriptor.dynamic_typing = True
        value = self._declared_type(name, value, descriptor)
        if not ignore_override and name in self._parameter_overrides:
            value = self._parameter_overrides[name].value
        if namespace:
            name = f"{namespace}{PARAMETER_SEPARATOR_STRING}{name}"
        validate_parameter_name(name)
        return Parameter(name, value=value), descriptor

    @staticmethod
    def _declared_type(name: str, value: Any, descriptor: ParameterDescriptor) -> Any:
        """Put the type into the descriptor and return the default value, None if only a type was given."""
        if isinstance(value, Parameter.Type):
            if value == Parameter.Type.NOT_SET:
                raise ValueError(f"Cannot declare parameter {{{name}}} as statically typed of type NOT_SET")
            if descriptor.dynamic_typing:
                raise ValueError(
                    f"When declaring parameter {{{name}}} passing a descriptor with`dynamic_typing=True` "
                    "is not allowed when the parameter type is provided"
                )
            descriptor.type = value.value
            return None
        if not descriptor.dynamic_typing and value is not None:
            if not isinstance(value, ParameterValue):
                descriptor.type = Parameter.Type.from_parameter_value(value).value
            elif value.type == ParameterType.PARAMETER_NOT_SET:
                raise ValueError(
                    "Cannot declare a statically typed parameter with default value of type PARAMETER_NOT_SET"
                )
            else:
                descriptor.type = value.type
        return value

    def undeclare_parameter(self, name: str) -> None:
        """Forget a parameter; ParameterImmutableException if it is read-only."""
        if not self.has_parameter(name):
            raise ParameterNotDeclaredException(name)
        if self._descriptors[name].read_only:
            raise ParameterImmutableException(name)
        del self._parameters[name]
        del self._descriptors[name]

    # --- getting ---------------------------------------------------------------------------------------------------

    def has_parameter(self, name: str) -> bool:
        """Return whether a parameter is declared."""
        return name in self._parameters

    def get_parameter(self, name: str) -> Parameter:
        """Return a parameter; ParameterNotDeclaredException, or ParameterUninitializedException without a value."""
        if self.has_parameter(name):
            parameter = self._parameters[name]
            if parameter.type_ == Parameter.Type.NOT_SET and not self._descriptors[name].dynamic_typing:
                raise ParameterUninitializedException(name)
            return parameter
        if self._allow_undeclared_parameters:
            return Parameter(name, Parameter.Type.NOT_SET, None)
        raise ParameterNotDeclaredException(name)

    def get_parameters(self, names: list[str]) -> list[Parameter]:
        """Return several parameters; see `get_parameter`."""
        self._check_names(names)
        return [self.get_parameter(name) for name in names]

    def get_parameter_or(self, name: str, alternative_value: Parameter | None = None) -> Parameter:
        """Return a parameter, or the alternative if it is undeclared or has no value."""
        if alternative_value is None:
            alternative_value = Parameter(name, Parameter.Type.NOT_SET)
        parameter = self._parameters.get(name)
        if parameter is None or parameter.type_ == Parameter.Type.NOT_SET:
            return alternative_value
        return parameter

    def get_parameter_type(self, name: str) -> Any:
        """Return the number of a parameter's type."""
        if self.has_parameter(name):
            return self._parameters[name].type_.value
        if self._allow_undeclared_parameters:
            return Parameter.Type.NOT_SET
        raise ParameterNotDeclaredException(name)

    def get_parameter_types(self, names: list[str]) -> list[Any]:
        """Return the types of several parameters."""
        self._check_names(names)
        return [self.get_parameter_type(name) for name in names]

    def get_parameters_by_prefix(self, prefix: str) -> dict[str, Parameter]:
        """Return the parameters `prefix.name` by name; all for an empty prefix."""
        start = prefix + PARAMETER_SEPARATOR_STRING if prefix else ""
        return {name[len(start) :]: parameter for name, parameter in self._parameters.items() if name.startswith(start)}

    @staticmethod
    def _check_names(names: list[str]) -> None:
        if not all(isinstance(name, str) for name in names):
            raise TypeError("All names must be instances of type str")

    # --- setting ---------------------------------------------------------------------------------------------------

    def set_parameters(self, parameter_list: list[Parameter]) -> list[SetParametersResult]:
        """Set parameters one by one and return each one's result."""
        return self._set_parameters(parameter_list)

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """Set all of the parameters or none of them."""
        self._check_declared(parameter_list)
        return self._set_atomically(parameter_list)

    def _check_declared(self, parameter_list: list[Parameter]) -> None:
        if not all(isinstance(parameter, Parameter) for parameter in parameter_list):
            raise TypeError(f"parameter must be instance of type '{Parameter!r}'")
        if self._allow_undeclared_parameters:
            return
        if any(parameter.name not in self._parameters for parameter in parameter_list):
            raise ParameterNotDeclaredException([])  # rclpy names none either

    def _set_parameters(
        self,
        parameter_list: list[Parameter],
        descriptors: dict[str, ParameterDescriptor] | None = None,
        raise_on_failure: bool = False,
        allow_undeclared_parameters: bool = False,
    ) -> list[SetParametersResult]:
        results = []
        for parameter in parameter_list:
            if not allow_undeclared_parameters:
                self._check_declared([parameter])
            result = self._set_atomically([parameter], descriptors, allow_not_set=allow_undeclared_parameters)
            if raise_on_failure and not result.successful:
                if result.reason.startswith("Wrong parameter type"):
                    raise InvalidParameterTypeException(
                        parameter, Parameter.Type(descriptors[parameter.name].type).name
                    )
                raise InvalidParameterValueException(parameter.name, parameter.value, result.reason)
            results.append(result)
        return results

    def _set_atomically(
        self,
        parameter_list: list[Parameter],
        descriptors: dict[str, ParameterDescriptor] | None = None,
        allow_not_set: bool = False,
    ) -> SetParametersResult:
        result = self._check_descriptors(parameter_list, descriptors)
        if not result.successful:
            return result
        for callback in self._parameters_callbacks:
            result = callback(parameter_list)
            if not result.successful:
                return result
        event = ParameterEvent(node=self.get_fully_qualified_name())
        for parameter in parameter_list:
            self._store(parameter, descriptors, allow_not_set, event)
        event.stamp = self.get_clock().now().to_msg()
        self._parameter_event_publisher.publish(event)
        return SetParametersResult(successful=True)

    def _check_descriptors(
        self, parameter_list: list[Parameter], descriptors: dict[str, ParameterDescriptor] | None
    ) -> SetParametersResult:
        applied = self._descriptors if descriptors is None else descriptors
        for parameter in parameter_list:
            descriptor = applied.get(parameter.name)
            if descriptor is None:
                continue
            descriptor.name = parameter.name
            result = check_descriptor(
                parameter,
                descriptor,
                declared=self.has_parameter(parameter.name),
                check_read_only=descriptors is None,
            )
            if not result.successful:
                return result
        return SetParametersResult(successful=True)

    def _store(
        self,
        parameter: Parameter,
        descriptors: dict[str, ParameterDescriptor] | None,
        allow_not_set: bool,
        event: ParameterEvent,
    ) -> None:
        name = parameter.name
        if not allow_not_set and parameter.type_ == Parameter.Type.NOT_SET:
            event.deleted_parameters.append(parameter.to_parameter_msg())
            self._parameters.pop(name, None)
            self._descriptors.pop(name, None)
            return
        if descriptors is not None:
            self._descriptors[name] = descriptors[name]
        elif name not in self._descriptors:
            self._descriptors[name] = ParameterDescriptor(dynamic_typing=True)
        new = self.get_parameter_or(name).type_ == Parameter.Type.NOT_SET
        (event.new_parameters if new else event.changed_parameters).append(parameter.to_parameter_msg())
        self._parameters[name] = parameter

    def add_on_set_parameters_callback(self, callback: ParameterCallback) -> None:
        """Have a callback decide on new values, before those that are there already."""
        self._parameters_callbacks.insert(0, callback)

    def remove_on_set_parameters_callback(self, callback: ParameterCallback) -> None:
        """Ask a callback no longer; ValueError if it is not there."""
        self._parameters_callbacks.remove(callback)

    # --- descriptors -----------------------------------------------------------------------------------------------

    def describe_parameter(self, name: str) -> ParameterDescriptor:
        """Return a parameter's descriptor."""
        if name in self._descriptors:
            return self._descriptors[name]
        if self._allow_undeclared_parameters:
            return ParameterDescriptor()
        raise ParameterNotDeclaredException(name)

    def describe_parameters(self, names: list[str]) -> list[ParameterDescriptor]:
        """Return the descriptors of several parameters."""
        return [self.describe_parameter(name) for name in names]

    def set_descriptor(
        self, name: str, descriptor: ParameterDescriptor, alternative_value: ParameterValue | None = None
    ) -> ParameterValue:
        """Give a parameter another descriptor; its value, or else the alternative, must keep to it."""
        if not self.has_parameter(name):
            if not self._allow_undeclared_parameters:
                raise ParameterNotDeclaredException(name)
            return self.get_parameter(name).get_parameter_value()
        if self.describe_parameter(name).read_only:
            raise ParameterImmutableException(name)
        descriptor.name = name
        candidates = [self.get_parameter(name)]
        if alternative_value is not None:
            candidates.append(Parameter.from_parameter_msg(ParameterMsg(name=name, value=alternative_value)))
        for parameter in candidates:
            result = check_descriptor(parameter, descriptor, declared=True, check_read_only=False)
            if result.successful:
                self._parameters[name], self._descriptors[name] = parameter, descriptor
                return parameter.get_parameter_value()
        raise InvalidParameterValueException(name, candidates[-1].value, result.reason)
