"""Verbs `ros2 interface` list and show, from the definitions that the packages of interfaces have installed."""

import re
import sys
from functools import cache
from pathlib import Path

from .verbs import arg, flag, verb

_KINDS = {"msg": "Messages", "srv": "Services", "action": "Actions"}
_FIELD = re.compile(r"([A-Za-z][\w/]*?)(?=[<\[\s])")


@cache
def packages():
    """Return {package: the full names of its interfaces, e.g. `std_msgs/msg/String`}, all sorted."""
    from ament_index_python.resources import get_resource, get_resources

    found = {}
    for package in sorted(get_resources("rosidl_interfaces")):
        paths = map(Path, get_resource("rosidl_interfaces", package)[0].split())
        found[package] = sorted(f"{package}/{path.with_suffix('')}" for path in paths if path.suffix[1:] in _KINDS)
    return found


@verb(
    "interface list",
    *(flag(f"-{kind[0]}", f"--only-{kind}s", help=f"List {title.lower()} only") for kind, title in _KINDS.items()),
)
def list_interfaces(args):
    """List all interface types available."""
    for kind in [kind for kind in _KINDS if getattr(args, f"only_{kind}s")] or _KINDS:
        print(f"{_KINDS[kind]}:")
        for name in (name for names in packages().values() for name in names):
            if name.split("/")[1] == kind:
                print(f"    {name}")


@verb(
    "interface show",
    flag("--all-comments", group="comments", help="Show the comments, also those of fields within"),
    flag("--no-comments", group="comments", help="Show no comments (the default here)"),
    arg("type", help="Interface to print (e.g. 'std_msgs/msg/String'), or '-' to read it from stdin"),
)
def show(args):
    """Output the interface definition."""
    name = args.type
    if name == "-" and not sys.stdin.isatty():
        name = sys.stdin.readline().strip()
    package, *rest = name.split("/")
    if len(rest) != 2 or not all((package, *rest)):
        return f"Invalid name '{name}'. Expected three parts separated by '/'"
    if package not in packages():
        return f"Unknown package '{package}'"
    if name not in packages()[package]:
        return f"Could not find the interface '{name}'; {package} has: {', '.join(packages()[package])}"
    print(*_lines(name, args.all_comments), sep="\n")
    return None


def _lines(name, comments, indent=""):
    """Yield the lines of an interface, those of messages within it indented below."""
    from ament_index_python.packages import get_package_share_directory

    package, kind, word = name.split("/")
    text = Path(get_package_share_directory(package), kind, f"{word}.{kind}").read_text(encoding="utf-8")
    for line in text.splitlines():
        bare = line.partition("#")[0].rstrip() if "'" not in line and '"' not in line else line.rstrip()
        if not comments and not bare.strip():
            continue
        yield indent + (line if comments else bare)
        field = _FIELD.match(bare.strip())
        base = "std_msgs/Header" if field and field[1] == "Header" else field[1] if field else ""
        where = base.split("/")[0] if "/" in base else package
        inner = f"{where}/msg/{base.rpartition('/')[2]}"
        if inner in packages().get(where, ()):
            yield from _lines(inner, comments, indent + "\t")
