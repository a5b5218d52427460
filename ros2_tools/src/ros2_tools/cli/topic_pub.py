"""Verb `ros2 topic pub`: publish a message typed as YAML."""

import time

import yaml

from .fill import fill
from .graph import direct_arguments, graph_node
from .interfaces import message_class
from .qos import override, preset, qos_arguments


def _non_negative_int(text):
    value = int(text)
    if value < 0:
        raise ValueError
    return value


def _positive_float(text):
    value = float(text)
    if value <= 0.0:
        raise ValueError
    return value


_non_negative_int.__name__, _positive_float.__name__ = "nonnegative_int", "positive_float"  # what argparse prints


def pub_arguments(parser):
    """Declare the options of `ros2 topic pub`."""
    parser.add_argument("topic_name", help="Name of the topic to publish to (e.g. '/chatter')")
    parser.add_argument("message_type", help="Type of the message (e.g. 'std_msgs/String')")
    parser.add_argument(
        "values",
        nargs="?",
        default="{}",
        help="The message's values as YAML (e.g. 'data: Hello World'); defaults where none is given",
    )
    parser.add_argument(
        "-r", "--rate", metavar="N", type=_positive_float, default=1.0, help="Publishing rate in Hz (default: 1)"
    )
    parser.add_argument(
        "-p", "--print", metavar="N", type=int, default=1, help="Print only every N-th message (default: 1)"
    )
    number = parser.add_mutually_exclusive_group()
    number.add_argument("-1", "--once", action="store_true", help="Publish one message and exit")
    number.add_argument("-t", "--times", type=_non_negative_int, default=0, help="Publish so many messages and exit")
    parser.add_argument(
        "-w",
        "--wait-matching-subscriptions",
        type=_non_negative_int,
        default=None,
        help="Wait for so many subscriptions first (default: 1 with --once and --times, else 0)",
    )
    parser.add_argument(
        "--keep-alive",
        metavar="N",
        type=_positive_float,
        default=0.1,
        help="Stay for N seconds after the last message (default: 0.1)",
    )
    parser.add_argument("-n", "--node-name", help="Name of the publishing node")
    qos_arguments(
        parser,
        "publish",
        {"history": "keep_last", "reliability": "reliable", "durability": "transient_local"},
        depth_default=-1,
    )
    direct_arguments(parser)


def _profile(args):
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

    latched = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    return override(preset(args.qos_profile) if args.qos_profile else latched, args)


def _wait_for_subscriptions(publisher, number):
    """Return once so many subscriptions are matched, saying once a second what is waited for."""
    tenths = 0
    while publisher.get_subscription_count() < number:
        if tenths % 10 == 0:
            print(f"Waiting for at least {number} matching subscription(s)...")
        tenths += 1
        time.sleep(0.1)


def pub_verb(args):
    """Publish the message once, so many times, or until interrupted."""
    import rclpy

    kind = message_class(args.message_type)
    try:
        values = yaml.safe_load(args.values)
    except (yaml.YAMLError, ValueError) as error:
        return f"The passed value is not YAML: {error}"
    if not isinstance(values, dict):
        return "The passed value needs to be a dictionary in YAML format"
    message = kind()
    times = 1 if args.once else args.times
    waited_for = args.wait_matching_subscriptions
    with graph_node(args, node_name=args.node_name) as node:
        publisher = node.create_publisher(kind, args.topic_name, _profile(args))
        _wait_for_subscriptions(publisher, int(times != 0) if waited_for is None else waited_for)
        try:
            stamps = fill(message, values, stamped=True)
        except Exception as error:  # whatever the message's own checks raise
            return f"Failed to populate field: {error}"
        print("publisher: beginning loop")
        count = 0

        def publish():
            nonlocal count
            for stamp in stamps:
                stamp(node.get_clock().now().to_msg())
            count += 1
            if args.print and count % args.print == 0:
                print(f"publishing #{count}: {message!r}\n")
            publisher.publish(message)

        publish()
        if times != 1:
            node.create_timer(1.0 / args.rate, publish)
            while times == 0 or count < times:
                rclpy.spin_once(node)
        time.sleep(args.keep_alive)
