"""Actions that write, call, wait, and deal with events."""

import asyncio

from ..entities import Action
from ..event_handlers import EventHandler, OnShutdown
from ..events import Shutdown as ShutdownEvent
from ..events import TimerEvent
from ..events.process import ProcessExited
from ..logging import get_logger
from ..utilities import (
    described,
    normalize_to_list_of_substitutions,
    normalize_typed_substitution,
    perform_substitutions,
    perform_typed_substitution,
)


class LogInfo(Action):
    """Writes a line to the screen and the log."""

    def __init__(self, *, msg, **kwargs):
        super().__init__(**kwargs)
        self.msg = normalize_to_list_of_substitutions(msg)

    def describe(self):
        """Return a description for people."""
        return f"LogInfo({described(self.msg)})"

    def execute(self, context):
        """Write it."""
        get_logger("launch.user").info(perform_substitutions(context, self.msg))


class OpaqueFunction(Action):
    """Calls `function(context, *args, **kwargs)`; the entities it returns are visited next."""

    def __init__(self, *, function, args=None, kwargs=None, **left_over_kwargs):
        super().__init__(**left_over_kwargs)
        if not callable(function):
            raise TypeError(f"OpaqueFunction expected 'function' to be callable, but got '{function}'")
        self._function, self._args, self._kwargs = function, args or [], kwargs or {}

    def execute(self, context):
        """Call it."""
        return self._function(context, *self._args, **self._kwargs)


class EmitEvent(Action):
    """Emits an event."""

    def __init__(self, *, event, **kwargs):
        super().__init__(**kwargs)
        self.event = event

    def describe(self):
        """Return a description for people."""
        return f"EmitEvent(event='{self.event.name}')"

    def execute(self, context):
        """Emit it."""
        context.emit_event_sync(self.event)


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
    """Adds an event handler, before the others."""

    def __init__(self, event_handler, **kwargs):
        super().__init__(**kwargs)
        self.event_handler = event_handler

    def describe(self):
        """Return a description for people."""
        return f"RegisterEventHandler({type(self.event_handler).__name__})"

    def get_conditional_sub_entities(self):
        """Return what the handler would yield."""
        return self.event_handler.get_entities()

    def execute(self, context):
        """Add it."""
        context.register_event_handler(self.event_handler)


class TimerAction(Action):
    """Visits actions once, `period` seconds later, unless it is cancelled before, as it is by a shutdown."""

    def __init__(self, *, period, actions, cancel_on_shutdown=True, **kwargs):
        super().__init__(**kwargs)
        self._period = normalize_typed_substitution(float(period) if isinstance(period, (int, str)) else period, float)
        self.actions = list(actions)
        self._cancel_on_shutdown = normalize_typed_substitution(cancel_on_shutdown, bool)
        self._cancelled = False
        self._future = self._timer = None

    def describe(self):
        """Return a description for people."""
        return f"TimerAction(period={self._period})"

    def get_conditional_sub_entities(self):
        """Return the actions."""
        return self.actions

    def get_asyncio_future(self):
        """Return a future that is done when the timer has fired or was cancelled; None before it is executed."""
        return self._future

    def execute(self, context):
        """Start to wait."""
        self._future = asyncio.get_running_loop().create_future()
        if self._cancelled:
            self._future.set_result(None)
            return
        known = context.get_locals_as_dict()

        def fired(event, context):
            context.extend_locals(known)  # the actions are visited where the timer was
            return self.actions

        context.register_event_handler(
            EventHandler(
                matcher=lambda event: isinstance(event, TimerEvent) and event.timer_action is self,
                entities=fired,
                handle_once=True,
            )
        )
        if perform_typed_substitution(context, self._cancel_on_shutdown, bool):
            context.register_event_handler(OnShutdown(on_shutdown=lambda event, context: self.cancel()))
        period = perform_typed_substitution(context, self._period, float)
        self._timer = asyncio.get_running_loop().call_later(period, self._fire, context)

    def _fire(self, context):
        context.emit_event_sync(TimerEvent(timer_action=self))
        self._future.set_result(None)

    def cancel(self):
        """Cancel the timer; without effect once it has fired."""
        self._cancelled = True
        if self._timer is not None:
            self._timer.cancel()
        if self._future is not None and not self._future.done():
            self._future.set_result(None)
