"""The state of a running launch."""

import asyncio
import os
from collections import deque


class LaunchContext:
    """Launch configurations, environment, locals, event handlers and the events still to be handled."""

    def __init__(self, *, argv=None, noninteractive=False):
        self.argv = list(argv or [])
        self.noninteractive = noninteractive
        self.is_shutdown = False
        self.launch_configurations = {}
        self._scopes = []  # (configurations, environment) around the present one
        self._environment_at_start = dict(os.environ)
        self._globals = {}
        self._locals = {}
        self._event_handlers = deque()
        self._event_queue = asyncio.Queue()
        self._completion_futures = []

    @property
    def environment(self):
        """The environment: that of this process."""
        return os.environ

    @staticmethod
    def _set_environment(values):
        os.environ.clear()
        os.environ.update(values)

    def _open_scope(self, configurations=None):
        """Save configurations and environment; with configurations, go on with these and the environment at start."""
        self._scopes.append((self.launch_configurations, dict(os.environ)))
        self.launch_configurations = dict(self.launch_configurations if configurations is None else configurations)
        if configurations is not None:
            self._set_environment(self._environment_at_start)

    def _close_scope(self):
        self.launch_configurations, environment = self._scopes.pop()
        self._set_environment(environment)

    def get_locals_as_dict(self):
        """Return what holds for the entity being visited: `event`, `current_launch_file_directory`, ..."""
        return {**self._globals, **self._locals}

    def extend_locals(self, extensions):
        """Set locals until the handling of the present event ends."""
        self._locals.update(extensions)

    def extend_globals(self, extensions):
        """Set locals for good; those of `extend_locals` hide them."""
        self._globals.update(extensions)

    def would_handle_event(self, event):
        """Return whether any handler takes the event."""
        return any(handler.matches(event) for handler in self._event_handlers)

    def register_event_handler(self, event_handler):
        """Add a handler before all others."""
        self._event_handlers.appendleft(event_handler)

    def unregister_event_handler(self, event_handler):
        """Remove a handler; ValueError if it is not there."""
        self._event_handlers.remove(event_handler)

    def emit_event_sync(self, event):
        """Queue an event."""
        self._event_queue.put_nowait(event)

    def add_completion_future(self, completion_future):
        """Let the service go on until this future is done."""
        self._completion_futures.append(completion_future)

    def perform_substitution(self, substitution):
        """Return the text of one substitution."""
        return substitution.perform(self)
