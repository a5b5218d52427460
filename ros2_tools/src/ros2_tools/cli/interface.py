"""Verbs `ros2 interface` list and show."""

import sys

from . import definitions

_KINDS = (
    ("msgs", "msg", "Messages", definitions.message_names),
    ("srvs", "srv", "Services", definitions.service_names),
    ("actions", "action", "Actions", lambda package: []),
)


def _names(package, kinds=_KINDS):
    """Return the full names of a package's interfaces, e.g. `std_msgs/msg/String`."""
    return [f"{package}/{kind}/{name}" for _, kind, _, names in kinds for name in names(package)]


def _kind_arguments(parser, verb):
    for option, _, title, _ in _KINDS:
        parser.add_argument(
            f"-{option[0]}", f"--only-{option}", action="store_true", help=f"{verb} {title.lower()} only"
        )


def _chosen(args):
    return [kind for kind in _KINDS if getattr(args, f"only_{kind[0]}")]


def list_arguments(parser):
    """Declare the options of `ros2 interface list`."""
    _kind_arguments(parser, "List")


def list_verb(args):
    """Print all interfaces by kind."""
    for kind in _chosen(args) or _KINDS:
        print(f"{kind[2]}:")
        for package in sorted(definitions.packages()):
            for name in _names(package, [kind]):
                print(f"    {name}")


def show_arguments(parser):
    """Declare the options of `ros2 interface show`."""
    comments = parser.add_mutually_exclusive_group()
    comments.add_argument("--all-comments", action="store_true", help="Show the comments, also those of fields within")
    comments.add_argument("--no-comments", action="store_true", help="Show no comments (the default here)")
    parser.add_argument("type", help="Interface to print (e.g. 'std_msgs/msg/String'), or '-' to read it from stdin")


def show_verb(args):
    """Print an interface's fields and constants, those of messages within it indented below."""
    name = args.type
    if name == "-" and not sys.stdin.isatty():
        name = sys.stdin.readline().strip()
    try:
        kind, name = _located(name)
    except RuntimeError as error:
        return str(error)
    for line in definitions.lines(name, comments=args.all_comments):
        print(line)


def _located(name):
    """Return kind and name of an interface that is there; RuntimeError says what is wrong with another."""
    parts = name.split("/")
    if len(parts) != 3 or not all(parts):
        raise RuntimeError(f"Invalid name '{name}'. Expected three parts separated by '/'")
    package, kind, _ = parts
    if package not in definitions.packages():
        raise RuntimeError(f"Unknown package '{package}'")
    if name not in _names(package):
        raise RuntimeError(f"Could not find the interface '{name}'; {package} has: {', '.join(_names(package))}")
    return kind, name
