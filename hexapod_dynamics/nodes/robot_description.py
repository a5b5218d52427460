"""Publishes the URDF of the robot as it is now, and the tf of every link, so that RViz and Foxglove show the robot.

The URDF is latched and published again at each change of the morphology; under `predicted/` it is translucent. tf:
base_link -> every link by the measured joints; the same under `predicted/` by the predicted joints; base_link ->
base_footprint (REP-120), level and at the height of the lowest foot. Nothing is computed while nobody subscribes to tf;
while no joint is measured there is no tf; a single silent one keeps its last angle.
"""

from __future__ import annotations

import math
import re
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.nodes.messages import fill_transform, transform
from hexapod_dynamics.nodes.robot_node import RobotNode
from hexapod_dynamics.parameters.displays import ROBOT_DESCRIPTION
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.robot.ros2_control import add_ros2_control
from hexapod_dynamics.ros.guarded_node import publishers
from hexapod_dynamics.ros.node_functions import LATCHED, Diagnostics, OnDemand, make_frame_name
from hexapod_dynamics.ros.tick_loop import TickLoop
from hexapod_dynamics.se3 import rotation_z
from sensor_msgs.msg import Imu
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

if TYPE_CHECKING:
    from builtin_interfaces.msg import Time

PREDICTED_PREFIX = "predicted/"
SUBSCRIBER_CHECK = 0.1  # [s] between two checks whether anybody subscribes to /tf


def find_footprint(rotation: np.ndarray, lowest: float) -> tuple[np.ndarray, np.ndarray]:
    """Return position (3,) and rotation (3, 3) of base_footprint in base_link: it is level, has the heading of
    base_link, and is `lowest` [m] below it (REP-120).

    rotation (3, 3): world <- base_link, with any yaw.
    """
    yaw = math.atan2(rotation[1, 0], rotation[0, 0])
    return rotation.T @ np.array([0.0, 0.0, lowest]), rotation.T @ rotation_z(yaw)


def make_translucent(urdf: str, opacity: float) -> str:
    """Return the URDF with this opacity (0 to 1) for all colours."""
    return re.sub(r'rgba="(\S+ \S+ \S+) \S+"', rf'rgba="\1 {opacity}"', urdf)


