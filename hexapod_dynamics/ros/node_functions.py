"""Functions that all nodes share: parameters of the list, the robot, diagnostics, latched topics, steady timers."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from hexapod_dynamics.errors import ParameterError
from hexapod_dynamics.parameters.spec import ROBOT, Values
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.ros.guarded_node import PublisherCheck
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, ParameterType
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import InvalidTopicNameException, ParameterException
from rclpy.expand_topic_name import expand_topic_name
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from rclpy.validate_full_topic_name import validate_full_topic_name
from rclpy.validate_topic_name import validate_topic_name

if TYPE_CHECKING:
    from builtin_interfaces.msg import Time
    from hexapod_dynamics.parameters.spec import ParameterSpec, Value
    from hexapod_dynamics.ros.guarded_node import GuardedNode
    from rclpy.node import Node
    from rclpy.publisher import Publisher
    from rclpy.timer import Timer

# For commands of joints: a single one must not be lost.
COMMANDS = QoSProfile(depth=20)
# For topics that other programs publish: best effort receives reliable publishers, too.
FOREIGN = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(
    depth=1,
    history=HistoryPolicy.KEEP_LAST,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
STEADY = Clock(clock_type=ClockType.STEADY_TIME)
REAL_TIME = "servos, IMU and simulated robot run in real time"
LEVELS = {
    "ok": DiagnosticStatus.OK,
    "warn": DiagnosticStatus.WARN,
    "error": DiagnosticStatus.ERROR,
    "stale": DiagnosticStatus.STALE,
}


def declare(node: Node, parameter: ParameterSpec, source: object = None) -> Value:
    """Declare a ParameterSpec with its description and, for numbers, its range; return its value.

    source: the origin of a derived default, see ParameterSpec.compute_default. Raises ParameterError, which tells what
    is allowed, for a value of another type, out of the range or not among the choices.
    """
    default, low, high = parameter.compute_default(source), parameter.low, parameter.high
    descriptor = ParameterDescriptor(description=parameter.description, read_only=parameter.read_only)
    if parameter.type == "integer" and low is not None:
        descriptor.integer_range = [IntegerRange(from_value=low, to_value=high, step=0)]
    elif parameter.type == "double" and low is not None:
        descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high, step=0.0)]
    try:
        value = node.declare_parameter(parameter.name, default, descriptor).value
    except ParameterException as error:
        raise ParameterError(
            f"parameter {parameter.name}: {error.args[0]}; allowed: {parameter.describe_allowed(default)}"
        ) from None
    if parameter.choices is not None:
        parameter.check(value)
    return value


def declare_all(node: Node, parameters: Iterable[ParameterSpec], source: object = None) -> Values:
    """Declare several ParameterSpec, see `declare`; return their values."""
    return Values({parameter.name: declare(node, parameter, source) for parameter in parameters})


def steady_timer(node: Node, period: float, callback: Callable[[], object]) -> Timer:
    """Create a timer with a period [s] on the steady clock.

    The timers of a node run on the system clock. If that clock is set back (a Jetson Nano has no clock battery), they
    stop, and with them the reactions to missing commands.
    """
    return node.create_timer(period, callback, clock=STEADY)


def call_in_thread(node: Node, function: Callable[[], object]) -> Future:
    """Return a Future to `await` in a callback of the node: of function(), which another thread calls meanwhile."""
    done = Future()

    def call() -> None:
        try:
            done.set_result(function())
        except Exception as error:  # raised again where the result is awaited
            done.set_exception(error)
        if node.executor is not None:
            node.executor.wake()

    threading.Thread(target=call, name=node.get_name(), daemon=True).start()
    return done


def load_robot(node: Node) -> Robot:
    """Declare the parameter `robot` and load that file; empty: the JetHexa of this package.

    Every node calls this first: it also refuses `use_sim_time`.
    """
    if node.get_parameter("use_sim_time").value:
        raise ParameterError(f"parameter use_sim_time is true: {REAL_TIME}; leave it false")
    # Read-only, because another callback may already have applied a part of a request when a later one refuses it.
    descriptor = ParameterDescriptor(
        type=ParameterType.PARAMETER_BOOL, description=f"stays false: {REAL_TIME}", read_only=True
    )
    node.set_descriptor("use_sim_time", descriptor)
    path = declare_all(node, [ROBOT]).read("robot", str)
    return Robot.load(path) if path else Robot.jethexa()


def stamp_seconds(stamp: Time) -> float:
    """Return a builtin_interfaces/Time in seconds (float; exact to a microsecond until the year 2100)."""
    return stamp.sec + 1e-9 * stamp.nanosec


def make_frame_name(node: Node, name: str) -> str:
    """Return the name of a frame of the robot with the node's namespace: "odom", or "left/odom"."""
    return f"{node.get_namespace().strip('/')}/{name}".lstrip("/")


