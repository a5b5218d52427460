"""The service that runs launch descriptions."""

import asyncio
import logging as levels
import signal
import threading
import traceback

from . import logging
from .entities import LaunchDescriptionEntity
from .event_handlers import EventHandler, OnShutdown
from .events import IncludeLaunchDescription, Shutdown
from .launch_context import LaunchContext
from .utilities import as_entities


class LaunchService:
    """Visits launch descriptions and handles their events until nothing is left to wait for.

    The first SIGINT asks all processes to end, as do SIGTERM and SIGQUIT; further ones change nothing.
    """

    def __init__(self, *, argv=None, noninteractive=False, debug=False):
        """`noninteractive`: no terminal sends ctrl-c to the processes too; `debug`: debug messages, with tracebacks."""
        logging.launch_config.root.setLevel(levels.DEBUG if debug else levels.INFO)
        self._logger = logging.get_logger("launch")
        self.context = LaunchContext(argv=argv, noninteractive=noninteractive)
        self.context.register_event_handler(
            EventHandler(
                matcher=lambda event: isinstance(event, IncludeLaunchDescription),
                entities=lambda event, context: event.launch_description,
            )
        )
        self.context.register_event_handler(
            OnShutdown(on_shutdown=lambda event, context: setattr(context, "is_shutdown", True))
        )
        self._loop = None

    def include_launch_description(self, launch_description):
        """Visit a launch description; from any thread."""
        self.emit_event(IncludeLaunchDescription(launch_description))

    def emit_event(self, event):
        """Queue an event, from any thread; it is handled once the service runs."""
        if self._loop is None:
            self.context.emit_event_sync(event)
        else:
            self._loop.call_soon_threadsafe(self.context.emit_event_sync, event)

    def shutdown(self):
        """Ask all processes to end and the service to return, from any thread; without effect if it does not run."""
        if self._loop is not None:
            self.emit_event(Shutdown(reason="LaunchService.shutdown() called", due_to_sigint=False))

    def run(self, *, shutdown_when_idle=True):
        """Run in the main thread until done, or until a shutdown; return 0, or 1 if anything went wrong in it."""
        return asyncio.run(self.run_async(shutdown_when_idle=shutdown_when_idle))

    async def run_async(self, *, shutdown_when_idle=True):
        """Do what `run` does in a running loop of the main thread."""
        if self._loop is not None or threading.current_thread() is not threading.main_thread():
            raise RuntimeError("LaunchService can only be run once at a time, and in the main thread.")
        self._loop = asyncio.get_running_loop()
        before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)}
        for number in before:
            self._loop.add_signal_handler(number, self._interrupted, number)
        config = logging.launch_config
        self._logger.info(f"All log files can be found below {config.log_dir}")
        self._logger.info(f"Default logging verbosity is set to {levels.getLevelName(config.root.level)}")
        return_code, goes_on = 0, True
        while goes_on:
            try:
                goes_on = await self._turn(shutdown_when_idle)
            except Exception as error:  # any: actions and handlers are other people's programs
                self._logger.debug(traceback.format_exc())
                message = f"Caught exception in launch (see debug for traceback): {error}"
                self._logger.error(message)
                return_code = 1
                self._begin_shutdown(message)
        for number, handler in before.items():
            self._loop.remove_signal_handler(number)
            signal.signal(number, handler)
        self._loop = None
        self.context.is_shutdown = False
        return return_code

    def _interrupted(self, number):
        name = f"ctrl-c ({number.name})" if number == signal.SIGINT else number.name
        what = ", ending all processes"
        if number == signal.SIGINT:
            what = " again, ignoring..." if self.context.is_shutdown else ""
        self._logger.warning(f"user interrupted with {name}{what}")
        self._begin_shutdown(name, due_to_sigint=number == signal.SIGINT)

    def _begin_shutdown(self, reason, *, due_to_sigint=False):
        if not self.context.is_shutdown:
            self.context.emit_event_sync(Shutdown(reason=reason, due_to_sigint=due_to_sigint))
            self.context.is_shutdown = True

    async def _turn(self, shutdown_when_idle):
        """Handle what is queued, then wait for more; return whether to go on."""
        events, going_on = self.context.events, self.context.completion_futures
        while not events.empty():
            self._process(events.get_nowait())
        done = {future for future in going_on if future.done()}
        going_on -= done
        for future in done:
            future.result()  # raises what the entity raised
        if not going_on and events.empty():
            if self.context.is_shutdown:
                return False
            if shutdown_when_idle:
                self._begin_shutdown("idle")
                return True
        event = asyncio.ensure_future(events.get())
        await asyncio.wait([event, *going_on], return_when=asyncio.FIRST_COMPLETED)
        if event.done():
            self._process(event.result())
        event.cancel()
        return True

    def _process(self, event):
        self._logger.debug(f"processing event: '{type(event).__module__}.{type(event).__name__}'")
        for handler in tuple(self.context.event_handlers):
            if not handler.matches(event):
                continue
            known = dict(self.context.locals)
            try:
                for entity in as_entities(handler.handle(event, self.context)):
                    if not isinstance(entity, LaunchDescriptionEntity):
                        raise RuntimeError(f"expected a LaunchDescriptionEntity from event_handler, got '{entity}'")
                    self._visit(entity)
            finally:
                self.context.locals = known

    def _visit(self, entity):
        """Visit an entity and all that it yields."""
        for below in entity.visit(self.context) or []:
            self._visit(below)
