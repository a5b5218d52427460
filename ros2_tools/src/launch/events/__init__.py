"""Events of the launch system; those of processes are in `launch.events.process`."""


class Event:
    """Base of all events; the launch service calls the handlers that match."""

    @property
    def name(self):
        """The full name of the event's class."""
        return f"{type(self).__module__}.{type(self).__name__}"


class Shutdown(Event):
    """Ends the launch: running processes are stopped and no new ones are started."""

    def __init__(self, *, reason="reason not given", due_to_sigint=False):
        self.reason = reason
        self.due_to_sigint = due_to_sigint


class IncludeLaunchDescription(Event):
    """Asks to visit a launch description."""

    def __init__(self, launch_description):
        self.launch_description = launch_description


class TimerEvent(Event):
    """The period of a TimerAction has elapsed."""

    def __init__(self, *, timer_action):
        self.timer_action = timer_action
