"""Where a launch description comes from."""

from .launch_context import LaunchContext
from .utilities import normalize_to_list_of_substitutions, perform_substitutions


class LaunchDescriptionSource:
    """A launch description given, or one that is loaded from a location when it is first asked for."""

    def __init__(self, launch_description=None, location="<string>", method="unspecified mechanism from a script"):
        self._launch_description = launch_description
        self._location = normalize_to_list_of_substitutions(location)
        self._expanded_location = None
        self._method = method

    def get_launch_description(self, context):
        """Return the launch description; whatever loading it raises is raised."""
        if self._expanded_location is None:
            self._expanded_location = perform_substitutions(context, self._location)
        if self._launch_description is None:
            self._launch_description = self._get_launch_description(self._expanded_location)
        return self._launch_description

    def try_get_launch_description_without_context(self):
        """Return the launch description, or None where it can be known only when the launch runs."""
        if self._launch_description is not None:
            return self._launch_description
        try:
            return self._get_launch_description(perform_substitutions(LaunchContext(), self._location))
        except Exception as error:  # any: a launch file is a program; when it is visited the error is raised
            from .logging import get_logger

            get_logger(__name__).debug(f"Failed to load the launch file without a context: {error}")
            return None

    def _get_launch_description(self, location):
        raise RuntimeError(f"no launch description was given for '{location}' and this source loads none")

    @property
    def location(self):
        """The location, or a description of it before it is known."""
        if self._expanded_location is None:
            return " + ".join(sub.describe() for sub in self._location)
        return self._expanded_location

    @property
    def method(self):
        """How the description is made, for people."""
        return self._method
