"""Parameters of nearly every node."""

from __future__ import annotations

from hexapod_dynamics.parameters.spec import ParameterSpec

ROBOT = ParameterSpec("robot", "", "YAML file of the robot; empty: the JetHexa of this package")
SESSION = ParameterSpec(
    "session",
    "",
    "name of the launch, chosen by the launch file: the state of this node is restored after a crash "
    "and respawn within one session; empty: no state is restored",
)
STATE_DIRECTORY = ParameterSpec(
    "state_directory",
    "",
    "absolute path of a directory in which the state of this node lasts over launches and reboots, until a person "
    "changes it; one directory for each robot; empty: it lasts for the session only",
)
