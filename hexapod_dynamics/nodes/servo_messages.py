"""The messages of `servos` about its bus: joint_states, ~/measurements, ~/following and battery_state."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from hexapod_dynamics.drivers.servos.chain_state import ChainState
from hexapod_dynamics.nodes.messages import StampConverter
from hexapod_dynamics.ros.node_functions import LATCHED, OnDemand
from rclpy.node import Node
from sensor_msgs.msg import BatteryState, JointState
from std_msgs.msg import Bool


class ServoMessages:
    """Publishers of a node. names: of all joints; stale [s]: age from which a reading is not published;
    joint_states: whether the node publishes this topic; False if a foreign driver does.
    """

    def __init__(self, node: Node, names: Sequence[str], stale: float, *, joint_states: bool = True) -> None:
        self._names, self._stale, self._clock = names, stale, node.get_clock()
        self._stamps = StampConverter()
        self._published = [-np.inf] * len(names)
        self._states = JointState()
        self._state_publisher = node.create_publisher(JointState, "joint_states", 10) if joint_states else None
        self._new_topic, self._new = OnDemand(node.create_publisher(JointState, "~/measurements", 10)), JointState()
        self._battery = BatteryState(
            power_supply_technology=BatteryState.POWER_SUPPLY_TECHNOLOGY_LIPO, present=True, location="servo bus"
        )
        for field in ("current", "charge", "capacity", "design_capacity", "percentage", "temperature"):
            setattr(self._battery, field, float("nan"))  # not measured
        self._battery_publisher = node.create_publisher(BatteryState, "battery_state", 10)
        self._following_publisher = node.create_publisher(Bool, "~/following", LATCHED)
        self._following: bool | None = None

    def publish_following(self, following: bool) -> None:
        """Publish whether joint_commands are executed, if that has changed."""
        if following != self._following:
            self._following = following
            self._following_publisher.publish(Bool(data=following))

    def publish_readings(self, now: float, state: ChainState) -> None:
        """Publish the new readings of a ChainState at the monotonic time `now` [s], if there are any: with all joints,
        and alone. The stamp is the time of the newest; alone, `effort` is how long before it each joint was read [s].
        """
        stamps, known = state.stamp.tolist(), state.known.tolist()
        there = [j for j, stamp in enumerate(stamps) if known[j] and now - stamp < self._stale]
        new = sorted((j for j in there if stamps[j] > self._published[j]), key=stamps.__getitem__)  # the oldest first
        if not new:
            return
        angles, rates, newest = state.angle.tolist(), state.rate.tolist(), stamps[new[-1]]
        if self._state_publisher is not None:
            self._fill(self._states, there, newest, angles, rates)
            self._state_publisher.publish(self._states)
        for joint in new:
            self._published[joint] = stamps[joint]
        if self._new_topic.has_subscribers(time.monotonic()):
            self._fill(self._new, new, newest, angles, rates)
            self._new.effort = [newest - stamps[joint] for joint in new]
            self._new_topic.publish(self._new)

    def _fill(self, message: JointState, joints: list[int], at: float, angles: list[float], rates: list[float]) -> None:
        """Write some joints (indices) to a message that is stamped with the monotonic time `at` [s]."""
        self._stamps.write(message.header.stamp, at)
        message.name = [self._names[joint] for joint in joints]
        message.position = [angles[joint] for joint in joints]
        message.velocity = [rates[joint] for joint in joints]

    def publish_battery(self, supply: float) -> None:
        """Publish the supply [V] of the servos, unless it is NaN: not measured."""
        if np.isfinite(supply):
            self._battery.header.stamp = self._clock.now().to_msg()
            self._battery.voltage = float(supply)
            self._battery_publisher.publish(self._battery)
