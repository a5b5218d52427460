"""The elements of the list of parameters: a ParameterSpec for each parameter, and those of nearly every node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import TypeVar

from hexapod_dynamics.errors import ParameterError

Settings = TypeVar("Settings")
Kind = TypeVar("Kind")
Value = bool | int | float | str | list[float] | list[str]


@dataclass(frozen=True)
class Derived:
    """A computed number as default: of(source), where source is the robot or another parameter's value.

    text: its origin, for the table of parameters.
    """

    text: str
    compute: Callable[..., float]


@dataclass(frozen=True)
class ParameterSpec:
    """One parameter: its name, default, meaning with unit, bounds, and its place in config/nodes.yaml.

    low, high: range of a number; both or none are given. choices: allowed texts. read_only: the node reads it
    once, at its start. in_file: whether config/nodes.yaml contains it, with `file_value` if that differs from the
    default, for `file_reason`. An empty list of text is [""]: ROS has no type for a list without elements.

    Raises ParameterError for a default or a `file_value` that the parameter itself would not allow.
    """

    name: str
    default: Value | Derived
    description: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | None = None
    read_only: bool = True
    in_file: bool = False
    file_value: Value | None = None
    file_reason: str = ""

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ParameterError(f"parameter {self.name}: low {self.low}, high {self.high}; give both or none")
        if self.file_value is not None and not (self.in_file and self.file_reason):
            raise ParameterError(f"parameter {self.name}: file_value needs in_file and file_reason")
        for value in (self.default, self.file_value):
            if value is not None and not isinstance(value, Derived):
                self.check(value)

    @property
    def type(self) -> str:
        """The name of its type in ROS: bool, integer, double, string, double_array or string_array."""
        default = self.default[0] if isinstance(self.default, list) else self.default
        names = {bool: "bool", int: "integer", float: "double", str: "string", Derived: "double"}
        return names[type(default)] + ("_array" if isinstance(self.default, list) else "")

    def describe_allowed(self, example: Value | None = None) -> str:
        """Return in words which values are allowed; `example`: a number to show, by default the default value."""
        bounds = "" if self.low is None else f" from {self.low} to {self.high}"
        if self.choices is not None:
            return " or ".join(self.choices)
        if self.type == "double":
            if example is None:
                example = self.low if isinstance(self.default, Derived) else self.default
            return f"a number{bounds}, written with a decimal point, as {example}"
        return {
            "bool": "true or false",
            "integer": f"a whole number{bounds}",
            "string": "text",
            "double_array": "a list of numbers, each written with a decimal point",
            "string_array": "a list of text",
        }[self.type]

    def check(self, value: Value) -> None:
        """Raise ParameterError if a value of the right type is out of the range or not among the choices."""
        if self.choices is not None and value not in self.choices:
            raise ParameterError(f"parameter {self.name} is {value!r}: allowed is {self.describe_allowed()}")
        if self.low is None or self.high is None or isinstance(value, (str, list)):
            return
        if not self.low <= value <= self.high:
            raise ParameterError(f"parameter {self.name} is {value!r}: allowed is {self.describe_allowed()}")

    def compute_default(self, source: object = None) -> Value:
        """Return the default; for a Derived one, that for `source`, which is the robot or a value."""
        return self.default.compute(source) if isinstance(self.default, Derived) else self.default


in_file = partial(ParameterSpec, in_file=True)  # a ParameterSpec that config/nodes.yaml contains


class Values(dict[str, Value]):
    """The values of a node's parameters by name."""

    def read(self, name: str, kind: type[Kind]) -> Kind:
        """Return a value; TypeError if it is of another type."""
        value = self[name]
        if not isinstance(value, kind):
            raise TypeError(f"parameter {name} is {value!r}, no {kind.__name__}")
        return value

    def read_texts(self, name: str) -> list[str]:
        """Return a list of text without the empty ones: [""] is an empty list."""
        return [str(text) for text in self.read(name, list) if text]


def make_specs(
    settings: object, make: Callable[..., ParameterSpec] = ParameterSpec, **chosen: tuple[object, ...]
) -> tuple[ParameterSpec, ...]:
    """Return parameters with the names and values of fields of a dataclass, {name: (description, low, high)}."""
    return tuple(make(name, getattr(settings, name), *rest) for name, rest in chosen.items())


def make_settings(kind: Callable[..., Settings], values: Mapping[str, object], /, **more: object) -> Settings:
    """Return the dataclass `kind` with those of a node's parameters {name: value} that are its fields, and `more`."""
    named = {name: values[name] for name in signature(kind).parameters if name in values}
    return kind(**(named | more))


# Parameters of nearly every node.
ROBOT = ParameterSpec("robot", "", "YAML file of the robot; empty: the JetHexa of this package")
SESSION = ParameterSpec(
    "session",
    "",
    "name of the launch, chosen by the launch file: the state of this node is restored after a crash "
    "and respawn within one session; empty: no state is restored",
)
STATE_DIRECTORY = ParameterSpec(
    "state_directory",
    "",
    "absolute path of a directory in which the state of this node lasts over launches and reboots, until a person "
    "changes it; one directory for each robot; empty: it lasts for the session only",
)
