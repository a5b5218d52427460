"""What a launch description is made of: entities, of which actions are the ones that do something."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any, Union

from .substitutions import Substitution, described

SomeSubstitutionsType = Text = Union[str, Substitution, Iterable[Union[str, Substitution]]]  # noqa: UP007
action = dataclass(eq=False, repr=False)  # an action is itself, whatever else is equal


class LaunchDescriptionEntity:
    """A node of the tree that a launch description is; `visit(context)` returns entities to visit next, or None."""

    condition: Any = None
    declares_argument = includes_description = False
    is_conditional_below = False  # whether what is below is visited only if something happens

    def describe(self):
        """Return a description for people."""
        return type(self).__name__

    def get_sub_entities(self):
        """Return the entities that are visited after this one, as far as they are known before the launch runs."""
        return []


@action
class Action(LaunchDescriptionEntity):
    """An entity that is executed when it is visited, if its condition holds."""

    condition: Any = field(default=None, kw_only=True)

    def visit(self, context):
        """Execute the action if its condition holds."""
        if self.condition is None or self.condition.evaluate(context):
            return self.execute(context)
        return None

    def execute(self, context):
        """Execute the action; return entities to visit next, or None."""

    def describe(self):
        """Return the type and the first thing that the action was given, if that is a text."""
        for given in fields(self)[1:2]:
            with suppress(TypeError):
                return f"{type(self).__name__}({described(getattr(self, given.name))})"
        return type(self).__name__


class LaunchDescription(LaunchDescriptionEntity):
    """A list of entities, visited in their order: what a launch file returns."""

    def __init__(self, initial_entities=None):
        self.entities = []
        for entity in initial_entities or []:
            self.add_entity(entity)

    def visit(self, context):
        """Return the entities."""
        return self.entities

    def get_sub_entities(self):
        """Return the entities."""
        return self.entities

    def add_entity(self, entity):
        """Append an entity."""
        if not isinstance(entity, LaunchDescriptionEntity):
            raise TypeError(f"a LaunchDescription holds actions and other launch entities, got {entity!r}")
        self.entities.append(entity)

    add_action = add_entity

    def get_launch_arguments(self):
        """Return the DeclareLaunchArgument actions in this description and, where it can be known, in what it includes.

        The first declaration of a name counts. One below a condition or an event has `is_conditional` set.
        """
        return [argument for argument, _ in self.get_arguments_with_includes()]

    def get_arguments_with_includes(self):
        """Return [(DeclareLaunchArgument, IncludeLaunchDescription actions it lies below)]."""
        found = {}

        def walk(entities, conditional, includes):
            for entity in entities:
                here = conditional or entity.condition is not None
                if entity.declares_argument and entity.name not in found:
                    entity.is_conditional = here
                    found[entity.name] = (entity, includes)
                below = [*includes, entity] if entity.includes_description else includes
                walk(entity.get_sub_entities(), here or entity.is_conditional_below, below)

        walk(self.entities, False, [])
        return list(found.values())
