"""Launch descriptions from files: Python files; those in XML and YAML are not covered."""

import os
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

from pocket_ros2.errors import NotCovered

from ..invalid_launch_file_error import InvalidLaunchFileError
from ..launch_description import LaunchDescription
from ..launch_description_source import LaunchDescriptionSource
from ..not_covered import not_covered


class InvalidPythonLaunchFileError(Exception):
    """A Python launch file does not give a launch description."""


def load_python_launch_file_as_module(python_launch_file_path):
    """Return the module that a launch file is; whatever running it raises is raised."""
    loader = SourceFileLoader("python_launch_file", python_launch_file_path)
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def get_launch_description_from_python_launch_file(python_launch_file_path):
    """Return what the file's generate_launch_description() returns."""
    module = load_python_launch_file_as_module(python_launch_file_path)
    if not hasattr(module, "generate_launch_description"):
        raise InvalidPythonLaunchFileError(
            f"launch file at '{python_launch_file_path}' does not contain the required function "
            "'generate_launch_description()'"
        )
    description = module.generate_launch_description()
    if not isinstance(description, LaunchDescription):
        raise InvalidPythonLaunchFileError(
            f"generate_launch_description() of '{python_launch_file_path}' returned {description!r} "
            "where a LaunchDescription is expected"
        )
    return description


def get_launch_description_from_any_launch_file(launch_file_path):
    """Return the launch description of a file.

    :raises InvalidLaunchFileError: if the file cannot be loaded, with the reason as its cause
    """
    extension = os.path.splitext(launch_file_path)[1].lstrip(".")
    try:
        if extension in ("xml", "yaml", "yml"):
            raise NotCovered(f"launch files in {extension.upper()} ({launch_file_path}), only those in Python")
        return get_launch_description_from_python_launch_file(launch_file_path)
    except Exception as error:  # any: a launch file is a program
        raise InvalidLaunchFileError(extension, likely_errors=[error]) from error


class PythonLaunchDescriptionSource(LaunchDescriptionSource):
    """A launch file in Python, by its path."""

    def __init__(self, launch_file_path):
        super().__init__(None, launch_file_path, "interpreted python launch file")

    def _get_launch_description(self, location):
        return get_launch_description_from_python_launch_file(location)


class AnyLaunchDescriptionSource(LaunchDescriptionSource):
    """A launch file, by its path."""

    def __init__(self, launch_file_path):
        super().__init__(None, launch_file_path, "Python or frontend launch file")

    def _get_launch_description(self, location):
        return get_launch_description_from_any_launch_file(location)


__getattr__ = not_covered(
    __name__,
    "FrontendLaunchDescriptionSource",
    "InvalidFrontendLaunchFileError",
    "get_launch_description_from_frontend_launch_file",
)

__all__ = [
    "AnyLaunchDescriptionSource",
    "InvalidLaunchFileError",
    "InvalidPythonLaunchFileError",
    "PythonLaunchDescriptionSource",
    "get_launch_description_from_any_launch_file",
    "get_launch_description_from_python_launch_file",
    "load_python_launch_file_as_module",
]
