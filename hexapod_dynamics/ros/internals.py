"""Parts of rclpy outside its documented interface; only this module uses them.

Each is checked for existence first. If a version of rclpy lacks it, the public interface does the same more
slowly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rclpy.executors import Executor
    from rclpy.publisher import Publisher
    from rclpy.subscription import Subscription

try:
    from rclpy._rclpy_pybind11 import RCLError
except ImportError:
    RCLError = RuntimeError  # its base class

__all__ = ["RCLError", "can_wait", "sender", "message_source"]


def can_wait(executor: Executor) -> bool:
    """Whether an executor can return the callbacks that are due without running them."""
    return hasattr(executor, "wait_for_ready_callbacks")


def message_source(subscription: Subscription) -> Callable[[type, bool], tuple[bytes, object] | None] | None:
    """Return a function (type, raw) that takes the next message of a subscription; None if only an executor can do
    that.
    """
    return getattr(subscription.handle, "take_message", None)


def sender(publisher: Publisher) -> Callable[[bytes], None]:
    """Return a function that publishes a message given as bytes (cdr.Template).

    `Publisher.publish` calls the same function, but its context and type checks take 15 to 25 us each time.
    """
    return getattr(publisher.handle, "publish_raw", publisher.publish)
