"""The substitution that is a text; `launch.substitutions` and `launch.utilities` both need it."""

from .substitution import Substitution


class TextSubstitution(Substitution):
    """A text as it is."""

    def __init__(self, *, text):
        if not isinstance(text, str):
            raise TypeError(f"TextSubstitution expected a str, got '{type(text)}' instead.")
        self._text = text

    @property
    def text(self):
        """The text."""
        return self._text

    def describe(self):
        """Return the text in quotes."""
        return f"'{self._text}'"

    def perform(self, context):
        """Return the text."""
        return self._text
