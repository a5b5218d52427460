"""Describes and runs systems of processes: the launch files of ROS 2, in Python.

A launch description is a tree of entities. Visiting an action executes it, now and not later; what it returns is
visited next. What happens afterwards (a process ends, a timer fires, ctrl-c) arrives as an event; handlers turn
events into further entities. The service runs that loop until nothing is left to wait for.
"""

from pocket_ros2 import deep_modules  # also refuses to go beside a real ROS 2

from . import actions, conditions, descriptions, events, logging, substitutions
from .action import Action
from .condition import Condition
from .event import Event
from .event_handler import EventHandler
from .invalid_launch_file_error import InvalidLaunchFileError
from .launch_context import LaunchContext
from .launch_description import LaunchDescription
from .launch_description_entity import LaunchDescriptionEntity
from .launch_description_source import LaunchDescriptionSource
from .launch_introspector import LaunchIntrospector
from .launch_service import LaunchService
from .not_covered import not_covered
from .some_actions_type import SomeActionsType, SomeActionsType_types_tuple
from .some_substitutions_type import SomeSubstitutionsType, SomeSubstitutionsType_types_tuple
from .substitution import Substitution

deep_modules.install()
__getattr__ = not_covered(__name__, "frontend")

__all__ = [
    "Action",
    "Condition",
    "Event",
    "EventHandler",
    "InvalidLaunchFileError",
    "LaunchContext",
    "LaunchDescription",
    "LaunchDescriptionEntity",
    "LaunchDescriptionSource",
    "LaunchIntrospector",
    "LaunchService",
    "SomeActionsType",
    "SomeActionsType_types_tuple",
    "SomeSubstitutionsType",
    "SomeSubstitutionsType_types_tuple",
    "Substitution",
    "actions",
    "conditions",
    "descriptions",
    "events",
    "logging",
    "substitutions",
]
