"""Substitutions: texts that are known only when the launch runs.

Wherever a text may stand in a launch description, a substitution or a list of texts and substitutions may.
"""

import math
import os
import shlex
import shutil
import subprocess

from ros2_tools.errors import not_covered

from .logging import get_logger


class Substitution:
    """Stands in a launch description for a text that is known only when it runs: `perform(context)` returns it."""

    def describe(self):
        """Return a description for people."""
        return f"{type(self).__name__}()"


class TextSubstitution(Substitution):
    """A text as it is."""

    def __init__(self, *, text):
        if not isinstance(text, str):
            raise TypeError(f"TextSubstitution expected a str, got '{type(text)}' instead.")
        self.text = text

    def describe(self):
        """Return the text in quotes."""
        return f"'{self.text}'"

    def perform(self, context):
        """Return the text."""
        return self.text


def normalize_to_list_of_substitutions(subs):
    """Return a list of substitutions from a text, a substitution, or a list or tuple of both."""
    if isinstance(subs, str):
        return [TextSubstitution(text=subs)]
    if isinstance(subs, Substitution):
        return [subs]
    if isinstance(subs, (list, tuple)):
        return [each for sub in subs for each in normalize_to_list_of_substitutions(sub)]
    raise TypeError(f"expected a text, a launch.Substitution or a list of them, got {subs!r}")


def perform_substitutions(context, subs):
    """Return the joined texts of what `normalize_to_list_of_substitutions` takes."""
    return "".join(sub.perform(context) for sub in normalize_to_list_of_substitutions(subs))


def described(subs):
    """Return the joined descriptions of what `normalize_to_list_of_substitutions` takes."""
    return " + ".join(sub.describe() for sub in normalize_to_list_of_substitutions(subs))


class SubstitutionFailure(RuntimeError):
    """A substitution has no text in this context."""


class Named(Substitution):
    """A substitution that is made from one text, which may have substitutions in it, and may have a default.

    title: its description, with a place for that of the text.
    missing: what is said where there is neither a value nor a default.
    """

    title = missing = ""

    def __init__(self, text, default=None):
        self._text, self._default = text, default

    def describe(self):
        """Return a description for people."""
        return self.title.format(described(self._text))

    def perform(self, context):
        """Return what `find` finds for the text, else the default; SubstitutionFailure where there is none."""
        text = perform_substitutions(context, self._text)
        found = self.find(context, text)
        if found is None and self._default is None:
            raise SubstitutionFailure(self.missing.format(text))
        return perform_substitutions(context, self._default) if found is None else found


class LaunchConfiguration(Named):
    """The value of a launch configuration (an argument), or the default where it is not set."""

    title = "LaunchConfig({})"
    missing = "launch configuration '{}' does not exist"

    def __init__(self, variable_name, *, default=None):
        plain = default is None or isinstance(default, (str, Substitution, list, tuple))
        super().__init__(variable_name, default if plain else str(default))

    def find(self, context, name):
        """Return the value."""
        return context.launch_configurations.get(name)


class EnvironmentVariable(Named):
    """The value of an environment variable, or the default where it is not set."""

    title = "EnvVar({})"
    missing = "environment variable '{}' does not exist"

    def __init__(self, name, *, default_value=None):
        super().__init__(name, default_value)

    def find(self, context, name):
        """Return the value."""
        return context.environment.get(name)


class FindExecutable(Named):
    """The path of a program on PATH."""

    title = "FindExec({})"
    missing = "executable '{}' not found on the PATH"

    def __init__(self, *, name):
        super().__init__(name)

    def find(self, context, name):
        """Return the path."""
        return shutil.which(name)


class PythonExpression(Named):
    """The value of a Python expression that may use the names of the module math."""

    title = "PythonExpr({})"

    def find(self, context, expression):
        """Return the value."""
        return str(eval(expression, {}, vars(math)))


class Command(Named):
    """What a command writes to its stdout; `on_stderr` is fail, ignore, warn or capture."""

    title = "Command({})"

    def __init__(self, command, *, on_stderr="fail"):
        super().__init__(command)
        if on_stderr not in ("fail", "ignore", "warn", "capture"):
            raise ValueError(f"expected 'on_stderr' to be fail, ignore, warn or capture, got '{on_stderr}'")
        self._on_stderr = on_stderr

    def find(self, context, line):
        """Return what the command writes."""
        stderr = subprocess.STDOUT if self._on_stderr == "capture" else subprocess.PIPE
        try:
            result = subprocess.run(shlex.split(line), stdout=subprocess.PIPE, stderr=stderr, text=True, check=False)
        except FileNotFoundError as error:
            raise SubstitutionFailure(f"file not found: {error}") from error
        captured = f"\nCaptured stderr output: {result.stderr}" if result.stderr else ""
        if result.returncode != 0:
            raise SubstitutionFailure(f"executed command failed. Command: {line}{captured}")
        message = f"executed command showed stderr output. Command: {line}{captured}"
        if captured and self._on_stderr == "fail":
            raise SubstitutionFailure(message)
        if captured and self._on_stderr == "warn":
            get_logger().warning(message)
        return result.stdout


class PathJoinSubstitution(Named):
    """A path from its parts; each item of the list is one part."""

    title = "PathJoin({})"

    def perform(self, context):
        """Return the joined path."""
        return os.path.join(*(perform_substitutions(context, part) for part in self._text))


class ThisLaunchFile(Substitution):
    """The absolute path of the launch file being visited."""

    _local = "current_launch_file_path"

    def perform(self, context):
        """Return the path; SubstitutionFailure outside of a launch file."""
        known = context.get_locals_as_dict()
        if self._local not in known:
            raise SubstitutionFailure(f"{type(self).__name__} used outside of a launch file (in a script)")
        return known[self._local]


class ThisLaunchFileDir(ThisLaunchFile):
    """The folder of the launch file being visited."""

    _local = "current_launch_file_directory"


__getattr__ = not_covered(__name__)
