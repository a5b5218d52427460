"""Waits for one message."""

from __future__ import annotations

import time
from typing import Any

from pocket_ros2 import dds

from .qos import QoSProfile


def wait_for_message(
    msg_type: type, node: Any, topic: str, *, qos_profile: QoSProfile | int = 1, time_to_wait: float = -1
) -> tuple[bool, Any]:
    """Return (True, the next message of a topic), or (False, None) after so many seconds (-1: for ever) or shutdown."""
    waitset = dds.Waitset(node.context._participant.domain_handle)
    subscription = node.create_subscription(msg_type, topic, lambda _: None, qos_profile)
    waitset.attach(subscription._condition, 1)
    end = None if time_to_wait < 0 else time.monotonic() + time_to_wait
    try:
        while node.context.ok():
            job = subscription._take_job()
            if job is not None:
                return True, job[1][0]
            left = 0.2 if end is None else min(0.2, end - time.monotonic())
            if left <= 0:
                break
            waitset.wait(int(left * 1e9))
        return False, None
    finally:
        node.destroy_subscription(subscription)
        waitset.close()
