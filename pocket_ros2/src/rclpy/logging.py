"""Loggers."""

from __future__ import annotations

from pathlib import Path

from pocket_ros2 import log_output

from .impl.logging_severity import LoggingSeverity as LoggingSeverity
from .impl.rcutils_logger import RcutilsLogger


def get_logger(name: str) -> RcutilsLogger:
    """Return a logger by name; dots make children."""
    if not name:
        raise ValueError("Logger name must not be empty.")
    return RcutilsLogger(name)


def initialize() -> None:
    """Do nothing: logging is ready when rclpy is imported."""


def shutdown() -> None:
    """Forget all logger levels."""
    log_output.reset()


def clear_config() -> None:
    """Forget all logger levels."""
    log_output.reset()


def set_logger_level(name: str, level: LoggingSeverity | int) -> None:
    """Set the level of a logger; UNSET makes it its parent's."""
    log_output.levels[name] = int(LoggingSeverity(level))


def get_logger_effective_level(name: str) -> LoggingSeverity:
    """Return the level of a logger or of its nearest ancestor that has one."""
    return LoggingSeverity(log_output.effective_level(name))


def get_logging_severity_from_string(log_severity: str) -> LoggingSeverity:
    """Return a severity by its name."""
    try:
        return LoggingSeverity[log_severity.upper()]
    except KeyError:
        raise RuntimeError(
            f"severity {log_severity!r} is unknown; there are {', '.join(s.name for s in LoggingSeverity)}"
        ) from None


def get_logging_directory() -> Path:
    """Return where log files go."""
    return log_output.log_directory()
