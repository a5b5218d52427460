"""Base of all substitutions."""


class Substitution:
    """Stands in a launch description for a text that is known only when it runs."""

    def describe(self):
        """Return a description for people."""
        return repr(self)

    def perform(self, context):
        """Return the text in this context."""
        raise NotImplementedError(f"{type(self).__name__} has no perform()")
