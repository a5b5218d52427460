"""A program with its arguments, environment and name."""

import itertools
import os
import re
import shlex

from ..substitutions import LaunchConfiguration
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions

_numbers = itertools.count(1)


def _normalized_pairs(mapping):
    return (
        None
        if mapping is None
        else [
            (normalize_to_list_of_substitutions(key), normalize_to_list_of_substitutions(value))
            for key, value in mapping.items()
        ]
    )


class Executable:
    """A program to run; `prepare` makes the final values of its substitutions."""

    def __init__(self, *, cmd, prefix=None, name=None, cwd=None, env=None, additional_env=None, arguments=None):
        """Describe a program.

        :param cmd: the program and its arguments, each a text, a substitution or a list of them
        :param prefix: a command line to put before it; by default the launch configuration launch-prefix, for the
            programs whose name matches the regular expression of launch-prefix-filter
        :param name: by default the program's file name; a number is added to it
        :param env: the whole environment; by default that of the launch
        :param additional_env: what to set in the environment
        """
        self.cmd = [normalize_to_list_of_substitutions(part) for part in [*cmd, *(arguments or [])]]
        self.arguments = arguments
        self.prefix = normalize_to_list_of_substitutions(
            LaunchConfiguration("launch-prefix", default="") if prefix is None else prefix
        )
        self._prefix_filter = None if prefix is not None else [LaunchConfiguration("launch-prefix-filter", default="")]
        self.name = None if name is None else normalize_to_list_of_substitutions(name)
        self.cwd = None if cwd is None else normalize_to_list_of_substitutions(cwd)
        self.env = _normalized_pairs(env)
        self.additional_env = _normalized_pairs(additional_env)
        self.final_cmd = self.final_cwd = self.final_env = self.final_name = None

    def prepare(self, context, action):
        """Set final_cmd, final_name, final_cwd and final_env; `action` is for subclasses."""
        cmd = [perform_substitutions(context, part) for part in self.cmd]
        program = os.path.basename(cmd[0])
        if self._prefix_filter is None or re.match(perform_substitutions(context, self._prefix_filter), program):
            cmd = shlex.split(perform_substitutions(context, self.prefix)) + cmd
        self.final_cmd = cmd
        # The default name is that of what runs: with a prefix, the prefix's.
        name = os.path.basename(cmd[0]) if self.name is None else perform_substitutions(context, self.name)
        self.final_name = f"{name}-{next(_numbers)}"
        self.final_cwd = None if self.cwd is None else perform_substitutions(context, self.cwd)
        self.final_env = dict(context.environment) if self.env is None else self._performed(context, self.env)
        self.final_env.update(self._performed(context, self.additional_env or []))

    @staticmethod
    def _performed(context, pairs):
        return {perform_substitutions(context, key): perform_substitutions(context, value) for key, value in pairs}