class RobotDescription(RobotNode):
    """The node."""

    def __init__(self) -> None:
        super().__init__("robot_description", ROBOT_DESCRIPTION)
        self._ghost, self._prefix = self.values["predicted"], make_frame_name(self, "")
        self._q: dict[str, np.ndarray] = {}  # (n,) [rad] by prefix
        self._new: set[str] = set()  # prefixes whose joints have come since their last tf
        self._published = False  # since the last diagnosis
        self._rotation: np.ndarray | None = None
        base = f"{self._prefix}base_link"
        self._footprint = transform(base, f"{self._prefix}base_footprint")
        self._ghost_base = transform(base, f"{self._prefix}{PREDICTED_PREFIX}base_link")
        self._message = TFMessage()
        self._description = self.create_publisher(String, "robot_description", LATCHED)
        self._ghost_description = (
            self.create_publisher(String, f"{PREDICTED_PREFIX}robot_description", LATCHED) if self._ghost else None
        )
        self._tf = OnDemand(self.create_publisher(TFMessage, "/tf", 100))
        self._accept(Morphology.whole(self.robot))
        self.subscribe_morphology(self._on_morphology)
        self.loop = TickLoop(self, 1.0 / self.values.read("rate", float), self._publish)
        # Joints and attitude, also of a recording, are needed while /tf has subscribers only.
        self._is_watched = lambda: self._tf.has_subscribers(time.monotonic())
        for which, topic in (("", "joint_states"), (PREDICTED_PREFIX, "predicted_joint_states")):
            self.subscribe_measured(topic, partial(self._on_joints, which), self._is_watched, math.inf)
        self.loop.subscribe(Imu, "imu/data", self._on_imu, 1, self._is_watched)
        Diagnostics(self, self.robot.name, self._diagnose)

    def _accept(self, morphology: Morphology) -> None:
        self.morphology = morphology
        self._tree = tree = LinkTree(self.robot, morphology)
        frames = list(zip(tree.parents, tree.children, strict=True))
        self._links = {
            name: [transform(self._prefix + name + parent, self._prefix + name + child) for parent, child in frames]
            for name in ("", PREDICTED_PREFIX)
        }
        try:
            urdf = self.robot.to_urdf(morphology)
        except RobotError as error:  # the robot has helical joints: tf shows it nevertheless
            self._no_urdf = f"no robot_description: {error}"
            self.get_logger().error(self._no_urdf)
            return
        self._no_urdf = ""
        hardware = self.values.read("ros2_control", str)
        controlled = urdf if hardware == "none" else add_ros2_control(urdf, self.robot, hardware)
        self._description.publish(String(data=controlled))
        if self._ghost_description is not None:
            self._ghost_description.publish(String(data=make_translucent(urdf, 0.3)))

    def _on_morphology(self, morphology: Morphology) -> None:
        if morphology != self.morphology:
            self._accept(morphology)

    def _on_joints(self, which: str, _now: float, angles: np.ndarray) -> None:
        self._new.add(which)
        q = self._q.setdefault(which, np.zeros(self.robot.joint_count))
        np.copyto(q, angles, where=np.isfinite(angles))

    def _on_imu(self, message: Imu) -> None:
        rotation = self.read_imu(message, time.monotonic(), math.inf)[1].rotation
        if rotation is not None:
            self._rotation = rotation

    def _publish(self) -> None:
        watched = self._is_watched()
        self.loop.set_period(1.0 / self.values.read("rate", float) if watched else SUBSCRIBER_CHECK)
        if not watched:
            self._q, self._new, self._rotation = {}, set(), None
        if "" not in self._new:
            return
        stamp = self.get_clock().now().to_msg()
        poses = self._pose_links("", stamp)
        messages = list(self._links[""])
        if self._rotation is not None:
            heights = [float(self._rotation[2] @ pose[:3, 3]) for pose in self._tree.chain(poses).values()]
            lowest = min(-0.5 * float(self.robot.body.box[2]), *heights)  # a frame's origin, or the body's underside
            fill_transform(self._footprint, *find_footprint(self._rotation, lowest), stamp)
            messages.append(self._footprint)
        if self._ghost and PREDICTED_PREFIX in self._new:
            self._pose_links(PREDICTED_PREFIX, stamp)
            self._ghost_base.header.stamp = stamp
            messages += [self._ghost_base, *self._links[PREDICTED_PREFIX]]
        self._new, self._published = set(), True
        self._message.transforms = messages
        self._tf.publish(self._message)

    def _pose_links(self, which: str, stamp: Time) -> np.ndarray:
        """Write the measured or the predicted joints into the transforms of the links; return the poses (m, 4, 4)."""
        poses = self._tree.poses(self._q[which])
        for message, pose in zip(self._links[which], poses, strict=True):
            fill_transform(message, pose[:3, 3], pose[:3, :3], stamp)
        return poses

    def _diagnose(self) -> tuple[str, str, dict[str, object]]:
        published, self._published = self._published, False
        values = {"frames": len(self._tree.children), "morphology": self.morphology.describe()} | self.faults.counts()
        if self._no_urdf:
            return "warn", self._no_urdf, values
        if faults := self.faults.list_recent(time.monotonic()):
            return "warn", "; ".join(faults), values
        if not self._is_watched():
            return "ok", "nobody subscribes to /tf", values
        if not published:
            sources = ", ".join(publishers(self, "joint_states"))
            remedy = f"look at {sources}" if sources else "start servos, or with hardware:=topics the joints' driver"
            return "warn", f"no joint_states: the links have no tf; {remedy}", values
        return "ok", "publishing", values
