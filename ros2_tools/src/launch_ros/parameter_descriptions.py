"""Parameters as launch files give them: files, values, and dicts whose keys and values may be substitutions."""

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import yaml
from launch.substitutions import EnvironmentVariable, LaunchConfiguration, SubstitutionFailure, TextSubstitution
from launch.utilities import perform_substitutions, perform_typed_substitution

from ros2_tools.errors import NotCovered


class ParameterValue:
    """A value, or substitutions whose text is read as `value_type`, as `perform_typed_substitution` says."""

    def __init__(self, value, *, value_type=None):
        self._value, self._value_type = value, value_type

    def evaluate(self, context):
        """Return the value."""
        return perform_typed_substitution(context, self._value, self._value_type)


def temporary_file(text):
    """Return the path of a new file with this text, which whoever asked for it removes."""
    with tempfile.NamedTemporaryFile("w", prefix="launch_params_", delete=False, encoding="utf-8") as file:
        file.write(text)
    return file.name


class ParameterFile:
    """A parameter file; with `allow_substs`, $(var NAME) and $(env NAME [DEFAULT]) in it are replaced."""

    def __init__(self, param_file, *, allow_substs=False):
        self._param_file, self._allow_substs = param_file, allow_substs
        self._copy = None

    def evaluate(self, context):
        """Return the path of the file, or of a copy with the substitutions replaced."""
        path = self._param_file
        path = os.fsdecode(path) if isinstance(path, (os.PathLike, bytes)) else perform_substitutions(context, path)
        if self._copy or not perform_typed_substitution(context, self._allow_substs, bool):
            return self._copy or path
        text = perform_substitutions(context, parse_substitutions(Path(path).read_text(encoding="utf-8")))
        try:
            yaml.safe_load(text)
        except (yaml.YAMLError, ValueError) as error:
            raise SubstitutionFailure(
                f"The substituted parameter file {path} is not a valid yaml file: {error}"
            ) from error
        self._copy = temporary_file(text)
        return self._copy

    def cleanup(self):
        """Remove the copy."""
        if self._copy is not None:
            Path(self._copy).unlink(missing_ok=True)
            self._copy = None


def parse_substitutions(text):
    """Return substitutions for a text with $(var NAME), $(var NAME DEFAULT), $(env NAME) and $(env NAME DEFAULT)."""
    parts = []
    for literal, substitution in re.findall(r"((?:(?!\$\()[\s\S])+)|\$\(([^()]*)\)", text):
        if literal:
            parts.append(TextSubstitution(text=literal))
            continue
        kind, *arguments = [argument.strip("'\"") for argument in substitution.split(maxsplit=2)]
        name, default = [*arguments, None, None][:2]
        if kind == "var" and name:
            parts.append(LaunchConfiguration(name, default=default))
        elif kind == "env" and name:
            parts.append(EnvironmentVariable(name, default_value=default))
        else:
            raise NotCovered(f"the substitution $({substitution}) in a parameter file, only $(var ...) and $(env ...)")
    return parts


def evaluate_parameters_dict(context, parameters, prefix=""):
    """Return {name: value} of a dict of parameters; nested dicts become names with dots.

    Texts of substitutions are read by YAML's rules; lists are of one type, of floats where ints and floats mix.
    """
    if not isinstance(parameters, Mapping):
        raise TypeError(f"expected a dict of parameters, got {parameters!r}")
    values = {}
    for key, value in parameters.items():
        name = prefix + perform_substitutions(context, key)
        if isinstance(value, Mapping):
            values.update(evaluate_parameters_dict(context, value, f"{name}."))
        else:
            values[name] = _evaluated(context, name, value)
    return values


def _evaluated(context, name, value):
    try:
        if isinstance(value, ParameterValue):
            return value.evaluate(context)
        value = perform_typed_substitution(context, value)
        if value == []:
            raise ValueError("an empty list has no type")
        return value
    except ValueError as error:
        raise TypeError(
            f"Unable to use the value of parameter {name}: {error}. If the parameter is meant to be a string, try "
            "wrapping it in launch_ros.parameter_descriptions.ParameterValue(value, value_type=str)"
        ) from error
