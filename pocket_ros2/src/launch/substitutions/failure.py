"""The error of substitutions."""


class SubstitutionFailure(RuntimeError):
    """A substitution has no text in this context."""
