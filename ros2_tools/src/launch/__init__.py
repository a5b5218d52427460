"""Describes and runs systems of processes: the launch files of ROS 2, in Python.

A launch description is a tree of entities. Visiting an action executes it, now and not later; what it returns is
visited next. What happens afterwards (a process ends, a timer fires, ctrl-c) arrives as an event; handlers turn
events into further entities. The service runs that loop until nothing is left to wait for.
"""

from ros2_tools.errors import not_covered

from . import actions, conditions, event_handlers, events, logging, substitutions, utilities
from .conditions import Condition
from .entities import Action, LaunchDescription, LaunchDescriptionEntity
from .event_handlers import EventHandler
from .events import Event
from .launch_context import LaunchContext
from .launch_description_sources import LaunchDescriptionSource
from .launch_service import LaunchService
from .substitution import SomeSubstitutionsType, Substitution

__all__ = [
    "Action",
    "Condition",
    "Event",
    "EventHandler",
    "LaunchContext",
    "LaunchDescription",
    "LaunchDescriptionEntity",
    "LaunchDescriptionSource",
    "LaunchService",
    "SomeSubstitutionsType",
    "Substitution",
    "actions",
    "conditions",
    "event_handlers",
    "events",
    "logging",
    "substitutions",
    "utilities",
]
__getattr__ = not_covered(__name__, __all__[:11])
