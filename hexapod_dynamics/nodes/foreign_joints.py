"""Joints that another driver moves and measures (hardware:=topics): its joint_states in, set-points out."""

from __future__ import annotations

import numpy as np

from builtin_interfaces.msg import Duration
from hexapod_dynamics.drivers.servos.topics import TopicServos
from hexapod_dynamics.nodes.robot_node import RobotNode, compute_age
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

MEASURED, COMMANDS = "joint_states", "joint_commands"


class ForeignJoints:
    """Connects a TopicServos of the node `servos` with the topics of the other driver.

    `joint_commands` is always published (`dynamics` and `damage_detector` follow it); command_interface adds `commands`
    (std_msgs/Float64MultiArray, in the order of the robot's joints) or `joint_trajectory`.
    """

    def __init__(self, node: RobotNode, servos: TopicServos, command_interface: str) -> None:
        robot, self._joints = node.robot, node.joints
        self._node, self._servos, self._names = node, servos, list(robot.joint_names)
        self._own = frozenset(self._names)
        servos.set_legs([robot.leg_joints(leg.name) for leg in robot.legs])
        self._commands = node.create_publisher(JointState, COMMANDS, 10)
        self._array = self._trajectory = None
        if command_interface == "commands":
            self._array = node.create_publisher(Float64MultiArray, "commands", 10)
        elif command_interface == "joint_trajectory":
            self._trajectory = node.create_publisher(JointTrajectory, "joint_trajectory", 10)
        servos.publish, self.set_missing = self.publish, servos.set_missing
        node.loop.subscribe(JointState, MEASURED, self._on_states, 10)

    def _on_states(self, message: JointState) -> None:
        names, positions = message.name, message.position.tolist()
        readings = self._joints.read(MEASURED, names, positions, others=True)
        if readings is None:
            self._servos.refuse(self._joints.faults.last(MEASURED))
            return
        for joint, angle, _ in readings:
            if refusal := self._joints.refusal(joint, angle):
                self._servos.refuse(f"{MEASURED} has {refusal}")
                return
        if not self._own.isdisjoint(names):
            joints, angles = [each.joint for each in readings], [each.value for each in readings]
            self._servos.accept(joints, angles, compute_age(message.header.stamp))
        elif self._servos.is_silent:  # else a message of another device beside those of the robot
            given = f"{names[0]!r} given" if names else "no names given"
            self._servos.refuse(f"{MEASURED} names no joint of this robot: {given}, {self._names[0]!r} needed")

    def publish(self, angles: np.ndarray, duration: float) -> None:
        """Publish set-points (n,) [rad], NaN for joints that have none, to be reached in a duration [s]; any thread."""
        there = np.flatnonzero(np.isfinite(angles)).tolist()
        if not there:
            return
        names, positions = [self._names[index] for index in there], [float(angles[index]) for index in there]
        stamp = self._node.get_clock().now().to_msg()
        message = JointState(name=names, position=positions)
        message.header.stamp, message.header.frame_id = stamp, "servos"
        self._commands.publish(message)
        # only complete sets, because this message has no names
        if self._array is not None and len(there) == len(self._names):
            self._array.publish(Float64MultiArray(data=positions))
        if self._trajectory is not None:
            took = max(round(duration * 1e9), 20_000_000)  # [ns]
            point = JointTrajectoryPoint(
                positions=positions, time_from_start=Duration(sec=took // 10**9, nanosec=took % 10**9)
            )
            # A stamp of zero means: begin at once.
            self._trajectory.publish(JointTrajectory(joint_names=names, points=[point]))

    def assess(self) -> tuple[str, list[str]]:
        """Return level and texts for /diagnostics."""
        words = self._servos.list_warnings()
        return ("warn", words) if words else ("ok", [])
