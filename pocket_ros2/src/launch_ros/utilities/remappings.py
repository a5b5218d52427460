"""Remappings as launch files give them."""

from launch.utilities import normalize_to_list_of_substitutions


def normalize_remap_rule(remapping):
    """Return (from, to) as tuples of substitutions; TypeError unless the rule is a pair."""
    if not isinstance(remapping, (tuple, list)) or len(remapping) != 2:
        raise TypeError(f"Expected a remapping as (from, to), got {remapping!r}")
    return tuple(tuple(normalize_to_list_of_substitutions(name)) for name in remapping)


def normalize_remap_rules(remappings):
    """Yield each rule, normalized."""
    for remapping in remappings:
        yield normalize_remap_rule(remapping)
