"""Substitutions that run or look for programs."""

import shlex
import shutil
import subprocess

from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from .failure import SubstitutionFailure
from .text import described


class FindExecutable(Substitution):
    """The path of a program on PATH."""

    def __init__(self, *, name):
        self._name = normalize_to_list_of_substitutions(name)

    @property
    def name(self):
        """The substitutions that make the name."""
        return self._name

    def describe(self):
        """Return a description for people."""
        return f"FindExec({described(self._name)})"

    def perform(self, context):
        """Return the path; SubstitutionFailure where there is none."""
        name = perform_substitutions(context, self._name)
        path = shutil.which(name)
        if path is None:
            raise SubstitutionFailure(f"executable '{name}' not found on the PATH")
        return path


class Command(Substitution):
    """What a command writes to its stdout; `on_stderr` is fail, ignore, warn or capture."""

    def __init__(self, command, *, on_stderr="fail"):
        self._command = normalize_to_list_of_substitutions(command)
        self._on_stderr = normalize_to_list_of_substitutions(on_stderr)

    @property
    def command(self):
        """The substitutions that make the command line."""
        return self._command

    @property
    def on_stderr(self):
        """The substitutions that say what to do with output on stderr."""
        return self._on_stderr

    def describe(self):
        """Return a description for people."""
        return f"Command({described(self._command)})"

    def perform(self, context):
        """Run the command; SubstitutionFailure if it is not found, fails, or says something on stderr."""
        line = perform_substitutions(context, self._command)
        on_stderr = perform_substitutions(context, self._on_stderr)
        if on_stderr not in ("fail", "ignore", "warn", "capture"):
            raise SubstitutionFailure(
                f"expected 'on_stderr' to be one of: 'fail', 'ignore', 'warn' or 'capture', got '{on_stderr}'"
            )
        try:
            result = subprocess.run(
                shlex.split(line),
                stdout=subprocess.PIPE,
                text=True,
                check=False,
                stderr=subprocess.STDOUT if on_stderr == "capture" else subprocess.PIPE,
            )
        except FileNotFoundError as error:
            raise SubstitutionFailure(f"file not found: {error}") from error
        if result.returncode != 0:
            captured = f"\nCaptured stderr output: {result.stderr}" if result.stderr else ""
            raise SubstitutionFailure(f"executed command failed. Command: {line}{captured}")
        if result.stderr and on_stderr in ("fail", "warn"):
            message = (
                f"executed command showed stderr output. Command: {line}\nCaptured stderr output:\n{result.stderr}"
            )
            if on_stderr == "fail":
                raise SubstitutionFailure(message)
            from ..logging import get_logger

            get_logger().warning(message)
        return result.stdout
