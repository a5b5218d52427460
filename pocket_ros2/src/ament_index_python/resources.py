"""The resource index: files named after resources, in folders named after their types, below each prefix."""

import os

from .constants import RESOURCE_INDEX_SUBFOLDER
from .search_paths import get_search_paths


class InvalidResourceTypeNameError(ValueError):
    """A resource type's name holds a path separator."""


class InvalidResourceNameError(ValueError):
    """A resource's name holds a path separator."""


def _check(resource_type, resource_name=None):
    if not resource_type:
        raise AssertionError("The resource type must not be empty")
    if "/" in resource_type or "\\" in resource_type:
        raise InvalidResourceTypeNameError(f"Resource type '{resource_type}' is invalid")
    if resource_name is not None:
        if not resource_name:
            raise AssertionError("The resource name must not be empty")
        if "/" in resource_name or "\\" in resource_name:
            raise InvalidResourceNameError(f"Resource name '{resource_name}' is invalid")


def has_resource(resource_type, resource_name):
    """Return the first prefix that holds the resource, or False."""
    _check(resource_type, resource_name)
    for prefix in get_search_paths():
        if os.path.isfile(os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER, resource_type, resource_name)):
            return prefix
    return False


def get_resource(resource_type, resource_name):
    """Return (content, prefix) of the first resource of this type and name.

    :raises LookupError: if no prefix holds it
    """
    prefix = has_resource(resource_type, resource_name)
    if not prefix:
        raise LookupError(f"Could not find the resource '{resource_name}' of type '{resource_type}'")
    with open(os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER, resource_type, resource_name), encoding="utf-8") as file:
        return file.read(), prefix


def get_resources(resource_type):
    """Return {resource name: first prefix that holds it} of one type."""
    _check(resource_type)
    found = {}
    for prefix in get_search_paths():
        folder = os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER, resource_type)
        if os.path.isdir(folder):
            for name in os.listdir(folder):
                if not name.startswith(".") and os.path.isfile(os.path.join(folder, name)):
                    found.setdefault(name, prefix)
    return found


def get_resource_types():
    """Return the set of resource types in all prefixes."""
    found = set()
    for prefix in get_search_paths():
        index = os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER)
        if os.path.isdir(index):
            found.update(
                name
                for name in os.listdir(index)
                if not name.startswith(".") and os.path.isdir(os.path.join(index, name))
            )
    return found
