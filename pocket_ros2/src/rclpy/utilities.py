"""The default context and small helpers."""

from __future__ import annotations

import sys
import threading

from .constants import S_TO_NS
from .context import Context
from .exceptions import RCLError

_default_context: Context | None = None
_lock = threading.Lock()


def get_default_context(*, shutting_down: bool = False) -> Context:
    """Return the context that is used where none is given."""
    global _default_context
    with _lock:
        if _default_context is None:
            _default_context = Context()
        context = _default_context
        if shutting_down:
            _default_context = None
        return context


def remove_ros_args(args: list[str] | None = None) -> list[str]:
    """Return the arguments (default: sys.argv) without the ROS ones."""
    from pocket_ros2 import arguments
    from pocket_ros2.parameter_files import ParameterFileError

    try:
        return arguments.parse(list(sys.argv if args is None else args)).non_ros
    except (arguments.ArgumentError, ParameterFileError) as error:
        raise RCLError(f"failed to parse ROS arguments: {error}") from error


def ok(*, context: Context | None = None) -> bool:
    """Return whether a context is between init and shutdown."""
    return (get_default_context() if context is None else context).ok()


def shutdown(*, context: Context | None = None) -> None:
    """Shut a context down."""
    (get_default_context(shutting_down=True) if context is None else context).shutdown()


def try_shutdown(*, context: Context | None = None) -> None:
    """Shut a context down, unless that has happened already."""
    global _default_context
    if context is not None:
        context.try_shutdown()
        return
    context = get_default_context()
    context.try_shutdown()
    with _lock:
        if not context.ok() and _default_context is context:
            _default_context = None


def get_rmw_implementation_identifier() -> str:
    """Return the middleware whose wire this is."""
    return "rmw_cyclonedds_cpp"


def timeout_sec_to_nsec(timeout_sec: float | None) -> int:
    """Return a timeout in nanoseconds; -1 (for ever) for None or a negative one."""
    return -1 if timeout_sec is None or timeout_sec < 0 else int(float(timeout_sec) * S_TO_NS)
