"""Base of all substitutions, and the one that is a text."""

from collections.abc import Iterable
from typing import Union


class Substitution:
    """Stands in a launch description for a text that is known only when it runs."""

    def describe(self):
        """Return a description for people."""
        return repr(self)

    def perform(self, context):
        """Return the text in this context."""
        raise NotImplementedError(f"{type(self).__name__} has no perform()")


class TextSubstitution(Substitution):
    """A text as it is."""

    def __init__(self, *, text):
        if not isinstance(text, str):
            raise TypeError(f"TextSubstitution expected a str, got '{type(text)}' instead.")
        self.text = text

    def describe(self):
        """Return the text in quotes."""
        return f"'{self.text}'"

    def perform(self, context):
        """Return the text."""
        return self.text


SomeSubstitutionsType = Union[str, Substitution, Iterable[Union[str, Substitution]]]  # noqa: UP007  as the real one
