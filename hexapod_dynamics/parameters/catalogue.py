"""All nodes with all their parameters. The nodes themselves import only their own module."""

from __future__ import annotations

from hexapod_dynamics.parameters import (
    commands,
    damage_detector,
    damage_manager,
    displays,
    dynamics,
    gait,
    imu,
    servos,
    simulator,
    spec,
)
from hexapod_dynamics.parameters.spec import ParameterSpec

# In the order of config/nodes.yaml and docs/parameters.md. For damage_manager, these are the patterns of names.
NODES: dict[str, tuple[ParameterSpec, ...]] = {
    "gait": (spec.ROBOT, spec.SESSION, spec.STATE_DIRECTORY, commands.COMMAND_PERIOD, commands.RATE, *gait.PARAMETERS),
    "dynamics": (spec.ROBOT, spec.SESSION, *dynamics.PARAMETERS),
    "servos": (spec.ROBOT, spec.SESSION, spec.STATE_DIRECTORY, *servos.PARAMETERS),
    "imu": (spec.ROBOT, *imu.PARAMETERS),
    "simulator": (spec.ROBOT, *simulator.PARAMETERS),
    "damage_manager": (spec.ROBOT, spec.SESSION, spec.STATE_DIRECTORY, *damage_manager.PATTERNS),
    "damage_detector": (spec.ROBOT, spec.SESSION, spec.STATE_DIRECTORY, *damage_detector.PARAMETERS),
    "robot_description": (spec.ROBOT, *displays.ROBOT_DESCRIPTION),
    "view": displays.VIEW_PARAMETERS,
    "_walk_status": displays.WALK_STATUS,
}
NOTES = {"gait": gait.NOTE, "damage_manager": damage_manager.NOTE}


def list_shared() -> dict[str, tuple[ParameterSpec, list[str]]]:
    """The parameters of more than one node: {name: (parameter, nodes that have it)}."""
    users: dict[int, tuple[ParameterSpec, list[str]]] = {}
    for node, parameters in NODES.items():
        for parameter in parameters:
            users.setdefault(id(parameter), (parameter, []))[1].append(node)
    return {parameter.name: (parameter, nodes) for parameter, nodes in users.values() if len(nodes) > 1}


def list_own(node: str) -> list[ParameterSpec]:
    """The parameters that a node shares with no other."""
    others = {id(parameter) for parameter, _ in list_shared().values()}
    return [parameter for parameter in NODES[node] if id(parameter) not in others]
