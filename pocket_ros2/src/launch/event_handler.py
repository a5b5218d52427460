"""Event handlers: the events that they match, and the entities that they yield."""


class BaseEventHandler:
    """Base of all handlers; the event being handled is `context.locals.event`."""

    def __init__(self, *, matcher, handle_once=False):
        self._matcher = matcher
        self._handle_once = handle_once

    @property
    def handle_once(self):
        """Whether the handler is removed after its first event."""
        return self._handle_once

    @property
    def handler_description(self):
        """What the handler does, for people."""
        return None

    @property
    def matcher_description(self):
        """Which events it handles, for people."""
        return None

    def matches(self, event):
        """Return whether this handler handles the event."""
        return self._matcher(event)

    def describe(self):
        """Return (description, entities known before)."""
        return (
            f"{type(self).__name__}(matcher='{self.matcher_description}', handler='{self.handler_description}', "
            f"handle_once={self._handle_once})",
            [],
        )

    def handle(self, event, context):
        """Handle the event; return entities to visit, or None."""
        context.extend_locals({"event": event})
        if self._handle_once:
            context.unregister_event_handler(self)


class EventHandler(BaseEventHandler):
    """Yields fixed entities for the events that the matcher accepts."""

    def __init__(self, *, matcher, entities=None, handle_once=False):
        super().__init__(matcher=matcher, handle_once=handle_once)
        self._entities = entities

    @property
    def entities(self):
        """The entities visited for each event."""
        return self._entities

    def describe(self):
        """Return (description, entities)."""
        entities = self._entities or []
        return super().describe()[0], list(entities) if isinstance(entities, (list, tuple)) else [entities]

    def handle(self, event, context):
        """Return the entities."""
        super().handle(event, context)
        return self._entities
