"""Base of all events."""


class Event:
    """Something that happened; handlers of the launch service answer to it."""

    name = "launch.Event"