def check_topic(node: Node, parameter: str, topic: str, later: Sequence[str] = ()) -> None:
    """Raise ParameterError if a parameter's value is not the name of a topic, or that of one which the node has already
    or will have `later`.
    """

    def full(name: str) -> str:
        return expand_topic_name(name, node.get_name(), node.get_namespace())

    try:
        validate_topic_name(topic)
        validate_full_topic_name(full(topic))
    except (InvalidTopicNameException, ValueError, RuntimeError) as error:  # the latter: of expand_topic_name
        reason = str(error).splitlines()[0].removeprefix("Invalid topic name: ").rstrip(":")
        raise ParameterError(f"{parameter}: {topic!r} is no name of a topic: {reason}") from None
    taken = {each.topic_name for each in node.subscriptions} | {each.topic_name for each in node.publishers}
    taken.update(map(node.resolve_topic_name, later))
    if node.resolve_topic_name(topic) in taken:
        raise ParameterError(f"{parameter}: {topic!r} is another topic of this node; choose another name")


def format_value(value: object) -> str:
    """Return a diagnostic value as text: floats with six digits, other values as str()."""
    return f"{value:.6g}" if isinstance(value, float) and math.isfinite(value) else str(value)


def make_status(
    name: str, hardware_id: str, level: str, message: str, values: Mapping[str, object]
) -> DiagnosticStatus:
    """Return a DiagnosticStatus; level: ok, warn, error or stale."""
    status = DiagnosticStatus(name=name, hardware_id=hardware_id, level=LEVELS[level], message=message)
    status.values = [KeyValue(key=key, value=format_value(value)) for key, value in values.items()]
    return status


class OnDemand:
    """A publisher, and whether its topic has subscribers: it asks the middleware five times a second."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher, self._wanted, self._next = publisher, False, 0.0
        self.publish = publisher.publish

    def has_subscribers(self, now: float) -> bool:
        """Return whether there are subscribers at the monotonic time `now` [s]."""
        if now >= self._next:
            self._next = now + 0.2
            self._wanted = self._publisher.get_subscription_count() > 0
        return self._wanted


class Diagnostics:
    """Publishes one status a second on /diagnostics under the name of the node.

    `diagnose` is called each time and returns (level, message, {key: value}); level is one of ok, warn, error,
    stale. Malformed messages of the node's topics are added.
    """

    def __init__(
        self, node: GuardedNode, hardware_id: str, diagnose: Callable[[], tuple[str, str, Mapping[str, object]]]
    ) -> None:
        self._node, self._diagnose = node, diagnose
        self._about = node.get_fully_qualified_name().lstrip("/"), hardware_id
        self._publishers = PublisherCheck(node)
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        if node.loop is None:
            steady_timer(node, 1.0, self.publish)
        else:
            node.loop.call_every(1.0, self.publish)

    def publish(self) -> None:
        """Call `diagnose` and publish its status now."""
        level, message, values = self._node.malformed.report(*self._diagnose())
        unreceived = self._publishers.find_reasons()
        if unreceived:
            level, message = ("warn" if level == "ok" else level), "; ".join([message, *unreceived])
        array = DiagnosticArray(status=[make_status(*self._about, level, message, values)])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)
