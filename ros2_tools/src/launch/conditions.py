"""Conditions on texts and on launch configurations."""

from ros2_tools.errors import not_covered

from .substitutions import described, perform_substitutions


class Condition:
    """A predicate of the launch context, or its negation; an action is executed only where its condition holds."""

    negated = False

    def __init__(self, *, predicate):
        self._predicate = predicate

    def evaluate(self, context):
        """Return whether the condition holds in this context."""
        return bool(self._predicate(context)) is not self.negated


def evaluate_condition_expression(context, expression):
    """Return the truth of a text that must be true, false, 1 or 0 in any case."""
    expanded = perform_substitutions(context, expression).strip().lower()
    if expanded not in ("true", "1", "false", "0"):
        raise ValueError(
            f"invalid condition expression given '{expanded}' (from expression [{described(expression)}]), expected "
            "one of [true, 1, false, 0]"
        )
    return expanded in ("true", "1")


class IfCondition(Condition):
    """Holds where the text is true or 1; false and 0 do not, anything else is an error."""

    def __init__(self, expression):
        super().__init__(predicate=lambda context: evaluate_condition_expression(context, expression))


class UnlessCondition(IfCondition):
    """Holds where the text is false or 0."""

    negated = True


class LaunchConfigurationEquals(Condition):
    """Holds where a launch configuration has the value; with None as value, where it is not set."""

    def __init__(self, name, expected):
        def equals(context):
            value = None if expected is None else perform_substitutions(context, expected)
            return context.launch_configurations.get(name) == value

        super().__init__(predicate=equals)


class LaunchConfigurationNotEquals(LaunchConfigurationEquals):
    """Holds where `LaunchConfigurationEquals` does not."""

    negated = True


__getattr__ = not_covered(__name__)
