"""Verbs `ros2 node` list and info."""

import sys

from .graph import absolute, graph_node, node_names, strategy_arguments, visible


def has_node(full_name):
    """Return a condition for `graph_node`: this node is known."""
    return lambda node: full_name in node_names(node, include_hidden=True)


def list_arguments(parser):
    """Declare the options of `ros2 node list`."""
    strategy_arguments(parser)
    parser.add_argument("-a", "--all", action="store_true", help="Display all nodes even hidden ones")
    parser.add_argument("-c", "--count-nodes", action="store_true", help="Only display the number of nodes")


def list_verb(args):
    """Print the nodes' full names."""
    with graph_node(args) as node:
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


def info_arguments(parser):
    """Declare the options of `ros2 node info`."""
    strategy_arguments(parser)
    parser.add_argument("node_name", help="Full name of the node")
    parser.add_argument("--include-hidden", action="store_true", help="Display hidden topics and services as well")


def info_verb(args):
    """Print a node's topics, services and actions."""
    from rclpy.action import get_action_client_names_and_types_by_node, get_action_server_names_and_types_by_node

    with graph_node(args, found=has_node(args.node_name)) as node:
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
        subscribed, published, servers, clients = (
            look_up(*of)
            for look_up in (
                node.get_subscriber_names_and_types_by_node,
                node.get_publisher_names_and_types_by_node,
                node.get_service_names_and_types_by_node,
                node.get_client_names_and_types_by_node,
            )
        )
        print(args.node_name)
        for title, pairs in (
            ("Subscribers", subscribed),
            ("Publishers", published),
            ("Service Servers", servers),
            ("Service Clients", clients),
            ("Action Servers", get_action_server_names_and_types_by_node(node, *of)),
            ("Action Clients", get_action_client_names_and_types_by_node(node, *of)),
        ):
            print(f"  {title}:")
            print(*(f"    {name}: {', '.join(types)}" for name, types in visible(pairs, args.include_hidden)), sep="\n")
