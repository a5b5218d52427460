"""Descriptions of parameters for nodes."""

import os
import re
import tempfile
from pathlib import Path

import yaml
from launch.substitutions import EnvironmentVariable, LaunchConfiguration, SubstitutionFailure, TextSubstitution
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from launch.utilities.type_utils import normalize_typed_substitution, perform_typed_substitution

from pocket_ros2.bounded_yaml import load_yaml
from pocket_ros2.errors import NotCovered


class ParameterValue:
    """A value, or substitutions whose text is read as `value_type`.

    That is bool, int, float, str, a typing.List of one of them, or None for what YAML makes of it.
    """

    def __init__(self, value, *, value_type=None):
        self._value = normalize_typed_substitution(value, value_type)
        self._value_type = value_type
        self._evaluated = None

    @property
    def value(self):
        """The value once evaluated, before as given."""
        return self._value if self._evaluated is None else self._evaluated

    @property
    def value_type(self):
        """The type, or None."""
        return self._value_type

    def __str__(self):
        return f"launch_ros.description.ParameterValue(value={self.value}, value_type={self.value_type})"

    def evaluate(self, context):
        """Return the value."""
        self._evaluated = perform_typed_substitution(context, self._value, self._value_type)
        return self._evaluated


class Parameter:
    """One parameter: its name and its value."""

    def __init__(self, name, value, *, value_type=None):
        self._name = normalize_to_list_of_substitutions(name)
        self._value = ParameterValue(value, value_type=value_type)

    @property
    def name(self):
        """The substitutions that make the name."""
        return self._name

    @property
    def value(self):
        """The value once evaluated, before as given."""
        return self._value.value

    @property
    def value_type(self):
        """The type, or None."""
        return self._value.value_type

    def __str__(self):
        return f"launch_ros.description.Parameter(name={self.name}, value={self.value}, value_type={self.value_type})"

    def evaluate(self, context):
        """Return (name, value)."""
        return perform_substitutions(context, self._name), self._value.evaluate(context)


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

    @property
    def param_file(self):
        """The path once evaluated, before as given."""
        return self._param_file if self._evaluated is None else self._evaluated

    @property
    def allow_substs(self):
        """Whether substitutions in the file are replaced."""
        return self._allow_substs

    def __str__(self):
        return f"launch_ros.description.ParameterFile(param_file={self.param_file}, allow_substs={self.allow_substs})"

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
            load_yaml(text)
        except yaml.YAMLError as error:
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
