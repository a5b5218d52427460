"""Parameters of the node `robot_description`."""

from __future__ import annotations

from hexapod_dynamics.parameters.spec import ParameterSpec
from hexapod_dynamics.robot.ros2_control import HARDWARE

PARAMETERS = (
    ParameterSpec("rate", 50.0, "tf messages [1/s]", 1.0, 200.0),
    ParameterSpec(
        "ros2_control",
        "none",
        "component of ros2_control that the URDF names, with hardware:=topics (docs/foreign.md)",
        choices=("none", *HARDWARE),
    ),
    ParameterSpec("predicted", True, "also publish the predicted joints under predicted/"),
)
