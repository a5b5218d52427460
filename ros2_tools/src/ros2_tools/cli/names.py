"""Verbs list and type of topics, services and actions (one form, three kinds of names), and list and info of nodes."""

import sys

from .graph import absolute, has_node, node_names, visible, with_node
from .verbs import arg, flag, verb


def found_names(kind, node, include_hidden=True):
    """Return the (name, types) pairs of all topics, services or actions, hidden ones on request."""
    if kind == "action":
        from rclpy.action import get_action_names_and_types

        return get_action_names_and_types(node)
    names = node.get_topic_names_and_types() if kind == "topic" else node.get_service_names_and_types()
    return visible(names, include_hidden)


def _endpoints(title, noun, counted):
    """Return the paragraph of `topic list -v` for one direction; `counted` are (name, types, count)."""
    lines = [
        f" * {name} [{', '.join(types)}] {count} {noun}{'s' if count > 1 else ''}"
        for name, types, count in counted
        if count
    ]
    return "\n".join([f"{title} topics:", *lines, ""])


def _declare(kind):
    """Make the verbs of one kind of names."""
    arguments = [
        flag("-t", "--show-types", help=f"Additionally show the {kind} type"),
        flag("-c", f"--count-{kind}s", dest="count", help=f"Only display the number of {kind}s"),
    ]
    if kind != "action":
        arguments.append(flag(f"--include-hidden-{kind}s", help=f"Consider hidden {kind}s as well"))
    if kind == "topic":
        arguments.append(flag("-v", "--verbose", help="List types and numbers of endpoints"))
    what = "action names" if kind == "action" else f"available {kind}s"

    @verb(f"{kind} list", *arguments, summary=f"Output a list of {what}")
    @with_node()
    def list_names(args, node):
        found = found_names(kind, node, getattr(args, f"include_hidden_{kind}s", False))
        if args.count:
            print(len(found))
        elif getattr(args, "verbose", False) and found:
            print(_endpoints("Published", "publisher", [(n, t, node.count_publishers(n)) for n, t in found]))
            print(_endpoints("Subscribed", "subscriber", [(n, t, node.count_subscribers(n)) for n, t in found]))
        else:
            for name, types in found:
                print(f"{name} [{', '.join(types)}]" if args.show_types else name)

    if kind == "action":
        return
    what = "Print a topic's type" if kind == "topic" else "Output a service's type"

    @verb(
        f"{kind} type", arg("name", metavar=f"{kind}_name", help=f"Name of the {kind} (e.g. '/chatter')"), summary=what
    )
    @with_node(lambda args, node: args.name in dict(found_names(kind, node)))
    def print_type(args, node):
        types = dict(found_names(kind, node)).get(args.name, ())
        for each in types:
            print(each)
        return None if types else 1


for _kind in ("topic", "service", "action"):
    _declare(_kind)


@verb(
    "node list",
    flag("-a", "--all", help="Display all nodes even hidden ones"),
    flag("-c", "--count-nodes", help="Only display the number of nodes"),
)
@with_node()
def list_nodes(args, node):
    """Output a list of available nodes."""
    names = sorted(node_names(node, args.all))
    if args.count_nodes:
        print(len(names))
    elif names:
        if len(set(names)) < len(names):
            print(
                "WARNING: Be aware that are nodes in the graph that share an exact name, "
                "this can have unintended side effects.",
                file=sys.stderr,
            )
        print(*names, sep="\n")


@verb(
    "node info",
    arg("node_name", help="Full name of the node"),
    flag("--include-hidden", help="Display hidden topics and services as well"),
)
@with_node(has_node)
def info(args, node):
    """Output information about a node."""
    from rclpy import action

    count = node_names(node, args.include_hidden).count(args.node_name)
    if not count:
        return f"Unable to find node '{args.node_name}'"
    if count > 1:
        print(
            f'There are {count} nodes in the graph with the exact name "{args.node_name}". '
            "You are seeing information about only one of them.",
            file=sys.stderr,
        )
    namespace, _, name = absolute(args.node_name).rpartition("/")
    of = name, namespace or "/"
    print(args.node_name)
    for title, pairs in (
        ("Subscribers", node.get_subscriber_names_and_types_by_node(*of)),
        ("Publishers", node.get_publisher_names_and_types_by_node(*of)),
        ("Service Servers", node.get_service_names_and_types_by_node(*of)),
        ("Service Clients", node.get_client_names_and_types_by_node(*of)),
        ("Action Servers", action.get_action_server_names_and_types_by_node(node, *of)),
        ("Action Clients", action.get_action_client_names_and_types_by_node(node, *of)),
    ):
        print(f"  {title}:")
        print(*(f"    {name}: {', '.join(types)}" for name, types in visible(pairs, args.include_hidden)), sep="\n")
    return None
