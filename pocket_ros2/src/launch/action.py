"""Base of all actions."""

from .launch_description_entity import LaunchDescriptionEntity


class Action(LaunchDescriptionEntity):
    """An entity that is executed when it is visited, if its condition holds."""

    def __init__(self, *, condition=None):
        self._condition = condition

    @property
    def condition(self):
        """The condition, or None."""
        return self._condition

    def get_sub_entities(self):
        """Return the entities that executing this one yields, as far as that is known before."""
        return []

    def describe_sub_entities(self):
        """Return the entities below, if no condition stands before them."""
        return self.get_sub_entities() if self._condition is None else []

    def describe_conditional_sub_entities(self):
        """Return the entities below, if a condition stands before them."""
        if self._condition is None:
            return []
        return [(f"Conditionally included by {self.describe()}", self.get_sub_entities())]

    def visit(self, context):
        """Execute the action if its condition holds, and emit ExecutionComplete when it has finished."""
        if self._condition is not None and not self._condition.evaluate(context):
            return None
        try:
            return self.execute(context)
        finally:
            self._announce_completion(context)

    def _announce_completion(self, context):
        from .events import ExecutionComplete

        event = ExecutionComplete(action=self)
        if context.would_handle_event(event):
            future = self.get_asyncio_future()
            if future is None:
                context.emit_event_sync(event)
            else:
                future.add_done_callback(lambda _: context.emit_event_sync(event))

    def execute(self, context):
        """Execute the action; return entities to visit next, or None."""
