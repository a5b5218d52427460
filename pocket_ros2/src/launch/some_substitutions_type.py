"""Type of arguments that give a text: a text, a substitution, or several of both."""

from collections.abc import Iterable
from typing import Union

from .substitution import Substitution

SomeSubstitutionsType = Union[str, Substitution, Iterable[Union[str, Substitution]]]  # noqa: UP007  as the real one
SomeSubstitutionsType_types_tuple = (str, Substitution, Iterable)
