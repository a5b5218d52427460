"""Parameters of the nodes that show the robot: `robot_description`, `view`, `_walk_status`."""

from __future__ import annotations

from hexapod_dynamics.parameters.spec import ParameterSpec
from hexapod_dynamics.robot.ros2_control import HARDWARE

ROBOT_DESCRIPTION = (
    ParameterSpec("rate", 50.0, "tf messages [1/s]", 1.0, 200.0),
    ParameterSpec(
        "ros2_control",
        "none",
        "component of ros2_control that the URDF names, with hardware:=topics (docs/foreign.md)",
        choices=("none", *HARDWARE),
    ),
    ParameterSpec("predicted", True, "also publish the predicted joints under predicted/"),
)
VIEW_PARAMETERS = (
    ParameterSpec("port", 8080, "port of the page, 0: any free one; `view_port:=` of the launch file", 0, 65535),
    ParameterSpec("host", "127.0.0.1", "address to serve on; 0.0.0.0 or :: to the whole network, see safety.md"),
    ParameterSpec(
        "names",
        [""],
        "further addresses by which the page may be opened, as robot.local, or localhost:9000 of a forwarded port",
    ),
    ParameterSpec("rate", 25.0, "pictures a second", 1.0, 60.0),
)
WALK_STATUS = (
    ParameterSpec("nodes", [""], "names of the nodes that should be there; one that is not is named"),
    ParameterSpec("colour", False, "print problems in yellow (warning) and red (error); set by the launch"),
)
