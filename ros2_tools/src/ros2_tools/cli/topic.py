"""Verbs `ros2 topic` info, echo and hz."""

import sys
from collections import deque
from operator import attrgetter
from statistics import fmean

from .graph import DIRECT, STRATEGY, graph_node, has_topic, with_node
from .messages import Printer, is_message, message_class
from .names import found_names
from .qos import chosen_profile, fitting_profile, qos_arguments
from .verbs import arg, flag, number, verb

TRUNCATE_LENGTH, WINDOW = 128, 10000  # as the real command
LENGTH = number(int, "int", lambda value: value >= 0, "value must be non-negative integer")
POSITIVE = number(int, "int", lambda value: value > 0, "value must be a positive integer")
AS_PUBLISHERS = "as the publishers have it"


@verb(
    "topic info",
    arg("topic_name", help="Name of the topic (e.g. '/chatter')"),
    flag("--verbose", "-v", help="Print node, type, GUID and QoS of every publisher and subscription"),
)
@with_node(has_topic)
def info(args, node):
    """Print information about a topic."""
    name = args.topic_name
    types = dict(found_names("topic", node)).get(name)
    if types is None:
        return f"Unknown topic '{name}'"
    end = "\n\n" if args.verbose else "\n"
    print(f"Type: {types[0] if len(types) == 1 else types}", end=end)
    for title, count, details in (
        ("Publisher", node.count_publishers, node.get_publishers_info_by_topic),
        ("Subscription", node.count_subscribers, node.get_subscriptions_info_by_topic),
    ):
        print(f"{title} count: {count(name)}", end=end)
        for endpoint in details(name) if args.verbose else ():
            print(endpoint, end=end)
    return None


def topic_class(node, topic):
    """Return the message class of a topic, or None where nobody has it; RuntimeError for an impossible name or type."""
    from rclpy.expand_topic_name import expand_topic_name
    from rclpy.validate_full_topic_name import validate_full_topic_name

    try:
        full_name = expand_topic_name(topic, node.get_name(), node.get_namespace())
        validate_full_topic_name(full_name)
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    types = dict(found_names("topic", node)).get(full_name)
    if types is None:
        return None
    if len(types) > 1:
        raise RuntimeError(f"Cannot echo topic '{topic}', as it contains more than one type: [{', '.join(types)}]")
    return message_class(types[0], f"The message type '{types[0]}' is invalid")


def _picker(path):
    """Return a function that gives a message's field at a dotted path (None: the message itself)."""
    if path is None:
        return lambda message: message
    fields = ".".join(part for part in path.split(".") if part)
    if not fields:
        raise RuntimeError(f"Invalid field value '{path}'")

    def pick(message):
        try:
            return attrgetter(fields)(message)
        except AttributeError as error:
            raise RuntimeError(f"Invalid field '{fields}': {error}") from None

    return pick


