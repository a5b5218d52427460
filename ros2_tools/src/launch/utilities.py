"""Helpers that actions and substitutions share; texts that stand for a value of a type are read by YAML's rules."""

from collections.abc import Iterable
from typing import get_args, get_origin

import yaml

from .substitution import Substitution, TextSubstitution

SCALARS = (bool, int, float, str)


def normalize_to_list_of_substitutions(subs):
    """Return a list of substitutions from a text, a substitution, or an iterable of both."""
    if isinstance(subs, (str, Substitution)):
        return _items(subs)
    if isinstance(subs, Iterable):
        return [each for sub in subs for each in _items(sub)]
    raise TypeError(f"expected a text, a launch.Substitution or an iterable of them, got {subs!r}")


def _items(sub):
    if isinstance(sub, str):
        return [TextSubstitution(text=sub)]
    if isinstance(sub, Substitution):
        return [sub]
    raise TypeError(f"expected a text or a launch.Substitution, got {sub!r}")


def perform_substitutions(context, subs):
    """Return the substitutions' texts, joined."""
    return "".join(context.perform_substitution(sub) for sub in subs)


def described(subs):
    """Return the descriptions of several substitutions, joined."""
    return " + ".join(sub.describe() for sub in subs)


def visit_all_entities_and_collect_futures(entity, context):
    """Visit an entity and all that it yields; return [(entity, future)] of those that are not done at once."""
    below = entity.visit(context)
    future = entity.get_asyncio_future()
    pairs = [] if future is None else [(entity, future)]
    for sub_entity in below or []:
        pairs += visit_all_entities_and_collect_futures(sub_entity, context)
    return pairs


def as_entities(some_actions):
    """Return a list from one entity, several, or None."""
    several = some_actions if isinstance(some_actions, Iterable) else [some_actions]
    return [each for each in several if each is not None]


def _split_type(data_type):
    """Return (scalar type, whether it is a list of them); ValueError for other types."""
    if data_type in SCALARS:
        return data_type, False
    if get_origin(data_type) is list and get_args(data_type) and get_args(data_type)[0] in SCALARS:
        return get_args(data_type)[0], True
    raise ValueError(f"Unrecognized data type: {data_type}")


def _is_instance_of(value, data_type=None):
    """Return whether the value has the type; without one, whether it is a scalar or a uniform list of scalars."""
    if data_type is None:
        if not isinstance(value, list):
            return isinstance(value, SCALARS)
        return not value or type(value[0]) in SCALARS and all(type(each) is type(value[0]) for each in value)
    scalar, is_list = _split_type(data_type)
    if is_list:
        return isinstance(value, list) and all(isinstance(each, scalar) for each in value)
    return isinstance(value, scalar)


def coerce_to_type(text, data_type=None):
    """Return the text as a value of the type, by YAML's rules where none is given; ValueError if it is not one."""
    if data_type is str or (not text and data_type not in (int, float)):
        return text
    if data_type in (int, float):
        return data_type(text)
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"Failed to convert '{text}' to '{data_type or 'a value by yaml rules'}': {error}") from error
    if not _is_instance_of(value, data_type):
        raise ValueError(f"Cannot convert value '{text}' to '{data_type or 'a scalar or a list of one type'}'")
    return value


def is_substitution(value):
    """Return whether the value stands for one text: a substitution, or several with text between."""
    if isinstance(value, Substitution):
        return True
    if isinstance(value, str) or not isinstance(value, Iterable):
        return False
    items = list(value)
    return any(isinstance(item, Substitution) for item in items) and all(
        isinstance(item, (str, Substitution)) for item in items
    )


def normalize_typed_substitution(value, data_type=None):
    """Return the value if it has the type already, else a list of substitutions, or a list of such lists."""
    if is_substitution(value):
        return normalize_to_list_of_substitutions(value)
    if isinstance(value, (list, tuple)) and any(not isinstance(item, SCALARS) for item in value):
        return [item if isinstance(item, SCALARS) else normalize_to_list_of_substitutions(item) for item in value]
    if isinstance(value, tuple):
        value = list(value)
    if not _is_instance_of(value, data_type):
        raise TypeError(f"value='{value}' is not an instance of {data_type or 'a scalar or a uniform list'}")
    return value


def perform_typed_substitution(context, value, data_type=None):
    """Return what `normalize_typed_substitution` made as a value of the type."""
    if not isinstance(value, list) or not any(isinstance(item, (Substitution, list)) for item in value):
        return value
    if any(isinstance(item, Substitution) for item in value):
        return coerce_to_type(perform_substitutions(context, value), data_type)
    item_type = _split_type(data_type)[0] if data_type is not None else None
    values = [
        coerce_to_type(perform_substitutions(context, item), item_type) if isinstance(item, list) else item
        for item in value
    ]
    if not _is_instance_of(values, data_type):
        raise ValueError(f"Cannot convert value '{values}' to '{data_type or 'a list of one type'}'")
    return values
