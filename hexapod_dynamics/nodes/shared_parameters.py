"""Parameters of which one node assumes what another does: each node that needs one declares it here, with one meaning.

A parameter file sets them for all nodes together, in its section `/**:` (config/nodes.yaml). The gait commands each
`command_period`, the servos move in that time and within the guard's bounds, and the observer of `dynamics` lets its
model do the same.
"""

from hexapod_dynamics.control.pose_guard import GuardSettings
from hexapod_dynamics.errors import ParameterError
from hexapod_dynamics.nodes.common import declare

COMMAND_PERIOD = 0.02  # [s]


def declare_command_period(node) -> float:
    """Declare the parameter `command_period` [s] and return it."""
    return declare(
        node,
        "command_period",
        COMMAND_PERIOD,
        "time between two joint_commands, in which a servo moves to its new target [s]; one value for all nodes",
        low=0.005,
        high=0.1,
        read_only=True,
    )


def declare_command_rate(node) -> float:
    """Declare the gait's parameter `rate` [1/s], which must be 1 / `command_period`; return the period [s]."""
    period = declare_command_period(node)
    rate = declare(
        node,
        "rate",
        1.0 / period,
        "joint commands a second; 1 / command_period",
        low=10.0,
        high=100.0,
        read_only=True,
    )
    if abs(rate * period - 1.0) > 1e-6:
        raise ParameterError(
            f"parameter rate is {rate} and command_period {period}: servos and dynamics would assume another rate of "
            f"the commands; set command_period alone, to {1.0 / rate:.6g}, in the section /**: of the parameter file"
        )
    return period


def declare_guard(node, robot) -> GuardSettings:
    """Declare what bounds the commands to the servos of a robot, and return it."""

    def number(name, default, text, low, high):
        return declare(node, name, default, f"{text}; one value for all nodes", low=low, high=high, read_only=True)

    return GuardSettings(
        speed_limit=number("speed_limit", robot.servo.speed_limit, "fastest set-point [rad/s]", 0.1, 20.0),
        approach_speed=number(
            "approach_speed", 0.8, "set-point speed until a joint has met its command [rad/s]", 0.01, 5.0
        ),
        step_limit=number("step_limit", 0.5, "a command that leaps further is approached slowly [rad]", 0.01, 3.2),
        offset_limit=number(
            "feedforward_limit", 0.1, "largest set-point offset from feed-forward torque [rad]", 0.0001, 0.3
        ),
    )
