"""The action that holds others together."""

from ..action import Action
from .environment import PopEnvironment, PushEnvironment, ResetEnvironment
from .launch_configurations import (
    PopLaunchConfigurations,
    PushLaunchConfigurations,
    ResetLaunchConfigurations,
    SetLaunchConfiguration,
)


class GroupAction(Action):
    """Yields actions, in a scope of their own.

    :param scoped: what they change in launch configurations and environment ends with the group
    :param forwarding: with a scope, whether it begins with the configurations and environment around it
    :param launch_configurations: configurations to set in the group
    """

    def __init__(self, actions, *, scoped=True, forwarding=True, launch_configurations=None, **left_over_kwargs):
        super().__init__(**left_over_kwargs)
        configurations = launch_configurations or {}
        self._entities = list(actions)
        if not scoped or forwarding:
            self._entities = [SetLaunchConfiguration(*item) for item in configurations.items()] + self._entities
        else:
            self._entities = [ResetEnvironment(), ResetLaunchConfigurations(configurations), *self._entities]
        if scoped:
            self._entities = [
                PushLaunchConfigurations(),
                PushEnvironment(),
                *self._entities,
                PopEnvironment(),
                PopLaunchConfigurations(),
            ]

    def get_sub_entities(self):
        """Return the actions, with those that make the scope."""
        return self._entities

    def execute(self, context):
        """Return the actions."""
        return self._entities
