"""The resource index: files named after resources, in folders named after their types, below each prefix."""

import os

RESOURCE_INDEX_SUBFOLDER = "share/ament_index/resource_index"


def get_search_paths():
    """Return the existing prefixes of AMENT_PREFIX_PATH, in their order; OSError if it is not set or empty."""
    value = os.environ.get("AMENT_PREFIX_PATH")
    if not value:
        raise OSError("Environment variable 'AMENT_PREFIX_PATH' is not set or empty")
    return [path for path in value.split(os.pathsep) if path and os.path.exists(path)]


def _check(**names):
    for what, name in names.items():
        if not name or "/" in name or "\\" in name:
            raise ValueError(f"{what} '{name}' is invalid: it must be a file name")


def has_resource(resource_type, resource_name):
    """Return the first prefix that holds the resource, or False."""
    _check(resource_type=resource_type, resource_name=resource_name)
    for prefix in get_search_paths():
        if os.path.isfile(os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER, resource_type, resource_name)):
            return prefix
    return False


def get_resource(resource_type, resource_name):
    """Return (content, prefix) of the first resource of this type and name; LookupError if no prefix holds it."""
    prefix = has_resource(resource_type, resource_name)
    if not prefix:
        raise LookupError(f"Could not find the resource '{resource_name}' of type '{resource_type}'")
    with open(os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER, resource_type, resource_name), encoding="utf-8") as file:
        return file.read(), prefix


def get_resources(resource_type):
    """Return {resource name: first prefix that holds it} of one type."""
    _check(resource_type=resource_type)
    found = {}
    for prefix in get_search_paths():
        folder = os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER, resource_type)
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if not name.startswith(".") and os.path.isfile(os.path.join(folder, name)):
                found.setdefault(name, prefix)
    return found
