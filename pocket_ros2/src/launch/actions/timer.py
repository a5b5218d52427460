"""The action that waits."""

import asyncio

from ..action import Action
from ..event_handler import BaseEventHandler
from ..event_handlers import OnShutdown
from ..events import TimerEvent
from ..utilities.type_utils import normalize_typed_substitution, perform_typed_substitution


class _OnTimer(BaseEventHandler):
    """Yields the actions of one timer when its time is over."""

    def __init__(self, timer):
        super().__init__(
            matcher=lambda event: isinstance(event, TimerEvent) and event.timer_action is timer, handle_once=True
        )
        self._timer = timer

    def handle(self, event, context):
        super().handle(event, context)
        return self._timer.handle(context)


class TimerAction(Action):
    """Visits actions once, `period` seconds later, unless it is cancelled before, as it is by a shutdown."""

    def __init__(self, *, period, actions, cancel_on_shutdown=True, **kwargs):
        super().__init__(**kwargs)
        self._period = normalize_typed_substitution(float(period) if isinstance(period, (int, str)) else period, float)
        self._actions = list(actions)
        self._cancel_on_shutdown = normalize_typed_substitution(cancel_on_shutdown, bool)
        self._cancelled = False
        self._future = None
        self._timer = None
        self._locals = {}

    @property
    def period(self):
        """The time to wait, in seconds, as a number or as substitutions."""
        return self._period

    @property
    def actions(self):
        """The actions visited after it."""
        return self._actions

    def describe(self):
        """Return a description for people."""
        return f"TimerAction(period={self._period}, actions=<actions>)"

    def describe_conditional_sub_entities(self):
        """Return the actions."""
        return [(f"{self._period} seconds pass without being canceled", self._actions)]

    def get_asyncio_future(self):
        """Return a future that is done when the timer has fired or was cancelled; None before it is executed."""
        return self._future

    def execute(self, context):
        """Start to wait."""
        self._future = asyncio.get_running_loop().create_future()
        if self._cancelled:
            self._future.set_result(None)
            return
        self._locals = context.get_locals_as_dict()
        context.register_event_handler(_OnTimer(self))
        if perform_typed_substitution(context, self._cancel_on_shutdown, bool):
            context.register_event_handler(OnShutdown(on_shutdown=lambda event, context: self.cancel()))
        period = perform_typed_substitution(context, self._period, float)
        self._timer = asyncio.get_running_loop().call_later(period, self._fire, context)

    def _fire(self, context):
        context.emit_event_sync(TimerEvent(timer_action=self))
        self._future.set_result(None)

    def handle(self, context):
        """Return the actions, to be visited where the timer was."""
        context.extend_locals(self._locals)
        return self._actions

    def cancel(self):
        """Cancel the timer; without effect once it has fired."""
        self._cancelled = True
        if self._timer is not None:
            self._timer.cancel()
        if self._future is not None and not self._future.done():
            self._future.set_result(None)
