"""The prefixes that are searched."""

import os

from .constants import AMENT_PREFIX_PATH_ENV_VAR


def get_search_paths():
    """Return the existing prefixes of AMENT_PREFIX_PATH, in their order.

    :raises OSError: if the variable is not set or empty
    """
    value = os.environ.get(AMENT_PREFIX_PATH_ENV_VAR)
    if not value:
        raise OSError(f"Environment variable '{AMENT_PREFIX_PATH_ENV_VAR}' is not set or empty")
    return [path for path in value.split(os.pathsep) if path and os.path.exists(path)]
