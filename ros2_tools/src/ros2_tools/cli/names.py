"""Verbs list and type of topics, services and actions: one form, three kinds of names."""

from .graph import graph_node, strategy_arguments, visible


def topics(node, include_hidden=False):
    """Return the (name, types) pairs of all topics, hidden ones on request."""
    return visible(node.get_topic_names_and_types(), include_hidden)


def services(node, include_hidden=False):
    """Return the (name, types) pairs of all services, hidden ones on request."""
    return visible(node.get_service_names_and_types(), include_hidden)


def actions(node, include_hidden=False):
    """Return the (name, types) pairs of all actions."""
    from rclpy.action import get_action_names_and_types

    return get_action_names_and_types(node)


KINDS = {"topic": topics, "service": services, "action": actions}


def has_topic(name):
    """Return a condition for `graph_node`: this topic is known."""
    return lambda node: name in dict(topics(node, include_hidden=True))


def _found(node, args):
    return KINDS[args.kind](node, getattr(args, f"include_hidden_{args.kind}s", False))


def _print(names_and_types, args, show_types=False):
    if getattr(args, f"count_{args.kind}s"):
        print(len(names_and_types))
        return
    for name, types in names_and_types:
        print(f"{name} [{', '.join(types)}]" if show_types else name)


def _count_arguments(parser, kind):
    parser.add_argument("-c", f"--count-{kind}s", action="store_true", help=f"Only display the number of {kind}s")
    if kind != "action":
        parser.add_argument(f"--include-hidden-{kind}s", action="store_true", help=f"Consider hidden {kind}s as well")


def list_arguments(parser, kind):
    """Declare the options of `ros2 KIND list`."""
    strategy_arguments(parser)
    parser.add_argument("-t", "--show-types", action="store_true", help=f"Additionally show the {kind} type")
    _count_arguments(parser, kind)
    if kind == "topic":
        parser.add_argument("-v", "--verbose", action="store_true", help="List types and numbers of endpoints")


def _endpoints(title, noun, counted):
    """Return the paragraph of `topic list -v` for one direction; `counted` are (name, types, count)."""
    lines = [
        f" * {name} [{', '.join(types)}] {count} {noun}{'s' if count > 1 else ''}"
        for name, types, count in counted
        if count
    ]
    return "\n".join([f"{title} topics:", *lines, ""])


def list_verb(args):
    """Print the names, with their types or endpoints on request."""
    with graph_node(args) as node:
        found = _found(node, args)
        if getattr(args, "verbose", False) and found and not args.count_topics:
            print(_endpoints("Published", "publisher", [(n, t, node.count_publishers(n)) for n, t in found]))
            print(_endpoints("Subscribed", "subscriber", [(n, t, node.count_subscribers(n)) for n, t in found]))
        else:
            _print(found, args, args.show_types)


def type_arguments(parser, kind):
    """Declare the options of `ros2 KIND type`."""
    strategy_arguments(parser)
    parser.add_argument("name", metavar=f"{kind}_name", help=f"Name of the {kind} (e.g. '/chatter')")


def type_verb(args):
    """Print the types of a name; return 1 if it is not there."""
    names_and_types = KINDS[args.kind]
    with graph_node(args, found=lambda node: args.name in dict(names_and_types(node, include_hidden=True))) as node:
        types = dict(_found(node, args)).get(args.name)
    if types is None:
        return 1
    print(*types, sep="\n")
    return None
