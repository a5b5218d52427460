"""The state of a running launch."""

import asyncio
import os
from collections import deque


class LocalsView:
    """Attributes for what `extend_locals` and `extend_globals` have set; read-only."""

    def __init__(self, values):
        self.__dict__["_values"] = values

    def __getattr__(self, key):
        try:
            return self._values[key]
        except KeyError:
            raise AttributeError(
                f"context.locals does not contain attribute '{key}', it contains: [{', '.join(self._values)}]"
            ) from None

    def __setattr__(self, key, value):
        raise AttributeError(f"can't set attribute '{key}', locals are read-only")


class LaunchContext:
    """Launch configurations, environment, locals, event handlers and the events still to be handled."""

    def __init__(self, *, argv=None, noninteractive=False):
        self.argv = list(argv or [])
        self.noninteractive = noninteractive
        self.is_shutdown = False
        self.asyncio_loop = None
        self.launch_configurations = {}
        self._configurations_stack = []
        self._environment_stack = []
        self._environment_at_start = dict(os.environ)
        self._globals = {}
        self._locals = {}
        self._locals_stack = []
        self._event_handlers = deque()
        self._event_queue = asyncio.Queue()
        self._completion_futures = []

    # ----------------------------------------------------------------------------------------- scopes

    @property
    def environment(self):
        """The environment: that of this process."""
        return os.environ

    def _push_environment(self):
        self._environment_stack.append(dict(os.environ))

    def _pop_environment(self):
        self._set_environment(self._environment_stack.pop())

    def _reset_environment(self):
        self._set_environment(self._environment_at_start)

    @staticmethod
    def _set_environment(values):
        os.environ.clear()
        os.environ.update(values)

    def _push_launch_configurations(self):
        self._configurations_stack.append(dict(self.launch_configurations))

    def _pop_launch_configurations(self):
        self.launch_configurations = self._configurations_stack.pop()

    @property
    def locals(self):
        """What holds for the entity being visited: `event`, `current_launch_file_directory`, ..."""
        return LocalsView(self.get_locals_as_dict())

    def get_locals_as_dict(self):
        """Return the locals over the globals."""
        return {**self._globals, **self._locals}

    def extend_locals(self, extensions):
        """Set locals until the handling of the present event ends."""
        self._locals.update(extensions)

    def extend_globals(self, extensions):
        """Set locals for good; those of `extend_locals` hide them."""
        self._globals.update(extensions)

    def _push_locals(self):
        self._locals_stack.append(dict(self._locals))

    def _pop_locals(self):
        self._locals = self._locals_stack.pop()

    # ----------------------------------------------------------------------------------------- events

    def would_handle_event(self, event):
        """Return whether any handler takes the event."""
        return any(handler.matches(event) for handler in self._event_handlers)

    def register_event_handler(self, event_handler, append=False):
        """Add a handler before all others, or after them with `append`."""
        if append:
            self._event_handlers.append(event_handler)
        else:
            self._event_handlers.appendleft(event_handler)

    def unregister_event_handler(self, event_handler):
        """Remove a handler; ValueError if it is not there."""
        self._event_handlers.remove(event_handler)

    def emit_event_sync(self, event):
        """Queue an event."""
        self._event_queue.put_nowait(event)

    async def emit_event(self, event):
        """Queue an event."""
        self.emit_event_sync(event)

    def add_completion_future(self, completion_future):
        """Let the service go on until this future is done."""
        self._completion_futures.append(completion_future)

    def perform_substitution(self, substitution):
        """Return the text of one substitution."""
        return substitution.perform(self)
