"""Packages: resources of the type 'packages'."""

import os
import pathlib
import re
import warnings

from .resources import get_resource, get_resources, get_search_paths


class PackageNotFoundError(KeyError):
    """No prefix of AMENT_PREFIX_PATH holds the package."""


def get_packages_with_prefixes():
    """Return {package name: prefix}."""
    return get_resources("packages")


def get_package_prefix(package_name):
    """Return the prefix a package is installed to.

    :raises PackageNotFoundError: if it is not installed in any prefix
    :raises ValueError: if the name cannot be a package's (REP-127)
    """
    if not re.fullmatch("[a-zA-Z0-9][a-zA-Z0-9_-]+", package_name, re.ASCII):
        raise ValueError(f"'{package_name}' is not a valid package name")
    try:
        return get_resource("packages", package_name)[1]
    except LookupError:
        raise PackageNotFoundError(f"package '{package_name}' not found, searching: {get_search_paths()}") from None


def get_package_share_directory(package_name, print_warning=True):
    """Return PREFIX/share/PACKAGE; raises as `get_package_prefix`."""
    path = os.path.join(get_package_prefix(package_name), "share", package_name)
    if print_warning and not os.path.exists(path):
        warnings.warn(f"Share directory for {package_name} ({path}) does not exist.", stacklevel=2)
    return path


def get_package_share_path(package_name, print_warning=True):
    """Return PREFIX/share/PACKAGE as a pathlib.Path; raises as `get_package_prefix`."""
    path = pathlib.Path(get_package_share_directory(package_name, print_warning=False))
    if print_warning and not path.exists():
        warnings.warn(f"Share path for {package_name} ({path}) does not exist.", stacklevel=2)
    return path
