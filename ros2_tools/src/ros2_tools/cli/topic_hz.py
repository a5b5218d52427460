"""Verb `ros2 topic hz`: how often a topic is published."""

import argparse
import math
from collections import deque

from .graph import direct_arguments, graph_node
from .names import has_topic
from .topic_echo import topic_class


def _positive_int(text):
    value = int(text) if text.isdigit() else 0
    if value <= 0:
        raise argparse.ArgumentTypeError("value must be a positive integer")
    return value


def hz_arguments(parser):
    """Declare the options of `ros2 topic hz`."""
    parser.add_argument("topic_name", help="Name of the topic (e.g. '/chatter')")
    parser.add_argument(
        "--window",
        "-w",
        type=_positive_int,
        default=10000,
        help="Number of messages to average over (default: 10000)",
    )
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
        seconds = [1e-9 * interval for interval in self.intervals]
        mean, least, greatest = sum(seconds) / len(seconds), min(seconds), max(seconds)
        deviation = math.sqrt(sum((each - mean) ** 2 for each in seconds) / len(seconds))
        rate = 1.0 / mean if mean > 0.0 else 0.0
        return (
            f"average rate: {rate:.3f}\n\tmin: {least:.3f}s max: {greatest:.3f}s "
            f"std dev: {deviation:.5f}s window: {len(self.intervals)}"
        )


def hz_verb(args):
    """Print a topic's rate once a second."""
    import rclpy
    from rclpy.clock import Clock, ClockType
    from rclpy.qos import qos_profile_sensor_data

    wanted = eval(f"lambda m: {args.filter_expr}") if args.filter_expr else None
    rate = Rate(args.window)
    with graph_node(args, found=has_topic(args.topic_name)) as node:
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
            text = rate.line()
            if text:
                print(text)
