"""Verbs `ros2 topic` hz, bw and delay: how often, how much and how late."""

import argparse
import math
import sys
from collections import deque

from .graph import direct_arguments, graph_node
from .names import has_topic
from .topic_echo import topic_class


def _positive_int(text):
    value = int(text) if text.isdigit() else 0
    if value <= 0:
        raise argparse.ArgumentTypeError("value must be a positive integer")
    return value


def _window_argument(parser, default):
    parser.add_argument(
        "--window",
        "-w",
        type=_positive_int,
        default=default,
        help=f"Number of messages to average over (default: {default})",
    )


def _statistics(values):
    """Return mean, least, greatest and standard deviation of a sequence."""
    mean = sum(values) / len(values)
    return mean, min(values), max(values), math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))


def _subscribe(node, topic, receive, raw=False):
    """Listen to a topic with a sensor's quality of service, as soon as somebody has the topic."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data

    kind = topic_class(node, topic)
    if kind is None:
        print(f"WARNING: topic [{topic}] does not appear to be published yet")
    while kind is None:
        rclpy.spin_once(node, timeout_sec=0.1)
        kind = topic_class(node, topic)
    node.create_subscription(kind, topic, receive, qos_profile_sensor_data, raw=raw)


def hz_arguments(parser):
    """Declare the options of `ros2 topic hz`."""
    parser.add_argument("topic_name", help="Name of the topic (e.g. '/chatter')")
    _window_argument(parser, 10000)
    parser.add_argument(
        "--filter", dest="filter_expr", metavar="EXPR", help="Python expression of m (the message): count where true"
    )
    parser.add_argument("--wall-time", action="store_true", help="Measure in wall time, not in ROS time")
    direct_arguments(parser)


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
        mean, least, greatest, deviation = (1e-9 * value for value in _statistics(self.intervals))
        rate = 1.0 / mean if mean > 0.0 else 0.0
        return (
            f"average rate: {rate:.3f}\n\tmin: {least:.3f}s max: {greatest:.3f}s "
            f"std dev: {deviation:.5f}s window: {len(self.intervals)}"
        )


def hz_verb(args):
    """Print a topic's rate once a second."""
    import rclpy
    from rclpy.clock import Clock, ClockType

    wanted = eval(f"lambda m: {args.filter_expr}") if args.filter_expr else None
    rate = Rate(args.window)
    with graph_node(args, found=has_topic(args.topic_name)) as node:
        clock = Clock(clock_type=ClockType.SYSTEM_TIME) if args.wall_time else node.get_clock()

        def receive(message):
            if wanted is None or wanted(message):
                rate.add(clock.now().nanoseconds)

        _subscribe(node, args.topic_name, receive, raw=wanted is None)  # decoding is not needed to count
        while rclpy.ok():
            rclpy.spin_once(node)
            text = rate.line()
            if text:
                print(text)


def bw_arguments(parser):
    """Declare the options of `ros2 topic bw`."""
    parser.add_argument("topic", help="Name of the topic")
    _window_argument(parser, 100)
    direct_arguments(parser)


def _scaled(number_of_bytes, reference):
    """Return a number of bytes in the unit that suits `reference`."""
    if reference < 1000:
        return f"{number_of_bytes:.0f} B"
    if reference < 1000000:
        return f"{number_of_bytes / 1000:.2f} KB"
    return f"{number_of_bytes / 1000000:.2f} MB"


def bandwidth_line(samples, now):
    """Return the text about `samples`, pairs of arrival time (ns) and size, at the time `now` (ns)."""
    sizes = [size for _, size in samples]
    rate = sum(sizes) / ((now - samples[0][0]) * 1e-9)
    mean, least, greatest, _ = _statistics(sizes)
    total, mean, least, greatest = (_scaled(value, rate) for value in (rate, mean, least, greatest))
    return f"{total}/s from {len(sizes)} messages\n\tMessage size mean: {mean} min: {least} max: {greatest}"


def bw_verb(args):
    """Print a topic's bandwidth once a second."""
    import rclpy

    samples = deque(maxlen=args.window)
    with graph_node(args, found=has_topic(args.topic)) as node:
        clock = node.get_clock()
        _subscribe(node, args.topic, lambda data: samples.append((clock.now().nanoseconds, len(data))), raw=True)
        print(f"Subscribed to [{args.topic}]")

        def report():
            now = clock.now().nanoseconds
            if len(samples) >= 2 and now <= samples[0][0]:
                print("WARNING: time is reset!", file=sys.stderr)
                samples.clear()
            elif len(samples) >= 2:
                print(bandwidth_line(samples, now))

        node.create_timer(1.0, report)
        rclpy.spin(node)


def delay_arguments(parser):
    """Declare the options of `ros2 topic delay`."""
    parser.add_argument("topic", help="Name of the topic")
    _window_argument(parser, 10000)
    direct_arguments(parser)


def delay_verb(args):
    """Print once a second how old a topic's messages are by their headers."""
    import rclpy
    from rclpy.time import Time

    delays = deque(maxlen=args.window)  # ns
    news = False
    with graph_node(args, found=has_topic(args.topic)) as node:
        clock = node.get_clock()

        def receive(message):
            nonlocal news
            if not hasattr(message, "header"):
                raise RuntimeError("msg does not have header")
            delays.append(clock.now().nanoseconds - Time.from_msg(message.header.stamp).nanoseconds)
            news = True

        def report():
            nonlocal news
            if delays and not news:
                print("no new messages")
            elif delays:
                mean, least, greatest, deviation = (1e-9 * value for value in _statistics(delays))
                print(
                    f"average delay: {mean:.3f}\n\tmin: {least:.3f}s max: {greatest:.3f}s "
                    f"std dev: {deviation:.5f}s window: {len(delays)}"
                )
            news = False

        _subscribe(node, args.topic, receive)
        node.create_timer(1.0, report)
        rclpy.spin(node)
