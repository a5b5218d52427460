"""Substitutions: texts that are known only when the launch runs."""

from ..text_substitution import TextSubstitution
from .boolean import AndSubstitution, NotSubstitution, OrSubstitution
from .command import Command, FindExecutable
from .context import AnonName, EnvironmentVariable, LaunchConfiguration, ThisLaunchFile, ThisLaunchFileDir
from .failure import SubstitutionFailure
from .local import LocalSubstitution
from .text import PathJoinSubstitution, PythonExpression

__all__ = [
    "AndSubstitution",
    "AnonName",
    "Command",
    "EnvironmentVariable",
    "FindExecutable",
    "LaunchConfiguration",
    "LocalSubstitution",
    "NotSubstitution",
    "OrSubstitution",
    "PathJoinSubstitution",
    "PythonExpression",
    "SubstitutionFailure",
    "TextSubstitution",
    "ThisLaunchFile",
    "ThisLaunchFileDir",
]
