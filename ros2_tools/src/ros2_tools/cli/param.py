"""Verbs `ros2 param` list, get, set, describe and dump."""

import contextlib
import re
import sys

import yaml

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


def node_arguments(parser, nargs=None):
    """Declare the options that all verbs share."""
    strategy_arguments(parser)
    parser.add_argument("node_name", nargs=nargs, help="Name of the ROS node")
    parser.add_argument("--include-hidden-nodes", action="store_true", help="Consider hidden nodes as well")


@contextlib.contextmanager
def node_of(args):
    """Give a node that sees the named one; RuntimeError where that is not there."""
    name = absolute(args.node_name)
    with graph_node(args, found=has_node(name)) as node:
        if name not in node_names(node, args.include_hidden_nodes):
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
    """Return the ParameterValue that a word of the command line means to rclpy; a string where that is none."""
    from rcl_interfaces.msg import ParameterType, ParameterValue
    from rclpy.parameter import get_parameter_value

    with contextlib.suppress(yaml.YAMLError, ValueError):
        value = get_parameter_value(text)
        if isinstance(value.string_value, str):  # neither a mapping nor a date
            return value
    return ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=text)


def list_arguments(parser):
    """Declare the options of `ros2 param list`."""
    node_arguments(parser, nargs="?")
    parser.add_argument("--filter", nargs=1, help="Only parameters that match this regular expression")
    parser.add_argument("--param-prefixes", nargs="+", default=[], help="Only parameters with these prefixes")
    parser.add_argument("--param-type", action="store_true", help="Print the type beside each name")


def _listed(node, names, prefixes):
    """Ask all nodes of `names` at once; return the response of each that has answered within a second."""
    import rclpy
    from rcl_interfaces.srv import ListParameters

    services = {name for name, _ in node.get_service_names_and_types()}
    clients = {
        name: node.create_client(ListParameters, f"{name}/list_parameters")
        for name in names
        if f"{name}/list_parameters" in services
    }
    futures = {}
    for name, client in clients.items():
        if client.wait_for_service(timeout_sec=5.0):
            futures[name] = client.call_async(ListParameters.Request(prefixes=prefixes))
        else:
            print(f"Exception while calling service of node '{name}': Wait for service timed out", file=sys.stderr)
    for future in futures.values():
        rclpy.spin_until_future_complete(node, future, timeout_sec=1.0)
    return futures


def list_verb(args):
    """Print the parameters of one node or of all."""
    pattern = re.compile(args.filter[0]) if args.filter else None
    wanted = args.node_name and absolute(args.node_name)
    with node_of(args) if wanted else graph_node(args) as node:
        nodes = sorted({*node_names(node, args.include_hidden_nodes)})
        for name, future in _listed(node, [wanted] if wanted else nodes, args.param_prefixes).items():
            if future.result() is None:
                print(f"Exception while calling service of node '{name}': {future.exception()}", file=sys.stderr)
                continue
            found = [p for p in sorted(future.result().result.names) if not pattern or pattern.match(p)]
            if found and not wanted:
                print(f"{name}:")
            types = {}
            if args.param_type and found:
                described = call(node, name, "DescribeParameters", names=found).descriptors
                types = {d.name: f" (type: {TYPES[d.type][0]})" for d in described}
            for parameter in found:
                print(f"  {parameter}{types.get(parameter, '')}")


def get_arguments(parser):
    """Declare the options of `ros2 param get`."""
    node_arguments(parser)
    parser.add_argument("parameter_name", help="Name of the parameter")
    parser.add_argument("--hide-type", action="store_true", help="Hide the type information")


def get_verb(args):
    """Print one parameter's value."""
    with node_of(args) as node:
        values = call(node, args.node_name, "GetParameters", names=[args.parameter_name]).values
        if not values:
            return "Parameter not set"
        _, words, field = TYPES[values[0].type]
        value = getattr(values[0], field) if field else None
        if args.hide_type:
            print(value)
        else:
            print(words, *([] if value is None else [value]))


def set_arguments(parser):
    """Declare the options of `ros2 param set`."""
    node_arguments(parser)
    parser.add_argument("parameter_name", help="Name of the parameter")
    parser.add_argument("value", help="Value of the parameter")


def set_verb(args):
    """Set one parameter."""
    from rcl_interfaces.msg import Parameter

    parameter = Parameter(name=args.parameter_name, value=value_message(args.value))
    with node_of(args) as node:
        result = call(node, args.node_name, "SetParameters", parameters=[parameter]).results[0]
        reason = f": {result.reason}" if result.reason else ""
        if result.successful:
            print(f"Set parameter successful{reason}")
        else:
            print(f"Setting parameter failed{reason}", file=sys.stderr)


def describe_arguments(parser):
    """Declare the options of `ros2 param describe`."""
    node_arguments(parser)
    parser.add_argument("parameter_names", nargs="+", help="Names of the parameters")


def describe_verb(args):
    """Print what parameters' descriptors say."""
    with node_of(args) as node:
        for descriptor in call(node, args.node_name, "DescribeParameters", names=args.parameter_names).descriptors:
            print("\n".join(_description(descriptor)))


def _description(descriptor):
    yield f"Parameter name: {descriptor.name}"
    yield f"  Type: {TYPES[descriptor.type][0]}"
    if descriptor.description:
        yield f"  Description: {descriptor.description}"
    yield "  Constraints:"
    if descriptor.read_only:
        yield "    Read only: true"
    for bounds in [*descriptor.floating_point_range, *descriptor.integer_range][:1]:
        yield f"    Min value: {bounds.from_value}"
        yield f"    Max value: {bounds.to_value}"
        if bounds.step:
            yield f"    Step: {bounds.step}"
    if descriptor.additional_constraints:
        yield f"    Additional constraints: {descriptor.additional_constraints}"


def dump_arguments(parser):
    """Declare the options of `ros2 param dump`."""
    node_arguments(parser)


def _nested(values):
    """Return a mapping of dotted names as mappings within mappings."""
    tree = {}
    for name, value in values.items():
        *above, last = name.split(".")
        branch = tree
        for part in above:
            branch = branch.setdefault(part, {})
        branch[last] = value
    return tree


def dump_verb(args):
    """Print all parameters of a node."""
    from rclpy.parameter import parameter_value_to_python

    name = absolute(args.node_name)
    with node_of(args) as node:
        names = sorted(call(node, name, "ListParameters").result.names)
        values = call(node, name, "GetParameters", names=names).values if names else []
    tree = _nested({name: parameter_value_to_python(value) for name, value in zip(names, values, strict=True)})
    print(yaml.safe_dump({name: {"ros__parameters": tree}}, default_flow_style=False))
