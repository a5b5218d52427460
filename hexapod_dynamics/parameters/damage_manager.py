"""Parameters of the node `damage_manager`: one for each leg, each link and each joint of the robot."""

from __future__ import annotations

from dataclasses import replace

from hexapod_dynamics.damage import KINDS
from hexapod_dynamics.parameters.spec import ParameterSpec
from hexapod_dynamics.robot import Morphology


def list_patterns() -> tuple[ParameterSpec, ...]:
    """The parameters of a leg `<leg>` and of a link `<link>`, by the kinds of damage; the defaults are intact parts."""
    return tuple(
        ParameterSpec(
            f"{value.prefix}.<{'leg' if value.of_leg else 'link'}>",
            value.intact,
            value.description,
            value.low,
            value.high,
            read_only=False,
        )
        for value in KINDS.values.values()
    )


PATTERNS = list_patterns()
NOTE = (
    "`<leg>` is the name of a leg, as `RM`; `<link>` that of a link with its leg, as `LM.femur`: "
    "`ros2 param list /damage_manager` lists all. [nodes.md](nodes.md) has the short forms of `set_morphology`."
)


def list_parameters(morphology: Morphology) -> list[ParameterSpec]:
    """The parameters of a robot's legs and links, with the values of a morphology as defaults."""
    patterns = {pattern.name.partition(".")[0]: pattern for pattern in list_patterns()}
    parameters = []
    for name, value in morphology.parameters().items():
        prefix, _, part = name.partition(".")
        description = patterns[prefix].description.replace("<leg>", part).replace("<link>", part)
        parameters.append(replace(patterns[prefix], name=name, description=description, default=value))
    return parameters
