"""Declares the parameters by which one node knows the behaviour of another (`parameters.commands`)."""

from __future__ import annotations

from hexapod_dynamics.control.pose_guard import GuardSettings
from hexapod_dynamics.errors import ParameterError
from hexapod_dynamics.parameters.commands import COMMAND_PERIOD, GUARD, RATE
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.ros.node_functions import declare, declare_all
from rclpy.node import Node


def declare_command_rate(node: Node) -> float:
    """Declare the gait's parameter `rate` [1/s], which must be 1 / `command_period`; return the period [s]."""
    period = declare(node, COMMAND_PERIOD)
    rate = declare(node, RATE, period)
    if abs(rate * period - 1.0) > 1e-6:
        raise ParameterError(
            f"parameter rate is {rate} and command_period {period}: servos and dynamics would assume another rate of "
            f"the commands; set command_period alone, to {1.0 / rate:.6g}, in the section /**: of the parameter file"
        )
    return period


def declare_guard(node: Node, robot: Robot) -> GuardSettings:
    """Declare the bounds of the commands to the servos of a robot, and return them."""
    values = declare_all(node, GUARD, robot)
    return GuardSettings(offset_limit=values.pop("feedforward_limit"), **values)
