"""Handlers of the common events; each takes entities, or a function of (event, context) that returns some."""

from ros2_tools.errors import not_covered

from .entities import Action, LaunchDescriptionEntity
from .events import IncludeLaunchDescription, Shutdown
from .events.process import ProcessExited, ProcessIO, ProcessStarted
from .utilities import as_entities


class EventHandler:
    """Yields entities for the events that a matcher accepts; with `handle_once`, for the first of them only."""

    def __init__(self, *, matcher, entities=None, handle_once=False):
        self._matcher = matcher
        self._yields = entities
        self._handle_once = handle_once
        for entity in self.get_entities():
            if not isinstance(entity, LaunchDescriptionEntity):
                raise TypeError(f"an event handler yields launch entities, got {entity!r}")

    def get_entities(self):
        """Return the entities, as far as they are known before an event comes."""
        return [] if callable(self._yields) else as_entities(self._yields)

    def matches(self, event):
        """Return whether this handler handles the event."""
        return self._matcher(event)

    def handle(self, event, context):
        """Handle the event; return entities to visit, or None."""
        context.extend_locals({"event": event})
        if self._handle_once:
            context.unregister_event_handler(self)
        return self._yields(event, context) if callable(self._yields) else self._yields


class _OnProcess(EventHandler):
    """Handles one kind of event of one process, of those that a function of the action accepts, or of all (None)."""

    event = None

    def __init__(self, target_action, entities, **kwargs):
        if not (target_action is None or isinstance(target_action, Action) or callable(target_action)):
            raise TypeError(f"target_action must be an action instance or a callable, got '{target_action}'")
        self._target = target_action
        super().__init__(matcher=self._accepts, entities=entities, **kwargs)

    def _accepts(self, event):
        if not isinstance(event, self.event):
            return False
        if callable(self._target):
            return self._target(event.action)
        return self._target is None or event.action is self._target


class OnProcessExit(_OnProcess):
    """Runs its entities when a process has ended."""

    event = ProcessExited

    def __init__(self, *, target_action=None, on_exit=None, **kwargs):
        super().__init__(target_action, on_exit, **kwargs)


class OnProcessStart(_OnProcess):
    """Runs its entities when a process has started."""

    event = ProcessStarted

    def __init__(self, *, target_action=None, on_start, **kwargs):
        super().__init__(target_action, on_start, **kwargs)


class OnProcessIO(_OnProcess):
    """Calls a function when a process writes; its argument is the event, whose bytes are `event.text`."""

    event = ProcessIO

    def __init__(self, *, target_action=None, on_stdout=None, on_stderr=None, **kwargs):
        functions = {1: on_stdout, 2: on_stderr}

        def handle(event, context):
            return None if functions[event.fd] is None else functions[event.fd](event)

        super().__init__(target_action, handle, **kwargs)


class OnShutdown(EventHandler):
    """Runs its entities when the launch shuts down."""

    def __init__(self, *, on_shutdown, **kwargs):
        super().__init__(matcher=lambda event: isinstance(event, Shutdown), entities=on_shutdown, **kwargs)


class OnIncludeLaunchDescription(EventHandler):
    """Includes the launch description of an event; the launch service has one such handler."""

    def __init__(self):
        super().__init__(
            matcher=lambda event: isinstance(event, IncludeLaunchDescription),
            entities=lambda event, context: [event.launch_description],
        )


__getattr__ = not_covered(__name__, ["OnProcessExit", "OnProcessStart", "OnProcessIO", "OnShutdown"])
