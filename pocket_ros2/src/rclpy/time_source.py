"""Feeds a node's clock from `/clock` while its parameter use_sim_time is true."""

from __future__ import annotations

import weakref
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rosgraph_msgs.msg import Clock as ClockMsg

from .clock import ROSClock
from .parameter import Parameter
from .qos import QoSProfile, ReliabilityPolicy
from .time import ClockType, Time

CLOCK_TOPIC = "/clock"
USE_SIM_TIME_NAME = "use_sim_time"


class TimeSource:
    """Watches use_sim_time and `/clock` for the clocks attached to it."""

    def __init__(self, *, node: Any) -> None:
        self._node_reference = weakref.ref(node)
        self._clocks: list[ROSClock] = []
        self._subscription: Any = None
        self._active = False
        self._last = Time(clock_type=ClockType.ROS_TIME)
        if not node.has_parameter(USE_SIM_TIME_NAME):
            node.declare_parameter(USE_SIM_TIME_NAME, False)
        parameter = node.get_parameter(USE_SIM_TIME_NAME)
        if parameter.type_ == Parameter.Type.BOOL:
            self.ros_time_is_active = parameter.value
        else:
            node.get_logger().error(
                f"Invalid type for parameter '{USE_SIM_TIME_NAME}' {parameter.type_} should be bool"
            )
        node.add_on_set_parameters_callback(self._on_parameters)

    @property
    def ros_time_is_active(self) -> bool:
        """Whether the clocks follow `/clock`."""
        return self._active

    @ros_time_is_active.setter
    def ros_time_is_active(self, enabled: bool) -> None:
        if self._active == enabled:
            return
        self._active = enabled
        for clock in self._clocks:
            clock._set_ros_time_is_active(enabled)
        node = self._node_reference()
        if node is None:
            return
        if enabled:
            profile = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
            self._subscription = node.create_subscription(ClockMsg, CLOCK_TOPIC, self.clock_callback, profile)
        elif self._subscription is not None:
            node.destroy_subscription(self._subscription)
            self._subscription = None

    def attach_clock(self, clock: ROSClock) -> None:
        """Feed a clock too."""
        if not isinstance(clock, ROSClock):
            raise ValueError("Only clocks with type ROS_TIME can be attached.")
        clock.set_ros_time_override(self._last)
        clock._set_ros_time_is_active(self._active)
        self._clocks.append(clock)

    def clock_callback(self, msg: Any) -> None:
        """Set the clocks to the time of a message of `/clock`."""
        self._last = Time.from_msg(msg.clock)
        for clock in self._clocks:
            clock.set_ros_time_override(self._last)

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name == USE_SIM_TIME_NAME:
                if parameter.type_ != Parameter.Type.BOOL:
                    return SetParametersResult(
                        successful=False, reason=f"{USE_SIM_TIME_NAME} parameter must be of type bool"
                    )
                self.ros_time_is_active = parameter.value
        return SetParametersResult(successful=True)
