"""Message and service classes that behave like those rosidl generates, made on first use."""

from __future__ import annotations

import importlib.abc
import importlib.util
import re
import sys
from functools import cache
from types import ModuleType
from typing import Any

from . import checks
from .definitions import PACKAGES, SERVICES, Field, definition, message_names, service_names

_DUMMY = "structure_needs_at_least_one_member"


def _default_source(field: Field) -> str:
    """Return an expression that makes the field's default value, rosidl's choice of container included."""
    if field.default is not None:
        return repr(field.default)
    code = checks.TYPECODES.get(field.base)
    if field.is_message:
        one = f"_type_{field.name}()"
    else:
        one = {"string": "''", "bool": "False", "byte": "b'\\x00'"}.get(field.base) or (
            "0.0" if field.base.startswith("float") else "0"
        )
    if field.container == "array":
        if code:
            return f"_zeros({field.size}, '{checks.DTYPES[field.base]}')"
        return f"[{one} for _ in range({field.size})]"
    if field.container == "sequence":
        return f"_array('{code}')" if code else "[]"
    return one


def _conversion(field: Field) -> str:
    """Return what a constructor hands to the setter: rosidl's converts numbers first, which the setter does not."""
    given = f"kwargs['{field.name}']"
    if field.base in checks.TYPECODES and field.container == "sequence":
        return f"_array('{checks.TYPECODES[field.base]}', {given})"
    if field.base in checks.TYPECODES and field.container == "array":
        return f"_fixed({given}, {field.size}, '{checks.DTYPES[field.base]}')"
    return given


def _class_source(name: str, fields: list[Field], scope: dict) -> str:
    lines = [f"class {name}(_Message, metaclass=_Meta):", f"    __slots__ = {['_' + f.name for f in fields]!r}"]
    lines += ["    def __init__(self, **kwargs):", "        if not kwargs:"]
    defaults = {f.name: _default_source(f) for f in fields}
    converted = {f.name: _conversion(f) for f in fields}
    lines += [f"            self._{f} = {source}" for f, source in defaults.items()] + ["            return"]
    lines += ["        _known(kwargs, self._fields_and_field_types)"]
    for f, source in defaults.items():
        lines += [f"        if '{f}' in kwargs:", f"            self.{f} = {converted[f]}"]
        lines += ["        else:", f"            self._{f} = {source}"]
    for f in fields:
        lines += ["    @property", f"    def {f.name}(self):", f"        return self._{f.name}"]
        lines += [f"    @{f.name}.setter", f"    def {f.name}(self, value):"]
        if f.container:
            scope[f"_check_{f.name}"] = checks.container_check(f, scope.get(f"_type_{f.name}"))
            lines += [f"        self._{f.name} = _check_{f.name}(value)"]
        else:
            lines += checks.scalar_check(f) + [f"        self._{f.name} = value"]
    return "\n".join(lines)


class _Meta(type):
    """Metaclass of all messages, as rosidl has one per message; constants cannot be set."""

    def __setattr__(cls, name: str, value: Any) -> None:
        if name in cls.__dict__.get("_constants", ()):
            raise AttributeError(f"{cls.__name__}.{name} is a constant")
        super().__setattr__(name, value)

    @classmethod
    def __import_type_support__(cls) -> None:
        """Do nothing: rosidl's hook to load the C type support."""


class _Message:
    """What all messages share: comparison, text and the field table."""

    __slots__ = ()
    __hash__ = None
    _fields_and_field_types: dict[str, str] = {}
    _typename = ""

    @classmethod
    def get_fields_and_field_types(cls) -> dict[str, str]:
        """Return a copy of the table field name -> rosidl type."""
        return dict(cls._fields_and_field_types)

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, self.__class__):
            return False
        for slot in self.__slots__:
            same = getattr(self, slot) == getattr(other, slot)
            if not (same if isinstance(same, bool) else same.all()):
                return False
        return True

    def __repr__(self) -> str:
        package, kind, _ = self._typename.split("/")
        parts = []
        for name in self._fields_and_field_types:
            value = getattr(self, name)
            text = repr(value.tolist() if type(value) is checks.array else value)
            parts.append(f"{name}={text}")
        return f"{package}.{kind}.{type(self).__name__}({', '.join(parts)})"


def _known(kwargs: dict, fields: dict) -> None:
    if not (kwargs.keys() <= fields.keys()):
        raise AssertionError(
            "Invalid arguments passed to constructor: " + ", ".join(sorted(kwargs.keys() - fields.keys()))
        )


