"""A node that no request and no message can end: if a callback raises, the request is refused or the message
ignored, counted and reported.

rclpy ends the process when the callback of a service or a subscription raises. Its own parameter services raise
for a parameter of a type that ROS does not have, so that any program can end a node by one request. Here every
callback is guarded, including those of rclpy's parameter services, because rclpy creates them with
`Node.create_service`. A device that fails while a message is processed still ends the node, which is then started
again, because only this helps.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.ros.malformed import MALFORMED, MalformedMessages, read_message, shortened
from rcl_interfaces.msg import ParameterType, SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node

if TYPE_CHECKING:
    from rclpy.qos import QoSProfile
    from rclpy.service import Service
    from rclpy.subscription import Subscription

LAST_TYPE = ParameterType.PARAMETER_STRING_ARRAY  # highest type of a parameter; 0 is PARAMETER_NOT_SET


class GuardedNode(Node):
    """A node whose services answer with a refusal, and whose subscriptions continue, if a callback raises.

    malformed: counts what is refused or ignored.
    """

    def __init__(self, node_name: str) -> None:
        self.malformed = MalformedMessages(self)  # first, because Node creates services
        super().__init__(node_name)

    def create_service(self, srv_type: type, srv_name: str, callback: Callable[..., object], **more: object) -> Service:
        """Create a service as Node does; the callback may raise, or return something that is not a response."""

        def call(request: object, response: object) -> object:
            try:
                check_parameters(request)
                return checked(srv_type, callback(request, response))
            except Exception as error:
                return self._refuse(srv_type, srv_name, error)

        async def call_and_wait(request: object, response: object) -> object:
            try:
                check_parameters(request)
                return checked(srv_type, await callback(request, response))
            except Exception as error:
                return self._refuse(srv_type, srv_name, error)

        def call_one_by_one(request: SetParameters.Request, response: SetParameters.Response) -> SetParameters.Response:
            # Set the parameters one at a time, as rclpy does: a refused one does not affect the others.
            for parameter in request.parameters:
                one = SetParameters.Request(parameters=[parameter])
                response.results.extend(call(one, SetParameters.Response()).results)
            return response

        answer = call_one_by_one if srv_type is SetParameters else call
        if inspect.iscoroutinefunction(callback):
            answer = call_and_wait
        return super().create_service(srv_type, srv_name, answer, **more)

    def _refuse(self, srv_type: type, srv_name: str, error: Exception) -> object:
        """Return a response that refuses; the present exception is counted and logged."""
        if not self.context.ok():
            raise error
        self.malformed.count_request(self.resolve_service_name(srv_name), described(error))
        log_defect(self, error, f"a request to {srv_name}")
        return refusal(srv_type, f"refused: {described(error)}")

    def create_subscription(
        self, msg_type: type, topic: str, callback: Callable[..., object], qos_profile: QoSProfile | int, **more: object
    ) -> Subscription:
        """Create a subscription as Node does; bytes that are no message of the type, and a message for which the
        callback raises, are ignored and counted.
        """
        malformed = self.malformed

        def accept(data: bytes) -> None:
            try:
                message = read_message(data, msg_type)
            except MALFORMED as error:
                malformed.count(subscription, error)
                return
            try:
                callback(message)
            except (DeviceError, OSError):
                raise
            except Exception as error:
                if not self.context.ok():
                    raise
                malformed.count(subscription, described(error))
                log_defect(self, error, f"a message on {topic}")

        more["raw"] = True  # rclpy's executor drops what it cannot read, without a word
        subscription = super().create_subscription(msg_type, topic, accept, qos_profile, **more)
        return subscription


def checked(srv_type: type, response: object) -> object:
    """Return what a callback returned; raise TypeError if it is no response of the service."""
    if not isinstance(response, srv_type.Response):
        raise TypeError(f"the callback returned {response!r}, which is no {srv_type.__name__}.Response")
    return response


def check_parameters(request: object) -> None:
    """Raise ValueError for a parameter of a type that ROS does not have; a request without parameters passes."""
    for parameter in getattr(request, "parameters", ()):
        if parameter.value.type > LAST_TYPE:
            raise ValueError(
                f"parameter {parameter.name[:60]!r} is of type {parameter.value.type}; allowed are 0 to {LAST_TYPE}"
            )


def refusal(srv_type: type, reason: str) -> object:
    """Return a response of a service that refuses a request; an empty one if the type has no field for a reason."""
    response = srv_type.Response()
    if srv_type is SetParameters:
        response.results.append(_result(reason))
    elif hasattr(response, "success"):
        response.success, response.message = False, reason
    elif hasattr(response, "result") and hasattr(response.result, "successful"):
        response.result = _result(reason)
    return response


def _result(reason: str) -> SetParametersResult:
    return SetParametersResult(successful=False, reason=reason)


def described(error: Exception) -> str:
    """Return an exception in one line: its type, unless it is a ValueError, and its text."""
    text = str(error) or type(error).__name__
    return shortened(text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}")


def log_defect(node: Node, error: Exception, occasion: str) -> None:
    """Log the origin of an exception that is not a refusal (ValueError), because it shows a defect of the node."""
    if not isinstance(error, ValueError):
        details = "".join(traceback.format_exception(error))
        node.get_logger().error(f"{occasion} failed: {details}", throttle_duration_sec=5.0)
