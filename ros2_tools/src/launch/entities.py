"""What a launch description is made of: entities, of which actions are the ones that do something."""


class LaunchDescriptionEntity:
    """A node of the tree that a launch description is.

    argument_role: what the entity means for the arguments of a launch description: "declares" one, "includes" another
    description, "resets" the configurations, or "" for nothing.
    """

    argument_role = ""
    condition = None

    def visit(self, context):
        """Do what the entity is for; return entities to visit next, or None."""
        raise NotImplementedError(f"{type(self).__name__} has no visit()")

    def describe(self):
        """Return a description for people."""
        return type(self).__name__

    def get_sub_entities(self):
        """Return the entities that are visited after this one, as far as that is known before the launch runs."""
        return []

    def get_conditional_sub_entities(self):
        """Return the entities that are visited if something happens, as far as they are known."""
        return []

    def get_asyncio_future(self):
        """Return a future that is done when the entity is, or None for one that is done once visited."""
        return None


class Action(LaunchDescriptionEntity):
    """An entity that is executed when it is visited, if its condition holds."""

    def __init__(self, *, condition=None):
        self.condition = condition

    def visit(self, context):
        """Execute the action if its condition holds."""
        if self.condition is None or self.condition.evaluate(context):
            return self.execute(context)
        return None

    def execute(self, context):
        """Execute the action; return entities to visit next, or None."""


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
                if entity.argument_role == "resets":
                    return  # what is declared after it cannot be set from above
                conditional_here = conditional or entity.condition is not None
                if entity.argument_role == "declares" and entity.name not in found:
                    entity.is_conditional = conditional_here
                    found[entity.name] = (entity, includes)
                below = [*includes, entity] if entity.argument_role == "includes" else includes
                walk(entity.get_sub_entities(), conditional_here, below)
                walk(entity.get_conditional_sub_entities(), True, below)

        walk(self.entities, False, [])
        return list(found.values())
