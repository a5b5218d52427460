"""YAML as people write it: what PyYAML would take silently, or what would fill the memory, is refused.

PyYAML takes as long to import as all else of a robot: only what reads or writes a file imports this.
"""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Hashable
from typing import Any

import yaml

from hexapod_dynamics.errors import RobotError

# Limits of a file. A robot file has 20 kB, 10 levels and numbers of 20 characters.
MOST_BYTES, DEEPEST, MOST_NODES, LONGEST_NUMBER = 4 << 20, 50, 200_000, 100


class UniqueKeyLoader(yaml.SafeLoader):
    """A YAML loader that rejects repeated keys (PyYAML would silently use the last one) and files that are too
    large.

    Aliases count each time they are used, because nine nested lists of nine aliases each are a tree of 9**9
    values.
    """

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0
        self._sizes: dict[int, int] = {}  # id of a composed node: nodes in it, aliases counted in full

    def compose_node(self, parent: yaml.Node | None, index: object) -> yaml.Node:
        """Compose a node as PyYAML does, and raise RobotError if the file is nested too deeply or too large."""
        line = self.peek_event().start_mark.line + 1
        if self._depth >= DEEPEST:
            raise RobotError(f"line {line}: nested more than {DEEPEST} deep")
        self._depth += 1
        alias = self.check_event(yaml.AliasEvent)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if alias and id(node) not in self._sizes:
            raise RobotError(f"line {line}: an alias of a node that contains it")
        if not alias:
            inner = () if isinstance(node, yaml.ScalarNode) else node.value
            parts = [part for entry in inner for part in (entry if isinstance(entry, tuple) else (entry,))]
            self._sizes[id(node)] = 1 + sum(self._sizes[id(part)] for part in parts)
            if self._sizes[id(node)] > MOST_NODES:
                raise RobotError(f"line {line}: more than {MOST_NODES} values, aliases counted in full")
        return node


def _construct_mapping(loader: UniqueKeyLoader, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
    seen: set[str] = set()
    for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
        if key.value in seen:
            raise RobotError(f"line {key.start_mark.line + 1}: {key.value[:200]} is given more than once")
        seen.add(key.value)
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


def _construct_number(loader: UniqueKeyLoader, node: yaml.ScalarNode) -> int | float | str:
    """Return a number; text for 1_000, 1:30 and 010, which are other numbers for YAML 1.1 than for people."""
    if set(node.value) & set("_:"):
        return node.value
    if node.tag.endswith(":float"):
        return yaml.SafeLoader.construct_yaml_float(loader, node)
    if len(node.value) > LONGEST_NUMBER:
        raise RobotError(
            f"line {node.start_mark.line + 1}: a number of {len(node.value)} digits given, "
            f"at most {LONGEST_NUMBER} allowed"
        )
    digits = node.value.lstrip("+-")
    if digits.startswith("0") and digits[1:].isdecimal():
        return node.value
    return yaml.SafeLoader.construct_yaml_int(loader, node)


UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _construct_mapping)
for _kind in ("int", "float"):
    UniqueKeyLoader.add_constructor(f"tag:yaml.org,2002:{_kind}", _construct_number)


@functools.lru_cache(maxsize=8)
def _parse(text: str) -> object:
    """Return what a YAML text says: plans are read with each gait, and parsing them takes a twentieth of a second."""
    return yaml.load(text, Loader=UniqueKeyLoader)


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file of MOST_BYTES at most; RobotError tells in one line what is wrong."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MOST_BYTES + 1)
        text = raw.decode("utf-8")
    except (OSError, ValueError) as error:  # ValueError: no path, or another encoding
        remedy = "; save the file as UTF-8" if isinstance(error, UnicodeDecodeError) else ""
        raise RobotError(f"cannot be read: {error}{remedy}") from None
    if len(raw) > MOST_BYTES:
        raise RobotError(f"cannot be read: it has more than {MOST_BYTES >> 20} MiB")
    return text


def parse_yaml(text: str) -> Any:
    """Return what a YAML text says; RobotError tells in one line what is wrong, and where.

    A text is refused if it has more than DEEPEST levels, or more than MOST_NODES values.
    """
    try:
        return copy.deepcopy(_parse(text))
    except yaml.YAMLError as error:
        raise RobotError(f"not YAML: {' '.join(str(error).split())[:500]}") from None
    except RobotError:
        raise
    # raised by a constructor, for example for an impossible date
    except (ValueError, TypeError, OverflowError) as error:
        raise RobotError(f"not YAML: {error}") from None


def load_yaml(path: str | os.PathLike[str]) -> Any:
    """Return what a YAML file says; RobotError as `read_text` and `parse_yaml`."""
    return parse_yaml(read_text(path))


class _Dumper(yaml.SafeDumper):
    """SafeDumper with lists of numbers and names in one line."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def represent_list(self, data: list[object]) -> yaml.Node:
        in_one_line = not any(isinstance(item, dict) for item in data)
        return self.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=in_one_line)


_Dumper.add_representer(list, _Dumper.represent_list)


def dump_yaml(value: object) -> str:
    """Return the YAML text of a value, keys in their order."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=120)
