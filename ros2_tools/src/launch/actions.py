"""Actions: what launch descriptions are made of; ExecuteProcess is in `launch.process`."""

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY
from typing import Any

from ros2_tools.errors import not_covered

from .entities import Action, LaunchDescription, Text, action
from .event_handlers import EventHandler, OnShutdown
from .events import Event
from .events import IncludeLaunchDescription as IncludeEvent
from .events import Shutdown as ShutdownEvent
from .events.process import ProcessExited
from .launch_description_sources import AnyLaunchDescriptionSource, LaunchDescriptionSource
from .logging import get_logger
from .process import ExecuteProcess
from .substitutions import described, perform_substitutions
from .utilities import perform_typed_substitution

__all__ = [
    "DeclareLaunchArgument",
    "EmitEvent",
    "ExecuteProcess",
    "GroupAction",
    "IncludeLaunchDescription",
    "LogInfo",
    "OpaqueFunction",
    "RegisterEventHandler",
    "SetEnvironmentVariable",
    "SetLaunchConfiguration",
    "Shutdown",
    "TimerAction",
]
__getattr__ = not_covered(__name__)


@action
class LogInfo(Action):
    """Writes a line to the screen and the log."""

    _: KW_ONLY
    msg: Text

    def execute(self, context):
        """Write it."""
        get_logger("launch.user").info(perform_substitutions(context, self.msg))


@action
class OpaqueFunction(Action):
    """Calls `function(context, *args, **kwargs)`; the entities it returns are visited next."""

    _: KW_ONLY
    function: Callable
    args: Sequence[Any] | None = None
    kwargs: dict[str, Any] | None = None

    def __post_init__(self):
        if not callable(self.function):
            raise TypeError(f"OpaqueFunction expected 'function' to be callable, but got '{self.function}'")

    def execute(self, context):
        """Call it."""
        return self.function(context, *(self.args or ()), **(self.kwargs or {}))


@action
class EmitEvent(Action):
    """Emits an event."""

    _: KW_ONLY
    event: Event

    def execute(self, context):
        """Emit it."""
        context.emit_event_sync(self.event)


@action
class Shutdown(Action):
    """Ends the launch."""

    _: KW_ONLY
    reason: str = "reason not given"

    def execute(self, context):
        """Emit the event; as `on_exit` of a process, say that the process was required."""
        event = context.get_locals_as_dict().get("event")
        if isinstance(event, ProcessExited):
            get_logger("launch").info(f"process[{event.process_name}] was required: shutting down launched system")
        context.emit_event_sync(ShutdownEvent(reason=self.reason))


@action
class RegisterEventHandler(Action):
    """Adds an event handler, before the others."""

    event_handler: EventHandler
    is_conditional_below = True

    def get_sub_entities(self):
        """Return what the handler would yield."""
        return self.event_handler.get_entities()

    def execute(self, context):
        """Add it."""
        context.register_event_handler(self.event_handler)


@action
class TimerAction(Action):
    """Visits actions once, `period` seconds later, unless it is cancelled before, as it is by a shutdown."""

    _: KW_ONLY
    period: float | Text
    actions: Sequence[Action]
    cancel_on_shutdown: bool | Text = True
    is_conditional_below = True

    def __post_init__(self):
        self.actions = list(self.actions)
        if isinstance(self.period, (int, str)):
            self.period = float(self.period)
        self._cancelled = False
        self._future = self._timer = None

    def get_sub_entities(self):
        """Return the actions."""
        return self.actions

    def execute(self, context):
        """Start to wait."""
        if self._cancelled:
            return
        known = context.get_locals_as_dict()

        def visit(context):
            context.extend_locals(known)  # the actions are visited where the timer was
            return self.actions

        def fire():
            context.emit_event_sync(IncludeEvent(LaunchDescription([OpaqueFunction(function=visit)])))
            self._future.set_result(None)

        if perform_typed_substitution(context, self.cancel_on_shutdown, bool):
            context.register_event_handler(OnShutdown(on_shutdown=lambda event, context: self.cancel()))
        loop = asyncio.get_running_loop()
        self._future = loop.create_future()
        context.add_completion_future(self._future)
        self._timer = loop.call_later(perform_typed_substitution(context, self.period, float), fire)

    def cancel(self):
        """Cancel the timer; without effect once it has fired."""
        self._cancelled = True
        if self._timer is not None and not self._future.done():
            self._timer.cancel()
            self._future.set_result(None)


