"""Launch descriptions from files: Python files; those in XML and YAML are not covered."""

import os
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

from ros2_tools.errors import NotCovered, not_covered

from .entities import LaunchDescription
from .launch_context import LaunchContext
from .utilities import described, normalize_to_list_of_substitutions, perform_substitutions


class InvalidPythonLaunchFileError(Exception):
    """A Python launch file does not give a launch description."""


class InvalidLaunchFileError(Exception):
    """A launch file could not be loaded, with the reason as its cause."""

    def __init__(self, extension, cause):
        super().__init__(f"Caught exception when trying to load file of format [{extension}]: {cause}")


def get_launch_description_from_python_launch_file(python_launch_file_path):
    """Return what the file's generate_launch_description() returns; whatever running the file raises is raised."""
    loader = SourceFileLoader("python_launch_file", python_launch_file_path)
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
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
    """Return the launch description of a file; InvalidLaunchFileError if it cannot be loaded."""
    extension = os.path.splitext(launch_file_path)[1].lstrip(".")
    try:
        if extension in ("xml", "yaml", "yml"):
            raise NotCovered(f"launch files in {extension.upper()} ({launch_file_path}), only those in Python")
        return get_launch_description_from_python_launch_file(launch_file_path)
    except Exception as error:  # any: a launch file is a program
        raise InvalidLaunchFileError(extension, error) from error


class LaunchDescriptionSource:
    """A launch description given, or one that is loaded from a location when it is first asked for."""

    def __init__(self, launch_description=None, location="<string>"):
        self._launch_description = launch_description
        self._location = normalize_to_list_of_substitutions(location)
        self._expanded_location = None

    def get_launch_description(self, context):
        """Return the launch description; whatever loading it raises is raised."""
        if self._expanded_location is None:
            self._expanded_location = perform_substitutions(context, self._location)
        if self._launch_description is None:
            self._launch_description = self._load(self._expanded_location)
        return self._launch_description

    def try_get_launch_description_without_context(self):
        """Return the launch description, or None where it can be known only when the launch runs."""
        if self._launch_description is not None:
            return self._launch_description
        try:
            return self._load(perform_substitutions(LaunchContext(), self._location))
        except Exception as error:  # any: a launch file is a program; when it is visited the error is raised
            from .logging import get_logger

            get_logger(__name__).debug(f"Failed to load the launch file without a context: {error}")
            return None

    def _load(self, location):
        raise RuntimeError(f"no launch description was given for '{location}' and this source loads none")

    @property
    def location(self):
        """The location, or a description of it before it is known."""
        return described(self._location) if self._expanded_location is None else self._expanded_location


class PythonLaunchDescriptionSource(LaunchDescriptionSource):
    """A launch file in Python, by its path."""

    def __init__(self, launch_file_path):
        super().__init__(None, launch_file_path)

    def _load(self, location):
        return get_launch_description_from_python_launch_file(location)


class AnyLaunchDescriptionSource(PythonLaunchDescriptionSource):
    """A launch file, by its path."""

    def _load(self, location):
        return get_launch_description_from_any_launch_file(location)


__getattr__ = not_covered(__name__, ["PythonLaunchDescriptionSource", "AnyLaunchDescriptionSource"])
