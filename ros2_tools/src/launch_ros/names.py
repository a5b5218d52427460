"""Names, namespaces and remappings of nodes."""

import re

from launch.utilities import normalize_to_list_of_substitutions


def prefix_namespace(base_ns, ns):
    """Return `ns`, below `base_ns` unless it is absolute; either may be None, and so may be the result."""
    if ns is None:
        combined = base_ns
    elif not base_ns or ns.startswith("/"):
        combined = ns
    else:
        combined = f"{'' if base_ns == '/' else base_ns}/{ns}"
    return combined if combined is None or combined == "/" else combined.rstrip("/")


def absolute_namespace(base_ns, ns):
    """Return `prefix_namespace` beginning at the root, None if both are; ValueError if it breaks the rules of names."""
    namespace = prefix_namespace(base_ns, ns)
    if namespace is None:
        return None
    namespace = namespace if namespace.startswith("/") else f"/{namespace}"
    if namespace != "/" and not re.fullmatch(r"(/[A-Za-z_][A-Za-z0-9_]*)+", namespace):
        raise ValueError(
            f"Invalid namespace '{namespace}': it must be / or names of letters, digits and underscores, none "
            "beginning with a digit, each after a /"
        )
    return namespace


def check_node_name(node_name):
    """Raise ValueError unless this is a node's name."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", node_name):
        raise ValueError(
            f"Invalid node name '{node_name}': it must be of letters, digits and underscores, not beginning with a "
            "digit"
        )


def normalize_remap_rule(remapping):
    """Return (from, to) as lists of substitutions; TypeError unless the rule is a pair."""
    if not isinstance(remapping, (tuple, list)) or len(remapping) != 2:
        raise TypeError(f"Expected a remapping as (from, to), got {remapping!r}")
    return tuple(normalize_to_list_of_substitutions(name) for name in remapping)
