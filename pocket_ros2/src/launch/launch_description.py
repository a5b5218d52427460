"""The launch description: what a launch file returns."""

from .launch_description_entity import LaunchDescriptionEntity


class LaunchDescription(LaunchDescriptionEntity):
    """A list of entities, visited in their order."""

    def __init__(self, initial_entities=None, *, deprecated_reason=None):
        self._entities = list(initial_entities or [])
        self._deprecated_reason = deprecated_reason
        for entity in self._entities:
            self._check(entity)

    @staticmethod
    def _check(entity):
        if not isinstance(entity, LaunchDescriptionEntity):
            raise TypeError(f"a LaunchDescription holds actions and other launch entities, got {entity!r}")

    @property
    def entities(self):
        """The entities."""
        return self._entities

    @property
    def deprecated(self):
        """Whether a reason not to use this description any more was given."""
        return self._deprecated_reason is not None

    @property
    def deprecated_reason(self):
        """The reason, or None."""
        return self._deprecated_reason

    def visit(self, context):
        """Return the entities; warn first where they are deprecated."""
        if self.deprecated:
            from .logging import get_logger

            place = context.get_locals_as_dict().get("current_launch_file_path", "<script>")
            get_logger().warning(f"launch description [{place}] is deprecated: {self._deprecated_reason}")
        return self._entities

    def describe_sub_entities(self):
        """Return the entities."""
        return self._entities

    def add_entity(self, entity):
        """Append an entity."""
        self._check(entity)
        self._entities.append(entity)

    def add_action(self, action):
        """Append an action."""
        self.add_entity(action)

    def get_launch_arguments(self, conditional_inclusion=False):
        """Return the DeclareLaunchArgument actions in this description and, where it can be known, in what it includes.

        The first declaration of a name counts. One below a condition or an event has `_conditionally_included` set.
        """
        return [argument for argument, _ in self._arguments_with_includes(conditional_inclusion)]

    def get_launch_arguments_with_include_launch_description_actions(self, conditional_inclusion=False):
        """Return [(DeclareLaunchArgument, IncludeLaunchDescription actions it lies below)]."""
        return self._arguments_with_includes(conditional_inclusion)

    def _arguments_with_includes(self, conditional_inclusion):
        found = {}

        def walk(entities, conditional, includes):
            for entity in entities:
                if entity.argument_role == "resets":
                    return  # what is declared after it cannot be set from above
                if entity.argument_role == "declares" and entity.name not in found:
                    entity._conditionally_included = conditional or entity.condition is not None
                    found[entity.name] = (entity, includes)
                below = [*includes, entity] if entity.argument_role == "includes" else includes
                walk(entity.describe_sub_entities(), conditional, below)
                for _, conditional_entities in entity.describe_conditional_sub_entities():
                    walk(conditional_entities, True, below)

        walk(self._entities, conditional_inclusion, [])
        return list(found.values())
