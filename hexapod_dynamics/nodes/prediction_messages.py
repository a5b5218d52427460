"""The messages of the node `dynamics`: serialised once, then only their numbers change. Topics without subscribers
cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from builtin_interfaces.msg import Time as Stamp
from geometry_msgs.msg import Point, PoseStamped, Quaternion, TransformStamped, Vector3
from hexapod_dynamics.estimation.observer import Observer
from hexapod_dynamics.ros.cdr import Template, joint_template
from hexapod_dynamics.ros.clock_offset import StampConverter
from hexapod_dynamics.ros.guarded_node import GuardedNode
from hexapod_dynamics.ros.internals import sender
from hexapod_dynamics.ros.node_functions import Wanted, check_topic, frame
from hexapod_dynamics.se3 import quaternion_from_rotation
from nav_msgs.msg import Odometry, Path
from rclpy.time import Time
from sensor_msgs.msg import JointState
from tf2_ros import TransformBroadcaster

# Variances of the body's twist [m^2/s^2, rad^2/s^2], row by row, because of slipping feet and play of joints.
TWIST_COVARIANCE = np.diag([1e-3, 1e-3, 1e-3, 1e-2, 1e-2, 1e-2]).ravel().tolist()
# Numbers of an Odometry that change: position, quaternion, covariance of the pose, twist.
ODOMETRY = 3 + 4 + 36 + 6


def _fill_odometry(message: Odometry, values: Sequence[float]) -> None:
    place, turn, twist = message.pose.pose.position, message.pose.pose.orientation, message.twist.twist
    place.x, place.y, place.z = values[:3]
    turn.x, turn.y, turn.z, turn.w = values[3:7]
    message.pose.covariance = values[7:43]
    twist.linear.x, twist.linear.y, twist.linear.z = values[43:46]
    twist.angular.x, twist.angular.y, twist.angular.z = values[46:]


class PredictionMessages:
    """Publishes an Observer's prediction: odometry and tf odom -> base_link, joints, torques, the path ahead."""

    def __init__(self, node: GuardedNode, observer: Observer, publish_tf: bool, odom_topic: str = "") -> None:
        self._node, self._observer, self._odom_topic = node, observer, odom_topic
        if odom_topic:  # its publisher is created while the robot walks
            check_topic(node, "odom_topic", odom_topic)
        base, odom = frame(node, "base_link"), frame(node, "odom")
        odometry = Odometry(child_frame_id=base)
        odometry.twist.covariance = TWIST_COVARIANCE
        self._path, self._transform = Path(), TransformStamped(child_frame_id=base)
        self._stamps, self._nanoseconds = StampConverter(), 0
        self._path.poses = [PoseStamped() for _ in range(1 + observer.steps_ahead // 2)]
        for message in (odometry, self._transform, self._path, *self._path.poses):
            message.header.frame_id = odom
        self._odometry = Template(odometry, _fill_odometry, ODOMETRY)
        self._joints = self._torques = self._existing = self._moving = None
        self.name_joints()
        self._send_state = self._state_wanted = None  # created with the first prediction
        self._send_odom, self._odom_wanted = None, lambda _now: False
        joints = node.create_publisher(JointState, "predicted_joint_states", 10)
        torques = node.create_publisher(JointState, "feedforward_torques", 10)
        self._send_joints, self._send_torques = sender(joints), sender(torques)
        self._path_publisher = node.create_publisher(Path, "predicted_path", 10)
        self._broadcaster = TransformBroadcaster(node) if publish_tf else None
        self._joints_wanted, self._torques_wanted = Wanted(joints), Wanted(torques)
        self._path_is_wanted = Wanted(self._path_publisher)
        self._tf_wanted = Wanted(self._broadcaster.pub_tf) if publish_tf else lambda _now: False

    def name_joints(self) -> None:
        """Set the joint names of the messages: existing joints have a state, moving joints a torque."""
        morphology = self._observer.morphology
        names = np.array(self._node.robot.joint_names)
        self._existing, self._moving = morphology.existing_mask, morphology.moving_mask
        self._joints = joint_template(names[self._existing].tolist())
        self._torques = joint_template(names[self._moving].tolist(), effort=True)

    def path_wanted(self, now: float) -> bool:
        """Return whether the path, which needs a roll-out, has subscribers at the monotonic time `now` [s]."""
        return self._path_is_wanted(now)

    @property
    def stamp(self) -> Stamp:
        """Time of the state that was published last."""
        return Time(nanoseconds=self._nanoseconds).to_msg()

    @property
    def seconds(self) -> float:
        """Time of the state that was published last, in seconds (float)."""
        return 1e-9 * self._nanoseconds

    def publish(self, torques: np.ndarray | None, ahead: tuple[np.ndarray, np.ndarray, np.ndarray] | None) -> None:
        """Publish state and joints; torques (n,) [N m] and the path `ahead` unless they are None.

        All carry the time of the state. A topic without a subscriber costs nothing.
        """
        time = self._observer.time
        now = self._nanoseconds = self._stamps.nanoseconds_of(time)
        if self._send_state is None:
            publisher = self._node.create_publisher(Odometry, "predicted_state", 10)
            self._send_state, self._state_wanted = sender(publisher), Wanted(publisher)
            if self._odom_topic:  # the same, by the name that other packages expect
                publisher = self._node.create_publisher(Odometry, self._odom_topic, 10)
                self._send_odom, self._odom_wanted = sender(publisher), Wanted(publisher)
        state, odom = self._state_wanted(time), self._odom_wanted(time)
        if state or odom:
            self._publish_state(now, state, odom)
        if self._joints_wanted(time):
            observer, existing = self._observer, self._existing
            numbers = [*observer.q[existing].tolist(), *observer.nu[6:][existing].tolist()]
            self._send_joints(self._joints.bytes(now, numbers))
        if torques is not None and self._torques_wanted(time):
            self._send_torques(self._torques.bytes(now, torques[self._moving].tolist()))
        if self._tf_wanted(time):
            self._broadcast()
        if ahead is not None:
            self._publish_path(now, *ahead)

    def _publish_state(self, now: int, state: bool, odom: bool) -> None:
        observer = self._observer
        numbers = [
            *observer.position.tolist(),
            *quaternion_from_rotation(observer.rotation),
            *observer.covariance.ravel().tolist(),
            *observer.nu[:6].tolist(),
        ]
        message = self._odometry.bytes(now, numbers)
        if state:
            self._send_state(message)
        if odom:
            self._send_odom(message)

    def _broadcast(self) -> None:
        transform = self._transform
        transform.header.stamp = self.stamp
        _place(transform.transform.translation, self._observer.position)
        _turn(transform.transform.rotation, self._observer.rotation)
        self._broadcaster.sendTransform(transform)

    def _publish_path(self, now: int, positions: np.ndarray, rotations: np.ndarray, _joints: np.ndarray) -> None:
        path, step, observer = self._path, int(2e9 * self._observer.model.horizon_period), self._observer
        path.header.stamp = self.stamp
        positions = [observer.position, *positions[1::2]]
        rotations = [observer.rotation, *rotations[1::2]]
        for k, pose in enumerate(path.poses):
            pose.header.stamp = Time(nanoseconds=now + k * step).to_msg()
            _place(pose.pose.position, positions[k])
            _turn(pose.pose.orientation, rotations[k])
        self._path_publisher.publish(path)


def _place(point: Point | Vector3, position: np.ndarray) -> None:
    """Write position (3,) to a Point or Vector3."""
    point.x, point.y, point.z = position.tolist()


def _turn(quaternion: Quaternion, rotation: np.ndarray) -> None:
    """Write rotation (3, 3) to a Quaternion."""
    quaternion.x, quaternion.y, quaternion.z, quaternion.w = quaternion_from_rotation(rotation)
