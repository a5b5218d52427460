"""The messages of the node `dynamics`. Topics without subscribers cost nothing."""

from __future__ import annotations

import time

import numpy as np

from builtin_interfaces.msg import Time as Stamp
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, WrenchStamped
from hexapod_dynamics.estimation.observer import Observer
from hexapod_dynamics.gait_kinds import SWAYS
from hexapod_dynamics.nodes.messages import fill_odometry, fill_transform, put, transform, turn
from hexapod_dynamics.onboard.prediction import PayloadWeighing
from hexapod_dynamics.ros.clock_offset import StampConverter
from hexapod_dynamics.ros.guarded_node import GuardedNode
from hexapod_dynamics.ros.node_functions import LATCHED, OnDemand, check_topic, frame, status_of
from nav_msgs.msg import Odometry, Path
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from tf2_ros import TransformBroadcaster

# Variances of the body's twist [m^2/s^2, rad^2/s^2], row by row, because of slipping feet and play of joints.
TWIST_COVARIANCE = np.diag([1e-3, 1e-3, 1e-3, 1e-2, 1e-2, 1e-2]).ravel().tolist()


class PredictionMessages:
    """Publishes an Observer's prediction: odometry and tf odom -> base_link, joints, torques, the path ahead."""

    def __init__(self, node: GuardedNode, observer: Observer, publish_tf: bool, odom_topic: str = "") -> None:
        self._node, self._observer, self._odom_topic = node, observer, odom_topic
        if odom_topic:  # its publisher is created while the robot walks
            check_topic(node, "odom_topic", odom_topic)
        base, odom = frame(node, "base_link"), frame(node, "odom")
        self._odometry = Odometry(child_frame_id=base)
        self._odometry.twist.covariance = TWIST_COVARIANCE
        self._path, self._transform = Path(), transform(odom, base)
        self._stamps, self._nanoseconds = StampConverter(), 0
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
        self.path_wanted = self._path_topic.wanted  # the path needs a roll-out
        self._broadcaster = TransformBroadcaster(node) if publish_tf else None
        self._tf_wanted = OnDemand(self._broadcaster.pub_tf).wanted if publish_tf else lambda _now: False

    def name_joints(self) -> None:
        """Set the joint names of the messages: existing joints have a state, moving joints a torque."""
        morphology = self._observer.morphology
        names = np.array(self._node.robot.joint_names)
        self._existing, self._moving = morphology.existing_mask, morphology.moving_mask
        self._joints.name, self._torques.name = names[self._existing].tolist(), names[self._moving].tolist()

    @property
    def seconds(self) -> float:
        """Time of the state that was published last, in seconds (float)."""
        return 1e-9 * self._nanoseconds

    def publish(self, torques: np.ndarray | None, ahead: tuple[np.ndarray, np.ndarray, np.ndarray] | None) -> None:
        """Publish state and joints; torques (n,) [N m] and the path `ahead` unless they are None.

        All carry the time of the state. A topic without a subscriber costs nothing.
        """
        at = self._observer.time
        now = self._nanoseconds = self._stamps.nanoseconds_of(at)
        self.stamp.sec, self.stamp.nanosec = divmod(now, 1_000_000_000)
        if not self._state_topics:
            # `odom_topic`: the same, by the name that other packages expect.
            for topic in filter(None, ("predicted_state", self._odom_topic)):
                self._state_topics.append(OnDemand(self._node.create_publisher(Odometry, topic, 10)))
        wanted = [topic for topic in self._state_topics if topic.wanted(at)]
        if wanted:
            observer, message = self._observer, self._odometry
            message.pose.covariance = observer.covariance.ravel()
            fill_odometry(message, observer.position, observer.rotation, observer.nu[:6])
            for topic in wanted:
                topic.publish(self._odometry)
        if self._joints_topic.wanted(at):
            observer, message = self._observer, self._joints
            message.position = observer.q[self._existing].tolist()
            message.velocity = observer.nu[6:][self._existing].tolist()
            self._joints_topic.publish(message)
        if torques is not None and self._torques_topic.wanted(at):
            self._torques.effort = torques[self._moving].tolist()
            self._torques_topic.publish(self._torques)
        if self._tf_wanted(at):
            fill_transform(self._transform, self._observer.position, self._observer.rotation, self.stamp)
            self._broadcaster.sendTransform(self._transform)
        if ahead is not None:
            self._publish_path(now, *ahead)

    def _publish_path(self, now: int, positions: np.ndarray, rotations: np.ndarray, _joints: np.ndarray) -> None:
        path, step, observer = self._path, int(2e9 * self._observer.model.horizon_period), self._observer
        positions = [observer.position, *positions[1::2]]
        rotations = [observer.rotation, *rotations[1::2]]
        for k, pose in enumerate(path.poses):
            pose.header.stamp = Time(nanoseconds=now + k * step).to_msg()
            put(pose.pose.position, positions[k].tolist())
            turn(pose.pose.orientation, rotations[k])
        self._path_topic.publish(path)


class PayloadReport:
    """Publishes a PayloadWeighing as `payload` and `payload_wrench`; feeds it with `gait_state`; serves `~/tare`."""

    def __init__(self, node: GuardedNode, weighing: PayloadWeighing) -> None:
        self._node, self._weighing = node, weighing
        self._wrench = WrenchStamped()
        self._wrench.header.frame_id = frame(node, "base_link")
        self._publisher = node.create_publisher(DiagnosticStatus, "payload", LATCHED)
        self._wrench_publisher = node.create_publisher(WrenchStamped, "payload_wrench", LATCHED)
        node.create_service(Trigger, "~/tare", self._on_tare)

    def on_gait_state(self, message: DiagnosticStatus) -> None:
        """Take the period of the steps from gait_state while the body sways."""
        period = next((float(pair.value) for pair in message.values if pair.key == SWAYS), None)
        self._weighing.set_sway_period(time.monotonic(), period)

    def update(self) -> None:
        """Process a full time window if the robot walks; publish after a step cycle."""
        if self._weighing.update(time.monotonic()):
            self.publish()

    def publish(self) -> None:
        """Publish the present estimate."""
        weighing = self._weighing
        level, words = weighing.assess()
        self._publisher.publish(status_of("payload", self._node.robot.name, level, words, weighing.values()))
        weight = weighing.load.wrench().tolist()
        put(self._wrench.wrench.force, weight[:3])
        put(self._wrench.wrench.torque, weight[3:])
        self._wrench.header.stamp = self._node.get_clock().now().to_msg()
        self._wrench_publisher.publish(self._wrench)

    def _on_tare(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        reason = self._weighing.tare()
        answer.success, answer.message = not reason, reason or "what the robot weighs now is nothing"
        if answer.success:
            self.publish()
        return answer
