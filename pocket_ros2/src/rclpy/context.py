"""The span between init and shutdown."""

from __future__ import annotations

import atexit
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from inspect import ismethod
from typing import Any

from .exceptions import RCLError

_contexts: weakref.WeakSet[Context] = weakref.WeakSet()


class Context:
    """What a program does between init and shutdown: its arguments, its domain, its place on the network."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._callbacks: list[Callable[[], Any]] = []
        self._executors: weakref.WeakSet = weakref.WeakSet()
        self._initialized = self._valid = False
        self._participant: Any = None
        self._arguments: Any = None
        self._domain_id = 0

    def init(
        self, args: list[str] | None = None, *, initialize_logging: bool = True, domain_id: int | None = None
    ) -> None:
        """Read the ROS arguments and join the domain; RCLError or UnknownROSArgsError for arguments that are wrong."""
        from pocket_ros2 import arguments, domain, log_output
        from pocket_ros2.parameter_files import ParameterFileError

        with self._lock:
            if domain_id is not None and domain_id < 0:
                raise RuntimeError(f"Domain id ({domain_id}) should not be lower than zero.")
            if self._initialized:
                raise RuntimeError("Context.init() must only be called once")
            try:
                parsed = arguments.parse(list(sys.argv if args is None else args))
            except (arguments.ArgumentError, ParameterFileError) as error:
                raise RCLError(f"failed to parse ROS arguments: {error}") from error
            try:
                number = domain.domain_id(domain_id)
                domain.loopback_only()
            except domain.DomainError as error:
                raise RCLError(str(error)) from error
            from pocket_ros2.participant import Participant  # loads Cyclone DDS

            try:
                self._participant = Participant(number)
            except domain.DomainError as error:
                raise RCLError(str(error)) from error
            if initialize_logging:
                log_output.configure(parsed.logs, parsed.log_level, parsed.logger_levels)
            self._arguments, self._domain_id = parsed, number
            self._initialized = self._valid = True
            _contexts.add(self)
            _kept.add(self)

    @property
    def handle(self) -> Context | None:
        """The context itself, None before init."""
        return self if self._initialized else None

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave a `with context.handle:` block; nothing to release."""

    def ok(self) -> bool:
        """Return whether it is between init and shutdown."""
        return self._valid

    def get_domain_id(self) -> int:
        """Return the domain's number."""
        if not self._initialized:
            raise RuntimeError("Context must be initialized before it can have a domain id")
        return self._domain_id

    def shutdown(self) -> None:
        """Leave the network; RCLError if that has happened already (a signal does it too)."""
        if not self._initialized:
            raise RuntimeError("Context must be initialized before it can be shutdown")
        with self._lock:
            if not self._valid:
                self._leave()
                raise RCLError("failed to shutdown: rcl_shutdown already called on the given context")
            self._shut_down()

    def try_shutdown(self) -> None:
        """Leave the network, unless that has happened already."""
        with self._lock:
            if self._valid:
                self._shut_down()
            elif self._initialized:
                self._leave()

    def _shut_down(self) -> None:
        self._invalidate()
        callbacks, self._callbacks = self._callbacks, []
        for reference in callbacks:
            callback = reference() if isinstance(reference, weakref.WeakMethod) else reference
            if callback is not None:
                callback()
        self._leave()

    def _invalidate(self) -> None:
        """Make `ok()` False and executors return; what a signal does."""
        self._valid = False
        for executor in tuple(self._executors):
            executor.wake()

    def _leave(self) -> None:
        self._participant.close()
        _kept.discard(self)

    def destroy(self) -> None:
        """Leave the network."""
        self.try_shutdown()

    def on_shutdown(self, callback: Callable[[], Any]) -> None:
        """Have a callback called at shutdown (not when a signal ends the context, as in rclpy)."""
        if not callable(callback):
            raise TypeError("callback should be a callable, got {}", type(callback))
        with self._lock:
            if not self._valid:
                callback()
            else:
                self._callbacks.append(
                    weakref.WeakMethod(callback, self._forget_callback) if ismethod(callback) else callback
                )

    def _forget_callback(self, dead: Any) -> None:
        if dead in self._callbacks:
            self._callbacks.remove(dead)


_kept: set[Context] = set()  # every context that is on the network


def _leave_at_exit() -> None:
    """Take this process' nodes off the network, or they would be seen as ghosts until their lease ends."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C must not cut this short
    for context in tuple(_kept):
        context._invalidate()
        context._leave()


atexit.register(_leave_at_exit)
