"""The checks of message fields: they reject what rosidl's setters reject, with the name of the field."""

from __future__ import annotations

from array import array
from collections import UserList, UserString
from collections.abc import Callable, Sequence, Set
from math import isinf
from typing import Any

from .definitions import Field

__all__ = ["DTYPES", "TYPECODES", "array", "container_check", "fixed", "isinf", "scalar_check", "zeros"]

DTYPES = {
    "int8": "int8",
    "uint8": "uint8",
    "char": "uint8",
    "int16": "int16",
    "uint16": "uint16",
    "int32": "int32",
    "uint32": "uint32",
    "int64": "int64",
    "uint64": "uint64",
    "float32": "float32",
    "float64": "float64",
}
TYPECODES = {
    "int8": "b", "uint8": "B", "char": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I",
    "int64": "q", "uint64": "Q", "float32": "f", "float64": "d",
}  # fmt: skip
_FLOAT32 = 3.402823466e38


def zeros(size: int, dtype: str) -> Any:
    """Return a numpy array of zeros (numpy is imported by the first message that has a fixed-size number array)."""
    import numpy

    return numpy.zeros(size, dtype)


def fixed(value: Any, size: int, dtype: str) -> Any:
    """Return what a constructor got for a fixed-size number array as one; AssertionError for another shape."""
    import numpy

    made = numpy.array(value, dtype=dtype)
    if made.shape != (size,):
        raise AssertionError(f"expected {size} numbers, got an array of shape {made.shape}")
    return made


def _integer_range(base: str) -> tuple[int, int]:
    bits = 8 if base == "char" else int(base.lstrip("uint"))
    return (0, 2**bits - 1) if base[0] in "uc" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _unless(condition: str, message: str) -> str:
    """Source of an AssertionError, as rosidl raises; no `assert`, so that `python -O` checks, too."""
    return f"        if not ({condition}):\n            raise AssertionError({message!r})"


def scalar_check(field: Field) -> list[str]:
    """Return source lines that check one value of the field's type (bound to `value` in a setter)."""
    name, base = field.name, field.base
    if field.is_message:
        kind = base.split("/")[2]
        return [
            _unless(f"isinstance(value, _type_{name})", f"The '{name}' field must be a sub message of type '{kind}'")
        ]
    if base == "byte":
        wrong = f"The '{name}' field must be of type 'bytes' or 'ByteString' with length 1"
        return [_unless("isinstance(value, (bytes, bytearray)) and len(value) == 1", wrong)]
    if base == "string":
        lines = [_unless("isinstance(value, str)", f"The '{name}' field must be of type 'str'")]
        if bound := field.string_bound:
            wrong = f"The '{name}' field must be string value not longer than {bound}"
            lines.append(_unless(f"len(value) <= {bound}", wrong))
        return lines
    if base == "bool":
        return [_unless("isinstance(value, bool)", f"The '{name}' field must be of type 'bool'")]
    if base.startswith("float"):
        lines = [_unless("isinstance(value, float)", f"The '{name}' field must be of type 'float'")]
        if base == "float32":
            bounded = f"not (value < -{_FLOAT32!r} or value > {_FLOAT32!r}) or _math_isinf(value)"
            wrong = f"The '{name}' field must be a float in [-{_FLOAT32!r}, {_FLOAT32!r}]"
            lines.append(_unless(bounded, wrong))
        return lines
    low, high = _integer_range(base)
    kind = "an unsigned integer" if low == 0 else "an integer"
    return [
        _unless("isinstance(value, int)", f"The '{name}' field must be of type 'int'"),
        _unless(f"{low} <= value <= {high}", f"The '{name}' field must be {kind} in [{low}, {high}]"),
    ]


def _element_type(field: Field, message: type | None) -> tuple[type | tuple, str]:
    if message is not None:
        return message, message.__name__
    if field.base == "string":
        return str, "str"
    if field.base == "bool":
        return bool, "bool"
    if field.base == "byte":
        return bytes, "bytes"
    return (float, "float") if field.base.startswith("float") else (int, "int")


def container_check(field: Field, message: type | None) -> Callable[[Any], Any]:
    """Return a function that asserts and converts a value for an array or sequence field, as rosidl's setter does."""
    name, size, fixed = field.name, field.size, field.container == "array"
    element, label = _element_type(field, message)
    typecode, dtype = TYPECODES.get(field.base), DTYPES.get(field.base)
    length = f" with length {size}" if fixed else f" with length <= {size}" if size else ""
    extra = ""
    if typecode and element is int:
        low, high = _integer_range(field.base)
        extra = f" and each {'unsigned ' if low == 0 else ''}integer in [{low}, {high}]"
    wrong = f"The '{name}' field must be a set or sequence{length} and each value of type '{label}'{extra}"

    def check(value: Any) -> Any:
        if typecode and not fixed and isinstance(value, array):
            if value.typecode != typecode:
                raise AssertionError(f"The '{name}' array.array() must have the type code of '{typecode}'")
            if size and len(value) > size:
                raise AssertionError(f"The '{name}' array.array() must have a size <= {size}")
            return value
        if typecode and fixed and not isinstance(value, (list, tuple)):
            import numpy

            if isinstance(value, numpy.ndarray):
                if value.dtype != numpy.dtype(dtype):
                    raise AssertionError(f"The '{name}' numpy.ndarray() must have the dtype of 'numpy.{dtype}'")
                if value.size != size:
                    raise AssertionError(f"The '{name}' numpy.ndarray() must have a size of {size}")
                return value
        if not (isinstance(value, (Sequence, Set, UserList)) and not isinstance(value, (str, UserString))):
            raise AssertionError(wrong)
        if not ((len(value) == size) if fixed else (not size or len(value) <= size)):
            raise AssertionError(wrong)
        if not all(issubclass(kind, element) for kind in set(map(type, value))):
            raise AssertionError(wrong)
        if not typecode:
            if field.base == "byte":
                if not all(len(v) == 1 for v in value):
                    raise AssertionError(wrong)
            return value
        try:
            if fixed:
                import numpy

                return numpy.array(list(value), dtype=dtype)
            made = array(typecode, value)
        except OverflowError:
            raise AssertionError(wrong) from None
        if typecode == "f":
            if not all(not isinf(kept) or isinf(given) for kept, given in zip(made, value, strict=True)):
                raise AssertionError(wrong)
        return made

    return check
