"""A short-lived hidden node and what it sees of the network."""

import os
import time
from contextlib import contextmanager

SPIN_TIME = 1.0  # s, how long to look around before answering
_POLL = 0.01  # s
_QUIET_FOUND = 0.02  # s, likewise when what is sought is there
_PATIENCE = 1.0  # s longer while something that was heard of is not yet known in full (a busy machine)


def direct_arguments(parser):
    """Declare the options of a verb that makes a node."""
    parser.add_argument(
        "--spin-time",
        type=float,
        default=SPIN_TIME,
        help=f"Longest time in seconds to wait for discovery (default: {SPIN_TIME})",
    )
    parser.add_argument("-s", "--use-sim-time", action="store_true", help="Enable ROS simulation time")


def strategy_arguments(parser):
    """Declare the options of a verb for which a full ROS 2 asks its daemon."""
    direct_arguments(parser)
    parser.add_argument("--no-daemon", action="store_true", help="Accepted for compatibility: there is no daemon")


def is_hidden(name):
    """Return whether a topic, service or node is hidden: a part of its name starts with an underscore."""
    return any(token.startswith("_") for token in name.split("/"))


def _size(node):
    return (
        len(node.get_node_names()),
        sum(len(types) for _, types in node.get_topic_names_and_types()),
        len(node.get_service_names_and_types()),
    )


def look_around(node, spin_time=SPIN_TIME, found=None):
    """Wait until nothing new was heard of for a moment, at most `spin_time` seconds; then `_PATIENCE` more for what is
    sought.

    rclpy does not tell whether a process that was heard of has told all; the processes of fastdds.xml announce
    themselves four times a second.
    """
    start = changed = time.monotonic()
    size = None
    while (now := time.monotonic()) - start < spin_time + (_PATIENCE if found is not None else 0.0):
        latest = _size(node)
        if latest != size:
            size, changed = latest, now
        elif found is not None and latest[0] > 1 and found() and now - changed > _QUIET_FOUND:
            return
        time.sleep(_POLL)


@contextmanager
def graph_node(args, node_name=None, found=None):
    """Give a node that has looked around, and take it away again.

    :param args: the parsed command line (`spin_time` and `use_sim_time` are used where it has them)
    :param node_name: name of the node, by default a hidden one
    :param found: callable of the node that says whether what is sought is there, see `look_around`
    """
    import rclpy
    from rclpy.parameter import Parameter

    rclpy.init(args=[])
    try:
        node = rclpy.create_node(
            node_name or f"_ros2cli_{os.getpid()}",
            start_parameter_services=False,
            parameter_overrides=[Parameter("use_sim_time", value=getattr(args, "use_sim_time", False))],
            automatically_declare_parameters_from_overrides=True,
        )
        look_around(node, getattr(args, "spin_time", SPIN_TIME), found and (lambda: found(node)))
        try:
            yield node
        finally:
            node.destroy_node()  # so that nobody takes it for alive
    finally:
        rclpy.try_shutdown()


def visible(names_and_types, include_hidden):
    """Return the (name, types) pairs without the hidden ones, unless `include_hidden`."""
    return [(name, types) for name, types in names_and_types if include_hidden or not is_hidden(name)]


def absolute(node_name):
    """Return a node's name with a leading slash."""
    return node_name if node_name.startswith("/") else "/" + node_name


def node_names(node, include_hidden=False):
    """Return the full name of every node on the network, in the order the graph has them."""
    return [
        f"{namespace.rstrip('/')}/{name}"
        for name, namespace in node.get_node_names_and_namespaces()
        if include_hidden or (name and not name.startswith("_"))
    ]
