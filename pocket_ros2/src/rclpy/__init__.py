"""The Python client library of ROS 2, here on Eclipse Cyclone DDS's wheel alone."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .context import Context
from .signals import SignalHandlerOptions, install_signal_handlers, uninstall_signal_handlers
from .task import Future
from .utilities import get_default_context
from .utilities import get_rmw_implementation_identifier as get_rmw_implementation_identifier
from .utilities import ok as ok
from .utilities import shutdown as _shutdown
from .utilities import try_shutdown as try_shutdown

if TYPE_CHECKING:
    from .executors import Executor
    from .node import Node

_global_executor: Executor | None = None


def init(
    *,
    args: list[str] | None = None,
    context: Context | None = None,
    domain_id: int | None = None,
    signal_handler_options: SignalHandlerOptions | None = None,
) -> None:
    """Begin to use ROS: read the arguments (default: sys.argv), join the domain, handle SIGINT and SIGTERM.

    Raises RCLError (or UnknownROSArgsError) for arguments and environment variables that are wrong. Signals are
    handled for the default context unless said otherwise.
    """
    context = get_default_context() if context is None else context
    if signal_handler_options is None:
        default = context is get_default_context()
        signal_handler_options = SignalHandlerOptions.ALL if default else SignalHandlerOptions.NO
    context.init(args, domain_id=domain_id)
    install_signal_handlers(signal_handler_options)


def get_global_executor() -> Executor:
    """Return the executor of the spin functions below."""
    global _global_executor
    if _global_executor is None or _global_executor.context is not get_default_context():
        _forget_global_executor()
        from .executors import SingleThreadedExecutor

        executor = _global_executor = SingleThreadedExecutor()

        def reset() -> None:
            global _global_executor
            if _global_executor is not None:
                _global_executor.shutdown(0)
            _global_executor = None

        get_default_context().on_shutdown(reset)  # at once, after a signal
        return executor
    return _global_executor


def shutdown(*, context: Context | None = None, uninstall_handlers: bool | None = None) -> None:
    """Cease to use ROS; RCLError if the context is shut down already, which a signal does too (see try_shutdown)."""
    default = context is None or context is get_default_context()
    try:
        _shutdown(context=context)
    finally:
        if default:
            _forget_global_executor()
    if uninstall_handlers or (uninstall_handlers is None and default):
        uninstall_signal_handlers()


def _forget_global_executor() -> None:
    global _global_executor
    executor, _global_executor = _global_executor, None
    if executor is not None:
        executor.shutdown(0)


_LAZY = {"Parameter": "parameter"}  # it takes a while to import
_SUBMODULES = (
    "callback_groups", "client", "clock", "duration", "exceptions", "executors", "expand_topic_name", "guard_condition",
    "logging", "node", "parameter", "publisher", "qos", "qos_event", "serialization", "service", "subscription", "time",
    "timer", "topic_endpoint_info", "validate_full_topic_name", "validate_namespace", "validate_node_name",
    "validate_parameter_name", "validate_topic_name", "wait_for_message",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def create_node(node_name: str, **kwargs: Any) -> Node:
    """Create a node; the arguments are those of `rclpy.node.Node`."""
    from .node import Node

    return Node(node_name, **kwargs)


def spin_once(node: Node, *, executor: Executor | None = None, timeout_sec: float | None = None) -> None:
    """Run one callback, waiting for it at most so long (None or negative: for ever, 0: not at all)."""
    executor = get_global_executor() if executor is None else executor
    try:
        executor.add_node(node)
        executor.spin_once(timeout_sec=timeout_sec)
    finally:
        executor.remove_node(node)


def spin(node: Node, executor: Executor | None = None) -> None:
    """Run callbacks until shutdown."""
    executor = get_global_executor() if executor is None else executor
    try:
        executor.add_node(node)
        while executor.context.ok():
            executor.spin_once()
    finally:
        executor.remove_node(node)


def spin_until_future_complete(
    node: Node, future: Future, executor: Executor | None = None, timeout_sec: float | None = None
) -> None:
    """Run callbacks until a future is done, at most so long (None or negative: for ever)."""
    executor = get_global_executor() if executor is None else executor
    added = False
    try:
        added = executor.add_node(node)
        executor.spin_until_future_complete(future, timeout_sec)
    finally:
        if added:
            executor.remove_node(node)
