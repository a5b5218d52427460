"""Parameters of the node `damage_manager`: one for each leg, each link and each joint of the robot."""

from __future__ import annotations

from dataclasses import replace

from hexapod_dynamics.parameters.spec import ParameterSpec
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.robot.morphology import FARTHEST_LOCK

# The defaults are those of a whole robot.
PATTERNS = (
    ParameterSpec("legs.<leg>", True, "leg <leg> exists; setting true again restores the whole leg", read_only=False),
    ParameterSpec(
        "links.<link>", True, "link <link> exists; the links beyond a lost link are lost with it", read_only=False
    ),
    ParameterSpec("locked.<link>", False, "the joint that moves link <link> is locked", read_only=False),
    ParameterSpec(
        "locked_at.<link>",
        0.0,
        "angle of the locked joint of link <link> [rad]; if not given, the angle in joint_states at that moment",
        low=-FARTHEST_LOCK,
        high=FARTHEST_LOCK,
        read_only=False,
    ),
    ParameterSpec(
        "limp.<link>",
        False,
        "the joint that moves link <link> turns freely, its servo exerts no torque",
        read_only=False,
    ),
    ParameterSpec(
        "remaining.<link>", 1.0, "remaining fraction of the length of link <link>", low=0.0, high=1.0, read_only=False
    ),
)
NOTE = (
    "`<leg>` is the name of a leg, as `RM`; `<link>` that of a link with its leg, as `LM.femur`: "
    "`ros2 param list /damage_manager` lists all. [nodes.md](nodes.md) has the short forms of `set_morphology`."
)


def parameters_of(morphology: Morphology) -> list[ParameterSpec]:
    """The parameters of a robot's legs and links, with the values of a morphology as defaults."""
    patterns = {pattern.name.partition(".")[0]: pattern for pattern in PATTERNS}
    return [
        _of_part(patterns[name.partition(".")[0]], name.partition(".")[2], value)
        for name, value in morphology.parameters().items()
    ]


def _of_part(pattern: ParameterSpec, part: str, value: bool | float) -> ParameterSpec:
    name, description = (
        text.replace("<leg>", part).replace("<link>", part) for text in (pattern.name, pattern.description)
    )
    return replace(pattern, name=name, description=description, default=value)
