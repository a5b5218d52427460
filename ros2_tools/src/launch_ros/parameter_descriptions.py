"""Parameters as launch files give them: files, values, and dicts whose keys and values may be substitutions."""

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from launch.substitutions import EnvironmentVariable, LaunchConfiguration, SubstitutionFailure, TextSubstitution
from launch.utilities import (
    is_substitution,
    normalize_to_list_of_substitutions,
    normalize_typed_substitution,
    perform_substitutions,
    perform_typed_substitution,
)

from ros2_tools.errors import NotCovered

SCALARS = (bool, int, float, str, bytes)


class ParameterValue:
    """A value, or substitutions whose text is read as `value_type`.

    That is bool, int, float, str, a typing.List of one of them, or None for what YAML makes of it.
    """

    def __init__(self, value, *, value_type=None):
        self._value = normalize_typed_substitution(value, value_type)
        self._value_type = value_type

    def evaluate(self, context):
        """Return the value."""
        return perform_typed_substitution(context, self._value, self._value_type)


class ParameterFile:
    """A parameter file; with `allow_substs`, $(var NAME) and $(env NAME [DEFAULT]) in it are replaced."""

    def __init__(self, param_file, *, allow_substs=False):
        self._param_file = (
            Path(os.fsdecode(param_file))
            if isinstance(param_file, (os.PathLike, bytes))
            else normalize_to_list_of_substitutions(param_file)
        )
        self._allow_substs = normalize_typed_substitution(allow_substs, bool)
        self._evaluated = None
        self._temporary = False

    def evaluate(self, context):
        """Return the path of the file, or of a copy with the substitutions replaced."""
        if self._evaluated is None:
            path = self._param_file
            if not isinstance(path, Path):
                path = Path(perform_substitutions(context, path))
            if perform_typed_substitution(context, self._allow_substs, bool):
                path = self._replaced(context, path)
            self._evaluated = path
        return self._evaluated

    def _replaced(self, context, path):
        text = perform_substitutions(context, parse_substitutions(path.read_text(encoding="utf-8")))
        try:
            yaml.safe_load(text)
        except (yaml.YAMLError, ValueError) as error:
            raise SubstitutionFailure(
                f"The substituted parameter file {path} is not a valid yaml file: {error}"
            ) from error
        with tempfile.NamedTemporaryFile("w", prefix="launch_params_", delete=False, encoding="utf-8") as copy:
            copy.write(text)
        self._temporary = True
        return Path(copy.name)

    def cleanup(self):
        """Remove the copy."""
        if self._temporary:
            self._evaluated.unlink(missing_ok=True)
            self._evaluated, self._temporary = None, False


def parse_substitutions(text):
    """Return substitutions for a text with $(var NAME), $(var NAME DEFAULT), $(env NAME) and $(env NAME DEFAULT)."""
    parts = []
    for literal, substitution in re.findall(r"((?:(?!\$\()[\s\S])+)|\$\(([^()]*)\)", text):
        if literal:
            parts.append(TextSubstitution(text=literal))
            continue
        kind, *arguments = substitution.split(maxsplit=2)
        arguments = [argument.strip("'\"") for argument in arguments]
        if kind == "var" and arguments:
            parts.append(LaunchConfiguration(arguments[0], default=arguments[1] if arguments[1:] else None))
        elif kind == "env" and arguments:
            parts.append(EnvironmentVariable(arguments[0], default_value=arguments[1] if arguments[1:] else None))
        else:
            raise NotCovered(f"the substitution $({substitution}) in a parameter file, only $(var ...) and $(env ...)")
    return parts


class _Text(tuple):
    """Substitutions that make one text, which is read by the rules of YAML."""


def normalize_parameters(parameters):
    """Return a tuple of ParameterFile and normalized dicts."""
    if isinstance(parameters, str) or not isinstance(parameters, Sequence):
        raise TypeError(f"Expecting list of parameters, got {parameters}")
    return tuple(
        normalize_parameters_dict(item)
        if isinstance(item, Mapping)
        else item
        if isinstance(item, ParameterFile)
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
        return [
            item if isinstance(item, SCALARS) else _Text(normalize_to_list_of_substitutions(item)) for item in value
        ]
    raise TypeError(
        f"Unexpected type for parameter value {value!r}: expected bool, int, float, str, bytes, a "
        "substitution, or a list of one of them"
    )


def evaluate_parameters(context, parameters):
    """Return a tuple of paths and dicts {name: value} from normalized parameters."""
    return tuple(
        item.evaluate(context) if isinstance(item, ParameterFile) else evaluate_parameters_dict(context, item)
        for item in parameters
    )


def evaluate_parameters_dict(context, parameters):
    """Return {name: value} of a normalized dict; lists are of one type, of floats where ints and floats mix."""
    return {
        perform_substitutions(context, name): _evaluated(context, perform_substitutions(context, name), value)
        for name, value in parameters.items()
    }


def _evaluated(context, name, value):
    def read(item):
        return _read(name, perform_substitutions(context, item)) if isinstance(item, _Text) else item

    if isinstance(value, ParameterValue):
        value = value.evaluate(context)
    else:
        value = [read(item) for item in value] if isinstance(value, list) else read(value)
    return _uniform(name, value) if isinstance(value, (list, tuple)) else value


def _read(name, text):
    try:
        value = yaml.safe_load(text) if text else ""
    except (yaml.YAMLError, ValueError) as error:
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
