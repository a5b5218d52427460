"""A short-lived hidden node and what it sees of the network."""

import functools
import os
import time
from contextlib import contextmanager

from .verbs import arg, flag

SPIN_TIME = 1.0  # s, how long to look around before answering
_POLL = 0.01  # s
_QUIET_FOUND = 0.02  # s without anything new when what is sought is there
_PATIENCE = 1.0  # s longer while something that was heard of is not yet known in full (a busy machine)

# Options of a verb that makes a node, and of one for which a full ROS 2 asks its daemon.
DIRECT = (
    arg("--spin-time", type=float, default=SPIN_TIME, help=f"Longest time for discovery [s] (default: {SPIN_TIME})"),
    flag("-s", "--use-sim-time", help="Enable ROS simulation time"),
)
STRATEGY = (*DIRECT, flag("--no-daemon", help="Accepted for compatibility: there is no daemon"))


def is_hidden(name):
    """Return whether a topic, service or node is hidden: a part of its name starts with an underscore."""
    return any(token.startswith("_") for token in name.split("/"))


def visible(names_and_types, include_hidden):
    """Return the (name, types) pairs without the hidden ones, unless `include_hidden`."""
    return [(name, types) for name, types in names_and_types if include_hidden or not is_hidden(name)]


def absolute(node_name):
    """Return a node's name with a leading slash."""
    return node_name if node_name.startswith("/") else "/" + node_name


def node_names(node, include_hidden=True):
    """Return the full name of every node on the network, in the order the graph has them."""
    return [
        f"{namespace.rstrip('/')}/{name}"
        for name, namespace in node.get_node_names_and_namespaces()
        if include_hidden or (name and not name.startswith("_"))
    ]


def has_topic(args, node):
    """Return whether the topic of a command line is known."""
    return args.topic_name in dict(node.get_topic_names_and_types())


def has_node(args, node):
    """Return whether the node of a command line, if it names one, is known."""
    return args.node_name is not None and absolute(args.node_name) in node_names(node)


def _size(node):
    return (
        len(node.get_node_names()),
        sum(len(types) for _, types in node.get_topic_names_and_types()),
        len(node.get_service_names_and_types()),
    )


def look_around(node, spin_time, found=None):
    """Wait at most `spin_time` seconds, `_PATIENCE` more for what is sought; less if that is there and nothing is new.

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
def graph_node(args, found=None):
    """Give a node that has looked around, and take it away again.

    :param args: the parsed command line with the options of `DIRECT`; `own_name`, if there, names the node
    :param found: callable of (args, node) that says whether what is sought is there, see `look_around`
    """
    import rclpy
    from rclpy.parameter import Parameter

    rclpy.init(args=[])
    try:
        node = rclpy.create_node(
            getattr(args, "own_name", None) or f"_ros2cli_{os.getpid()}",
            start_parameter_services=False,
            parameter_overrides=[Parameter("use_sim_time", value=getattr(args, "use_sim_time", False))],
            automatically_declare_parameters_from_overrides=True,
        )
        look_around(node, getattr(args, "spin_time", SPIN_TIME), found and (lambda: found(args, node)))
        try:
            yield node
        finally:
            node.destroy_node()  # so that nobody takes it for alive
    finally:
        rclpy.try_shutdown()


def with_node(found=None, arguments=STRATEGY):
    """Return a decorator for a verb of (args, node): it is called with the node of `graph_node`."""

    def decorate(function):
        @functools.wraps(function)
        def call(args):
            with graph_node(args, found) as node:
                return function(args, node)

        call.arguments = arguments
        return call

    return decorate
