"""Handlers for the common events; each takes entities, or a function of (event, context) that returns some."""

from ..action import Action
from ..event_handler import BaseEventHandler
from ..events import ExecutionComplete, IncludeLaunchDescription, Shutdown
from ..events.process import ProcessExited, ProcessIO, ProcessStarted
from ..launch_description_entity import LaunchDescriptionEntity
from ..process_action import ProcessAction
from ..utilities import as_entities


def event_named(name):
    """Return a matcher of events by their name."""
    return lambda event: event.name == name


class OnActionEventBase(BaseEventHandler):
    """Base of the handlers of one type of event; `action_matcher` selects the actions: one action, a predicate, or None
    for all.
    """

    def __init__(
        self, *, action_matcher, on_event, target_event_cls, target_action_cls, target_action_name=None, **kwargs
    ):
        """Create a handler; target_action_name: of the class in messages, by default its own."""
        self._action_name = target_action_name or target_action_cls.__name__
        if not (action_matcher is None or isinstance(action_matcher, target_action_cls) or callable(action_matcher)):
            raise TypeError(
                f"action_matcher must be an '{self._action_name}' instance or a callable, got '{action_matcher}'"
            )
        self._action_matcher = action_matcher
        self._event_class = target_event_cls
        self._on_event = on_event
        self._entities = []
        if not callable(on_event):
            self._entities = as_entities(on_event)
            for entity in self._entities:
                if not isinstance(entity, LaunchDescriptionEntity):
                    raise TypeError(
                        "expected all items in 'on_event' iterable to be of type "
                        f"'LaunchDescriptionEntity' but got '{type(entity)}'"
                    )
        super().__init__(matcher=self._takes, **kwargs)

    def _takes(self, event):
        if not isinstance(event, self._event_class):
            return False
        if self._action_matcher is None:
            return True
        if callable(self._action_matcher):
            return self._action_matcher(event.action)
        return event.action is self._action_matcher

    def handle(self, event, context):
        """Return the entities, or what the function returns for (event, context)."""
        super().handle(event, context)
        return self._on_event(event, context) if callable(self._on_event) else self._entities

    def describe(self):
        """Return (description, entities)."""
        return super().describe()[0], list(self._entities)

    @property
    def handler_description(self):
        """What the handler does, for people."""
        return "<actions>" if self._entities else str(self._on_event)

    @property
    def matcher_description(self):
        """Which events it handles, for people."""
        text = f"event == {self._event_class.__name__}"
        return text if self._action_matcher is None else f"{text} and {self._action_name}(event.action)"


def _nothing(event, context):
    return None


class OnProcessExit(OnActionEventBase):
    """Runs its entities when a process has ended."""

    def __init__(self, *, target_action=None, on_exit=None, **kwargs):
        super().__init__(
            action_matcher=target_action,
            on_event=_nothing if on_exit is None else on_exit,
            target_event_cls=ProcessExited,
            target_action_cls=ProcessAction,
            target_action_name="ExecuteLocal",
            **kwargs,
        )


class OnProcessStart(OnActionEventBase):
    """Runs its entities when a process has started."""

    def __init__(self, *, target_action=None, on_start, **kwargs):
        super().__init__(
            action_matcher=target_action,
            on_event=on_start,
            target_event_cls=ProcessStarted,
            target_action_cls=ProcessAction,
            target_action_name="ExecuteLocal",
            **kwargs,
        )


class OnProcessIO(OnActionEventBase):
    """Calls a function when a process writes; its argument is the event, whose bytes are `event.text`."""

    def __init__(self, *, target_action=None, on_stdin=None, on_stdout=None, on_stderr=None, **kwargs):
        functions = {0: on_stdin, 1: on_stdout, 2: on_stderr}

        def handle(event, context):
            function = functions[event.fd]
            return None if function is None else function(event)

        super().__init__(
            action_matcher=target_action,
            on_event=handle,
            target_event_cls=ProcessIO,
            target_action_cls=ProcessAction,
            target_action_name="ExecuteLocal",
            **kwargs,
        )


class OnExecutionComplete(OnActionEventBase):
    """Runs its entities when an action has completed."""

    def __init__(self, *, target_action=None, on_completion, **kwargs):
        super().__init__(
            action_matcher=target_action,
            on_event=on_completion,
            target_event_cls=ExecutionComplete,
            target_action_cls=Action,
            **kwargs,
        )


class OnShutdown(BaseEventHandler):
    """Runs its entities when the launch shuts down."""

    def __init__(self, *, on_shutdown, **kwargs):
        super().__init__(matcher=lambda event: isinstance(event, Shutdown), **kwargs)
        self._on_shutdown = on_shutdown

    def handle(self, event, context):
        """Return the entities, or what the function returns for (event, context)."""
        super().handle(event, context)
        return self._on_shutdown(event, context) if callable(self._on_shutdown) else self._on_shutdown

    @property
    def handler_description(self):
        """What the handler does, for people."""
        return str(self._on_shutdown)

    @property
    def matcher_description(self):
        """Which events it handles, for people."""
        return "event issubclass of launch.events.Shutdown"


class OnIncludeLaunchDescription(BaseEventHandler):
    """Includes the launch description of an event; the launch service has one such handler."""

    def __init__(self, **kwargs):
        super().__init__(matcher=lambda event: isinstance(event, IncludeLaunchDescription), **kwargs)

    def handle(self, event, context):
        """Return the description."""
        super().handle(event, context)
        return event.launch_description


__all__ = [
    "OnExecutionComplete",
    "OnIncludeLaunchDescription",
    "OnProcessExit",
    "OnProcessIO",
    "OnProcessStart",
    "OnShutdown",
    "event_named",
]
