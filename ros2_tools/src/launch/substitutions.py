"""Substitutions: texts that are known only when the launch runs."""

import math
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable

from ros2_tools.errors import not_covered

from .substitution import Substitution, TextSubstitution
from .utilities import described, normalize_to_list_of_substitutions, perform_substitutions


class SubstitutionFailure(RuntimeError):
    """A substitution has no text in this context."""


class _Named(Substitution):
    """A substitution that is made from one text, which may have substitutions in it."""

    title = ""

    def __init__(self, text):
        self._text = normalize_to_list_of_substitutions(text)

    def describe(self):
        """Return a description for people."""
        return f"{self.title}({described(self._text)})"

    def perform(self, context):
        """Return what `_find` finds for the text."""
        return self._find(context, perform_substitutions(context, self._text))


class LaunchConfiguration(_Named):
    """The value of a launch configuration (an argument), or the default where it is not set."""

    title = "LaunchConfig"

    def __init__(self, variable_name, *, default=None):
        super().__init__(variable_name)
        if default is not None:
            items = default if isinstance(default, Iterable) and not isinstance(default, str) else [default]
            default = normalize_to_list_of_substitutions(
                [item if isinstance(item, (str, Substitution)) else str(item) for item in items]
            )
        self._default = default

    def _find(self, context, name):
        if name in context.launch_configurations:
            return context.launch_configurations[name]
        if self._default is None:
            raise SubstitutionFailure(f"launch configuration '{name}' does not exist")
        return perform_substitutions(context, self._default)


class EnvironmentVariable(_Named):
    """The value of an environment variable, or the default where it is not set."""

    title = "EnvVar"

    def __init__(self, name, *, default_value=None):
        super().__init__(name)
        self._default = None if default_value is None else normalize_to_list_of_substitutions(default_value)

    def _find(self, context, name):
        if name in context.environment:
            return context.environment[name]
        if self._default is None:
            raise SubstitutionFailure(f"environment variable '{name}' does not exist")
        return perform_substitutions(context, self._default)


class FindExecutable(_Named):
    """The path of a program on PATH."""

    title = "FindExec"

    def __init__(self, *, name):
        super().__init__(name)

    def _find(self, context, name):
        path = shutil.which(name)
        if path is None:
            raise SubstitutionFailure(f"executable '{name}' not found on the PATH")
        return path


class PythonExpression(_Named):
    """The value of a Python expression that may use the names of the module math."""

    title = "PythonExpr"

    def _find(self, context, expression):
        return str(eval(expression, {}, vars(math)))


class Command(_Named):
    """What a command writes to its stdout; `on_stderr` is fail, ignore, warn or capture."""

    title = "Command"

    def __init__(self, command, *, on_stderr="fail"):
        super().__init__(command)
        if on_stderr not in ("fail", "ignore", "warn", "capture"):
            raise ValueError(f"expected 'on_stderr' to be fail, ignore, warn or capture, got '{on_stderr}'")
        self._on_stderr = on_stderr

    def _find(self, context, line):
        stderr = subprocess.STDOUT if self._on_stderr == "capture" else subprocess.PIPE
        try:
            result = subprocess.run(shlex.split(line), stdout=subprocess.PIPE, stderr=stderr, text=True, check=False)
        except FileNotFoundError as error:
            raise SubstitutionFailure(f"file not found: {error}") from error
        if result.returncode != 0:
            captured = f"\nCaptured stderr output: {result.stderr}" if result.stderr else ""
            raise SubstitutionFailure(f"executed command failed. Command: {line}{captured}")
        if result.stderr and self._on_stderr in ("fail", "warn"):
            from .logging import get_logger

            message = (
                f"executed command showed stderr output. Command: {line}\nCaptured stderr output:\n{result.stderr}"
            )
            if self._on_stderr == "fail":
                raise SubstitutionFailure(message)
            get_logger().warning(message)
        return result.stdout


class PathJoinSubstitution(_Named):
    """A path from its parts; each item of the iterable is one part."""

    title = "PathJoin"

    def perform(self, context):
        """Return the joined path."""
        return os.path.join(*(sub.perform(context) for sub in self._text))


class ThisLaunchFile(Substitution):
    """The absolute path of the launch file being visited."""

    _local = "current_launch_file_path"

    def describe(self):
        """Return a description for people."""
        return f"{type(self).__name__}()"

    def perform(self, context):
        """Return the path; SubstitutionFailure outside of a launch file."""
        known = context.get_locals_as_dict()
        if self._local not in known:
            raise SubstitutionFailure(f"{type(self).__name__} used outside of a launch file (in a script)")
        return known[self._local]


class ThisLaunchFileDir(ThisLaunchFile):
    """The folder of the launch file being visited."""

    _local = "current_launch_file_directory"


__all__ = [
    "Command",
    "EnvironmentVariable",
    "FindExecutable",
    "LaunchConfiguration",
    "PathJoinSubstitution",
    "PythonExpression",
    "SubstitutionFailure",
    "TextSubstitution",
    "ThisLaunchFile",
    "ThisLaunchFileDir",
]
__getattr__ = not_covered(__name__, __all__)