def _constant_value(base: str, value: Any) -> Any:
    return bytes([value]) if base == "byte" else value


def module_of(name: str) -> str:
    """Return the module in which rosidl puts a message or service, such as `_joint_state`."""
    bare = re.sub("_(Request|Response)$", "", name)
    spaced = re.sub("([a-z0-9])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z]+)", r"\1_\2", bare))
    return f"_{spaced.lower()}"


@cache
def message_class(typename: str) -> type:
    """Return the class of `pkg/msg/Name` or of a service half `pkg/srv/Name_Request`; KeyError if there is none."""
    package, kind, name = typename.split("/")
    shape = definition(typename)
    fields = [f for f in shape.fields if f.name != _DUMMY]
    scope = {
        "_Message": _Message,
        "_Meta": _Meta,
        "_known": _known,
        "_array": checks.array,
        "_zeros": checks.zeros,
        "_fixed": checks.fixed,
        "_math_isinf": checks.isinf,
        "__name__": f"{package}.{kind}.{module_of(name)}",
    }
    for f in fields:
        if f.is_message:
            scope[f"_type_{f.name}"] = message_class(f.base)
    exec(compile(_class_source(name, fields, scope), f"<{typename}>", "exec"), scope)
    cls = scope[name]
    cls._typename = typename
    cls._fields_and_field_types = {f.name: f.rosidl_type() for f in fields}
    for c in shape.constants:
        setattr(cls, c.name, _constant_value(c.base, c.value))
    for f in fields:
        if f.default is not None:
            setattr(cls, f"{f.name.upper()}__DEFAULT", f.default)
    cls._constants = frozenset(c.name for c in shape.constants)
    return cls


@cache
def service_class(typename: str) -> type:
    """Return the class of `pkg/srv/Name`, with `.Request` and `.Response`; KeyError if there is none."""
    if typename not in SERVICES:
        raise KeyError(typename)
    package, _, name = typename.split("/")

    def refuse(self: object) -> None:
        raise NotImplementedError("Service classes can not be instantiated")

    body = {
        "Request": message_class(typename + "_Request"),
        "Response": message_class(typename + "_Response"),
        "_typename": typename,
        "__module__": f"{package}.srv.{module_of(name)}",
        "__init__": refuse,
    }
    return _Meta(name, (), body)


def provide(module_name: str) -> None:
    """Make `pkg.msg` or `pkg.srv` offer its classes, each made when it is first asked for."""
    module: ModuleType = sys.modules[module_name]
    package, kind = module_name.split(".")

    def lookup(name: str) -> type:
        try:
            made = message_class if kind == "msg" or name.endswith(("_Request", "_Response")) else service_class
            value = made(f"{package}/{kind}/{name}")
        except KeyError:
            raise AttributeError(
                f"module {module_name!r} has no attribute {name!r} (ROS 2 Humble's {package} has: {', '.join(names())})"
            ) from None
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        return message_names(package) if kind == "msg" else service_names(package)

    def listing() -> list[str]:
        return sorted({*vars(module), *names()})

    def attribute(name: str) -> Any:
        if name == "__all__":
            return names()
        if name.startswith("__"):
            raise AttributeError(f"module {module_name!r} has no attribute {name!r}")
        return lookup(name)

    module.__getattr__ = attribute
    module.__dir__ = listing


class _InnerModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Offers `pkg.msg._name`, where rosidl defines each class and pickle looks for it."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """Return a spec for such a module, None for any other."""
        match = re.fullmatch(r"(\w+)\.(msg|srv)\.(_[a-z0-9_]+)", fullname)
        if match is None or match[1] not in PACKAGES or not _names_in(*match.groups()):
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """Fill such a module with its classes."""
        package, kind, inner = module.__name__.split(".")
        for name in _names_in(package, kind, inner):
            made = (message_class if kind == "msg" else service_class)(f"{package}/{kind}/{name}")
            setattr(module, name, made)
            if kind == "srv":
                setattr(module, f"{name}_Request", made.Request)
                setattr(module, f"{name}_Response", made.Response)


def _names_in(package: str, kind: str, inner: str) -> list[str]:
    found = message_names(package) if kind == "msg" else service_names(package)
    return [name for name in found if module_of(name) == inner]


sys.meta_path.append(_InnerModules())
