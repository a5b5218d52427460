"""Substitutions of the context's locals."""

from ..substitution import Substitution


class LocalSubstitution(Substitution):
    """A Python expression that begins with the name of a local, as `event.returncode`."""

    def __init__(self, expression, description=None):
        if not isinstance(expression, str):
            raise TypeError(f"LocalSubstitution expected a str, got '{type(expression)}' instead.")
        self._expression = expression
        self._description = description

    @property
    def expression(self):
        """The expression."""
        return self._expression

    @property
    def description(self):
        """What is shown in the expression's place, or None."""
        return self._description

    def describe(self):
        """Return a description for people."""
        return f"LocalVar('{self._description or self._expression}')"

    def perform(self, context):
        """Return the value of the expression."""
        return eval("context.locals." + self._expression, {"context": context})
