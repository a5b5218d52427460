"""Verbs `ros2 param` dump and load: parameters to and from YAML."""

import os
import sys

import yaml

from ..bounded_yaml import load_yaml
from .graph import absolute
from .param_api import NOT_FOUND, call, node_arguments, node_of, plain_value, report, set_parameters, value_message


def dump_arguments(parser):
    """Declare the options of `ros2 param dump`."""
    node_arguments(parser)
    parser.add_argument("--output-dir", default=".", help="DEPRECATED: Directory to save a file in")
    parser.add_argument("--print", action="store_true", help="DEPRECATED: Does nothing")


def nested(values):
    """Return a mapping of dotted names as mappings within mappings."""
    tree = {}
    for name, value in values.items():
        *above, last = name.split(".")
        branch = tree
        for part in above:
            branch = branch.setdefault(part, {})
        branch[last] = value
    return tree


def flat(tree, prefix=""):
    """Return mappings within mappings as (dotted name, value) pairs."""
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def dump_verb(args):
    """Print all parameters of a node, or write them to a file in --output-dir."""
    if not os.path.isdir(args.output_dir):
        raise RuntimeError(f"'{args.output_dir}' is not a valid directory.")
    name = absolute(args.node_name)
    with node_of(args) as node:
        if node is None:
            return NOT_FOUND
        names = sorted(call(node, name, "ListParameters").result.names)
        values = call(node, name, "GetParameters", names=names).values if names else []
    tree = nested({name: plain_value(value) for name, value in zip(names, values, strict=True)})
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


def load_arguments(parser):
    """Declare the options of `ros2 param load`."""
    node_arguments(parser)
    parser.add_argument("parameter_file", help="Parameter file")
    parser.add_argument(
        "--no-use-wildcard", action="store_true", help="Leave out what the file has for all nodes, under '/**'"
    )


def file_parameters(document, node_name, use_wildcard):
    """Return the mapping of parameters that a parsed file holds for a node; RuntimeError where it holds none."""
    keys = [key for key in (["/**"] if use_wildcard else []) + [node_name] if key in document]
    if not keys:
        raise RuntimeError(
            f"Param file does not contain parameters for {node_name},  only for nodes: {document.keys()}"
        )
    found = {}
    for key in keys:
        if not isinstance(document[key], dict) or "ros__parameters" not in document[key]:
            raise RuntimeError(
                f"Invalid structure of parameter file for node {key}expected same format as provided by ros2 param dump"
            )
        found.update(document[key]["ros__parameters"])
    return found


def load_verb(args):
    """Set a node's parameters from a file, and say of each how that went."""
    name = absolute(args.node_name)
    with node_of(args) as node:
        if node is None:
            return NOT_FOUND
        with open(args.parameter_file) as file:
            try:
                tree = load_yaml(file)
            except (yaml.YAMLError, UnicodeDecodeError) as error:
                return f"parameter file {args.parameter_file} is not YAML: {error}"
            found = file_parameters(tree, name, not args.no_use_wildcard)
        parameters = [(key, value_message(str(value))) for key, value in flat(found)]
        for (key, _), result in zip(parameters, set_parameters(node, name, parameters), strict=True):
            report(result, f"Set parameter {key} successful", f"Set parameter {key} failed")
