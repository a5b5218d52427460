"""The error for launch files that cannot be loaded."""


class InvalidLaunchFileError(Exception):
    """A launch file could not be loaded; the first of `likely_errors` says why."""

    def __init__(self, extension="", *, likely_errors=None):
        super().__init__(extension)
        self._extension = extension
        self._likely_errors = likely_errors or []
        self.__cause__ = self._likely_errors[0] if self._likely_errors else None

    def __str__(self):
        if not self._extension:
            return f"The launch file may have a syntax error, or its format is unknown: {self.__cause__}"
        return f"Caught exception when trying to load file of format [{self._extension}]: {self.__cause__}"
