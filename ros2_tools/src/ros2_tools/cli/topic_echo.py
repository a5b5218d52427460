"""Verb `ros2 topic echo`: print what is published on a topic."""

import argparse
import sys

from .graph import graph_node, strategy_arguments
from .interfaces import is_message, message_class
from .names import has_topic, topics
from .qos import asked_for, override, preset, qos_arguments
from .text import Printer

TRUNCATE_LENGTH = 128


def _non_negative(text):
    value = int(text) if text.isdigit() else -1
    if value < 0:
        raise argparse.ArgumentTypeError("value must be non-negative integer")
    return value


def echo_arguments(parser):
    """Declare the options of `ros2 topic echo`."""
    strategy_arguments(parser)
    parser.add_argument("topic_name", help="Name of the topic to listen to (e.g. '/chatter')")
    parser.add_argument("message_type", nargs="?", help="Type of the messages (e.g. 'std_msgs/msg/String')")
    qos_arguments(
        parser,
        "subscribe",
        {"history": "keep_last", "reliability": "as the publishers have it", "durability": "as the publishers have it"},
    )
    parser.add_argument("--csv", action="store_true", help="Print all values separated by commas")
    parser.add_argument("--field", help="Print only this field; '.' goes down (e.g. pose.pose.position)")
    parser.add_argument("--full-length", "-f", action="store_true", help="Print arrays, bytes and strings in full")
    parser.add_argument(
        "--truncate-length",
        "-l",
        type=_non_negative,
        default=TRUNCATE_LENGTH,
        help=f"Length to cut arrays, bytes and strings to (default: {TRUNCATE_LENGTH})",
    )
    parser.add_argument("--no-arr", action="store_true", help="Don't print array fields")
    parser.add_argument("--no-str", action="store_true", help="Don't print string fields")
    parser.add_argument("--flow-style", action="store_true", help="Print arrays in one line (not with --csv)")
    parser.add_argument("--lost-messages", action="store_true", help="DEPRECATED: Does nothing")
    parser.add_argument("--no-lost-messages", action="store_true", help="Accepted: losses are never reported here")
    parser.add_argument("--raw", action="store_true", help="Print the bytes as they came")
    parser.add_argument("--filter", dest="filter_expr", help="Python expression of m (the message): print where true")
    parser.add_argument("--once", action="store_true", help="Print the first message and exit")


def _agreed(kind, infos, policy, strict, loose):
    """Return `strict` if every publisher offers it, else `loose` (with a word about it if some do)."""
    offering = sum(getattr(info.qos_profile, policy) == strict for info in infos)
    if offering == len(infos):
        return strict
    if offering:
        print(
            f"Some, but not all, publishers are offering {kind}.{strict.name}. "
            f"Falling back to {kind}.{loose.name} as it will connect to all publishers"
        )
    return loose


def subscription_qos(node, args):
    """Return the quality of service to listen with: as the options say, else one that fits the publishers."""
    if asked_for(args):
        return override(preset(args.qos_profile or "sensor_data"), args)
    profile = preset("sensor_data")
    infos = node.get_publishers_info_by_topic(args.topic_name)
    if infos:
        from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

        profile.reliability = _agreed(
            "QoSReliabilityPolicy", infos, "reliability", ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT
        )
        profile.durability = _agreed(
            "QoSDurabilityPolicy", infos, "durability", DurabilityPolicy.TRANSIENT_LOCAL, DurabilityPolicy.VOLATILE
        )
    return profile


def topic_class(node, topic):
    """Return the message class of a topic, or None where nobody has it; RuntimeError for an impossible name or type."""
    from rclpy.expand_topic_name import expand_topic_name
    from rclpy.validate_full_topic_name import validate_full_topic_name

    try:
        full_name = expand_topic_name(topic, node.get_name(), node.get_namespace())
        validate_full_topic_name(full_name)
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    types = dict(topics(node, include_hidden=True)).get(full_name)
    if types is None:
        return None
    if len(types) > 1:
        raise RuntimeError(f"Cannot echo topic '{topic}', as it contains more than one type: [{', '.join(types)}]")
    return message_class(types[0], f"The message type '{types[0]}' is invalid")


def _chosen_class(node, args):
    if args.message_type is not None:
        return message_class(args.message_type)
    found = topic_class(node, args.topic_name)
    if found is None:
        print(f"WARNING: topic [{args.topic_name}] does not appear to be published yet")
        raise RuntimeError("Could not determine the type for the passed topic")
    return found


def _picker(path):
    """Return a function that gives a message's field at a dotted path (None: the message itself)."""
    fields = [part for part in path.split(".") if part] if path is not None else []
    if path is not None and not fields:
        raise RuntimeError(f"Invalid field value '{path}'")

    def pick(message):
        for field in fields:
            try:
                message = getattr(message, field)
            except AttributeError as error:
                raise RuntimeError(f"Invalid field '{'.'.join(fields)}': {error}") from None
        return message

    return pick


def echo_verb(args):
    """Print messages until interrupted, or one with --once."""
    import rclpy
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

    with graph_node(args, found=has_topic(args.topic_name)) as node:
        node.create_subscription(
            _chosen_class(node, args), args.topic_name, show, subscription_qos(node, args), raw=args.raw
        )
        if args.once:
            rclpy.spin_until_future_complete(node, first)
        else:
            rclpy.spin(node)
