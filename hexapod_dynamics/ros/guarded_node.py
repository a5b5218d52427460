"""A node that no request and no message can end: if a callback raises, the request is refused or the message
ignored, counted and reported on /diagnostics, messages with their publisher, requests with their service.

rclpy ends the process when the callback of a service or a subscription raises. Its own parameter services raise
for a parameter of a type that ROS does not have, so that any program can end a node by one request. Here every
callback is guarded, including those of rclpy's parameter services, because rclpy creates them with
`Node.create_service`. A device that fails while a message is processed still ends the node, which is then started
again, because only this helps.

Each program that reaches a topic can publish bytes that are no message, for example one of another ROS 2 release, or a
malicious one. Publishers whose messages never arrive, because of another type or a QoS that does not match, are named,
too.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from hexapod_dynamics.errors import DeviceError, HexapodError, shorten, suggest
from hexapod_dynamics.ros.tick_loop import HandingPublisher, TickLoop, find_queues
from rcl_interfaces.msg import ParameterType, SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message

if TYPE_CHECKING:
    from hexapod_dynamics.ros.crash_recovery import SessionState
    from rclpy.publisher import Publisher
    from rclpy.service import Service
    from rclpy.subscription import Subscription
    from rclpy.topic_endpoint_info import TopicEndpointInfo

# Exceptions of `read_message` for bytes that are no message of the type: of rclpy (RuntimeError: RMWError;
# MemoryError: a length beyond the memory).
MALFORMED = (ValueError, RuntimeError, MemoryError)
UNKNOWN = "_NODE_NAME_UNKNOWN_"  # as rclpy names the node of an endpoint that none has announced
# Types of topics of which one source is right: an IMU, and the declared damage.
OF_ONE = ("sensor_msgs/msg/Imu", "rcl_interfaces/msg/ParameterEvent")
ASKED_EVERY = 1.0  # [s] at least between two queries for publishers, because one takes a millisecond


class ServiceType(Protocol):
    """A type of services, as std_srvs/Trigger."""

    __name__: str
    Request: type
    Response: type


def read_message(data: bytes, kind: type) -> object:
    """Return the message in some bytes; raise one of MALFORMED if they are not a message of this type.

    The encapsulation is checked here: rmw_cyclonedds of Humble treats everything except little-endian CDR (such as
    PL_CDR, XCDR2) as big-endian CDR, and reads beyond the end of messages of less than four bytes.
    """
    # Four bytes of encapsulation, of which the first two are the encoding (OMG DDSI-RTPS 10.2): little or big endian.
    if len(data) < 4 or data[:2] not in (b"\x00\x01", b"\x00\x00"):
        raise ValueError(
            f"the data of a {kind.__name__} begins with {data[:4].hex() or 'nothing'}; 0001 or 0000 (CDR) is needed"
        )
    return deserialize_message(data, kind)


class MalformedMessages:
    """Counts what a node ignores and refuses: messages by topic and publisher, requests by service."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._counts: Counter[str] = Counter()
        self._names: dict[str, tuple[float, str]] = {}  # {topic: (monotonic time [s] of the next query, publishers)}
        self._last, self._what = -math.inf, ""

    def count(self, subscription: Subscription, error: Exception | str) -> None:
        """Count one message; error: the exception raised when it was read."""
        topic, now = subscription.topic_name, time.monotonic()
        if now >= self._names.get(topic, (0.0, ""))[0]:  # rclpy does not tell which publisher sent a message
            names = sorted(set(publishers(self._node, topic)))
            who = f"one of {', '.join(names)}" if len(names) > 1 else (names or ["an unknown publisher"])[0]
            self._names[topic] = now + ASKED_EVERY, who
        what = f"malformed messages on {topic} from {self._names[topic][1]}"
        if what not in self._counts and len(self._counts) >= 32:
            what = f"malformed messages on {topic} from further publishers"
        self._node.get_logger().warning(self._add(what, "ignored", error), throttle_duration_sec=5.0)

    def count_request(self, service: str, error: Exception | str) -> None:
        """Count a request to a service; error: why it is refused or cannot be read."""
        text = self._add(f"malformed requests to {service}", "refused", error)
        self._node.get_logger().warning(text, throttle_duration_sec=5.0)

    def _add(self, what: str, done: str, error: Exception | str) -> str:
        self._counts[what] += 1
        self._last, self._what = time.monotonic(), f"{what} are {done}"
        return f"{self._what}: {shorten(str(error))}"

    @property
    def recent(self) -> str:
        """Return what was ignored or refused in the last seconds; empty if nothing was."""
        return self._what if time.monotonic() - self._last < 5.0 else ""

    def report(self, level: str, message: str, values: Mapping[str, object]) -> tuple[str, str, Mapping[str, object]]:
        """Add the malformed messages and requests to a diagnostic status and return it; it is at least a warning
        while they arrive.
        """
        if self.recent:
            level, message = "warn" if level == "ok" else level, f"{message}; {self.recent}"
        return level, message, {**values, **self._counts}


