"""Verbs `ros2 param` list, get, set, describe and dump."""

import os
import re
import sys

import yaml

from .graph import absolute, graph_node, node_names
from .param_api import TYPES, call, node_arguments, node_of, plain_value, set_parameter, value_message


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
        nodes = sorted({n.full_name for n in node_names(node, args.include_hidden_nodes)})
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
    with node_of(args) as node:
        result = set_parameter(node, args.node_name, args.parameter_name, value_message(args.value))
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
    parser.add_argument("--output-dir", default=".", help="DEPRECATED: Directory to save a file in")
    parser.add_argument("--print", action="store_true", help="DEPRECATED: Does nothing")


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
    """Print all parameters of a node, or write them to a file in --output-dir."""
    if not os.path.isdir(args.output_dir):
        raise RuntimeError(f"'{args.output_dir}' is not a valid directory.")
    name = absolute(args.node_name)
    with node_of(args) as node:
        names = sorted(call(node, name, "ListParameters").result.names)
        values = call(node, name, "GetParameters", names=names).values if names else []
    tree = _nested({name: plain_value(value) for name, value in zip(names, values, strict=True)})
    document = {name: {"ros__parameters": tree}}
    if args.print:
        print("WARNING: '--print' is deprecated; this utility prints to stdout by default", file=sys.stderr)
    if args.output_dir == ".":
        print(yaml.safe_dump(document, default_flow_style=False))
        return None
    print("WARNING: '--output-dir' is deprecated; use redirection to save to a file", file=sys.stderr)
    path = os.path.join(args.output_dir, name[1:].replace("/", "__") + ".yaml")
    print("Saving to: ", path)
    with open(path, "w") as file:
        yaml.safe_dump(document, file, default_flow_style=False)
