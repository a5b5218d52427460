"""What the node `dynamics` publishes: messages made once, of which only numbers change; nothing for nobody."""

import numpy as np

from geometry_msgs.msg import PoseStamped, TransformStamped
from hexapod_dynamics.nodes.clock_offset import StampConverter
from hexapod_dynamics.nodes.common import frame
from hexapod_dynamics.se3 import quaternion_from_rotation
from nav_msgs.msg import Odometry, Path
from rclpy.time import Time
from sensor_msgs.msg import JointState
from tf2_ros import TransformBroadcaster

# Variances of the body's twist [m^2/s^2, rad^2/s^2], row by row: steps of feet that slip, joints that play.
TWIST_COVARIANCE = np.diag([1e-3, 1e-3, 1e-3, 1e-2, 1e-2, 1e-2]).ravel().tolist()


class PredictionMessages:
    """Publishes an Observer's prediction: odometry and tf odom -> base_link, joints, torques, the path ahead."""

    def __init__(self, node, observer, publish_tf):
        self._node, self._observer = node, observer
        base, odom = frame(node, "base_link"), frame(node, "odom")
        self._odometry, self._path = Odometry(child_frame_id=base), Path()
        self._odometry.twist.covariance = TWIST_COVARIANCE
        self._transform = TransformStamped(child_frame_id=base)
        self._stamps = StampConverter(node)
        self._joints, self._torques = JointState(), JointState()
        self._path.poses = [PoseStamped() for _ in range(1 + observer.steps_ahead // 2)]
        for message in (self._odometry, self._transform, self._path, *self._path.poses):
            message.header.frame_id = odom
        self._existing = self._moving = None
        self.name_joints()
        self._state_publisher = None  # created with the first prediction
        self._joints_publisher = node.create_publisher(JointState, "predicted_joint_states", 10)
        self._torques_publisher = node.create_publisher(JointState, "feedforward_torques", 10)
        self._path_publisher = node.create_publisher(Path, "predicted_path", 10)
        self._broadcaster = TransformBroadcaster(node) if publish_tf else None

    def name_joints(self):
        """Set the joint names of the messages: existing joints have a state, moving joints a torque."""
        morphology = self._observer.morphology
        names = np.array(self._node.robot.joint_names)
        self._existing, self._moving = morphology.existing_mask, morphology.moving_mask
        self._joints.name = names[self._existing].tolist()
        self._torques.name = names[self._moving].tolist()

    @property
    def path_wanted(self):
        """Whether somebody subscribes to the path, which costs a look ahead."""
        return self._path_publisher.get_subscription_count() > 0

    @property
    def stamp(self):
        """Time of the state that was published last."""
        return self._odometry.header.stamp

    def publish(self, torques, ahead):
        """Publish state and joints; torques (n,) [N m] and the path `ahead` unless they are None.

        All carry the time of the state. A topic without a subscriber costs nothing.
        """
        stamp = self._stamps.of(self._observer.time)
        self._set_state(stamp)
        self._publish_state(stamp)
        if torques is not None and self._torques_publisher.get_subscription_count():
            self._torques.header.stamp = self._odometry.header.stamp
            self._torques.effort = torques[self._moving].tolist()
            self._torques_publisher.publish(self._torques)
        if ahead is not None:
            self._publish_path(Time.from_msg(stamp).nanoseconds, *ahead)

    def _set_state(self, stamp):
        """Set stamp and pose of the odometry, which tf and the path share."""
        observer, odometry = self._observer, self._odometry
        odometry.header.stamp = stamp
        place, turn = odometry.pose.pose.position, odometry.pose.pose.orientation
        place.x, place.y, place.z = observer.position.tolist()
        turn.x, turn.y, turn.z, turn.w = quaternion_from_rotation(observer.rotation)

    def _publish_state(self, stamp):
        observer, odometry = self._observer, self._odometry
        if self._state_publisher is None:
            self._state_publisher = self._node.create_publisher(Odometry, "predicted_state", 10)
        if self._state_publisher.get_subscription_count():
            twist = odometry.twist.twist
            twist.linear.x, twist.linear.y, twist.linear.z = observer.nu[:3].tolist()
            twist.angular.x, twist.angular.y, twist.angular.z = observer.nu[3:6].tolist()
            odometry.pose.covariance = observer.covariance.ravel()
            self._state_publisher.publish(odometry)
        if self._joints_publisher.get_subscription_count():
            joints = self._joints
            joints.header.stamp = stamp
            joints.position = observer.q[self._existing].tolist()
            joints.velocity = observer.nu[6:][self._existing].tolist()
            self._joints_publisher.publish(joints)
        if self._broadcaster is not None and self._broadcaster.pub_tf.get_subscription_count():
            pose, transform = odometry.pose.pose, self._transform
            transform.header.stamp = stamp
            place = transform.transform.translation
            place.x, place.y, place.z = pose.position.x, pose.position.y, pose.position.z
            transform.transform.rotation = pose.orientation
            self._broadcaster.sendTransform(transform)

    def _publish_path(self, now, positions, rotations, _joints):
        path, step = self._path, int(2e9 * self._observer.model.horizon_period)
        path.header.stamp = self._odometry.header.stamp
        path.poses[0].pose = self._odometry.pose.pose
        path.poses[0].header.stamp = path.header.stamp
        for k, pose in enumerate(path.poses[1:]):
            pose.header.stamp = Time(nanoseconds=now + (k + 1) * step).to_msg()
            place, turn = pose.pose.position, pose.pose.orientation
            place.x, place.y, place.z = positions[2 * k + 1].tolist()
            turn.x, turn.y, turn.z, turn.w = quaternion_from_rotation(rotations[2 * k + 1])
        self._path_publisher.publish(path)
