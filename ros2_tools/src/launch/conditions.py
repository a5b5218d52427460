"""Conditions on texts and on launch configurations."""

from ros2_tools.errors import not_covered

from .utilities import normalize_to_list_of_substitutions, perform_substitutions


class InvalidConditionExpressionError(Exception):
    """A condition's text is neither true nor false."""


class Condition:
    """A predicate of the launch context; an action with a condition is executed only where it holds."""

    def __init__(self, *, predicate):
        self._predicate = predicate

    def evaluate(self, context):
        """Return whether the condition holds in this context."""
        return self._predicate(context)


def evaluate_condition_expression(context, expression):
    """Return the truth of substitutions that must yield true, false, 1 or 0 in any case."""
    expanded = perform_substitutions(context, expression).strip().lower()
    if expanded in ("true", "1"):
        return True
    if expanded in ("false", "0"):
        return False
    described = ", ".join(sub.describe() for sub in expression)
    raise InvalidConditionExpressionError(
        f"invalid condition expression given '{expanded}' (from expression [{described}]), expected one of "
        "[true, 1, false, 0]"
    )


class IfCondition(Condition):
    """Holds where the text is true or 1; false and 0 do not, anything else is an error."""

    def __init__(self, predicate_expression):
        expression = normalize_to_list_of_substitutions(predicate_expression)
        super().__init__(predicate=lambda context: evaluate_condition_expression(context, expression))


class UnlessCondition(IfCondition):
    """Holds where the text is false or 0."""

    def evaluate(self, context):
        """Return whether the text is false."""
        return not super().evaluate(context)


class LaunchConfigurationEquals(Condition):
    """Holds where a launch configuration has the value; with None as value, where it is not set."""

    def __init__(self, launch_configuration_name, expected_value):
        self._name = launch_configuration_name
        self._expected = None if expected_value is None else normalize_to_list_of_substitutions(expected_value)
        super().__init__(predicate=self._equals)

    def _equals(self, context):
        expected = None if self._expected is None else perform_substitutions(context, self._expected)
        return context.launch_configurations.get(self._name) == expected


class LaunchConfigurationNotEquals(LaunchConfigurationEquals):
    """Holds where `LaunchConfigurationEquals` does not."""

    def _equals(self, context):
        return not super()._equals(context)


__getattr__ = not_covered(
    __name__, ["IfCondition", "UnlessCondition", "LaunchConfigurationEquals", "LaunchConfigurationNotEquals"]
)
