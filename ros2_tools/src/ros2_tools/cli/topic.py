"""Verbs `ros2 topic` list, info, type and find: what there is."""

from .graph import graph_node, print_found, print_listed, print_types, strategy_arguments, visible


def names_and_types(node, include_hidden=False):
    """Return the (name, types) pairs of all topics, hidden ones on request."""
    return visible(node.get_topic_names_and_types(), include_hidden)


def has_topic(name):
    """Return a condition for `graph_node`: this topic is known."""
    return lambda node: any(known == name for known, _ in node.get_topic_names_and_types())


def _count_arguments(parser):
    parser.add_argument("-c", "--count-topics", action="store_true", help="Only display the number of topics")
    parser.add_argument("--include-hidden-topics", action="store_true", help="Consider hidden topics as well")


def list_arguments(parser):
    """Declare the options of `ros2 topic list`."""
    strategy_arguments(parser)
    parser.add_argument("-t", "--show-types", action="store_true", help="Additionally show the topic type")
    _count_arguments(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="List types and numbers of endpoints")


def _endpoints(title, noun, topics):
    """Return the paragraph of `list -v` for one direction; `topics` are (name, types, count)."""
    lines = [
        f" * {name} [{', '.join(types)}] {count} {noun}{'s' if count > 1 else ''}"
        for name, types, count in topics
        if count
    ]
    return "\n".join([f"{title} topics:", *lines, ""])


def list_verb(args):
    """Print the topics."""
    with graph_node(args) as node:
        topics = names_and_types(node, args.include_hidden_topics)
        if args.verbose and topics and not args.count_topics:
            print(_endpoints("Published", "publisher", [(n, t, node.count_publishers(n)) for n, t in topics]))
            print(_endpoints("Subscribed", "subscriber", [(n, t, node.count_subscribers(n)) for n, t in topics]))
        else:
            print_listed(topics, args.count_topics, args.show_types)


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
        types = dict(names_and_types(node, include_hidden=True)).get(name)
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


def type_arguments(parser):
    """Declare the options of `ros2 topic type`."""
    strategy_arguments(parser)
    parser.add_argument("topic_name", help="Name of the topic (e.g. '/chatter')")


def type_verb(args):
    """Print a topic's types."""
    with graph_node(args, found=has_topic(args.topic_name)) as node:
        return print_types(names_and_types(node, args.include_hidden_topics), args.topic_name)


def find_arguments(parser):
    """Declare the options of `ros2 topic find`."""
    strategy_arguments(parser)
    parser.add_argument("topic_type", help="Type to look for (e.g. 'std_msgs/msg/String')")
    _count_arguments(parser)


def find_verb(args):
    """Print the topics of a type."""
    with graph_node(args) as node:
        topics = names_and_types(node, args.include_hidden_topics)
    print_found(topics, args.topic_type, args.count_topics)
