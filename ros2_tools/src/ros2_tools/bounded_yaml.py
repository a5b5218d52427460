"""YAML that a user gives, within bounds: what is too deep, too large or no value is a YAMLError in one line."""

from __future__ import annotations

from typing import Any

import yaml

DEEPEST, MOST_NODES = 100, 2_000_000
MOST_CHARACTERS = 16 << 20
_Parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BEGIN = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_END = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


class OutOfBounds(yaml.YAMLError):
    """YAML that nests too deep, is too large, or holds an integer or a date that Python cannot make."""


def _check(text: str) -> None:
    """Raise OutOfBounds for YAML whose loading would overflow the stack or the memory; aliases count in full."""
    sizes: dict[str, int] = {}
    open_nodes: list[list[Any]] = []  # [anchor, nodes so far]
    for event in yaml.parse(text, Loader=_Parser):
        line = event.start_mark.line + 1
        anchor, count = getattr(event, "anchor", None), 1
        if isinstance(event, _BEGIN):
            open_nodes.append([anchor, 1])
            if len(open_nodes) > DEEPEST:
                raise OutOfBounds(f"line {line}: nested more than {DEEPEST} deep")
            continue
        if isinstance(event, _END):
            anchor, count = open_nodes.pop()
        elif isinstance(event, yaml.AliasEvent):
            if anchor not in sizes:
                if any(anchor == each for each, _ in open_nodes):
                    raise OutOfBounds(f"line {line}: an alias of what it is in")
                continue  # of nothing: the loader says so
            count = sizes[anchor]
        elif not isinstance(event, yaml.ScalarEvent):
            continue
        if anchor is not None:
            sizes[anchor] = count
        if open_nodes:
            open_nodes[-1][1] += count
        if count > MOST_NODES:
            raise OutOfBounds(f"line {line}: more than {MOST_NODES} values, aliases counted in full")


def load_yaml(source: Any, loader: Any = yaml.SafeLoader) -> Any:
    """Return the value of a text or of an open file; yaml.YAMLError, in one line, for whatever is wrong with it."""
    text = source if isinstance(source, str) else source.read(MOST_CHARACTERS + 1)
    if len(text) > MOST_CHARACTERS:
        raise OutOfBounds(f"more than {MOST_CHARACTERS >> 20} MiB")
    try:
        _check(text)
        return yaml.load(text, loader)  # a loader derived from SafeLoader
    except yaml.YAMLError as error:
        raise OutOfBounds(" ".join(str(error).split())[:1000]) from error
    except (ValueError, OverflowError, TypeError) as error:  # a date that is none, an integer of 20,000 digits
        raise OutOfBounds(str(error)[:1000]) from error
