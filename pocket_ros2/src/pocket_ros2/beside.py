"""Detects a real ROS 2 beside this project: both use the same import names and must never be mixed."""

import os
import sys
from pathlib import Path

OURS = Path(__file__).resolve().parents[1]


def real_ros2(environ=None, path=None):
    """Return where a real ROS 2 is, or None if there is none.

    :param environ: the environment to look at, by default this process's
    :param path: the import path to look at, by default `sys.path`
    """
    environ = os.environ if environ is None else environ
    path = sys.path if path is None else path
    for prefix in filter(None, environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        if os.path.isfile(os.path.join(prefix, "share/ament_index/resource_index/packages/rclpy")):
            return f"AMENT_PREFIX_PATH names {prefix}, which holds rclpy"
    if environ.get("ROS_DISTRO"):
        return f"ROS_DISTRO is set to '{environ['ROS_DISTRO']}'"
    for entry in path:
        found = os.path.join(entry or os.curdir, "rclpy", "__init__.py")
        if os.path.isfile(found) and not _is_ours(Path(found).resolve().parents[1]):
            return f"the import path holds another rclpy, {found}"
    return None


def _is_ours(directory):
    """Return whether a directory of packages belongs to this project: where it runs from, or another copy that is
    installed.
    """
    return directory == OURS or (directory / "pocket_ros2" / "beside.py").is_file()


def refusal(reason):
    """Return the error message for a reason given by `real_ros2`."""
    return (
        f"pocket_ros2 does not go together with a real ROS 2: {reason}. "
        "Use that ROS 2 as it is, or start from a shell where it is not sourced "
        "(unset AMENT_PREFIX_PATH ROS_DISTRO PYTHONPATH)."
    )


def refuse_beside_real_ros2():
    """Raise ImportError where a real ROS 2 is in this process's environment or import path."""
    reason = real_ros2()
    if reason:
        raise ImportError(refusal(reason))
