"""Launch descriptions from files: Python files; those in XML and YAML are not covered."""

import os
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

from ros2_tools.errors import NotCovered, not_covered

from .entities import LaunchDescription
from .launch_context import LaunchContext
from .logging import get_logger
from .substitutions import perform_substitutions


class InvalidLaunchFileError(Exception):
    """A launch file could not be loaded, with the reason as its cause."""


def get_launch_description_from_any_launch_file(path):
    """Return what a file's generate_launch_description() returns; InvalidLaunchFileError if it cannot be loaded."""
    extension = os.path.splitext(path)[1].lstrip(".")
    try:
        if extension in ("xml", "yaml", "yml"):
            raise NotCovered(f"launch files in {extension.upper()} ({path}), only those in Python")
        loader = SourceFileLoader("python_launch_file", path)
        module = module_from_spec(spec_from_loader(loader.name, loader))
        loader.exec_module(module)
        function = "generate_launch_description"
        if not hasattr(module, function):
            raise RuntimeError(f"launch file at '{path}' does not contain the required function '{function}()'")
        description = module.generate_launch_description()
        if not isinstance(description, LaunchDescription):
            raise RuntimeError(f"{function}() of '{path}' returned {description!r} instead of a LaunchDescription")
        return description
    except Exception as error:  # any: a launch file is a program
        message = f"Caught exception when trying to load file of format [{extension}]: {error}"
        raise InvalidLaunchFileError(message) from error


class LaunchDescriptionSource:
    """A launch description given, or one that is loaded from a location when it is first asked for."""

    def __init__(self, launch_description=None, location="<string>"):
        self._launch_description, self.location = launch_description, location

    def get_launch_description(self, context):
        """Return the launch description, and make `location` a text; InvalidLaunchFileError if it cannot be loaded."""
        self.location = perform_substitutions(context, self.location)
        if self._launch_description is None:
            self._launch_description = get_launch_description_from_any_launch_file(self.location)
        return self._launch_description

    def try_get_launch_description_without_context(self):
        """Return the launch description, or None where it can be known only when the launch runs."""
        try:
            copy = LaunchDescriptionSource(self._launch_description, self.location)
            return copy.get_launch_description(LaunchContext())
        except Exception as error:  # any: a launch file is a program; when it is visited the error is raised
            get_logger(__name__).debug(f"Failed to load the launch file without a context: {error}")
            return None


class AnyLaunchDescriptionSource(LaunchDescriptionSource):
    """A launch file, by its path."""

    def __init__(self, launch_file_path):
        super().__init__(None, launch_file_path)


class PythonLaunchDescriptionSource(AnyLaunchDescriptionSource):
    """A launch file in Python, by its path."""


__getattr__ = not_covered(__name__)
