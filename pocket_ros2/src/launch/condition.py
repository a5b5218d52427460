"""Base of all conditions."""


class Condition:
    """A predicate of the launch context; an action with a condition is executed only where it holds."""

    def __init__(self, *, predicate):
        self._predicate = predicate
        self._last_evaluation = None

    def describe(self):
        """Return a description for people."""
        return repr(self)

    def evaluate(self, context):
        """Return whether the condition holds in this context."""
        self._last_evaluation = self._predicate(context)
        return self._last_evaluation

    @property
    def last_evaluation(self):
        """The result of the last evaluation; None before the first one."""
        return self._last_evaluation
