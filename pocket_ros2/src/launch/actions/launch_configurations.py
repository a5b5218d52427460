"""Actions on launch configurations."""

from ..action import Action
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions


class SetLaunchConfiguration(Action):
    """Sets a launch configuration."""

    def __init__(self, name, value, **kwargs):
        super().__init__(**kwargs)
        self._name = normalize_to_list_of_substitutions(name)
        self._value = normalize_to_list_of_substitutions(value)

    @property
    def name(self):
        """The substitutions that make the name."""
        return self._name

    @property
    def value(self):
        """The substitutions that make the value."""
        return self._value

    def execute(self, context):
        """Set it."""
        name = perform_substitutions(context, self._name)
        context.launch_configurations[name] = perform_substitutions(context, self._value)


class UnsetLaunchConfiguration(Action):
    """Removes a launch configuration, if it is set."""

    def __init__(self, name, **kwargs):
        super().__init__(**kwargs)
        self._name = normalize_to_list_of_substitutions(name)

    @property
    def name(self):
        """The substitutions that make the name."""
        return self._name

    def execute(self, context):
        """Remove it."""
        context.launch_configurations.pop(perform_substitutions(context, self._name), None)


class PushLaunchConfigurations(Action):
    """Saves the launch configurations, for a PopLaunchConfigurations to restore."""

    def execute(self, context):
        """Save them."""
        context._push_launch_configurations()


class PopLaunchConfigurations(Action):
    """Restores the launch configurations that the last PushLaunchConfigurations saved."""

    def execute(self, context):
        """Restore them."""
        context._pop_launch_configurations()


class ResetLaunchConfigurations(Action):
    """Removes all launch configurations except those given; their values are evaluated first."""

    argument_role = "resets"

    def __init__(self, launch_configurations=None, **kwargs):
        super().__init__(**kwargs)
        self._launch_configurations = launch_configurations or {}

    def execute(self, context):
        """Remove and set."""
        kept = {
            perform_substitutions(context, normalize_to_list_of_substitutions(name)): perform_substitutions(
                context, normalize_to_list_of_substitutions(value)
            )
            for name, value in self._launch_configurations.items()
        }
        context.launch_configurations.clear()
        context.launch_configurations.update(kept)
