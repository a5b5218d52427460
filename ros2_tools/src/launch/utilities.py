"""Values of a type from texts, which are read by YAML's rules, and helpers of other modules by their usual names."""

from collections.abc import Iterable
from typing import Any, get_args

import yaml

from .substitutions import Substitution
from .substitutions import normalize_to_list_of_substitutions as normalize_to_list_of_substitutions
from .substitutions import perform_substitutions as perform_substitutions

SCALARS = (bool, int, float, str, bytes)


def as_entities(some_actions):
    """Return a list from one entity, several, or None."""
    several = some_actions if isinstance(some_actions, Iterable) else [some_actions]
    return [each for each in several if each is not None]


def _checked(value, data_type):
    """Return a value that has the type; a list is of one, of floats where ints and floats mix. Else ValueError."""
    if data_type in SCALARS or not isinstance(value, list):
        fits = isinstance(value, data_type if data_type in SCALARS else SCALARS) and not get_args(data_type)
    else:
        kinds = {type(each) for each in value}
        if kinds == {int, float}:
            value, kinds = [float(each) for each in value], {float}
        fits = len(kinds) <= 1 and kinds <= {*(get_args(data_type) or SCALARS)}
    if not fits:
        raise ValueError(f"'{value}' is not an instance of {data_type or 'bool, int, float, str or a list of one'}")
    return value


def coerce_to_type(text, data_type=None):
    """Return the text as a value of the type, by YAML's rules where none is given; ValueError if it is not one."""
    if data_type is str or (not text and data_type not in (int, float)):
        return text
    if data_type in (int, float):
        return data_type(text)
    try:
        return _checked(yaml.safe_load(text), data_type)
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"Failed to convert '{text}' to '{data_type or 'a value by yaml rules'}': {error}") from error


def perform_typed_substitution(context, value, data_type: Any = None):
    """Return a value as one of a type: a text of substitutions is read, in a list each; else it has the type already.

    data_type: bool, int, float, str, a list of one of them, or None for any of these. ValueError where it is none.
    """
    items = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(each, Substitution) for each in items) and all(isinstance(e, (str, Substitution)) for e in items):
        return coerce_to_type(perform_substitutions(context, value), data_type)
    if items is value:
        of_items = get_args(data_type)[0] if get_args(data_type) else None
        value = [perform_typed_substitution(context, item, of_items) for item in value]
    return _checked(value, data_type)
