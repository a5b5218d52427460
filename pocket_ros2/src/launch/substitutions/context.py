"""Substitutions of what the context holds: configurations, environment, the present launch file."""

import os
import random
import re
import socket
import sys
from collections.abc import Iterable

from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from .failure import SubstitutionFailure
from .text import described


class LaunchConfiguration(Substitution):
    """The value of a launch configuration (an argument), or the default where it is not set."""

    def __init__(self, variable_name, *, default=None):
        self._variable_name = normalize_to_list_of_substitutions(variable_name)
        if default is not None:
            items = default if isinstance(default, Iterable) and not isinstance(default, str) else [default]
            default = normalize_to_list_of_substitutions(
                [item if isinstance(item, (str, Substitution)) else str(item) for item in items]
            )
        self._default = default

    @property
    def variable_name(self):
        """The substitutions that make the name."""
        return self._variable_name

    def describe(self):
        """Return a description for people."""
        return f"LaunchConfig({described(self._variable_name)})"

    def perform(self, context):
        """Return the value; SubstitutionFailure where there is neither value nor default."""
        name = perform_substitutions(context, self._variable_name)
        if name in context.launch_configurations:
            return context.launch_configurations[name]
        if self._default is None:
            raise SubstitutionFailure(f"launch configuration '{name}' does not exist")
        return perform_substitutions(context, self._default)


class EnvironmentVariable(Substitution):
    """The value of an environment variable, or the default where it is not set."""

    def __init__(self, name, *, default_value=None):
        self._name = normalize_to_list_of_substitutions(name)
        self._default = None if default_value is None else normalize_to_list_of_substitutions(default_value)

    @property
    def name(self):
        """The substitutions that make the name."""
        return self._name

    @property
    def default_value(self):
        """The substitutions that make the default, or None."""
        return self._default

    def describe(self):
        """Return a description for people."""
        return f"EnvVar({described(self._name)})"

    def perform(self, context):
        """Return the value; SubstitutionFailure where there is neither value nor default."""
        name = perform_substitutions(context, self._name)
        if name in context.environment:
            return context.environment[name]
        if self._default is None:
            raise SubstitutionFailure(f"environment variable '{name}' does not exist")
        return perform_substitutions(context, self._default)


class AnonName(Substitution):
    """A name made unique to this launch: the same for all uses of the same name."""

    def __init__(self, name):
        self._name = normalize_to_list_of_substitutions(name)

    @property
    def name(self):
        """The substitutions that make the name."""
        return self._name

    def describe(self):
        """Return a description for people."""
        return f"AnonName({described(self._name)})"

    def perform(self, context):
        """Return NAME_HOST_PID_NUMBER."""
        name = perform_substitutions(context, self._name)
        known = context.launch_configurations.setdefault("anon", {})
        if name not in known:
            unique = f"{name}_{socket.gethostname()}_{os.getpid()}_{random.randint(0, sys.maxsize)}"
            known[name] = re.sub("[-.:]", "_", unique)
        return known[name]


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
