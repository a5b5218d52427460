"""Draw the README's picture from a running robot: it walks, two legs break, the software is told, it walks on.

./with_ros2 ros2 launch hexapod_dynamics walk.launch.py &
./with_ros2 python3 docs/draw_walk.py docs/walk.png
"""

import sys
import time

import numpy as np

import rclpy
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx, rotation_from_quaternion
from hexapod_dynamics.tools.figures.output import COLOURS, panels
from hexapod_dynamics.tools.figures.robot_picture import draw
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

BEFORE, AFTER = 5.0, 25.0
LOST = ("LM.femur", "RR.femur")


def pose(message):
    """Position (3,) and rotation (3, 3) of an Odometry."""
    p, o = message.pose.pose.position, message.pose.pose.orientation
    return np.array([p.x, p.y, p.z]), rotation_from_quaternion((o.x, o.y, o.z, o.w))


def record(node):
    """Listen, break, tell, listen; {topic: messages} and where in them the legs broke."""
    heard = {}
    topics = ((Odometry, "simulator/odom"), (Odometry, "predicted_state"), (JointState, "simulator/joint_states"))
    for kind, topic in topics:
        node.create_subscription(kind, topic, heard.setdefault(topic, []).append, qos_profile_sensor_data)

    def listen(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            rclpy.spin_once(node, timeout_sec=0.1)

    listen(BEFORE)
    broken = {topic: len(messages) for topic, messages in heard.items()}
    for service in ("simulator/set_damage", "set_morphology"):
        client = node.create_client(SetParametersAtomically, service)
        if not client.wait_for_service(timeout_sec=10.0):
            sys.exit(f"nobody offers {service}: launch the robot first")
        request = SetParametersAtomically.Request(
            parameters=[Parameter(f"links.{name}", value=False).to_parameter_msg() for name in LOST]
        )
        rclpy.spin_until_future_complete(node, client.call_async(request))
    listen(AFTER)
    return heard, broken


def main():
    """Record and draw."""
    rclpy.init()
    heard, broken = record(rclpy.create_node("draw_walk"))
    robot = Robot.jethexa()
    whole = Morphology.whole(robot)
    figure, axes = panels(1, 3, width=11.0, height=3.2, width_ratios=[1, 1, 0.9])
    stages = (
        (whole, broken["simulator/joint_states"] - 10, "six legs, 7 cm/s"),
        (whole.without(*LOST), -1, "LM and RR down to the coxa: on it goes"),
    )
    for axis, (morphology, index, title) in zip(axes[0], stages, strict=False):
        joints = heard["simulator/joint_states"][index]
        angles = dict(zip(joints.name, joints.position, strict=True))
        q = np.array([angles.get(name, 0.0) for name in robot.joint_names])
        position, rotation = pose(heard["simulator/odom"][index])
        axis.grid(False)
        draw(axis, morphology, position, rotation, q, np.zeros((6, 3)))
        axis.set_title(title, fontsize=10)
    axis = axes[0, 2]
    for topic, style, label in (("simulator/odom", "-", "true"), ("predicted_state", "--", "predicted")):
        poses = [pose(message) for message in heard[topic]]
        track = np.array([position for position, _ in poses]) - poses[0][0]
        heading = euler_zyx(poses[0][1])[0]
        x = track[:, 0] * np.cos(heading) + track[:, 1] * np.sin(heading)
        y = track[:, 1] * np.cos(heading) - track[:, 0] * np.sin(heading)
        axis.plot(100 * x, 100 * y, style, color=COLOURS[0 if style == "-" else 1], lw=2.0, label=label)
        if style == "-":
            axis.plot(100 * x[broken[topic]], 100 * y[broken[topic]], "o", color="#d1495b", label="legs break")
    axis.set_aspect("equal")
    axis.set(xlabel="forward [cm]", ylabel="left [cm]")
    axis.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(0.0, 0.95))
    axis.set_title("the way over the ground, seen from above", fontsize=10)
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "walk.png", dpi=110)


if __name__ == "__main__":
    main()
