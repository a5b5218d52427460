"""Actions on what holds for the actions after them: arguments, launch configurations, environment, launch files."""

import os

from ..entities import Action
from ..launch_description_sources import AnyLaunchDescriptionSource, LaunchDescriptionSource
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions


class DeclareLaunchArgument(Action):
    """Declares an argument of the launch file: its value becomes the launch configuration of the same name.

    Without a default the argument is required; with choices, other values are refused.
    """

    argument_role = "declares"

    def __init__(self, name, *, default_value=None, description=None, choices=None, **kwargs):
        super().__init__(**kwargs)
        self.name, self.choices = name, choices
        self.default_value = None if default_value is None else normalize_to_list_of_substitutions(default_value)
        self.is_conditional = False
        if choices is not None:
            if len(choices) == 0:
                raise RuntimeError(f"argument '{name}': an empty list of choices was given; leave it out to allow all")
            plain = default_value is not None and not isinstance(default_value, (Substitution, list))
            if plain and default_value not in choices:
                raise RuntimeError(f'Provided default_value "{default_value}" is not in provided choices "{choices}".')
        self.description = self._described(description)

    def _described(self, description):
        if self.choices is None:
            return "no description given" if description is None else description
        if description is None:
            return f"One of: {self.choices}"
        return f"{description}{'' if description.endswith('.') else '.'} Valid choices are: {self.choices}"

    def describe(self):
        """Return a description for people."""
        return f"DeclareLaunchArgument('{self.name}')"

    def execute(self, context):
        """Set the default where no value is set; RuntimeError for a missing or a refused value."""
        configurations = context.launch_configurations
        if self.name not in configurations:
            if self.default_value is None:
                raise RuntimeError(
                    f'Required launch argument "{self.name}" (description: "{self.description}") was not provided'
                )
            configurations[self.name] = perform_substitutions(context, self.default_value)
        value = configurations[self.name]
        if self.choices is not None and value not in self.choices:
            raise RuntimeError(
                f'Argument "{self.name}" provided value "{value}" is not valid. Valid options are: {self.choices}'
            )


class SetLaunchConfiguration(Action):
    """Sets a launch configuration."""

    def __init__(self, name, value, **kwargs):
        super().__init__(**kwargs)
        self._name = normalize_to_list_of_substitutions(name)
        self._value = normalize_to_list_of_substitutions(value)

    def _target(self, context):
        return context.launch_configurations

    def execute(self, context):
        """Set it."""
        name = perform_substitutions(context, self._name)
        self._target(context)[name] = perform_substitutions(context, self._value)


class SetEnvironmentVariable(SetLaunchConfiguration):
    """Sets an environment variable of the processes started after it."""

    def _target(self, context):
        return context.environment


class _OpenScope(Action):
    """Saves configurations and environment; without forwarding, only the configurations given hold after it."""

    def __init__(self, forwarding, configurations):
        super().__init__()
        self._forwarding, self._configurations = forwarding, configurations
        self.argument_role = "" if forwarding else "resets"

    def execute(self, context):
        given = {
            perform_substitutions(context, normalize_to_list_of_substitutions(name)): perform_substitutions(
                context, normalize_to_list_of_substitutions(value)
            )
            for name, value in self._configurations.items()
        }
        context._open_scope(None if self._forwarding else given)
        context.launch_configurations.update(given)


class _CloseScope(Action):
    """Restores what `_OpenScope` saved."""

    def execute(self, context):
        context._close_scope()


class GroupAction(Action):
    """Yields actions, in a scope of their own.

    :param scoped: what they change in launch configurations and environment ends with the group
    :param forwarding: with a scope, whether it begins with the configurations and environment around it
    :param launch_configurations: configurations to set in the group
    """

    def __init__(self, actions, *, scoped=True, forwarding=True, launch_configurations=None, **kwargs):
        super().__init__(**kwargs)
        configurations = launch_configurations or {}
        if scoped:
            self._entities = [_OpenScope(forwarding, configurations), *actions, _CloseScope()]
        else:
            self._entities = [*(SetLaunchConfiguration(*item) for item in configurations.items()), *actions]

    def get_sub_entities(self):
        """Return the actions, with those that make the scope."""
        return self._entities

    def execute(self, context):
        """Return the actions."""
        return self._entities


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
        self.launch_description_source = launch_description_source
        self._arguments = tuple(launch_arguments or ())

    def describe(self):
        """Return a description for people."""
        return f"IncludeLaunchDescription({self.launch_description_source.location})"

    def get_sub_entities(self):
        """Return the launch description, where it can be known before the launch runs."""
        description = self.launch_description_source.try_get_launch_description_without_context()
        return [] if description is None else [description]

    def execute(self, context):
        """Return what sets the arguments, then the description; RuntimeError where a required argument is missing."""
        source = self.launch_description_source
        description = source.get_launch_description(context)
        path = os.path.abspath(source.location)
        in_file = os.path.exists(path)
        context.extend_locals(
            {
                "current_launch_file_path": path if in_file else source.location,
                "current_launch_file_directory": os.path.dirname(path) if in_file else source.location,
            }
        )
        given = self._argument_names(context)
        for argument, includes in description.get_arguments_with_includes():
            if argument.is_conditional or argument.default_value is not None:
                continue
            known = given + [name for include in includes for name in include._argument_names(context, strict=False)]
            if argument.name not in known:
                raise RuntimeError(
                    f"Included launch description missing required argument '{argument.name}' "
                    f"(description: '{argument.description}'), given: [{', '.join(known)}]"
                )
        return [*(SetLaunchConfiguration(name, value) for name, value in self._arguments), description]

    def _argument_names(self, context, strict=True):
        return [
            perform_substitutions(context, normalize_to_list_of_substitutions(name))
            for name, _ in self._arguments
            if strict or isinstance(name, str)
        ]
