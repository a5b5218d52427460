"""The messages of the node `dynamics`: prediction, load, and the support as markers for RViz, Foxglove and the view.

Topics without subscribers cost nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from builtin_interfaces.msg import Time as Stamp
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point, PoseStamped, WrenchStamped
from hexapod_dynamics.control.support import FORCE_SCALE, STANDING_LOAD, Support, support_polygon
from hexapod_dynamics.estimation.observer import Observer
from hexapod_dynamics.gait_kinds import SWAY_PERIOD
from hexapod_dynamics.nodes.messages import (
    StampConverter,
    fill_odometry,
    fill_rotation,
    fill_transform,
    fill_vector,
    transform,
)
from hexapod_dynamics.nodes.robot_node import RobotNode
from hexapod_dynamics.onboard.prediction import PayloadWeighing
from hexapod_dynamics.ros.node_functions import LATCHED, OnDemand, make_frame_name, make_status
from nav_msgs.msg import Odometry, Path
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

# Variances of the body's twist [m^2/s^2, rad^2/s^2], row by row, because of slipping feet and play of joints.
TWIST_COVARIANCE = np.diag([1e-3, 1e-3, 1e-3, 1e-2, 1e-2, 1e-2]).ravel().tolist()
FORCES, POLYGON, CENTER, ZMP = "foot_forces", "support_polygon", "center_of_mass", "zero_moment_point"
COLOURS = {
    FORCES: (0.86, 0.16, 0.16),
    POLYGON: (0.94, 0.59, 0.12),
    CENTER: (0.55, 0.2, 0.75),
    ZMP: (0.1, 0.6, 0.25),
}


class PredictionMessages:
    """Publishes an Observer's prediction: odometry and tf odom -> base_link, joints, torques, the path ahead."""

    def __init__(self, node: RobotNode, observer: Observer, publish_tf: bool, odom_topic: str = "") -> None:
        self._node, self._observer, self._odom_topic = node, observer, odom_topic
        base, odom = make_frame_name(node, "base_link"), make_frame_name(node, "odom")
        self._odometry = Odometry(child_frame_id=base)
        self._odometry.twist.covariance = TWIST_COVARIANCE
        self._path, self._transform = Path(), transform(odom, base)
        self._stamps = StampConverter()
        self.stamp = Stamp()  # time of the state that was published last, in all messages
        self._path.poses = [PoseStamped() for _ in range(1 + observer.steps_ahead // 2)]
        for message in (self._odometry, self._transform, self._path, *self._path.poses):
            message.header.frame_id = odom
        self._joints, self._torques = JointState(), JointState()
        for message in (self._odometry, self._transform, self._path, self._joints, self._torques):
            message.header.stamp = self.stamp
        self.name_joints()
        self._state_topics: list[OnDemand] = []  # created with the first prediction
        self._joints_topic = OnDemand(node.create_publisher(JointState, "predicted_joint_states", 10))
        self._torques_topic = OnDemand(node.create_publisher(JointState, "feedforward_torques", 10))
        self._path_topic = OnDemand(node.create_publisher(Path, "predicted_path", 10))
        self.path_wanted = self._path_topic.has_subscribers  # the path needs a roll-out
        self._tf_topic = OnDemand(node.create_publisher(TFMessage, "/tf", 100)) if publish_tf else None
        self._support = SupportMarkers(node, observer)
        self._support.update()

    def name_joints(self) -> None:
        """Set the joint names of the messages: existing joints have a state, moving joints a torque."""
        morphology = self._observer.morphology
        names = np.array(self._node.robot.joint_names)
        self._existing, self._moving = morphology.existing_mask, morphology.moving_mask
        self._joints.name, self._torques.name = names[self._existing].tolist(), names[self._moving].tolist()

    def has_state_subscribers(self, now: float) -> bool:
        """Return whether anybody subscribes to more than the torques at the monotonic time `now` [s]."""
        topics = (*self._state_topics, self._joints_topic, self._path_topic, self._support.topic, self._tf_topic)
        return not self._state_topics or any(topic.has_subscribers(now) for topic in topics if topic is not None)

    def publish_support(self) -> None:
        """Publish the support of the state that was published last, if anybody subscribes to it."""
        if self._support.topic.has_subscribers(self._observer.time):
            self._support.publish(self.stamp)

    def publish(self, torques: np.ndarray | None, ahead: tuple[np.ndarray, np.ndarray, np.ndarray] | None) -> None:
        """Publish state and joints; torques (n,) [N m] and the path `ahead` unless they are None.

        All carry the time of the state. A topic without a subscriber costs nothing.
        """
        at = self._observer.time
        now = self._stamps.to_nanoseconds(at)
        self.stamp.sec, self.stamp.nanosec = divmod(now, 1_000_000_000)
        if not self._state_topics:
            # `odom_topic`: the same, by the name that other packages expect.
            names = filter(None, ("predicted_state", self._odom_topic))
            self._state_topics = [OnDemand(self._node.create_publisher(Odometry, name, 10)) for name in names]
        wanted = [topic for topic in self._state_topics if topic.has_subscribers(at)]
        if wanted:
            observer, message = self._observer, self._odometry
            message.pose.covariance = observer.covariance.ravel()
            fill_odometry(message, observer.position, observer.rotation, observer.nu[:6])
            for topic in wanted:
                topic.publish(self._odometry)
        if self._joints_topic.has_subscribers(at):
            observer, message = self._observer, self._joints
            message.position = observer.q[self._existing].tolist()
            message.velocity = observer.nu[6:][self._existing].tolist()
            self._joints_topic.publish(message)
        if torques is not None and self._torques_topic.has_subscribers(at):
            self._torques.effort = torques[self._moving].tolist()
            self._torques_topic.publish(self._torques)
        if self._tf_topic is not None and self._tf_topic.has_subscribers(at):
            fill_transform(self._transform, self._observer.position, self._observer.rotation, self.stamp)
            self._tf_topic.publish(TFMessage(transforms=[self._transform]))
        if ahead is not None:
            self._publish_path(now, *ahead)

    def _publish_path(self, now: int, positions: np.ndarray, rotations: np.ndarray, _joints: np.ndarray) -> None:
        path, step, observer = self._path, int(2e9 * self._observer.model.horizon_period), self._observer
        places, turns = [observer.position, *positions[1::2]], [observer.rotation, *rotations[1::2]]
        for k, (pose, place, turn) in enumerate(zip(path.poses, places, turns, strict=False)):
            pose.header.stamp = Time(nanoseconds=now + k * step).to_msg()
            fill_vector(pose.pose.position, place.tolist())
            fill_rotation(pose.pose.orientation, turn)
        self._path_topic.publish(path)


class PayloadReport:
    """Publishes a PayloadWeighing as `payload` and `payload_wrench`; feeds it with `gait_state`; serves `~/tare`."""

    def __init__(self, node: RobotNode, weighing: PayloadWeighing) -> None:
        self._node, self._weighing = node, weighing
        self._wrench = WrenchStamped()
        self._wrench.header.frame_id = make_frame_name(node, "base_link")
        self._publisher = node.create_publisher(DiagnosticStatus, "payload", LATCHED)
        self._wrench_publisher = node.create_publisher(WrenchStamped, "payload_wrench", LATCHED)
        node.create_service(Trigger, "~/tare", self._on_tare)

    def read_gait_state(self, message: DiagnosticStatus) -> None:
        """Take the period of the steps from gait_state while the body sways."""
        period = next((float(pair.value) for pair in message.values if pair.key == SWAY_PERIOD), None)
        self._weighing.set_sway_period(time.monotonic(), period)

    def update(self) -> None:
        """Process a full time window if the robot walks; publish after a step cycle."""
        if self._weighing.update(time.monotonic()):
            self.publish()

    def publish(self) -> None:
        """Publish the present estimate."""
        weighing = self._weighing
        level, words = weighing.assess()
        self._publisher.publish(make_status("payload", self._node.robot.name, level, words, weighing.values()))
        weight = weighing.load.wrench().tolist()
        fill_vector(self._wrench.wrench.force, weight[:3])
        fill_vector(self._wrench.wrench.torque, weight[3:])
        self._wrench.header.stamp = self._node.get_clock().now().to_msg()
        self._wrench_publisher.publish(self._wrench)

    def _on_tare(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        reason = self._weighing.tare()
        answer.success, answer.message = not reason, reason or "what the robot weighs now is nothing"
        if answer.success:
            self.publish()
        return answer


class SupportMarkers:
    """Publishes `support`: one arrow for each loaded foot, the polygon, spheres at the centre of mass and the ZMP.

    A marker's namespace tells its kind; the id of a foot force is the index of its leg. The messages are made
    once, then only their numbers change. Nothing is computed without subscribers.
    """

    def __init__(self, node: RobotNode, observer: Observer) -> None:
        self._observer, self._support = observer, Support(node.robot)
        self._frame = make_frame_name(node, "odom")
        legs = len(node.robot.legs)
        self._forces = [self._marker(FORCES, Marker.ARROW, k, (0.006, 0.014, 0.015)) for k in range(legs)]
        for marker in self._forces:
            marker.points = [Point(), Point()]
        self._polygon = self._marker(POLYGON, Marker.LINE_STRIP, 0, (0.004, 0.0, 0.0))
        self._corners = [Point() for _ in range(legs + 1)]
        self._center = self._marker(CENTER, Marker.SPHERE, 0, (0.02, 0.02, 0.02))
        self._zmp = self._marker(ZMP, Marker.SPHERE, 0, (0.02, 0.02, 0.006))
        self._array = MarkerArray(markers=[*self._forces, self._polygon, self._center, self._zmp])
        self.topic = OnDemand(node.create_publisher(MarkerArray, "support", 10))

    def _marker(self, what: str, kind: int, number: int, scale: Sequence[float]) -> Marker:
        marker = Marker(ns=what, id=number, type=kind)
        marker.header.frame_id = self._frame
        marker.scale.x, marker.scale.y, marker.scale.z = scale
        (marker.color.r, marker.color.g, marker.color.b), marker.color.a = COLOURS[what], 1.0
        marker.lifetime.sec = 1  # after which markers vanish when `dynamics` has ended
        return marker

    def publish(self, stamp: Time) -> None:
        """Publish the support of the observer's state."""
        self.update()
        support, forces = self._support, self._observer.model.foot_forces
        for marker, foot, force in zip(self._forces, support.feet.tolist(), forces.tolist(), strict=True):
            shown = force[2] > STANDING_LOAD
            marker.action = Marker.ADD if shown else Marker.DELETE
            if shown:
                fill_vector(marker.points[0], foot)
                fill_vector(marker.points[1], [p + FORCE_SCALE * f for p, f in zip(foot, force, strict=True)])
        corners = support_polygon(support.feet, forces).tolist()
        self._polygon.action = Marker.ADD if len(corners) > 1 else Marker.DELETE
        self._polygon.points = self._corners[: len(corners) + 1] if len(corners) > 1 else []
        for point, corner in zip(self._polygon.points, [*corners, *corners[:1]], strict=False):
            fill_vector(point, corner)
        fill_vector(self._center.pose.position, support.center_of_mass.tolist())
        zmp = support.zero_moment_point
        self._zmp.action = Marker.DELETE if zmp is None else Marker.ADD
        if zmp is not None:
            fill_vector(self._zmp.pose.position, zmp.tolist())
        for marker in self._array.markers:
            marker.header.stamp = stamp
        self.topic.publish(self._array)

    def update(self) -> None:
        """Compute the support of the observer's state; called once at the start, nothing is loaded later."""
        model = self._observer.model
        state = model.position, model.rotation, model.q, model.nu, model.acceleration
        self._support.update(model, *state, model.slope, model.level)
