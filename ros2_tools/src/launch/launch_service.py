"""The service that runs launch descriptions."""

import asyncio
import contextlib
import logging as levels
import signal
import threading
import traceback

from . import logging
from .entities import LaunchDescriptionEntity
from .event_handlers import OnIncludeLaunchDescription, OnShutdown
from .events import IncludeLaunchDescription, Shutdown
from .launch_context import LaunchContext
from .utilities import as_entities, visit_all_entities_and_collect_futures


class LaunchService:
    """Visits launch descriptions and handles their events until nothing is left to wait for.

    The first SIGINT asks all processes to end, as do SIGTERM and SIGQUIT; further ones change nothing.
    """

    def __init__(self, *, argv=None, noninteractive=False, debug=False):
        """Make a service.

        :param argv: the launch's arguments, kept in the context
        :param noninteractive: no terminal sends ctrl-c to the processes too, so the service passes SIGINT on
        :param debug: write debug messages, with tracebacks
        """
        logging.launch_config.level = levels.DEBUG if debug else levels.INFO
        self._debug = debug
        self._logger = logging.get_logger("launch")
        self._context = LaunchContext(argv=argv, noninteractive=noninteractive)
        self._context.register_event_handler(OnIncludeLaunchDescription())
        self._context.register_event_handler(OnShutdown(on_shutdown=self._on_shutdown))
        self._pairs = []  # (entity, future) of what goes on
        self._loop = None
        self._lock = threading.RLock()
        self._return_code = 0

    @property
    def context(self):
        """The context."""
        return self._context

    def include_launch_description(self, launch_description):
        """Visit a launch description; from any thread."""
        self.emit_event(IncludeLaunchDescription(launch_description))

    def emit_event(self, event):
        """Queue an event, from any thread; it is handled once the service runs."""
        with self._lock:
            if self._loop is None:
                self._context.emit_event_sync(event)
            else:
                self._loop.call_soon_threadsafe(self._context.emit_event_sync, event)

    def shutdown(self):
        """Ask all processes to end and the service to return, from any thread; without effect if it does not run."""
        with self._lock:
            if self._loop is not None:
                self.emit_event(Shutdown(reason="LaunchService.shutdown() called", due_to_sigint=False))

    def run(self, *, shutdown_when_idle=True):
        """Run in the main thread until done, or until a shutdown; return 0, or 1 if anything went wrong in it."""
        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(self.run_async(shutdown_when_idle=shutdown_when_idle))
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    async def run_async(self, *, shutdown_when_idle=True):
        """Do what `run` does in a running loop of the main thread."""
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("LaunchService can only be run in the main thread.")
        if self._loop is not None:
            raise RuntimeError("LaunchService cannot be run multiple times concurrently.")
        self._return_code = 0
        with self._running_in(asyncio.get_running_loop()):
            config = logging.launch_config
            self._logger.info(f"All log files can be found below {config.log_dir}")
            self._logger.info(f"Default logging verbosity is set to {levels.getLevelName(config.level)}")
            while True:
                try:
                    if not await self._turn(shutdown_when_idle):
                        return self._return_code
                except Exception as error:  # any: actions and handlers are other people's programs
                    self._logger.debug(traceback.format_exc())
                    message = f"Caught exception in launch (see debug for traceback): {error}"
                    self._logger.error(message)
                    self._return_code = 1
                    self._begin_shutdown(message)

    @contextlib.contextmanager
    def _running_in(self, loop):
        def on_sigint():
            message = "user interrupted with ctrl-c (SIGINT)"
            if self._context.is_shutdown:
                self._logger.warning(f"{message} again, ignoring...")
            else:
                self._logger.warning(message)
                self._begin_shutdown("ctrl-c (SIGINT)", due_to_sigint=True)

        def on_sigterm(name):
            self._logger.warning(f"user interrupted with {name}, ending all processes")
            self._begin_shutdown(name)

        with self._lock:
            self._loop = loop
        loop.set_debug(self._debug)
        before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)}
        loop.add_signal_handler(signal.SIGINT, on_sigint)
        loop.add_signal_handler(signal.SIGTERM, on_sigterm, "SIGTERM")
        loop.add_signal_handler(signal.SIGQUIT, on_sigterm, "SIGQUIT")
        try:
            yield
        finally:
            for each, handler in before.items():
                loop.remove_signal_handler(each)
                signal.signal(each, handler)
            with self._lock:
                self._loop = None
            self._context.is_shutdown = False

    def _begin_shutdown(self, reason, *, due_to_sigint=False):
        if not self._context.is_shutdown:
            self._context.emit_event_sync(Shutdown(reason=reason, due_to_sigint=due_to_sigint))
            self._context.is_shutdown = True

    def _on_shutdown(self, event, context):
        context.is_shutdown = True

    async def _turn(self, shutdown_when_idle):
        """Handle what is queued, then wait for more; return whether to go on."""
        queue = self._context._event_queue
        while not queue.empty():
            self._process(queue.get_nowait())
        going_on = self._context._completion_futures
        done = {future for future in [*(future for _, future in self._pairs), *going_on] if future.done()}
        self._pairs = [pair for pair in self._pairs if pair[1] not in done]
        self._context._completion_futures = [future for future in going_on if future not in done]
        for future in done:
            future.result()  # raises what the entity raised
        waiting = {*(future for _, future in self._pairs), *self._context._completion_futures}
        if not waiting and queue.empty():
            if self._context.is_shutdown:
                return False
            if shutdown_when_idle:
                self._begin_shutdown("idle")
                return True
        event = asyncio.ensure_future(queue.get())
        await asyncio.wait([event, *waiting], return_when=asyncio.FIRST_COMPLETED)
        if event.done():
            self._process(event.result())
        else:
            event.cancel()
        return True

    def _process(self, event):
        self._logger.debug(f"processing event: '{event.name}'")
        for handler in tuple(self._context._event_handlers):
            if not handler.matches(event):
                continue
            known = dict(self._context._locals)
            try:
                for entity in as_entities(handler.handle(event, self._context)):
                    if not isinstance(entity, LaunchDescriptionEntity):
                        raise RuntimeError(f"expected a LaunchDescriptionEntity from event_handler, got '{entity}'")
                    self._pairs += visit_all_entities_and_collect_futures(entity, self._context)
            finally:
                self._context._locals = known
