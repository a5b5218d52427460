"""Substitutions that stand for a value of some type: text is read by the rules of YAML."""

from collections.abc import Iterable
from typing import get_args, get_origin

import yaml

from pocket_ros2.bounded_yaml import load_yaml

from ..substitution import Substitution
from . import normalize_to_list_of_substitutions, perform_substitutions

SCALARS = (bool, int, float, str)


def extract_type(data_type):
    """Return (scalar type, whether it is a list of them); ValueError for other types."""
    if data_type in SCALARS:
        return data_type, False
    if get_origin(data_type) is list and get_args(data_type) and get_args(data_type)[0] in SCALARS:
        return get_args(data_type)[0], True
    raise ValueError(f"Unrecognized data type: {data_type}")


def is_instance_of(value, data_type=None):
    """Return whether the value has the type; without one, whether it is a scalar or a uniform list of scalars."""
    if data_type is None:
        if not isinstance(value, list):
            return isinstance(value, SCALARS)
        return not value or type(value[0]) in SCALARS and all(type(each) is type(value[0]) for each in value)
    scalar, is_list = extract_type(data_type)
    if is_list:
        return isinstance(value, list) and all(isinstance(each, scalar) for each in value)
    return isinstance(value, scalar)


def coerce_to_type(text, data_type=None):
    """Return the text as a value of the type, by YAML's rules where none is given; ValueError if it is not one."""
    if data_type is str:
        return text
    if data_type in (int, float):
        return data_type(text)
    if data_type is not None:
        extract_type(data_type)
    if not text:
        return text
    try:
        value = load_yaml(text)
    except yaml.YAMLError as error:
        raise ValueError(f"Failed to convert '{text}' to '{data_type or 'a value by yaml rules'}': {error}") from error
    if not is_instance_of(value, data_type):
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
    if not is_instance_of(value, data_type):
        raise TypeError(f"value='{value}' is not an instance of {data_type or 'a scalar or a uniform list'}")
    return value


def perform_typed_substitution(context, value, data_type=None):
    """Return what `normalize_typed_substitution` made as a value of the type."""
    if not isinstance(value, list) or not any(isinstance(item, (Substitution, list)) for item in value):
        return value
    if any(isinstance(item, Substitution) for item in value):
        return coerce_to_type(perform_substitutions(context, value), data_type)
    item_type = extract_type(data_type)[0] if data_type is not None else None
    values = [
        coerce_to_type(perform_substitutions(context, item), item_type) if isinstance(item, list) else item
        for item in value
    ]
    if not is_instance_of(values, data_type):
        raise ValueError(f"Cannot convert value '{values}' to '{data_type or 'a list of one type'}'")
    return values
