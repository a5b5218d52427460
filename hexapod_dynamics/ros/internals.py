"""Parts of rclpy that are not its documented interface: this module alone knows them.

Each is asked for before it is used. Where a version of rclpy lacks it, the public interface does the same more slowly.
"""

try:
    from rclpy._rclpy_pybind11 import RCLError
except ImportError:
    RCLError = RuntimeError  # what it is derived from

__all__ = ["RCLError", "can_wait", "last_publisher", "sender", "take_function"]


def can_wait(executor):
    """Whether an executor hands out the callbacks that are due, without running them."""
    return hasattr(executor, "wait_for_ready_callbacks")


def take_function(subscription):
    """Return a function (type, raw) that takes the next message of a subscription, None: only an executor can."""
    return getattr(subscription.handle, "take_message", None)


def sender(publisher):
    """Return a function that publishes a message given as bytes (cdr.Template).

    It is the one behind `Publisher.publish`, whose context and checks of the type take 15 to 25 us each time.
    """
    return getattr(publisher.handle, "publish_raw", publisher.publish)


def last_publisher(subscription):
    """Return the GUID of who published the last message of a subscription, None: rclpy does not tell."""
    return getattr(subscription.handle, "last_publisher_gid", lambda: None)()
