"""Boolean substitutions."""

from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions
from ..utilities.type_utils import perform_typed_substitution
from .failure import SubstitutionFailure


class _BooleanSubstitution(Substitution):
    def __init__(self, *operands):
        self._operands = [normalize_to_list_of_substitutions(operand) for operand in operands]

    def describe(self):
        """Return a description for people."""
        described = " ".join(" + ".join(sub.describe() for sub in operand) for operand in self._operands)
        return f"{type(self).__name__}({described})"

    def perform(self, context):
        """Return 'true' or 'false'; SubstitutionFailure where an operand is neither."""
        try:
            values = [perform_typed_substitution(context, operand, bool) for operand in self._operands]
        except (TypeError, ValueError) as error:
            raise SubstitutionFailure(str(error)) from error
        return str(self._combine(*values)).lower()


class NotSubstitution(_BooleanSubstitution):
    """The opposite of a value."""

    def __init__(self, value):
        super().__init__(value)

    @staticmethod
    def _combine(value):
        return not value


class AndSubstitution(_BooleanSubstitution):
    """Whether both values are true."""

    def __init__(self, left, right):
        super().__init__(left, right)

    @staticmethod
    def _combine(left, right):
        return left and right


class OrSubstitution(_BooleanSubstitution):
    """Whether one of two values is true."""

    def __init__(self, left, right):
        super().__init__(left, right)

    @staticmethod
    def _combine(left, right):
        return left or right
