"""One call of a service from the command line, for `set_morphology` and for a stop that the socket has not answered."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import rclpy
from hexapod_dynamics.process_environment import prepare_for_ros
from rclpy.exceptions import InvalidNamespaceException
from rclpy.node import Node

PERIOD = 0.02  # [s] between two checks for the service, and two calls of `meanwhile`


@contextmanager
def open_calling_node(name: str, namespace: str, args: list[str] | None) -> Iterator[Node]:
    """A context with a node that calls a service; the program ends with 1 for an impossible namespace, with 130 after
    Ctrl-C.
    """
    prepare_for_ros()
    rclpy.init(args=args)
    try:
        node = rclpy.create_node(name, namespace=namespace or None, start_parameter_services=False, enable_rosout=False)
        try:
            yield node
        finally:
            node.destroy_node()
    except InvalidNamespaceException as error:
        sys.exit(f"--namespace {namespace}: {str(error).splitlines()[0]}")
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        rclpy.try_shutdown()


def call_service(
    node: Node,
    kind: type,
    name: str,
    request: object,
    timeout: float,
    hint: str,
    meanwhile: Callable[[], object] = lambda: None,
) -> Any:
    """Return the answer of a service, or what `meanwhile` returns first; without an answer print so and return None.

    timeout [s]: until the service is found, and from then on until it answers. hint: what to do if there is no server.
    """
    client, future = node.create_client(kind, name), None
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        answer = meanwhile()
        if answer is not None:
            return answer
        if future is not None:
            rclpy.spin_until_future_complete(node, future, timeout_sec=PERIOD)
            if future.done():
                return future.result()
        elif client.service_is_ready():
            future = client.call_async(request)
            end = time.monotonic() + timeout
        else:  # rclpy's wait_for_service asks four times a second only, whatever its timeout
            time.sleep(PERIOD)
    late = f"{client.srv_name} did not answer within {timeout} s"
    print(f"no server for {client.srv_name}: {hint}" if future is None else late, file=sys.stderr)
    return None
