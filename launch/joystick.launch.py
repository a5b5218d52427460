"""Drives the robot with a game pad: joy and teleop_twist_joy, where they are installed, publish cmd_vel.

Beside a walk.launch.py that runs: ros2 launch hexapod_dynamics joystick.launch.py
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch_ros.actions import Node

from hexapod_dynamics.ros.launch_process import find_missing, refuse_undeclared

NEEDED = ("joy", "teleop_twist_joy")
ARGUMENTS = [
    DeclareLaunchArgument("namespace", default_value="", description="namespace of the robot to drive"),
    DeclareLaunchArgument(
        "pad",
        default_value="computer",
        choices=["computer", "board"],
        description="where the game pad is: at this computer (joy_node), or at the STM32 board, whose node servos "
        "publishes joy itself",
    ),
    DeclareLaunchArgument("device", default_value="0", description="number of the game pad, as joy counts them"),
    DeclareLaunchArgument("speed", default_value="0.12", description="speed [m/s] with the stick at its end"),
    DeclareLaunchArgument("turn", default_value="0.6", description="turn [rad/s] with the stick at its end"),
    DeclareLaunchArgument("enable_button", default_value="4", description="button to hold while driving (4: L1)"),
]


def number(given, name, kind):
    """Return a launch argument as a number of a kind; RuntimeError names the one that is not."""
    try:
        value = kind(given[name])
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise RuntimeError(f"{name}:={given[name]} is not {what}") from None
    if not 0 <= value <= 100:
        raise RuntimeError(f"{name}:={given[name]}: allowed are 0 to 100")
    return value


def nodes(context):
    """Return the nodes, or a message that names what is not installed."""
    own = context.launch_configurations["pad"] == "board"
    if missing := find_missing(NEEDED[own:]):
        return [LogInfo(msg=f"joystick: {missing}")]
    given = {argument.name: context.launch_configurations[argument.name] for argument in ARGUMENTS}
    speed, turn = (number(given, name, float) for name in ("speed", "turn"))
    teleop = {
        "require_enable_button": True,
        "enable_button": number(given, "enable_button", int),
        "axis_linear.x": 1,
        "axis_linear.y": 0,
        "axis_angular.yaw": 3,
        "scale_linear.x": speed,
        "scale_linear.y": speed,
        "scale_angular.yaw": turn,
    }
    pad = Node(
        package="joy",
        executable="joy_node",
        namespace=given["namespace"],
        output="screen",
        parameters=[{"device_id": number(given, "device", int), "autorepeat_rate": 20.0}],
    )
    return [
        *([] if own else [pad]),
        Node(
            package="teleop_twist_joy",
            executable="teleop_node",
            namespace=given["namespace"],
            output="screen",
            parameters=[teleop],
        ),
    ]


def generate_launch_description():
    """Declare the arguments, then start joy and teleop_twist_joy."""
    return LaunchDescription([refuse_undeclared(ARGUMENTS, __file__), *ARGUMENTS, OpaqueFunction(function=nodes)])
