"""Checks a parameter file (`params_file:=`) as a whole before any node starts, by the list of parameters."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

import yaml

from hexapod_dynamics.errors import ParameterError, RobotError, suggest
from hexapod_dynamics.parameters.catalogue import NODES
from hexapod_dynamics.parameters.damage_manager import list_parameters
from hexapod_dynamics.parameters.spec import ParameterSpec, Value
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.yaml_text import parse_yaml, read_text

KEY = "ros__parameters"
EXAMPLE = f"sections are needed, as /**/gait: {KEY}: step_height: 0.03"
# Numbers that rcl reads as such and PyYAML as text, such as 1e-3.
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)e[-+]?\d+", re.IGNORECASE)
_BOOLS = {"y": True, "n": False, "Y": True, "N": False}
# What rclpy declares in each node; the robot runs in real time.
_OF_RCLPY = {
    "use_sim_time": ParameterSpec("use_sim_time", False, "stays false"),
    "start_type_description_service": ParameterSpec("start_type_description_service", True, "rclpy's own"),
}


def check_parameter_file(
    path: str | Path,
    robot: Robot,
    foreign: Iterable[str] = (),
    namespace: str | None = None,
    option: str = "params_file:=",
) -> dict[tuple[str, str], object]:
    """Return the values {(section, parameter): value} of a parameter file; ParameterError for the first thing in it
    that no node would accept, or that none has.

    Args:
        path: of the YAML file.
        robot: its legs and links are in the names of the parameters of `damage_manager`.
        foreign: names of nodes of other packages; their parameters are not checked.
        namespace: of the nodes, empty for none; None: not known, each is right.
        option: by which the file was given, before its path in a message.

    """
    known = {node: {spec.name: spec for spec in specs} for node, specs in NODES.items()}
    known["damage_manager"] = {
        spec.name: spec for spec in (*NODES["damage_manager"], *list_parameters(Morphology.whole(robot)))
    }
    found: dict[tuple[str, str], object] = {}
    try:
        for place, name, value in _entries(_read_content(path)):
            if (place, name) in found:  # as legs.RM and legs: RM, or in gait: and /gait:
                raise ParameterError(f"{place}: {name} is given more than once")
            node = place.rpartition("/")[2]
            found[place, name] = value if node in foreign else _check_entry(known, node, name, value)
        if namespace is not None:
            _check_places({place for place, _ in found}, namespace.strip("/"))
    except ParameterError as error:
        raise ParameterError(f"{option}{path}: {error}") from None
    return found


def select_values(values: Mapping[tuple[str, str], object], node: str) -> dict[str, object]:
    """Return what the values of `check_parameter_file` set in a node without a namespace, {parameter: value}."""
    return {name: value for (place, name), value in values.items() if _is_read(place, "", node)}


def _check_places(places: set[str], namespace: str) -> None:
    """Raise ParameterError for a section that is for no node of a namespace, unless it may be for another robot."""
    read = {place for place in places if _is_read(place, namespace)}
    own = any(place.rpartition("/")[0] == namespace or not namespace for place in read)
    for place in sorted(places - read):
        given, _, node = place.rpartition("/")
        # A letter too many or too few, or two exchanged: left_arm and right_arm, robot_a and robot_b are two robots.
        alike = len(given) != len(namespace) or sorted(given) == sorted(namespace)
        misspelt = alike and difflib.get_close_matches(given, [namespace], cutoff=0.8)
        numbered = re.sub(r"\d+", "", given) == re.sub(r"\d+", "", namespace)  # robot1 and robot2
        if given and (own or namespace and (numbered or not misspelt)):
            continue  # it is of another robot
        where = f"of the namespace {namespace}" if namespace else "of this launch, which has no namespace,"
        raise ParameterError(f"{place}: no node {where} has this name; did you mean {namespace}/{node}, or /**/{node}?")


def _is_read(place: str, namespace: str, node: str = "") -> bool:
    """Return whether a section is for a node, by default for any, of a namespace: to ROS * is one word of a name, **
    any number of them.
    """
    words = {"*": r"/\w+", "**": r"(/\w+)*"}
    pattern = "".join(words.get(word, f"/{re.escape(word)}") for word in place.split("/"))
    node = node or re.sub(r".*/|\*+", "", place) or "any"
    return re.fullmatch(pattern, f"/{namespace}/{node}".replace("//", "/")) is not None


def find_overridden(path: str | Path, values: Mapping[str, Mapping[str, object]], namespace: str) -> list[str]:
    """Return in words which parameters of a valid file a launch sets to other values, {node: {name: value}}, for its
    nodes in a namespace.
    """
    return [
        f"{node}.{name}: {value!r} of the params_file is not used, the launch's argument sets {values[node][name]!r}"
        for place, name, value in _entries(_read_content(path))
        for node in values
        if _is_read(place, namespace.strip("/"), node) and values[node].get(name, value) != value
    ]


def _read_content(path: str | Path) -> Mapping[object, object]:
    try:
        text = read_text(path)
        content = parse_yaml(text)
    except RobotError as error:
        raise ParameterError(str(error)) from None
    for token in yaml.scan(text):
        line = f"line {token.start_mark.line + 1}"
        if isinstance(token, (yaml.AnchorToken, yaml.AliasToken, yaml.DirectiveToken)):
            raise ParameterError(f"{line}: ROS has no anchors, aliases and directives (&, * and %)")
        if not isinstance(token, yaml.ScalarToken) or not token.plain:
            continue
        if re.fullmatch(r"[-+]?0(b[01]|[0-7])+", token.value):
            remedy = "write it as a decimal number without zeros before it; quote it if it is text"
            raise ParameterError(f"{line}: ROS does not read {token.value} as YAML does: {remedy}")
        if token.value == "<<":
            raise ParameterError(f"{line}: ROS has no merged sections (<<)")
    if not isinstance(content, Mapping) or not content:
        raise ParameterError(EXAMPLE)
    return content


def _entries(content: Mapping[object, object], prefix: str = "") -> Iterator[tuple[str, str, object]]:
    """Yield (node, parameter, value) of all sections; node: as given, with namespace or wildcard."""
    for key, section in content.items():
        name = str(key) if prefix else str(key).removeprefix("/")
        if "" in name.split("/"):
            raise ParameterError(f"{key}: ROS refuses this name; a slash stands between two words, or before the first")
        place = f"{prefix}/{name}".lstrip("/")
        if not isinstance(section, Mapping) or not section:
            hint = f"; is {KEY} misspelt?" if prefix and not isinstance(section, Mapping) else ""
            raise ParameterError(f"{place}: {EXAMPLE}{hint}")
        if KEY not in section:
            yield from _entries(section, place)
            continue
        beside = [name for name in section if name != KEY and not _is_section(section[name])]
        if beside:
            raise ParameterError(f"{place}.{beside[0]}: it stands beside {KEY}, and belongs into it")
        yield from ((place, name, value) for name, value in _flatten(section[KEY], place))
        yield from _entries({name: inner for name, inner in section.items() if name != KEY}, place)


def _is_section(value: object) -> bool:
    return isinstance(value, Mapping) and (KEY in value or any(_is_section(inner) for inner in value.values()))


def _flatten(values: object, place: str, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield (name, value) of the parameters of a section, names of groups joined by dots."""
    if not isinstance(values, Mapping):
        raise ParameterError(f"{place}.{prefix or KEY}: names with values are needed, as step_height: 0.03")
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, place, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _check_entry(known: Mapping[str, Mapping[str, ParameterSpec]], node: str, name: str, value: object) -> object:
    """Return the value of a node's parameter in its type; ParameterError if the node would not accept it."""
    if node in known:
        specs = [known[node]]
    elif node in ("*", "**"):
        specs = list(known.values())
    else:
        raise ParameterError(f"{node}: no node has this name; {suggest(node, [*known, '**'])}")
    found = [each[name] for each in (*specs, _OF_RCLPY) if name in each]
    if not found:
        if name.startswith("qos_overrides."):
            return value
        names = {known_name for each in specs for known_name in each}
        where = "no node has" if node not in known else f"{node} has not"
        owners = [owner for owner, each in known.items() if name in each]
        remedy = (
            f"{' and '.join(owners)} {'has' if len(owners) == 1 else 'have'} it" if owners else suggest(name, names)
        )
        raise ParameterError(f"{node}.{name}: {where} this parameter; {remedy}")
    for spec in found:
        value_of_type = _convert(spec, value)
        if value_of_type is None:
            raise ParameterError(f"{node}.{name} is {value!r}: allowed is {spec.describe_allowed()}")
        spec.check(value_of_type)
        if spec is _OF_RCLPY["use_sim_time"] and value_of_type:
            raise ParameterError(f"{node}.{name} is true: servos, IMU and simulated robot run in real time")
    return value_of_type


def _convert(spec: ParameterSpec, value: object) -> Value | None:
    """Return the value as rcl reads it if it has the parameter's type, else None."""
    kind = spec.type.removesuffix("_array")
    if spec.type.endswith("_array"):
        if not isinstance(value, list):
            return None
        typed = [_scalar(kind, each) for each in value]
        return None if any(each is None for each in typed) else cast("list[float] | list[str]", typed)
    return _scalar(kind, value)


def _scalar(kind: str, value: object) -> bool | int | float | str | None:
    if isinstance(value, str):
        if kind == "double" and _NUMBER.fullmatch(value):
            return float(value)
        if kind == "bool":
            return _BOOLS.get(value)
    type_of = {"bool": bool, "integer": int, "double": float, "string": str}[kind]
    return value if isinstance(value, bool | int | float | str) and type(value) is type_of else None
