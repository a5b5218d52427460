"""Every interface pocket ROS 2 knows: its fields, constants and defaults, from rosbags and `services.py`."""

from __future__ import annotations

import json
import os
import re
import sys
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from .services import SERVICES

PACKAGES = (
    "builtin_interfaces",
    "std_msgs",
    "std_srvs",
    "geometry_msgs",
    "sensor_msgs",
    "nav_msgs",
    "diagnostic_msgs",
    "trajectory_msgs",
    "visualization_msgs",
    "rcl_interfaces",
    "rosgraph_msgs",
    "tf2_msgs",
)

# rosbags drops the defaults of .msg files; these are all that the packages above and theirs have.
_DEFAULTS = {
    "geometry_msgs/msg/Quaternion": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
    "rcl_interfaces/msg/ParameterDescriptor": {"read_only": False, "dynamic_typing": False},
}
_LINE = re.compile(
    r"(?P<type>[\w/]+)(?P<array>\[(?P<bound><=)?(?P<size>\d*)\])?\s+(?P<name>\w+)\s*(=\s*(?P<value>\S+))?$"
)


class Field(NamedTuple):
    """One member of an interface."""

    name: str
    base: str  # "float64", "string", ... or "pkg/msg/Name"
    container: str = ""  # "", "array" (fixed length) or "sequence"
    size: int = 0  # length of an array, bound of a sequence (0: unbounded)
    string_bound: int = 0
    default: Any = None

    @property
    def is_message(self) -> bool:
        """Whether the member (or the elements of it) is a message of its own."""
        return "/" in self.base

    def rosidl_type(self) -> str:
        """Return the type as `get_fields_and_field_types()` of a rosidl class spells it."""
        special = {"float64": "double", "float32": "float", "bool": "boolean", "byte": "octet", "char": "uint8"}
        text = self.base.replace("/msg/", "/") if self.is_message else special.get(self.base, self.base)
        if self.string_bound:
            text += f"<{self.string_bound}>"
        if self.container == "array":
            return f"{text}[{self.size}]"
        if self.container == "sequence":
            return f"sequence<{text}, {self.size}>" if self.size else f"sequence<{text}>"
        return text


class Constant(NamedTuple):
    """One named constant of an interface."""

    name: str
    base: str
    value: Any


class Definition(NamedTuple):
    """Fields and constants of a message, or of one half of a service."""

    fields: tuple[Field, ...]
    constants: tuple[Constant, ...]


@lru_cache(maxsize=1)
def _store() -> dict:
    """Return {typename: [constants, fields]} as `_plain` has them: from a file of this environment, else from rosbags.

    rosbags makes a class of each message of five distributions: 70 ms and 4 MiB in each process that imports it.
    """
    file = kept_file()
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):  # not there, or damaged: it is written again
        pass
    from rosbags.typesys.stores import ros2_humble

    store = {name: _plain(*content) for name, content in ros2_humble.FIELDDEFS.items()}
    keep(file, json.dumps(store))
    return store


def kept_file() -> Path:
    """Return the file in which this environment keeps the definitions of its version of rosbags."""
    return Path(sys.prefix, "share", "pocket_ros2", f"definitions-rosbags-{version('rosbags')}.json")


def keep(file: Path, text: str) -> None:
    """Write the file at once or not at all; an environment that cannot be written to does without it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f"{file.name}.{os.getpid()}")
        draft.write_text(text)
        os.replace(draft, file)
    except OSError:
        return


def _plain(constants: Any, fields: Any) -> list:
    """Return a definition of rosbags in lists, texts and numbers: a field is [name, [kind, detail]]."""

    def described(description: tuple) -> list:
        kind, detail = description[0].name, description[1]
        if kind == "NAME":
            return [kind, detail]
        return [kind, list(detail) if kind == "BASE" else [described(detail[0]), detail[1]]]

    return [[list(constant) for constant in constants], [[name, described(each)] for name, each in fields]]


# Added to Humble after rosbags' snapshot of it.
_ADDED = {
    "geometry_msgs/msg/VelocityStamped": (
        "std_msgs/Header header\nstring body_frame_id\nstring reference_frame_id\ngeometry_msgs/Twist velocity"
    ),
}


def message_names(package: str) -> list[str]:
    """Return the bare names of a package's messages, sorted."""
    return sorted(key.split("/")[2] for key in (*_store(), *_ADDED) if key.startswith(f"{package}/msg/"))


def service_names(package: str) -> list[str]:
    """Return the bare names of a package's services, sorted."""
    return sorted(key.split("/")[2] for key in SERVICES if key.startswith(f"{package}/srv/"))


def _field(name: str, description: list, default: Any) -> Field:
    kind, detail = description
    if kind == "BASE":
        return Field(name, detail[0], string_bound=detail[1], default=default)
    if kind == "NAME":
        return Field(name, detail, default=default)
    element = _field(name, detail[0], None)
    return element._replace(container=kind.lower(), size=detail[1], default=default)


def parse(text: str) -> Definition:
    """Read the lines `type name` and `type NAME=value` of a .msg text into a Definition."""
    fields, constants = [], []
    for line in filter(None, (raw.split("#")[0].strip() for raw in text.splitlines())):
        match = _LINE.match(line)
        if match is None:
            raise ValueError(f"not a line of a message definition: {line!r}")
        base = match["type"]
        if match["value"] is not None:
            constants.append(Constant(match["name"], base, int(match["value"])))
            continue
        base = base.replace("/", "/msg/") if base.count("/") == 1 else base
        container = "" if not match["array"] else "sequence" if match["bound"] or not match["size"] else "array"
        fields.append(Field(match["name"], base, container, int(match["size"] or 0)))
    return Definition(tuple(fields) or (Field("structure_needs_at_least_one_member", "uint8"),), tuple(constants))


@cache
def definition(typename: str) -> Definition:
    """Return the definition of `pkg/msg/Name` or of a service half `pkg/srv/Name_Request`; KeyError if unknown."""
    if "/srv/" in typename:
        service, half = typename.rsplit("_", 1)
        request, _, response = SERVICES[service].partition("---")
        return parse({"Request": request, "Response": response}[half])
    if typename in _ADDED:
        return parse(_ADDED[typename])
    constants, fields = _store()[typename]
    defaults = _DEFAULTS.get(typename, {})
    return Definition(
        tuple(_field(name, description, defaults.get(name)) for name, description in fields),
        tuple(Constant(*constant) for constant in constants),
    )
