"""Parameter values as YAML: `-p name:=value` and `--params-file`, with ROS's typing and node wildcards."""

from __future__ import annotations

import re
from typing import Any

import yaml

from .bounded_yaml import load_yaml


class ParameterFileError(RuntimeError):
    """A parameter file or value that cannot be used; the text names file, key and value."""


class _Map(list):
    """The (key, value) pairs of a YAML mapping in their order: a key may come twice, and rcl takes both."""

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{key!r}: {value!r}' for key, value in self)}}}"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """SafeLoader that tells numbers as rcl does: by C's strtol and strtod, no underscores, dates or base 60.

    Keys are text, whatever they look like (a node may be called `n` or `on`).
    """

    def construct_pairs(self, node: yaml.MappingNode, deep: bool = False) -> _Map:
        """Return the pairs of a mapping with their keys as they are written."""
        self.flatten_mapping(node)
        return _Map((key.value, self.construct_object(value, deep=True)) for key, value in node.value)


_KEPT = ("tag:yaml.org,2002:null", "tag:yaml.org,2002:merge")
_Loader.yaml_implicit_resolvers = {
    key: [(tag, pattern) for tag, pattern in resolvers if tag in _KEPT]
    for key, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool",
    re.compile("^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$"),
    list("yYtToOnNfF"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^[-+]?(?:(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|[0-9]+e[-+]?[0-9]+|\.?(?:inf|nan)|infinity)$", re.I
    ),
    list("-+0123456789.nNiI"),
)


def _float(loader: Any, node: yaml.Node) -> float:
    text = node.value.lower()
    return float(text.replace(".inf", "inf").replace(".nan", "nan"))


def _bool(loader: Any, node: yaml.Node) -> bool:
    return node.value.lower() in ("y", "yes", "true", "on")


_Loader.add_constructor("tag:yaml.org,2002:float", _float)
_Loader.add_constructor("tag:yaml.org,2002:bool", _bool)
_Loader.add_constructor("tag:yaml.org,2002:map", _Loader.construct_pairs)


def _checked(value: Any, where: str) -> Any:
    """Return a value as a parameter holds it; an empty list is no value, as in rcl."""
    if isinstance(value, (bool, int, float, str)):
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ParameterFileError(f"{where}: {str(value)[:60]} does not fit a 64-bit integer")
        return value
    if isinstance(value, list) and not isinstance(value, _Map):
        kinds = {type(v) for v in value}
        if len(kinds) > 1 or not kinds <= {bool, int, float, str}:
            raise ParameterFileError(
                f"{where}: {value!r}; a list must hold values of one type: bool, int, float or str"
            )
        return value or None
    raise ParameterFileError(f"{where}: {value!r}; expected bool, int, float, str or a list of one of them")


def parse_value(text: str) -> Any:
    """Return the value of `name:=text`."""
    if not text:
        raise ParameterFileError("the value is empty; '' (in quotes for YAML) is the empty string")
    try:
        value = load_yaml(text, _Loader)
    except yaml.YAMLError as error:
        raise ParameterFileError(f"{text[:100]!r} is not YAML: {error}") from error
    return text if value is None else _checked(value, "value")


def _leaves(tree: _Map, prefix: str, where: str) -> list[tuple[str, Any]]:
    found = []
    for key, value in tree:
        name = f"{prefix}{key}"
        if isinstance(value, _Map):
            found += _leaves(value, f"{name}.", where)
        elif value is not None:
            found.append((name, _checked(value, f"{where}: {name}")))
    return found


def _nodes(tree: _Map, prefix: str, where: str) -> list[tuple[str, str, Any]]:
    found = []
    for key, value in tree:
        name = f"{prefix}/{str(key).strip('/')}" if prefix or str(key).startswith("/") else str(key)
        if not isinstance(value, _Map):
            raise ParameterFileError(f"{where}: {name} must hold ros__parameters or nodes, got {value!r}")
        for inner, content in value:
            if inner == "ros__parameters":
                if content is None:
                    continue
                if not isinstance(content, _Map):
                    raise ParameterFileError(f"{where}: {name}: ros__parameters must hold name: value, got {content!r}")
                found += [(name, key_, value_) for key_, value_ in _leaves(content, "", f"{where}: {name}")]
            else:
                found += _nodes(_Map([(inner, content)]), name, where)
    return found


def load_parameter_file(path: str) -> list[tuple[str, str, Any]]:
    """Return (node pattern, parameter name, value) of a parameter file in its order."""
    try:
        with open(path, encoding="utf-8") as stream:
            tree = load_yaml(stream, _Loader)
    except OSError as error:
        raise ParameterFileError(f"cannot read parameter file {path!r}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ParameterFileError(f"parameter file {path!r} is not YAML: {error}") from error
    if tree is None:
        return []
    if not isinstance(tree, _Map):
        raise ParameterFileError(f"parameter file {path!r} must hold node names, got {type(tree).__name__}")
    return _nodes(tree, "", f"parameter file {path!r}")


def pattern_matches(pattern: str, full_name: str) -> bool:
    """Return whether a node pattern (`/**`, `/*/name`, `name`) covers the node of this fully qualified name."""
    if not pattern.startswith("/"):
        pattern = f"/{pattern}"
    if pattern == "/**":
        return True
    expression = ""
    for token in pattern[1:].split("/"):
        expression += r"(?:/[^/]+)*" if token == "**" else "/[^/]+" if token == "*" else "/" + re.escape(token)
    return re.fullmatch(expression, full_name) is not None


def overrides_for(full_name: str, entries: list[tuple[str, str, Any]]) -> dict[str, Any]:
    """Return the parameter values that apply to a node.

    As in rcl, all entries of one pattern stand together where the pattern came first, and the later pattern wins.
    """
    by_pattern: dict[str, dict[str, Any]] = {}
    for pattern, name, value in entries:
        by_pattern.setdefault(pattern, {})[name] = value
    found: dict[str, Any] = {}
    for pattern, values in by_pattern.items():
        if pattern_matches(pattern, full_name):
            found.update(values)
    return found