def publishers(node: Node, topic: str) -> list[str]:
    """Return the full names of the nodes of all publishers of a topic, a name for each publisher."""
    return sorted(_named(info) for info in node.get_publishers_info_by_topic(topic))


def name_sources(infos: Iterable[TopicEndpointInfo]) -> list[str]:
    """Return the full names of the nodes of some publishers, each once; without those that no node has announced."""
    return sorted({_named(info) for info in infos if info.node_name != UNKNOWN})


def _named(info: TopicEndpointInfo) -> str:
    """Return the full name of an endpoint's node, or its GUID where no node has announced it."""
    if info.node_name == UNKNOWN:
        return f"GUID {bytes(info.endpoint_gid[:16]).hex()}, no ROS node"
    return f"{info.node_namespace.rstrip('/')}/{info.node_name}"[:100]  # a name may be of any length


def type_name(kind: type) -> str:
    """Return the name of a message type as in the graph: geometry_msgs/msg/Twist."""
    return f"{kind.__module__.partition('.')[0]}/msg/{kind.__name__}"


class PublisherCheck:
    """Checks the publishers of a node's subscriptions, one topic at a time, for those that cannot be received."""

    def __init__(self, node: GuardedNode) -> None:
        self._node = node
        self._next, self._turn = 0.0, 0
        self._found: dict[str, str] = {}  # {topic: reason}

    def find_reasons(self) -> list[str]:
        """Return why publishers of subscribed topics are not received, as texts; checks the next topic."""
        now, subscriptions = time.monotonic(), list(self._node.subscriptions)
        if now >= self._next and subscriptions:
            self._next, self._turn = now + ASKED_EVERY, (self._turn + 1) % len(subscriptions)
            subscription = subscriptions[self._turn]
            self._found[subscription.topic_name] = self._check(subscription)
            self._found = {s.topic_name: self._found.get(s.topic_name, "") for s in subscriptions}
        return [reason for reason in self._found.values() if reason]

    def _check(self, subscription: Subscription) -> str:
        topic, wanted = subscription.topic_name, type_name(cast("type", subscription.msg_type))
        infos = self._node.get_publishers_info_by_topic(topic)
        if wanted in OF_ONE and len(sources := name_sources(infos)) > 1:
            return f"{topic} has {len(sources)} publishers, {', '.join(sources)}: end all but one"
        for info in infos:
            who = f"{topic}: {_named(info)}"
            if info.topic_type != wanted and (topic, info.topic_type) not in self._node.received:
                return f"{who} publishes {info.topic_type}, which is not received; {wanted} is"
            asked, offered = subscription.qos_profile, info.qos_profile
            if (asked.reliability, offered.reliability) == (ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT):
                return f"{who} publishes best effort (sensor-data QoS), which is not received here; make it reliable"
            if (asked.durability, offered.durability) == (DurabilityPolicy.TRANSIENT_LOCAL, DurabilityPolicy.VOLATILE):
                return f"{who} publishes volatile, which is not received here; make it transient local (latched)"
        return ""


