"""What event handlers know of the actions that run processes."""

from .action import Action


class ProcessAction(Action):
    """Base of ExecuteLocal: the action of the events ProcessStarted, ProcessIO and ProcessExited."""
