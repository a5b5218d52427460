"""Parameters that must be equal in several nodes: a parameter file sets them for all nodes together.

The gait publishes a command every `command_period`, the servos move within this time and within the guard's
bounds, and the observer of `dynamics` lets its model do the same.
"""

from __future__ import annotations

from hexapod_dynamics.control.pose_guard import GuardSettings
from hexapod_dynamics.parameters.spec import Derived, ParameterSpec, in_file, make_specs

_SAME = "; one value for all nodes"
_APPROACH = "set-point speed until a joint has met its command [rad/s]"

COMMAND_PERIOD = in_file(
    "command_period",
    0.02,
    f"time between two joint_commands, in which a servo moves to its new target [s]{_SAME}",
    0.005,
    0.1,
)
RATE = ParameterSpec(
    "rate",
    Derived("1 / `command_period`", lambda command_period: 1.0 / command_period),
    "joint commands a second; 1 / command_period",
    10.0,
    100.0,
)
GUARD = (
    ParameterSpec(
        "speed_limit",
        Derived("`servo.speed_limit` of the robot", lambda robot: robot.servo.speed_limit),
        f"fastest set-point [rad/s]{_SAME}",
        0.1,
        20.0,
    ),
    *make_specs(
        GuardSettings,
        in_file,
        approach_speed=(f"{_APPROACH}: after a start, a pause, a jump{_SAME}", 0.01, 5.0),
        step_limit=(f"a command that leaps further is approached slowly [rad]{_SAME}", 0.01, 3.2),
        feedforward_limit=(f"largest set-point offset from feed-forward torque [rad]{_SAME}", 0.0001, 0.3),
    ),
)
