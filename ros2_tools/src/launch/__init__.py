"""Describes and runs systems of processes: the launch files of ROS 2, in Python.

A launch description is a tree of entities. Visiting an action executes it, now and not later; what it returns is
visited next. What happens afterwards (a process ends, a timer fires, ctrl-c) arrives as an event; handlers turn
events into further entities. The service runs that loop until nothing is left to wait for.
"""

from ros2_tools.errors import not_covered

from . import actions as actions
from .conditions import Condition as Condition
from .entities import Action as Action
from .entities import LaunchDescription as LaunchDescription
from .entities import LaunchDescriptionEntity as LaunchDescriptionEntity
from .entities import SomeSubstitutionsType as SomeSubstitutionsType
from .event_handlers import EventHandler as EventHandler
from .events import Event as Event
from .launch_context import LaunchContext as LaunchContext
from .launch_description_sources import LaunchDescriptionSource as LaunchDescriptionSource
from .launch_service import LaunchService as LaunchService
from .substitutions import Substitution as Substitution

__getattr__ = not_covered(__name__)
