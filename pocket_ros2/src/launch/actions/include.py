"""The action that includes another launch file."""

import os

from ..action import Action
from ..launch_description_source import LaunchDescriptionSource
from ..launch_description_sources import AnyLaunchDescriptionSource
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from .launch_configurations import SetLaunchConfiguration


class IncludeLaunchDescription(Action):
    """Visits another launch description; `launch_arguments` are (name, value) pairs for it.

    Instead of a source, the path of a launch file may be given: text, a substitution, or a list of both.
    The arguments stay set after it, unless a GroupAction is around both.
    """

    argument_role = "includes"

    def __init__(self, launch_description_source, *, launch_arguments=None, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(launch_description_source, LaunchDescriptionSource):
            launch_description_source = AnyLaunchDescriptionSource(launch_description_source)
        self._source = launch_description_source
        self._arguments = tuple(launch_arguments or ())

    @property
    def launch_description_source(self):
        """The source."""
        return self._source

    @property
    def launch_arguments(self):
        """The (name, value) pairs."""
        return self._arguments

    def describe(self):
        """Return a description for people."""
        return f"IncludeLaunchDescription({self._source.location})"

    def get_sub_entities(self):
        """Return the launch description, where it can be known before the launch runs."""
        description = self._source.try_get_launch_description_without_context()
        return [] if description is None else [description]

    def execute(self, context):
        """Return what sets the arguments, then the description; RuntimeError where a required argument is missing."""
        description = self._source.get_launch_description(context)
        path = os.path.abspath(self._source.location)
        in_file = os.path.exists(path)
        context.extend_locals(
            {
                "current_launch_file_path": path if in_file else self._source.location,
                "current_launch_file_directory": os.path.dirname(path) if in_file else self._source.location,
            }
        )
        given = self._argument_names(context)
        for argument, includes in description.get_launch_arguments_with_include_launch_description_actions():
            if argument._conditionally_included or argument.default_value is not None:
                continue
            known = given + [name for include in includes for name in include._argument_names(context, strict=False)]
            if argument.name not in known:
                raise RuntimeError(
                    f"Included launch description missing required argument '{argument.name}' "
                    f"(description: '{argument.description}'), given: [{', '.join(known)}]"
                )
        return [*(SetLaunchConfiguration(name, value) for name, value in self._arguments), description]

    def _argument_names(self, context, strict=True):
        names = []
        for name, _ in self._arguments:
            substitutions = normalize_to_list_of_substitutions(name)
            if strict or isinstance(name, str):
                names.append(perform_substitutions(context, substitutions))
        return names
