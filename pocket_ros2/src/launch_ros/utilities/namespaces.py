"""Names and namespaces of nodes."""

import re


class InvalidNamespaceException(ValueError):
    """A namespace breaks the rules of ROS names."""


class InvalidNodeNameException(ValueError):
    """A node's name breaks the rules of ROS names."""


def is_root_namespace(ns):
    """Return whether this is the root namespace."""
    return ns == "/"


def is_namespace_absolute(ns):
    """Return whether the namespace begins at the root."""
    return ns.startswith("/")


def prefix_namespace(base_ns, ns):
    """Return `ns`, below `base_ns` unless it is absolute; either may be None, and so may be the result."""
    if ns is None:
        combined = base_ns
    elif not base_ns or is_namespace_absolute(ns):
        combined = ns
    else:
        combined = f"{'' if is_root_namespace(base_ns) else base_ns}/{ns}"
    return combined if combined is None or is_root_namespace(combined) else combined.rstrip("/")


def make_namespace_absolute(ns):
    """Return the namespace, beginning at the root; None stays None."""
    return ns if ns is None or is_namespace_absolute(ns) else f"/{ns}"


def validate_namespace(namespace):
    """Raise InvalidNamespaceException unless this is an absolute namespace as /, /a or /a/b2_c."""
    if namespace != "/" and not re.fullmatch(r"(/[A-Za-z_][A-Za-z0-9_]*)+", namespace):
        raise InvalidNamespaceException(
            f"Invalid namespace '{namespace}': it must be / or names of letters, digits and underscores, none "
            "beginning with a digit, each after a /"
        )


def validate_node_name(node_name):
    """Raise InvalidNodeNameException unless this is a node's name."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", node_name):
        raise InvalidNodeNameException(
            f"Invalid node name '{node_name}': it must be of letters, digits and underscores, not beginning with a "
            "digit"
        )
