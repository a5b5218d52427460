"""Helpers for names, parameters and remappings."""

from .namespaces import (
    InvalidNamespaceException,
    is_namespace_absolute,
    is_root_namespace,
    make_namespace_absolute,
    prefix_namespace,
    validate_namespace,
    validate_node_name,
)
from .parameters import (
    evaluate_parameters,
    evaluate_parameters_dict,
    normalize_parameters,
    normalize_parameters_dict,
)
from .remappings import normalize_remap_rule, normalize_remap_rules

__all__ = [
    "InvalidNamespaceException",
    "evaluate_parameters",
    "evaluate_parameters_dict",
    "is_namespace_absolute",
    "is_root_namespace",
    "make_namespace_absolute",
    "normalize_parameters",
    "normalize_parameters_dict",
    "normalize_remap_rule",
    "normalize_remap_rules",
    "prefix_namespace",
    "validate_namespace",
    "validate_node_name",
]
