"""Refuses launch arguments that a launch file does not declare: `ros2 launch` ignores them without a word."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Sequence

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from hexapod_dynamics.nearest_name import suggestion

# A name that an including launch file has set is its own, unless it resembles a declared one as much as this.
MISTYPED = 0.8


def refuse_undeclared(arguments: Sequence[DeclareLaunchArgument], file: str) -> OpaqueFunction:
    """Return the first action of a launch file: it raises RuntimeError for an argument that is not declared.

    A launch file that another one includes sees the arguments of that one, too, and cannot tell them from those that
    were passed to it: there only a name that resembles a declared one is refused.

    Args:
        arguments: all arguments of the launch file.
        file: path of the launch file (`__file__`).

    """
    declared = [argument.name for argument in arguments]

    def check(context: LaunchContext) -> None:
        name = os.path.basename(file)
        included = not any(os.path.basename(word) == name for word in sys.argv)
        for given, value in context.launch_configurations.items():
            if given in declared or (
                included and not difflib.get_close_matches(given.lower(), declared, n=1, cutoff=MISTYPED)
            ):
                continue
            raise RuntimeError(
                f"{given}:={value}: {name} has no argument {given!r}; {suggestion(given, declared)} "
                f"(--show-args lists all{'; the including launch file may set it under another name' * included})"
            )

    return OpaqueFunction(function=check)
