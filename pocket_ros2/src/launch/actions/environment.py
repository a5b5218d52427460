"""Actions on the environment of the processes started after them."""

import os

from ..action import Action
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.type_utils import normalize_typed_substitution, perform_typed_substitution


class SetEnvironmentVariable(Action):
    """Sets an environment variable."""

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
        context.environment[perform_substitutions(context, self._name)] = perform_substitutions(context, self._value)


class AppendEnvironmentVariable(Action):
    """Adds a value at the end of an environment variable, or before it, with a separator between."""

    def __init__(self, name, value, prepend=False, separator=os.pathsep, **kwargs):
        super().__init__(**kwargs)
        self._name = normalize_to_list_of_substitutions(name)
        self._value = normalize_to_list_of_substitutions(value)
        self._prepend = normalize_typed_substitution(prepend, bool)
        self._separator = normalize_to_list_of_substitutions(separator)

    def execute(self, context):
        """Add it."""
        name = perform_substitutions(context, self._name)
        parts = [context.environment[name]] if name in context.environment else []
        at = 0 if perform_typed_substitution(context, self._prepend, bool) else len(parts)
        parts.insert(at, perform_substitutions(context, self._value))
        context.environment[name] = perform_substitutions(context, self._separator).join(parts)


class UnsetEnvironmentVariable(Action):
    """Removes an environment variable, if it is set."""

    def __init__(self, name, **kwargs):
        super().__init__(**kwargs)
        self._name = normalize_to_list_of_substitutions(name)

    @property
    def name(self):
        """The substitutions that make the name."""
        return self._name

    def execute(self, context):
        """Remove it."""
        context.environment.pop(perform_substitutions(context, self._name), None)


class PushEnvironment(Action):
    """Saves the environment, for a PopEnvironment to restore."""

    def execute(self, context):
        """Save it."""
        context._push_environment()


class PopEnvironment(Action):
    """Restores the environment that the last PushEnvironment saved."""

    def execute(self, context):
        """Restore it."""
        context._pop_environment()


class ResetEnvironment(Action):
    """Restores the environment at the start of the launch."""

    def execute(self, context):
        """Restore it."""
        context._reset_environment()
