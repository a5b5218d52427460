"""Parameters as launch files give them: files, and dicts whose keys and values may be substitutions."""

from collections.abc import Mapping, Sequence

import yaml
from launch.substitution import Substitution
from launch.substitutions import TextSubstitution
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from launch.utilities.type_utils import is_substitution

from pocket_ros2.bounded_yaml import load_yaml

from ..parameter_descriptions import Parameter, ParameterFile, ParameterValue

SCALARS = (bool, int, float, str, bytes)


class _Text(tuple):
    """Substitutions that make one text, which is read by the rules of YAML."""


def normalize_parameters(parameters):
    """Return a tuple of ParameterFile, Parameter and normalized dicts."""
    if isinstance(parameters, str) or not isinstance(parameters, Sequence):
        raise TypeError(f"Expecting list of parameters, got {parameters}")
    return tuple(
        normalize_parameters_dict(item)
        if isinstance(item, Mapping)
        else item
        if isinstance(item, (Parameter, ParameterFile))
        else ParameterFile(item)
        for item in parameters
    )


def normalize_parameters_dict(parameters, prefix=()):
    """Return {substitutions of the name: normalized value}; nested dicts become names with dots."""
    if not isinstance(parameters, Mapping):
        raise TypeError(f"expected a dict of parameters, got {parameters!r}")
    normalized = {}
    for key, value in parameters.items():
        name = (*prefix, *normalize_to_list_of_substitutions(key))
        if isinstance(value, Mapping):
            normalized.update(normalize_parameters_dict(value, (*name, TextSubstitution(text="."))))
        else:
            normalized[name] = _normalized_value(value)
    return normalized


def _normalized_value(value):
    if isinstance(value, (*SCALARS, ParameterValue)):
        return value
    if is_substitution(value):
        return _Text(normalize_to_list_of_substitutions(value))
    if isinstance(value, Sequence):
        return [_normalized_item(item) for item in value]
    raise TypeError(
        f"Unexpected type for parameter value {value!r}: expected bool, int, float, str, bytes, a "
        "substitution, or a list of one of them"
    )


def _normalized_item(item):
    if isinstance(item, SCALARS):
        return item
    if isinstance(item, (Substitution, Sequence)):
        return _Text(normalize_to_list_of_substitutions(item))
    raise TypeError(f"Unexpected type for an item of a parameter value: {item!r}")


def evaluate_parameters(context, parameters):
    """Return a tuple of paths, Parameter and dicts {name: value} from normalized parameters."""
    return tuple(
        item.evaluate(context)
        if isinstance(item, ParameterFile)
        else item
        if isinstance(item, Parameter)
        else evaluate_parameters_dict(context, item)
        for item in parameters
    )


def evaluate_parameters_dict(context, parameters):
    """Return {name: value} of a normalized dict; lists are of one type, of floats where ints and floats mix."""
    return {
        perform_substitutions(context, name): _evaluated(context, perform_substitutions(context, name), value)
        for name, value in parameters.items()
    }


def _evaluated(context, name, value):
    if isinstance(value, ParameterValue):
        value = value.evaluate(context)
    elif isinstance(value, _Text):
        value = _read(name, perform_substitutions(context, value))
    elif isinstance(value, list):
        value = [
            _read(name, perform_substitutions(context, item)) if isinstance(item, _Text) else item for item in value
        ]
    return _uniform(name, value) if isinstance(value, (list, tuple)) else value


def _read(name, text):
    try:
        value = load_yaml(text) if text else ""
    except yaml.YAMLError as error:
        raise TypeError(
            f"Unable to parse the value of parameter {name} as yaml: {error}. If the parameter is meant to be a "
            "string, try wrapping it in launch_ros.parameter_descriptions.ParameterValue(value, value_type=str)"
        ) from error
    if not isinstance(value, (*SCALARS, list)):
        raise TypeError(
            f"Parameter {name}: '{text}' is read as {type(value)}; allowed are bool, int, float, str and lists of one "
            "of them. If the parameter is meant to be a string, try wrapping it in "
            "launch_ros.parameter_descriptions.ParameterValue(value, value_type=str)"
        )
    return value


def _uniform(name, values):
    types = {type(value) for value in values}
    if types == {int, float}:
        return [float(value) for value in values]
    if len(types) != 1 or not types <= {bool, int, float, str}:
        raise TypeError(
            f"Parameter {name}: expected a non-empty sequence, with items of uniform type (bool, int, "
            f"float, str), got {list(values)}"
        )
    return list(values)