class GuardedNode(Node):
    """A node whose services answer with a refusal, and whose subscriptions continue, if a callback raises.

    malformed: counts what is refused or ignored. session_state: what the node restores after a crash, None if it stores
    nothing. loop: its TickLoop, None if it has only timers.
    received: further types of topics (full name, name of the type) that another node of this process receives for it.
    ending: ends what the node has started beside its callbacks, the last first, also if one of them raises or the
    constructor has failed; whoever starts something registers its end at once.
    """

    session_state: SessionState | None = None
    loop: TickLoop | None = None

    def __init__(self, node_name: str, **options: Any) -> None:
        self.malformed = MalformedMessages(self)  # first, because Node creates services
        self.received: set[tuple[str, str]] = set()
        super().__init__(node_name, **options)
        self.ending = contextlib.ExitStack()

    def create_service(
        self, srv_type: ServiceType, srv_name: str, callback: Callable[..., object], **more: Any
    ) -> Service:
        """Create a service as Node does; the callback may raise, or return something that is not a response.

        A HexapodError is the reason of a refusal; anything else that is raised is counted as a malformed request.
        """

        async def answer(request: object, response: object) -> object:
            try:
                check_parameters(request)
                answered = callback(request, response)
                if inspect.isawaitable(answered):
                    answered = await answered
                if not isinstance(answered, srv_type.Response):
                    raise TypeError(f"the callback returned {answered!r}, which is no {srv_type.__name__}.Response")
                return answered
            except HexapodError as error:  # what is asked for is impossible: the request itself is in order
                self.get_logger().info(f"{srv_name} is refused: {shorten(str(error))}", throttle_duration_sec=5.0)
                return make_refusal_response(srv_type, str(error))
            except Exception as error:
                return self._refuse(srv_type, srv_name, error)

        async def answer_each(request: SetParameters.Request, response: SetParameters.Response) -> object:
            # Set the parameters one at a time, as rclpy does: a refused one does not affect the others.
            for parameter in request.parameters:
                if not self.has_parameter(parameter.name):  # the reason that rclpy gives is an empty list
                    name, names = shorten(parameter.name), self.get_parameters_by_prefix("")
                    reason = f"{name}: {self.get_name()} has no such parameter; {suggest(name, names)}"
                    response.results.append(SetParametersResult(successful=False, reason=reason))
                    continue
                one = SetParameters.Request(parameters=[parameter])
                answered: SetParameters.Response = await answer(one, SetParameters.Response())
                response.results.extend(answered.results)
            return response

        each = srv_type is SetParameters
        return super().create_service(srv_type, srv_name, answer_each if each else answer, **more)

    def _refuse(self, srv_type: ServiceType, srv_name: str, error: Exception) -> object:
        """Return a response that refuses; the present exception is counted and logged."""
        if not self.context.ok():
            raise error
        self.malformed.count_request(self.resolve_service_name(srv_name), describe_error(error))
        log_defect(self, error, f"a request to {srv_name}")
        return make_refusal_response(srv_type, f"refused: {describe_error(error)}")

    def create_publisher(self, msg_type: type, topic: str, qos_profile: QoSProfile | int, **more: Any) -> Publisher:
        """Create a publisher as Node does; unless it is latched, it hands its messages over (tick_loop)."""
        if isinstance(qos_profile, QoSProfile) and qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL:
            return super().create_publisher(msg_type, topic, qos_profile, **more)
        publisher = super().create_publisher(msg_type, topic, qos_profile, publisher_class=HandingPublisher, **more)
        cast("HandingPublisher", publisher).queues = find_queues(self.context, publisher)
        return publisher

    def destroy_subscription(self, subscription: Subscription) -> bool:
        """Destroy a subscription as Node does; nothing is handed over to it any more."""
        find_queues(self.context, subscription).pop(subscription, None)
        return super().destroy_subscription(subscription)

    def create_subscription(
        self, msg_type: type, topic: str, callback: Callable[..., object], qos_profile: QoSProfile | int, **more: Any
    ) -> Subscription:
        """Create a subscription as Node does; bytes that are no message of the type, and a message for which the
        callback raises, are ignored and counted.
        """
        malformed = self.malformed

        def accept(data: bytes | object) -> None:
            try:  # a message that was handed over has never been bytes
                message = read_message(data, msg_type) if isinstance(data, bytes) else data
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
                malformed.count(subscription, describe_error(error))
                log_defect(self, error, f"a message on {topic}")

        # rclpy's executor drops what it cannot read, without a word.
        subscription = super().create_subscription(msg_type, topic, accept, qos_profile, raw=True, **more)
        return subscription


def check_parameters(request: object) -> None:
    """Raise ValueError for a parameter of a type that ROS does not have; a request without parameters passes."""
    last = ParameterType.PARAMETER_STRING_ARRAY  # the highest type; 0 is PARAMETER_NOT_SET
    for parameter in getattr(request, "parameters", ()):
        if parameter.value.type > last:
            raise ValueError(
                f"parameter {parameter.name[:60]!r} is of type {parameter.value.type}; allowed are 0 to {last}"
            )


def make_refusal_response(srv_type: ServiceType, reason: str) -> object:
    """Return a response of a service that refuses a request; an empty one if the type has no field for a reason."""
    response, result = srv_type.Response(), SetParametersResult(successful=False, reason=reason)
    if srv_type is SetParameters:
        response.results.append(result)
    elif hasattr(response, "success"):
        response.success, response.message = False, reason
    elif hasattr(response, "result") and hasattr(response.result, "successful"):
        response.result = result
    return response


def describe_error(error: Exception) -> str:
    """Return an exception in one line: its type, unless it is a ValueError, and its text."""
    text = str(error) or type(error).__name__
    return shorten(text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}")


def log_defect(node: Node, error: Exception, occasion: str) -> None:
    """Log the origin of an exception that is not a refusal (ValueError), because it shows a defect of the node."""
    if not isinstance(error, ValueError):
        details = "".join(traceback.format_exception(error))
        node.get_logger().error(f"{occasion} failed: {details}", throttle_duration_sec=5.0)
