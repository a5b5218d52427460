"""Exceptions of rclpy."""

from __future__ import annotations

from typing import Any

from ._rclpy_pybind11 import InvalidHandle as InvalidHandle
from ._rclpy_pybind11 import RCLError as RCLError


class NotInitializedException(Exception):
    """Raised when rclpy is used before `rclpy.init()`, or after shutdown."""

    def __init__(self, *args: Any) -> None:
        super().__init__("rclpy.init() has not been called", *args)


class NameValidationException(Exception):
    """Raised when a name is invalid; the text marks the first wrong character."""

    name_type = "name"

    def __init__(self, name: str, error_msg: str, invalid_index: int) -> None:
        super().__init__(f"Invalid {self.name_type}: {error_msg}:\n  '{name}'\n   {' ' * invalid_index}^")
        self.name, self.error_msg, self.invalid_index = name, error_msg, invalid_index


class InvalidNamespaceException(NameValidationException):
    """Raised when a namespace is invalid."""

    name_type = "namespace"


class InvalidNodeNameException(NameValidationException):
    """Raised when a node name is invalid."""

    name_type = "node name"


class InvalidTopicNameException(NameValidationException):
    """Raised when a topic name is invalid."""

    name_type = "topic name"


class InvalidServiceNameException(NameValidationException):
    """Raised when a service name is invalid."""

    name_type = "service name"


class ROSInterruptException(Exception):
    """Raised when something ROS is interrupted by shutdown."""


class ParameterException(Exception):
    """Base of what parameter functions raise."""

    def __init__(self, error_msg: str, parameters: Any, *args: Any) -> None:
        super().__init__(error_msg, parameters, *args)
        self.parameters = parameters


class ParameterNotDeclaredException(ParameterException):
    """Raised when an undeclared parameter is used."""

    def __init__(self, parameters: Any, *args: Any) -> None:
        super().__init__("Invalid access to undeclared parameter(s)", parameters, *args)


class ParameterAlreadyDeclaredException(ParameterException):
    """Raised when a parameter is declared twice."""

    def __init__(self, parameters: Any, *args: Any) -> None:
        super().__init__("Parameter(s) already declared", parameters, *args)


class InvalidParameterException(ParameterException):
    """Raised when a parameter's name is invalid."""

    def __init__(self, parameter: Any, *args: Any) -> None:
        super().__init__("Invalid parameter name", parameter, *args)


class InvalidParameterTypeException(ParameterException):
    """Raised when a parameter is declared with a value of another type."""

    def __init__(self, desired_parameter: Any, expected_type: Any, *args: Any) -> None:
        Exception.__init__(
            self,
            f"Trying to set parameter '{desired_parameter._name}' to '{desired_parameter._value}'"
            f" of type '{desired_parameter._type_.name}', expecting type '{expected_type}'",
            *args,
        )
        self.param_name = desired_parameter._name


class InvalidParameterValueException(ParameterException):
    """Raised when a parameter is declared with a value that a callback or its range rejects."""

    def __init__(self, parameter: str, value: Any, reason: str, *args: Any) -> None:
        super().__init__(f"Invalid parameter value ({value}) for parameter. Reason: {reason}", parameter, *args)


class ParameterImmutableException(ParameterException):
    """Raised when a read-only parameter is changed."""

    def __init__(self, parameter: Any, *args: Any) -> None:
        super().__init__("Attempted to modify read-only parameter", parameter, *args)


class ParameterUninitializedException(ParameterException):
    """Raised when a statically typed parameter has no value yet."""

    def __init__(self, parameter_name: str, *args: Any) -> None:
        Exception.__init__(self, f"The parameter '{parameter_name}' is not initialized", *args)
