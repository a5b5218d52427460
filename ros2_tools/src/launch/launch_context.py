"""The state of a running launch."""

import asyncio
import os
from collections import Counter, deque
from contextlib import contextmanager


class LaunchContext:
    """Launch configurations, environment, locals, event handlers, events to be handled, futures of what goes on."""

    def __init__(self, *, argv=None, noninteractive=False):
        self.argv = list(argv or [])
        self.noninteractive = noninteractive
        self.is_shutdown = False
        self.launch_configurations = {}
        self.environment = os.environ
        self.events = asyncio.Queue()
        self.event_handlers = deque()
        self.completion_futures = set()
        self.locals = {}
        self.node_names = Counter()  # of the nodes started
        self._environment_at_start = dict(os.environ)

    @contextmanager
    def scope(self, configurations=None):
        """Restore configurations and environment at the end; given some, begin with these and the first one."""
        before, environment = self.launch_configurations, dict(os.environ)
        self.launch_configurations = dict(before if configurations is None else configurations)
        if configurations is not None:
            self._set_environment(self._environment_at_start)
        try:
            yield
        finally:
            self.launch_configurations = before
            self._set_environment(environment)

    @staticmethod
    def _set_environment(values):
        os.environ.clear()
        os.environ.update(values)

    def get_locals_as_dict(self):
        """Return what holds for the entity being visited: `event`, `current_launch_file_directory`, ..."""
        return dict(self.locals)

    def extend_locals(self, extensions):
        """Set locals until the handling of the present event ends."""
        self.locals.update(extensions)

    def register_event_handler(self, event_handler):
        """Add a handler before all others."""
        self.event_handlers.appendleft(event_handler)

    def unregister_event_handler(self, event_handler):
        """Remove a handler; ValueError if it is not there."""
        self.event_handlers.remove(event_handler)

    def emit_event_sync(self, event):
        """Queue an event."""
        self.events.put_nowait(event)

    def add_completion_future(self, completion_future):
        """Let the service go on until this future is done."""
        self.completion_futures.add(completion_future)

    def perform_substitution(self, substitution):
        """Return the text of one substitution."""
        return substitution.perform(self)
