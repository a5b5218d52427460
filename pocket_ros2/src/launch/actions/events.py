"""Actions that emit events, and that add and remove handlers of events."""

from ..action import Action
from ..events import Shutdown as ShutdownEvent
from ..events.process import ProcessExited
from ..logging import get_logger


class EmitEvent(Action):
    """Emits an event."""

    def __init__(self, *, event, **kwargs):
        super().__init__(**kwargs)
        self._event = event

    @property
    def event(self):
        """The event."""
        return self._event

    def execute(self, context):
        """Emit it."""
        context.emit_event_sync(self._event)


class Shutdown(EmitEvent):
    """Ends the launch."""

    def __init__(self, *, reason="reason not given", **kwargs):
        super().__init__(event=ShutdownEvent(reason=reason), **kwargs)

    def execute(self, context):
        """Emit the event; as `on_exit` of a process, say that the process was required."""
        event = context.get_locals_as_dict().get("event")
        if isinstance(event, ProcessExited):
            get_logger("launch").info(f"process[{event.process_name}] was required: shutting down launched system")
        super().execute(context)


class RegisterEventHandler(Action):
    """Adds an event handler."""

    def __init__(self, event_handler, **kwargs):
        super().__init__(**kwargs)
        self._event_handler = event_handler

    @property
    def event_handler(self):
        """The handler."""
        return self._event_handler

    def describe_conditional_sub_entities(self):
        """Return what the handler would yield."""
        description, entities = self._event_handler.describe()
        return [(f"When the event occurs: {description}", entities)] if entities else []

    def execute(self, context):
        """Add it before the others."""
        context.register_event_handler(self._event_handler)


class UnregisterEventHandler(Action):
    """Removes an event handler."""

    def __init__(self, event_handler, **kwargs):
        super().__init__(**kwargs)
        self._event_handler = event_handler

    @property
    def event_handler(self):
        """The handler."""
        return self._event_handler

    def execute(self, context):
        """Remove it; ValueError if it is not there."""
        context.unregister_event_handler(self._event_handler)
