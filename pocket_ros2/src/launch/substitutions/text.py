"""Substitutions made of texts alone."""

import math
import os

from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions


def described(substitutions):
    """Return the descriptions of several substitutions, joined."""
    return " + ".join(sub.describe() for sub in substitutions)


class PathJoinSubstitution(Substitution):
    """A path from its parts; each item of the iterable is one part."""

    def __init__(self, substitutions):
        self._substitutions = normalize_to_list_of_substitutions(substitutions)

    @property
    def substitutions(self):
        """The parts."""
        return self._substitutions

    def describe(self):
        """Return a description for people."""
        return f"PathJoin({described(self._substitutions)})"

    def perform(self, context):
        """Return the joined path."""
        return os.path.join(*(sub.perform(context) for sub in self._substitutions))


class PythonExpression(Substitution):
    """The value of a Python expression that may use the names of the module math."""

    def __init__(self, expression):
        self._expression = normalize_to_list_of_substitutions(expression)

    @property
    def expression(self):
        """The substitutions that make the expression."""
        return self._expression

    def describe(self):
        """Return a description for people."""
        return f"PythonExpr({described(self._expression)})"

    def perform(self, context):
        """Return the value as a text."""
        return str(eval(perform_substitutions(context, self._expression), {}, vars(math)))
