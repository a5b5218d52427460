"""Loggers."""

from __future__ import annotations

from pocket_ros2 import log_output

from .impl.logging_severity import LoggingSeverity as LoggingSeverity
from .impl.rcutils_logger import RcutilsLogger


def get_logger(name: str) -> RcutilsLogger:
    """Return a logger by name; dots make children."""
    if not name:
        raise ValueError("Logger name must not be empty.")
    return RcutilsLogger(name)


def shutdown() -> None:
    """Forget all logger levels."""
    log_output.reset()


def get_logging_severity_from_string(log_severity: str) -> LoggingSeverity:
    """Return a severity by its name."""
    try:
        return LoggingSeverity[log_severity.upper()]
    except KeyError:
        raise RuntimeError(
            f"severity {log_severity!r} is unknown; there are {', '.join(s.name for s in LoggingSeverity)}"
        ) from None
