"""Handlers of the common events; each takes entities, or a function of (event, context) that returns some."""

from ros2_tools.errors import not_covered

from .entities import Action, LaunchDescriptionEntity
from .events import Shutdown
from .events.process import ProcessExited, ProcessIO, ProcessStarted
from .utilities import as_entities


class EventHandler:
    """Yields entities for the events that a matcher accepts; with `handle_once`, for the first of them only."""

    def __init__(self, *, matcher, entities=None, handle_once=False):
        self.matches = matcher
        self._yields = entities
        self._handle_once = handle_once
        for entity in self.get_entities():
            if not isinstance(entity, LaunchDescriptionEntity):
                raise TypeError(f"an event handler yields launch entities, got {entity!r}")

    def get_entities(self):
        """Return the entities, as far as they are known before an event comes."""
        return [] if callable(self._yields) else as_entities(self._yields)

    def handle(self, event, context):
        """Handle the event; return entities to visit, or None."""
        context.extend_locals({"event": event})
        if self._handle_once:
            context.unregister_event_handler(self)
        return self._yields(event, context) if callable(self._yields) else self._yields


class _OnProcess(EventHandler):
    """Handles one kind of event of one process, of those that a function of the action accepts, or of all (None).

    event: the kind of event. argument: the name of the keyword argument that has the entities.
    """

    event: type
    argument = ""

    def __init__(self, *, target_action=None, **kwargs):
        if not (target_action is None or isinstance(target_action, Action) or callable(target_action)):
            raise TypeError(f"target_action must be an action instance or a callable, got '{target_action}'")

        def accepts(event):
            if not isinstance(event, self.event):
                return False
            return target_action(event.action) if callable(target_action) else target_action in (None, event.action)

        super().__init__(matcher=accepts, entities=kwargs.pop(self.argument, None), **kwargs)


class OnProcessExit(_OnProcess):
    """Runs its entities (`on_exit`) when a process has ended."""

    event, argument = ProcessExited, "on_exit"


class OnProcessStart(_OnProcess):
    """Runs its entities (`on_start`) when a process has started."""

    event, argument = ProcessStarted, "on_start"


class OnProcessIO(_OnProcess):
    """Calls a function when a process writes; its argument is the event, whose bytes are `event.text`."""

    event, argument = ProcessIO, "entities"

    def __init__(self, *, target_action=None, on_stdout=None, on_stderr=None, **kwargs):
        functions = {1: on_stdout, 2: on_stderr}

        def handle(event, context):
            return None if functions[event.fd] is None else functions[event.fd](event)

        super().__init__(target_action=target_action, entities=handle, **kwargs)


class OnShutdown(EventHandler):
    """Runs its entities when the launch shuts down."""

    def __init__(self, *, on_shutdown, **kwargs):
        super().__init__(matcher=lambda event: isinstance(event, Shutdown), entities=on_shutdown, **kwargs)


__getattr__ = not_covered(__name__)
