"""Verb `ros2 topic info`."""

from .graph import graph_node, strategy_arguments
from .names import has_topic, topics


def info_arguments(parser):
    """Declare the options of `ros2 topic info`."""
    strategy_arguments(parser)
    parser.add_argument("topic_name", help="Name of the topic (e.g. '/chatter')")
    parser.add_argument(
        "--verbose",
        "-v",
        action="store_true",
        help="Print node, type, GUID and QoS of every publisher and subscription",
    )


def info_verb(args):
    """Print a topic's type and its endpoints."""
    name = args.topic_name
    with graph_node(args, found=has_topic(name)) as node:
        types = dict(topics(node, include_hidden=True)).get(name)
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
