"""Finds packages and their files in the resource index that colcon installs."""

import pocket_ros2  # noqa: F401  refuses to be imported beside a real ROS 2

from .packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
    get_package_share_path,
    get_packages_with_prefixes,
)
from .resources import get_resource, get_resources, get_search_paths, has_resource

__all__ = [
    "PackageNotFoundError",
    "get_package_prefix",
    "get_package_share_directory",
    "get_package_share_path",
    "get_packages_with_prefixes",
    "get_resource",
    "get_resources",
    "get_search_paths",
    "has_resource",
]
