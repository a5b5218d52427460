"""Parameters: a name and a value of one of nine types."""

from __future__ import annotations

import array
from enum import Enum
from typing import Any

from rcl_interfaces.msg import Parameter as ParameterMsg
from rcl_interfaces.msg import ParameterType, ParameterValue

PARAMETER_SEPARATOR_STRING = "."


class Parameter:
    """A parameter of a node."""

    class Type(Enum):
        """The types of parameters, numbered as in rcl_interfaces/msg/ParameterType."""

        NOT_SET = ParameterType.PARAMETER_NOT_SET
        BOOL = ParameterType.PARAMETER_BOOL
        INTEGER = ParameterType.PARAMETER_INTEGER
        DOUBLE = ParameterType.PARAMETER_DOUBLE
        STRING = ParameterType.PARAMETER_STRING
        BYTE_ARRAY = ParameterType.PARAMETER_BYTE_ARRAY
        BOOL_ARRAY = ParameterType.PARAMETER_BOOL_ARRAY
        INTEGER_ARRAY = ParameterType.PARAMETER_INTEGER_ARRAY
        DOUBLE_ARRAY = ParameterType.PARAMETER_DOUBLE_ARRAY
        STRING_ARRAY = ParameterType.PARAMETER_STRING_ARRAY

        @classmethod
        def from_parameter_value(cls, parameter_value: Any) -> Parameter.Type:
            """Return the type of a value; TypeError if it has none."""
            for kind in cls:
                if kind is not cls.NOT_SET and kind.check(parameter_value):
                    return kind
            if parameter_value is None:
                return cls.NOT_SET
            what = "not a list of one" if isinstance(parameter_value, (list, tuple)) else "not one"
            raise TypeError(f"The given value is {what} of the allowed types '{parameter_value}'.")

        def check(self, parameter_value: Any) -> bool:
            """Return whether a value is of this type."""
            return _CHECKS[self.name](parameter_value)

    @classmethod
    def from_parameter_msg(cls, param_msg: ParameterMsg) -> Parameter:
        """Make one from its message."""
        kind = cls.Type(value=param_msg.value.type)
        return cls(param_msg.name, kind, _from_message(kind, param_msg.value))

    def __init__(self, name: str, type_: Type | None = None, value: Any = None) -> None:
        if type_ is None:
            if isinstance(value, ParameterValue):
                type_ = Parameter.Type(value=value.type)
                value = _from_message(type_, value)
            else:
                type_ = Parameter.Type.from_parameter_value(value)
        if not isinstance(type_, Parameter.Type):
            raise TypeError("type must be an instance of '{}'".format(repr(Parameter.Type)))  # noqa: UP032
        if not type_.check(value):
            raise ValueError(f"Type '{type_}' and value '{value}' do not agree")
        self._type_, self._name, self._value = type_, name, value

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def type_(self) -> Type:
        """The type."""
        return self._type_

    @property
    def value(self) -> Any:
        """The value."""
        return self._value

    def get_parameter_value(self) -> ParameterValue:
        """Return the value as a message."""
        message = ParameterValue(type=self._type_.value)
        field = _FIELDS.get(self._type_.name)
        if field is not None:
            setattr(message, field, self._value)
        return message

    def to_parameter_msg(self) -> ParameterMsg:
        """Return name and value as a message."""
        return ParameterMsg(name=self._name, value=self.get_parameter_value())

    def __repr__(self) -> str:
        return f"Parameter(name={self._name!r}, type_={self._type_}, value={self._value!r})"


def _sequence(kind: type) -> Any:
    return lambda value: isinstance(value, (list, tuple)) and all(isinstance(v, kind) for v in value)


def _numbers(kind: type, codes: str) -> Any:
    def check(value: Any) -> bool:
        if isinstance(value, (list, tuple)):
            return all(isinstance(v, kind) for v in value)
        return isinstance(value, array.array) and value.typecode in codes

    return check


_CHECKS = {
    "NOT_SET": lambda value: value is None,
    "BOOL": lambda value: isinstance(value, bool),
    "INTEGER": lambda value: isinstance(value, int),
    "DOUBLE": lambda value: isinstance(value, float),
    "STRING": lambda value: isinstance(value, str),
    "BYTE_ARRAY": lambda value: (
        isinstance(value, (list, tuple)) and all(isinstance(v, bytes) and len(v) == 1 for v in value)
    ),
    "BOOL_ARRAY": _sequence(bool),
    "INTEGER_ARRAY": _numbers(int, "bhilqBHILQ"),
    "DOUBLE_ARRAY": _numbers(float, "fd"),
    "STRING_ARRAY": _sequence(str),
}
_FIELDS = {
    "BOOL": "bool_value",
    "INTEGER": "integer_value",
    "DOUBLE": "double_value",
    "STRING": "string_value",
    "BYTE_ARRAY": "byte_array_value",
    "BOOL_ARRAY": "bool_array_value",
    "INTEGER_ARRAY": "integer_array_value",
    "DOUBLE_ARRAY": "double_array_value",
    "STRING_ARRAY": "string_array_value",
}


def _from_message(kind: Parameter.Type, message: ParameterValue) -> Any:
    return None if kind is Parameter.Type.NOT_SET else getattr(message, _FIELDS[kind.name])


def parameter_value_to_python(parameter_value: ParameterValue) -> Any:
    """Return the value of a ParameterValue message; numbers of arrays as a list."""
    try:
        value = _from_message(Parameter.Type(parameter_value.type), parameter_value)
    except ValueError:
        raise RuntimeError(f"unexpected parameter type {parameter_value.type}") from None
    return list(value) if isinstance(value, array.array) else value
