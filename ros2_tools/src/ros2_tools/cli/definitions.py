"""The definitions that the packages of interfaces have installed."""

import re
from functools import cache
from pathlib import Path

_FIELD = re.compile(r"([A-Za-z][\w/]*?)(?=[<\[\s])")


@cache
def packages():
    """Return {package: its definitions' paths, as msg/String.msg}."""
    from ament_index_python.resources import get_resource, get_resources

    return {
        name: [
            line for line in get_resource("rosidl_interfaces", name)[0].split() if not line.endswith((".idl", ".json"))
        ]
        for name in get_resources("rosidl_interfaces")
    }


def _names(package, kind):
    return sorted(
        Path(path).stem for path in packages()[package] if path.startswith(f"{kind}/") and path.endswith(f".{kind}")
    )


def message_names(package):
    """Return the names of a package's messages."""
    return _names(package, "msg")


def service_names(package):
    """Return the names of a package's services."""
    return _names(package, "srv")


def lines(name, comments=False, indent=""):
    """Yield the lines of an interface (`std_msgs/msg/String`), those of messages within it indented below."""
    from ament_index_python.packages import get_package_share_directory

    package, kind, word = name.split("/")
    text = Path(get_package_share_directory(package), kind, f"{word}.{kind}").read_text(encoding="utf-8")
    for line in text.splitlines():
        bare = line.partition("#")[0].rstrip() if "'" not in line and '"' not in line else line.rstrip()
        if not comments and not bare.strip():
            continue
        yield indent + (line if comments else bare)
        found = _FIELD.match(bare.strip())
        inner = found and _message(found[1], package)
        if inner:
            yield from lines(inner, comments, indent + "\t")


def _message(base, package):
    if "/" in base:
        where, word = base.split("/")[0], base.split("/")[-1]
    else:
        where, word = package, base
    if base == "Header":
        where = "std_msgs"
    return f"{where}/msg/{word}" if where in packages() and word in message_names(where) else None
