"""The logger: levels, and messages that are logged once, not too often, or not the first time."""

from __future__ import annotations

import sys
import time
from types import FrameType
from typing import Any

from pocket_ros2 import log_output

from .logging_severity import LoggingSeverity

_OPTIONS = ("throttle_duration_sec", "throttle_time_source_type", "skip_first", "once")


def _caller() -> FrameType:
    """Return the frame outside of this module that logs."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return frame


class _CallSite:
    """What one logging line of a program has logged so far."""

    def __init__(self, severity: int, name: str, options: dict[str, Any]) -> None:
        self.severity, self.name, self.options = severity, name, options
        self.last = 0
        self.first, self.logged = True, False

    def same(self, severity: int, name: str, options: dict[str, Any]) -> None:
        if severity != self.severity:
            raise ValueError("Logger severity cannot be changed between calls.")
        if name != self.name:
            raise ValueError("Logger name cannot be changed between calls.")
        if options.keys() != self.options.keys():
            raise ValueError("Requested logging filters cannot be changed between calls.")
        if options != self.options:
            raise ValueError("Logging filter parameters cannot be changed between calls.")

    def wants(self) -> bool:
        """Return whether this call is to be logged (throttle, skip_first and once in this order)."""
        options = self.options
        if "throttle_duration_sec" in options:
            clock = options.get("throttle_time_source_type")
            now = time.time_ns() if clock is None else clock.now().nanoseconds
            if now < self.last + options["throttle_duration_sec"] * 1e9:
                return False
            self.last = now
        if "skip_first" in options and self.first:
            self.first = False
            return False
        if "once" in options:
            if self.logged:
                return False
            self.logged = True
        return True


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f'parameter "{name}" is not one of the recognized logging options "{list(_OPTIONS)}"')
    wanted = {name: value for name, value in options.items() if value}
    if "throttle_time_source_type" in wanted:
        if "throttle_duration_sec" not in wanted:
            raise TypeError(
                'required parameter "throttle_duration_sec" not specified '
                'but is required for the the logging filter "throttle"'
            )
        if not hasattr(wanted["throttle_time_source_type"], "now"):
            raise ValueError(
                f'Received throttle_time_source_type of "{wanted["throttle_time_source_type"]}" is not a clock instance'
            )
    return wanted


class RcutilsLogger:
    """A logger of a name; children are named `parent.child`."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._sites: dict[tuple, _CallSite] = {}

    def get_child(self, name: str) -> RcutilsLogger:
        """Return the logger `self.name`.`name`."""
        if not name:
            raise ValueError("Child logger name must not be empty.")
        return RcutilsLogger(f"{self.name}.{name}" if self.name else name)

    def set_level(self, level: LoggingSeverity | int) -> None:
        """Set this logger's level; UNSET makes it its parent's."""
        log_output.levels[self.name] = int(LoggingSeverity(level))

    def get_effective_level(self) -> LoggingSeverity:
        """Return this logger's level, or that of its nearest ancestor that has one."""
        return LoggingSeverity(log_output.effective_level(self.name))

    def is_enabled_for(self, severity: LoggingSeverity | int) -> bool:
        """Return whether messages of this severity are logged."""
        return LoggingSeverity(severity) >= log_output.effective_level(self.name)

    def log(self, message: Any, severity: LoggingSeverity | int, **kwargs: Any) -> bool:
        """Log a message; False if its severity or a filter (throttle_duration_sec, skip_first, once) held it back."""
        severity = int(LoggingSeverity(severity))
        if severity < log_output.effective_level(self.name):
            return False
        frame = _caller()
        name = kwargs.pop("name", self.name)
        if kwargs:
            options = _checked(kwargs)
            key = (frame.f_code, frame.f_lasti)
            site = self._sites.get(key)
            if site is None:
                site = self._sites[key] = _CallSite(severity, name, options)
            site.same(severity, name, options)
            if not site.wants():
                return False
        code = frame.f_code
        log_output.emit(
            log_output.Record(
                severity, name, str(message), code.co_filename, code.co_name, frame.f_lineno, time.time_ns()
            )
        )
        return True

    def debug(self, message: Any, **kwargs: Any) -> bool:
        """Log a message with severity DEBUG; see `log`."""
        return self.log(message, LoggingSeverity.DEBUG, **kwargs)

    def info(self, message: Any, **kwargs: Any) -> bool:
        """Log a message with severity INFO; see `log`."""
        return self.log(message, LoggingSeverity.INFO, **kwargs)

    def warning(self, message: Any, **kwargs: Any) -> bool:
        """Log a message with severity WARN; see `log`."""
        return self.log(message, LoggingSeverity.WARN, **kwargs)

    def warn(self, message: Any, **kwargs: Any) -> bool:
        """Log a message with severity WARN; see `log`."""
        return self.log(message, LoggingSeverity.WARN, **kwargs)

    def error(self, message: Any, **kwargs: Any) -> bool:
        """Log a message with severity ERROR; see `log`."""
        return self.log(message, LoggingSeverity.ERROR, **kwargs)

    def fatal(self, message: Any, **kwargs: Any) -> bool:
        """Log a message with severity FATAL; see `log`."""
        return self.log(message, LoggingSeverity.FATAL, **kwargs)