@verb(
    "topic echo",
    *STRATEGY,
    arg("topic_name", help="Name of the topic to listen to (e.g. '/chatter')"),
    arg("message_type", nargs="?", help="Type of the messages (e.g. 'std_msgs/msg/String')"),
    *qos_arguments("subscribe", AS_PUBLISHERS, AS_PUBLISHERS),
    flag("--csv", help="Print all values separated by commas"),
    arg("--field", help="Print only this field; '.' goes down (e.g. pose.pose.position)"),
    flag("--full-length", "-f", help="Print arrays, bytes and strings in full"),
    arg("--truncate-length", "-l", type=LENGTH, default=TRUNCATE_LENGTH, help="Length to cut arrays and strings to"),
    flag("--no-arr", help="Don't print array fields"),
    flag("--no-str", help="Don't print string fields"),
    flag("--flow-style", help="Print arrays in one line (not with --csv)"),
    flag("--lost-messages", help="DEPRECATED: Does nothing"),
    flag("--no-lost-messages", help="Accepted: losses are never reported here"),
    flag("--raw", help="Print the bytes as they came"),
    arg("--filter", dest="filter_expr", help="Python expression of m (the message): print where true"),
    flag("--once", help="Print the first message and exit"),
)
def echo(args):
    """Output messages from a topic."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data
    from rclpy.task import Future

    if args.lost_messages:
        print("WARNING: '--lost-messages' is deprecated; it does nothing", file=sys.stderr)
    pick = _picker(args.field)
    printer = Printer(None if args.full_length else args.truncate_length, args.no_arr, args.no_str, args.flow_style)
    wanted = eval(f"lambda m: {args.filter_expr}") if args.filter_expr else lambda m: True
    first = Future()

    def show(message):
        value = pick(message)
        if not wanted(value) or (args.once and first.done()):
            return
        if args.csv:
            print(printer.csv(value) if is_message(value) else value)
        else:
            print(printer.yaml(value) if is_message(value) else f"{value}\n", end="---\n")
        first.set_result(True)

    topic = args.topic_name
    with graph_node(args, has_topic) as node:
        kind = topic_class(node, topic) if args.message_type is None else message_class(args.message_type)
        if kind is None:
            print(f"WARNING: topic [{topic}] does not appear to be published yet")
            raise RuntimeError("Could not determine the type for the passed topic")
        asked_for = any(value is not None for key, value in vars(args).items() if key.startswith("qos_"))
        fitting = qos_profile_sensor_data if asked_for else fitting_profile(node.get_publishers_info_by_topic(topic))
        node.create_subscription(kind, topic, show, chosen_profile(args, fitting), raw=args.raw)
        if args.once:
            rclpy.spin_until_future_complete(node, first)
        else:
            rclpy.spin(node)


class Rate:
    """Intervals between messages, and once a second the line about them."""

    def __init__(self, window):
        self.intervals = deque(maxlen=window)  # ns
        self.latest = self.printed = None  # ns

    def add(self, now):
        """Count a message that came at `now` (ns); 0 or a step back means that time began anew."""
        if now == 0 or (self.latest is not None and now < self.latest):
            if self.intervals:
                print("time has reset, resetting counters")
            self.intervals.clear()
            self.latest = self.printed = now or None
            return
        if self.latest is not None:
            self.intervals.append(now - self.latest)
        self.latest = now

    def line(self):
        """Return the text that is due, or None: the first is due a second after the first interval."""
        if not self.intervals:
            return None
        if self.printed is None:
            self.printed = self.latest
        if self.latest < self.printed + 1e9:
            return None
        self.printed = self.latest
        seconds = [1e-9 * interval for interval in self.intervals]
        mean = fmean(seconds)
        deviation = fmean((each - mean) ** 2 for each in seconds) ** 0.5
        return (
            f"average rate: {1.0 / mean if mean > 0.0 else 0.0:.3f}\n\tmin: {min(seconds):.3f}s "
            f"max: {max(seconds):.3f}s std dev: {deviation:.5f}s window: {len(seconds)}"
        )


@verb(
    "topic hz",
    arg("topic_name", help="Name of the topic (e.g. '/chatter')"),
    arg("--window", "-w", type=POSITIVE, default=WINDOW, help=f"Messages to average over (default: {WINDOW})"),
    arg("--filter", dest="filter_expr", metavar="EXPR", help="Python expression of m (the message): count where true"),
    flag("--wall-time", help="Measure in wall time, not in ROS time"),
)
@with_node(has_topic, DIRECT)
def hz(args, node):
    """Print the average publishing rate to screen."""
    import rclpy
    from rclpy.clock import Clock, ClockType
    from rclpy.qos import qos_profile_sensor_data

    wanted = eval(f"lambda m: {args.filter_expr}") if args.filter_expr else None
    rate = Rate(args.window)
    clock = Clock(clock_type=ClockType.SYSTEM_TIME) if args.wall_time else node.get_clock()

    def receive(message):
        if wanted is None or wanted(message):
            rate.add(clock.now().nanoseconds)

    kind = topic_class(node, args.topic_name)
    if kind is None:
        print(f"WARNING: topic [{args.topic_name}] does not appear to be published yet")
    while kind is None:
        rclpy.spin_once(node, timeout_sec=0.1)
        kind = topic_class(node, args.topic_name)
    raw = wanted is None  # decoding is not needed to count
    node.create_subscription(kind, args.topic_name, receive, qos_profile_sensor_data, raw=raw)
    while rclpy.ok():
        rclpy.spin_once(node)
        if text := rate.line():
            print(text)
