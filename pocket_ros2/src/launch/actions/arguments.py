"""The arguments of a launch file."""

from ..action import Action
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions


class DeclareLaunchArgument(Action):
    """Declares an argument of the launch file: its value becomes the launch configuration of the same name.

    Without a default the argument is required; with choices, other values are refused.
    """

    argument_role = "declares"

    def __init__(self, name, *, default_value=None, description=None, choices=None, **kwargs):
        super().__init__(**kwargs)
        self._name = name
        self._default = None if default_value is None else normalize_to_list_of_substitutions(default_value)
        self._choices = choices
        self._conditionally_included = False
        if choices is not None:
            if len(choices) == 0:
                raise RuntimeError(f"argument '{name}': an empty list of choices was given; leave it out to allow all")
            plain = default_value is not None and not isinstance(default_value, (Substitution, list))
            if plain and default_value not in choices:
                raise RuntimeError(f'Provided default_value "{default_value}" is not in provided choices "{choices}".')
        self._description = self._described(description)

    def _described(self, description):
        if self._choices is None:
            return "no description given" if description is None else description
        if description is None:
            return f"One of: {self._choices}"
        return f"{description}{'' if description.endswith('.') else '.'} Valid choices are: {self._choices}"

    @property
    def name(self):
        """The argument's name."""
        return self._name

    @property
    def default_value(self):
        """The substitutions that make the default, or None."""
        return self._default

    @property
    def description(self):
        """The description, with the choices."""
        return self._description

    @property
    def choices(self):
        """The values allowed, or None for all."""
        return self._choices

    def execute(self, context):
        """Set the default where no value is set; RuntimeError for a missing or a refused value."""
        configurations = context.launch_configurations
        if self._name not in configurations:
            if self._default is None:
                raise RuntimeError(
                    f'Required launch argument "{self._name}" (description: "{self._description}") was not provided'
                )
            configurations[self._name] = perform_substitutions(context, self._default)
        value = configurations[self._name]
        if self._choices is not None and value not in self._choices:
            raise RuntimeError(
                f'Argument "{self._name}" provided value "{value}" is not valid. Valid options are: {self._choices}'
            )
