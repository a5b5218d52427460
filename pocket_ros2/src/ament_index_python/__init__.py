"""Finds packages and their files in the resource index that colcon installs."""

import pocket_ros2  # noqa: F401  refuses to go beside a real ROS 2

from .constants import AMENT_PREFIX_PATH_ENV_VAR, RESOURCE_INDEX_SUBFOLDER
from .packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
    get_package_share_path,
    get_packages_with_prefixes,
)
from .resources import (
    InvalidResourceNameError,
    InvalidResourceTypeNameError,
    get_resource,
    get_resource_types,
    get_resources,
    has_resource,
)
from .search_paths import get_search_paths

__all__ = [
    "AMENT_PREFIX_PATH_ENV_VAR",
    "RESOURCE_INDEX_SUBFOLDER",
    "InvalidResourceNameError",
    "InvalidResourceTypeNameError",
    "PackageNotFoundError",
    "get_package_prefix",
    "get_package_share_directory",
    "get_package_share_path",
    "get_packages_with_prefixes",
    "get_resource",
    "get_resource_types",
    "get_resources",
    "get_search_paths",
    "has_resource",
]
