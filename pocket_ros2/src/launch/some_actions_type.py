"""Type of arguments that are one or several entities."""

from collections.abc import Iterable
from typing import Union

from .launch_description_entity import LaunchDescriptionEntity

SomeActionsType = Union[LaunchDescriptionEntity, Iterable[LaunchDescriptionEntity]]  # noqa: UP007  as the real one
SomeActionsType_types_tuple = (LaunchDescriptionEntity, Iterable)
