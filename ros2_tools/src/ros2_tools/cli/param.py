"""Verbs `ros2 param` list, get, set, describe and dump."""

import contextlib
import re
import sys

import yaml

from .graph import STRATEGY, absolute, graph_node, has_node, node_names, with_node
from .verbs import arg, flag, verb

# Names of ParameterType's numbers.
SCALARS = ("boolean", "integer", "double", "string")
TYPES = ("not set", *SCALARS, *(f"{kind} array" for kind in ("byte", *SCALARS)))
HIDDEN = flag("--include-hidden-nodes", help="Consider hidden nodes as well")
OF_NODE = (arg("node_name", help="Name of the ROS node"), HIDDEN)
NAME = arg("parameter_name", help="Name of the parameter")


def _check_node(args, node):
    """Raise RuntimeError where the node of the command line is not there."""
    if absolute(args.node_name) not in node_names(node, args.include_hidden_nodes):
        raise RuntimeError("Node not found")


def _ask(node, node_name, service, **fields):
    """Call a parameter service (`GetParameters` and so on) of a node and return the future of its response."""
    from rcl_interfaces import srv

    kind = getattr(srv, service)
    client = node.create_client(kind, f"{absolute(node_name)}/{re.sub('(?<=.)(?=[A-Z])', '_', service).lower()}")
    if not client.wait_for_service(timeout_sec=5.0):
        raise RuntimeError("Wait for service timed out")
    return client.call_async(kind.Request(**fields))


def call(node, node_name, service, **fields):
    """Call a parameter service of a node and return its response."""
    import rclpy

    future = _ask(node, node_name, service, **fields)
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


def _listed(node, names, prefixes):
    """Ask all nodes of `names` at once; return the response of each that has answered within a second."""
    import rclpy

    services = {name for name, _ in node.get_service_names_and_types()}
    futures = {}
    for name in names:
        if f"{name}/list_parameters" in services:
            try:
                futures[name] = _ask(node, name, "ListParameters", prefixes=prefixes)
            except RuntimeError as error:
                print(f"Exception while calling service of node '{name}': {error}", file=sys.stderr)
    for future in futures.values():
        rclpy.spin_until_future_complete(node, future, timeout_sec=1.0)
    return futures


@verb(
    "param list",
    *STRATEGY,
    arg("node_name", nargs="?", help="Name of the ROS node"),
    HIDDEN,
    arg("--filter", nargs=1, help="Only parameters that match this regular expression"),
    arg("--param-prefixes", nargs="+", default=[], help="Only parameters with these prefixes"),
    flag("--param-type", help="Print the type beside each name"),
)
def list_parameters(args):
    """Output a list of available parameters."""
    pattern = re.compile(args.filter[0]) if args.filter else None
    wanted = args.node_name and absolute(args.node_name)
    with graph_node(args, has_node if wanted else None) as node:
        if wanted:
            _check_node(args, node)
        nodes = [wanted] if wanted else sorted({*node_names(node, args.include_hidden_nodes)})
        for name, future in _listed(node, nodes, args.param_prefixes).items():
            if future.result() is None:
                print(f"Exception while calling service of node '{name}': {future.exception()}", file=sys.stderr)
                continue
            found = [p for p in sorted(future.result().result.names) if not pattern or pattern.match(p)]
            if found and not wanted:
                print(f"{name}:")
            types = {}
            if args.param_type and found:
                described = call(node, name, "DescribeParameters", names=found).descriptors
                types = {d.name: f" (type: {TYPES[d.type]})" for d in described}
            for parameter in found:
                print(f"  {parameter}{types.get(parameter, '')}")


@verb("param get", *OF_NODE, NAME, flag("--hide-type", help="Hide the type information"))
@with_node(has_node)
def get(args, node):
    """Get parameter."""
    _check_node(args, node)
    values = call(node, args.node_name, "GetParameters", names=[args.parameter_name]).values
    if not values:
        return "Parameter not set"
    kind, _, array = TYPES[values[0].type].partition(" ")
    if not values[0].type:
        print(None if args.hide_type else "Parameter not set.")
        return None
    words = [] if args.hide_type else [f"{kind.capitalize()} {'values are' if array else 'value is'}:"]
    value = getattr(values[0], f"{kind.replace('boolean', 'bool')}{'_array' * bool(array)}_value")
    print(*words, value.tolist() if kind in ("integer", "double") and array else value)
    return None


@verb("param set", *OF_NODE, NAME, arg("value", help="Value of the parameter"))
@with_node(has_node)
def set_parameter(args, node):
    """Set parameter."""
    from rcl_interfaces.msg import Parameter

    _check_node(args, node)
    parameter = Parameter(name=args.parameter_name, value=value_message(args.value))
    result = call(node, args.node_name, "SetParameters", parameters=[parameter]).results[0]
    reason = f": {result.reason}" if result.reason else ""
    if result.successful:
        print(f"Set parameter successful{reason}")
    else:
        print(f"Setting parameter failed{reason}", file=sys.stderr)


@verb("param describe", *OF_NODE, arg("parameter_names", nargs="+", help="Names of the parameters"))
@with_node(has_node)
def describe(args, node):
    """Show descriptive information about declared parameters."""
    _check_node(args, node)
    for descriptor in call(node, args.node_name, "DescribeParameters", names=args.parameter_names).descriptors:
        print(f"Parameter name: {descriptor.name}\n  Type: {TYPES[descriptor.type]}")
        if descriptor.description:
            print(f"  Description: {descriptor.description}")
        print("  Constraints:")
        if descriptor.read_only:
            print("    Read only: true")
        for bounds in [*descriptor.floating_point_range, *descriptor.integer_range][:1]:
            print(f"    Min value: {bounds.from_value}\n    Max value: {bounds.to_value}")
            if bounds.step:
                print(f"    Step: {bounds.step}")
        if descriptor.additional_constraints:
            print(f"    Additional constraints: {descriptor.additional_constraints}")


@verb("param dump", *OF_NODE)
@with_node(has_node)
def dump(args, node):
    """Show all of the parameters of a node in a YAML file format."""
    from rclpy.parameter import parameter_value_to_python

    _check_node(args, node)
    full_name = absolute(args.node_name)
    names = sorted(call(node, full_name, "ListParameters").result.names)
    values = call(node, full_name, "GetParameters", names=names).values if names else []
    tree = {}
    for name, value in zip(names, values, strict=True):  # names with dots are mappings within mappings
        *above, last = name.split(".")
        branch = tree
        for part in above:
            branch = branch.setdefault(part, {})
        branch[last] = parameter_value_to_python(value)
    print(yaml.safe_dump({full_name: {"ros__parameters": tree}}, default_flow_style=False))
