"""The base of the nodes of one robot: its description and parameters, and the topics of other nodes as plain data."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from builtin_interfaces.msg import Time
from hexapod_dynamics.errors import MorphologyError
from hexapod_dynamics.nodes.morphology_messages import read_values
from hexapod_dynamics.onboard.inputs import (
    Faults,
    ImuInput,
    ImuReading,
    JointInput,
    SourceCheck,
    SourceLock,
    find_stamp_refusal,
    imu_quantities,
)
from hexapod_dynamics.parameters.spec import ParameterSpec
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.ros.guarded_node import GuardedNode, publishers
from hexapod_dynamics.ros.node_functions import COMMANDS, LATCHED, declare_all, load_robot, stamp_seconds
from hexapod_dynamics.ros.tick_loop import TickLoop
from rcl_interfaces.msg import ParameterEvent
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Bool

OLDEST = 0.5  # [s] age from which a command or a measurement is rejected


class RobotNode(GuardedNode):
    """A node of the Robot `robot`.

    values: its parameters by name. faults: those of the messages that it receives. sources: checks their publishers.
    joints, imu_input: what reads them.
    """

    loop: TickLoop

    def __init__(self, name: str, parameters: Iterable[ParameterSpec] = (), imu_topic: str = "imu/data") -> None:
        super().__init__(name)
        self.robot = load_robot(self)
        self.values = declare_all(self, parameters, self.robot)
        self.faults = Faults()
        self.sources = SourceCheck(self.faults, partial(publishers, self))
        self.joints = JointInput(self.robot, self.faults, self.sources)
        self.imu_input = ImuInput(self.robot.imu.rotation, self.faults, imu_topic)

    def subscribe_morphology(self, accept: Callable[[Morphology], object]) -> None:
        """Call accept(morphology) for the declared damage and each change of it; an impossible one is a fault."""

        def receive(message: ParameterEvent) -> None:
            try:
                morphology = Morphology.from_parameters(self.robot, read_values(message.new_parameters))
            except MorphologyError as error:
                self.faults.add("morphology", f"morphology: {error}")
                self.get_logger().warning(f"morphology is ignored: {error}", throttle_duration_sec=5.0)
                return
            accept(morphology)

        self.create_subscription(ParameterEvent, "morphology", receive, LATCHED)

    def subscribe_following(self, accept: Callable[[bool], object]) -> None:
        """Call accept(following): whether `servos` executes commands, now and at each change."""
        self.create_subscription(Bool, "servos/following", lambda message: accept(message.data), LATCHED)

    def subscribe_commands(self, accept: Callable[[float, np.ndarray, np.ndarray], object], timeout: float) -> None:
        """Call accept(age [s], angles (n,) [rad], NaN: none, rates (n,) [rad/s]) for each of `joint_commands` that
        `servos` executes, by the same rules; one that is refused is a fault. timeout [s]: without commands, after which
        another source is followed.
        """
        topic, one = "joint_commands", SourceLock(timeout)

        def receive(message: JointState) -> None:
            if (age := self.find_age(topic, message.header.stamp)) is None:
                return
            names, positions, velocities = message.name, message.position.tolist(), message.velocity.tolist()
            refusal = self.joints.command_refusal(names, positions, velocities)
            if refusal := refusal or one.find_refusal(message.header.frame_id, time.monotonic()):
                self.faults.add(topic, f"{topic} is refused: {refusal}")
                return
            angles = self.joints.arrange(names, positions)
            accept(age, angles, self.joints.arrange(names, velocities) if velocities else np.zeros(len(angles)))

        self.loop.subscribe(JointState, topic, receive, COMMANDS)

    def subscribe_measured(
        self,
        topic: str,
        accept: Callable[[float, np.ndarray], object],
        needed: Callable[[], bool] = lambda: True,
        limit: float = OLDEST,
    ) -> None:
        """Call accept(monotonic time [s] of the stamp, angles (n,) [rad], NaN: not in it) for the newest JointState
        that `read_joints` does not refuse.
        """

        def receive(message: JointState) -> None:
            if readings := self.read_joints(topic, message, limit):
                times, joints, values = zip(*readings, strict=True)
                angles = np.full(self.robot.joint_count, np.nan)
                angles[list(joints)] = values
                accept(times[0], angles)

        self.loop.subscribe(JointState, topic, receive, 1, needed)

    def read_joints(
        self, topic: str, message: JointState, limit: float = OLDEST, *, timed: bool = False
    ) -> list[tuple[float, int, float]]:
        """Return monotonic time [s], joint (index) and angle [rad] of measured joints; none if `find_age` refuses them.

        timed: `effort` is how long before the stamp each joint was read [s]; else other devices may use the topic, too.
        """
        order = self.joints.match_names(message.name)
        if not (timed or order.joints or order.repeated):  # of another device, whose clock does not matter
            return []
        if (age := self.find_age(topic, message.header.stamp, limit)) is None:
            return []
        ages, angles, at = message.effort.tolist() if timed else (), message.position.tolist(), time.monotonic() - age
        readings = self.joints.read(topic, message.name, angles, ages, others=not timed, measured=True)
        return [(at - before, joint, angle) for joint, angle, before in readings or ()]

    def read_imu(self, message: Imu, now: float, limit: float = OLDEST) -> tuple[float, ImuReading]:
        """Return the time [s] of an Imu that arrived at the monotonic time `now` [s], and what it tells: nothing if
        `find_age` refuses it.
        """
        self.imu_input.check_clock(now, compute_age(message.header.stamp))
        age = self.find_age(self.imu_input.topic, message.header.stamp, limit)
        given = (None, None, None) if age is None else imu_quantities(message)
        return now - (age or 0.0), self.imu_input.read(now, *given)

    def find_age(self, topic: str, stamp: Time, limit: float = OLDEST) -> float | None:
        """Return the age [s] of a message, at least 0; None, and a fault, if its stamp is more than `limit` [s] old, or
        as far in the future.
        """
        age = compute_age(stamp)
        if refusal := find_stamp_refusal(age, limit):
            self.faults.add(topic, f"{topic} is refused: {refusal}")
            return None
        return max(age, 0.0)


def compute_age(stamp: Time) -> float:
    """Return the age [s] of a stamp; 0 if there is none."""
    seconds = stamp_seconds(stamp)
    return time.time() - seconds if seconds else 0.0
