"""What the verbs of `ros2 param` share: values from text and back, and the calls to a node's parameter services."""

from contextlib import contextmanager

import yaml

from ..bounded_yaml import load_yaml
from .graph import absolute, graph_node, node_names, strategy_arguments
from .node import has_node

# ParameterType -> (name in `describe`, words of `get`, field of ParameterValue)
TYPES = (
    ("not set", "Parameter not set.", None),
    ("boolean", "Boolean value is:", "bool_value"),
    ("integer", "Integer value is:", "integer_value"),
    ("double", "Double value is:", "double_value"),
    ("string", "String value is:", "string_value"),
    ("byte array", "Byte values are:", "byte_array_value"),
    ("boolean array", "Boolean values are:", "bool_array_value"),
    ("integer array", "Integer values are:", "integer_array_value"),
    ("double array", "Double values are:", "double_array_value"),
    ("string array", "String values are:", "string_array_value"),
)
_OF_PYTHON = {bool: 1, int: 2, float: 3, str: 4}


def node_arguments(parser, nargs=None):
    """Declare the options that all verbs share."""
    strategy_arguments(parser)
    parser.add_argument("node_name", nargs=nargs, help="Name of the ROS node")
    parser.add_argument("--include-hidden-nodes", action="store_true", help="Consider hidden nodes as well")


@contextmanager
def node_of(args):
    """Give a node that sees the named one; RuntimeError where that is not there."""
    name = absolute(args.node_name)
    with graph_node(args, found=has_node(name)) as node:
        if name not in {n.full_name for n in node_names(node, args.include_hidden_nodes)}:
            raise RuntimeError("Node not found")
        yield node


def call(node, node_name, service, **fields):
    """Call a parameter service (`GetParameters` and so on) of a node and return its response."""
    import rclpy
    from rcl_interfaces import srv

    kind = getattr(srv, service)
    snake = "".join("_" + c.lower() if c.isupper() else c for c in service).lstrip("_")
    client = node.create_client(kind, f"{absolute(node_name)}/{snake}")
    if not client.wait_for_service(timeout_sec=5.0):
        raise RuntimeError("Wait for service timed out")
    future = client.call_async(kind.Request(**fields))
    rclpy.spin_until_future_complete(node, future)
    return future.result()


def value_message(text):
    """Return the ParameterValue that a word of the command line means as YAML; a string where nothing else fits."""
    from rcl_interfaces.msg import ParameterValue

    try:
        value = load_yaml(text)
    except yaml.YAMLError:
        value = text
    if isinstance(value, list):
        kinds = {type(entry) for entry in value} or {bool}
        code = 5 + _OF_PYTHON.get(kinds.pop(), -1) if len(kinds) == 1 else 4
    else:
        code = _OF_PYTHON.get(type(value), 4)
    if code == 4 and not isinstance(value, str):
        value = text
    return ParameterValue(type=code, **{TYPES[code][2]: value})


def plain_value(message):
    """Return a ParameterValue as a plain Python value."""
    field = TYPES[message.type][2]
    value = getattr(message, field) if field else None
    return value if value is None or isinstance(value, (bool, int, float, str)) else list(value)


def set_parameter(node, node_name, name, value):
    """Ask a node to set a parameter to a ParameterValue; return the SetParametersResult."""
    from rcl_interfaces.msg import Parameter

    return call(node, node_name, "SetParameters", parameters=[Parameter(name=name, value=value)]).results[0]
