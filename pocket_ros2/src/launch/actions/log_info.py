"""The action that writes a line."""

from ..action import Action
from ..logging import get_logger
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions


class LogInfo(Action):
    """Writes a line to the screen and the log."""

    def __init__(self, *, msg, **kwargs):
        super().__init__(**kwargs)
        self._msg = normalize_to_list_of_substitutions(msg)

    @property
    def msg(self):
        """The substitutions that make the line."""
        return self._msg

    def execute(self, context):
        """Write it."""
        get_logger("launch.user").info(perform_substitutions(context, self._msg))