@action
class DeclareLaunchArgument(Action):
    """Declares an argument of the launch file: its value becomes the launch configuration of the same name.

    Without a default the argument is required; with choices, other values are refused.
    """

    name: str
    _: KW_ONLY
    default_value: Text | None = None
    description: str | None = None
    choices: Sequence[str] | None = None
    declares_argument = True

    def __post_init__(self):
        self.is_conditional = False
        if self.choices is None:
            self.description = self.description or "no description given"
            return
        if len(self.choices) == 0:
            raise RuntimeError(f"argument '{self.name}': an empty list of choices was given; leave it out to allow all")
        if isinstance(self.default_value, str) and self.default_value not in self.choices:
            raise RuntimeError(
                f'Provided default_value "{self.default_value}" is not in provided choices "{self.choices}".'
            )
        stop = "" if (self.description or ".").endswith(".") else "."
        words = "One of:" if self.description is None else f"{self.description}{stop} Valid choices are:"
        self.description = f"{words} {self.choices}"

    def execute(self, context):
        """Set the default where no value is set; RuntimeError for a missing or a refused value."""
        configurations = context.launch_configurations
        if self.name not in configurations:
            if self.default_value is None:
                raise RuntimeError(
                    f'Required launch argument "{self.name}" (description: "{self.description}") was not provided'
                )
            configurations[self.name] = perform_substitutions(context, self.default_value)
        value = configurations[self.name]
        if self.choices is not None and value not in self.choices:
            raise RuntimeError(
                f'Argument "{self.name}" provided value "{value}" is not valid. Valid options are: {self.choices}'
            )


@action
class SetLaunchConfiguration(Action):
    """Sets a launch configuration."""

    name: Text
    value: Text

    def _target(self, context):
        return context.launch_configurations

    def execute(self, context):
        """Set it."""
        name = perform_substitutions(context, self.name)
        self._target(context)[name] = perform_substitutions(context, self.value)


class SetEnvironmentVariable(SetLaunchConfiguration):
    """Sets an environment variable of the processes started after it."""

    def _target(self, context):
        return context.environment


@action
class GroupAction(Action):
    """Yields actions, in a scope of their own.

    :param scoped: what they change in launch configurations and environment ends with the group
    :param forwarding: with a scope, whether it begins with the configurations and environment around it
    :param launch_configurations: configurations to set in the group
    """

    actions: Sequence[Action]
    _: KW_ONLY
    scoped: bool = True
    forwarding: bool = True
    launch_configurations: dict[Text, Text] | None = None

    def __post_init__(self):
        self.actions = list(self.actions)

    def get_sub_entities(self):
        """Return the actions, none where arguments that they declare cannot be set from above."""
        return self.actions if self.forwarding or not self.scoped else []

    def execute(self, context):
        """Yield the actions, each of which is visited before the next."""
        given = {
            perform_substitutions(context, name): perform_substitutions(context, value)
            for name, value in (self.launch_configurations or {}).items()
        }
        with context.scope(None if self.forwarding else given) if self.scoped else nullcontext():
            context.launch_configurations.update(given)
            yield from self.actions


@action
class IncludeLaunchDescription(Action):
    """Visits another launch description; `launch_arguments` are (name, value) pairs for it.

    Instead of a source, the path of a launch file may be given: text, a substitution, or a list of both.
    The arguments stay set after it, unless a GroupAction is around both.
    """

    launch_description_source: LaunchDescriptionSource | Text
    _: KW_ONLY
    launch_arguments: Iterable[tuple[Text, Text]] | None = None
    includes_description = True

    def __post_init__(self):
        self.launch_arguments = [*(self.launch_arguments or ())]
        if not isinstance(self.launch_description_source, LaunchDescriptionSource):
            self.launch_description_source = AnyLaunchDescriptionSource(self.launch_description_source)

    def describe(self):
        """Return the type and the location."""
        return f"{type(self).__name__}({described(self.launch_description_source.location)})"

    def get_sub_entities(self):
        """Return the launch description, where it can be known before the launch runs."""
        description = self.launch_description_source.try_get_launch_description_without_context()
        return [] if description is None else [description]

    def execute(self, context):
        """Return what sets the arguments, then the description; RuntimeError where a required argument is missing."""
        source = self.launch_description_source
        description = source.get_launch_description(context)
        path = os.path.abspath(source.location)
        in_file = os.path.exists(path)
        context.extend_locals(
            {
                "current_launch_file_path": path if in_file else source.location,
                "current_launch_file_directory": os.path.dirname(path) if in_file else source.location,
            }
        )
        given = [perform_substitutions(context, name) for name, _ in self.launch_arguments]
        for argument, includes in description.get_arguments_with_includes():
            if argument.is_conditional or argument.default_value is not None:
                continue
            below = [name for each in includes for name, _ in each.launch_arguments if isinstance(name, str)]
            if argument.name not in given + below:
                raise RuntimeError(
                    f"Included launch description missing required argument '{argument.name}' "
                    f"(description: '{argument.description}'), given: [{', '.join(given + below)}]"
                )
        sets = [SetLaunchConfiguration(name, value) for name, value in self.launch_arguments]
        return [*sets, description]
