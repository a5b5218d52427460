"""Base of all events."""


class Event:
    """Base of all events; the launch service calls the handlers that match."""

    name = "launch.Event"
