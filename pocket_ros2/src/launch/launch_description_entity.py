"""Base of everything a launch description can hold."""


class LaunchDescriptionEntity:
    """A node of the tree that a launch description is.

    argument_role: what the entity means for the arguments of a launch description: "declares" one, "includes" another
    description, "resets" the configurations, or "" for nothing.
    """

    argument_role = ""

    def visit(self, context):
        """Do what the entity is for; return entities to visit next, or None."""
        raise NotImplementedError(f"{type(self).__name__} has no visit()")

    def describe(self):
        """Return a description for people."""
        return repr(self)

    def describe_sub_entities(self):
        """Return the entities below this one that will be visited without a condition."""
        return []

    def describe_conditional_sub_entities(self):
        """Return [(condition in words, entities visited if it holds)]."""
        return []

    def get_asyncio_future(self):
        """Return a future that is done when the entity is, or None for one that is done once visited."""
        return None
