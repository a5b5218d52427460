"""Events of the launch system; those of processes are in `launch.events.process`."""

from dataclasses import dataclass
from typing import Any


class Event:
    """Base of all events; the launch service calls the handlers that match."""


@dataclass(kw_only=True)
class Shutdown(Event):
    """Ends the launch: running processes are stopped and no new ones are started."""

    reason: str = "reason not given"
    due_to_sigint: bool = False


@dataclass
class IncludeLaunchDescription(Event):
    """Asks to visit a launch description."""

    launch_description: Any
