"""The node robot_description: the URDF follows the morphology, and tf is one tree without a gap."""

import time
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from support.ros_session import LATCHED, Process, parameters_of, wait_until

from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from rcl_interfaces.msg import ParameterEvent
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

ROBOT = Robot.jethexa()


def tree(message):
    """{child: parent} of one tf message; a child named twice fails."""
    pairs = [(t.child_frame_id, t.header.frame_id) for t in message.transforms]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def opacities(urdf):
    return {float(color.get("rgba").split()[3]) for color in ET.fromstring(urdf).iter("color")}


@pytest.fixture
def node(probe):
    with Process.node("robot_description") as process:
        yield process


def test_tf_is_one_tree_that_follows_measured_joints_and_the_morphology(probe, node):
    urdf = probe.hear(String, "robot_description", LATCHED)
    ghost = probe.hear(String, "predicted/robot_description", LATCHED)
    tf = probe.hear(TFMessage, "/tf", keep=50)
    joints = probe.node.create_publisher(JointState, "joint_states", 10)
    predicted = probe.node.create_publisher(JointState, "predicted_joint_states", 10)
    imu = probe.node.create_publisher(Imu, "imu/data", 10)
    morphology = probe.node.create_publisher(ParameterEvent, "morphology", LATCHED)
    q = np.random.default_rng(1).uniform(-0.5, 0.5, 18)
    state = JointState(name=list(ROBOT.joint_names), position=q.tolist())
    level = Imu()
    level.orientation.w = 1.0

    def publish():
        for publisher, message in ((joints, state), (predicted, state), (imu, level)):
            publisher.publish(message)

    def complete():
        publish()
        return tf and {"base_footprint", "predicted/foot_RF"} <= set(tree(tf[-1][1]))

    wait_until(lambda: urdf and ghost, 30, lambda: node.output)
    probe.statuses.says("robot_description", "no joint_states: the links have no tf; look at /probe", 30)
    assert not tf
    assert "foot_RM" in urdf[-1][1].data
    assert opacities(ghost[-1][1].data) == {0.3}
    assert 1.0 in opacities(urdf[-1][1].data)
    wait_until(complete, 20, lambda: node.output)
    parents = tree(tf[-1][1])
    for child in parents:
        chain = child
        while chain in parents:
            chain = parents[chain]
        assert chain == "base_link", f"{child} hangs on {chain}"
    poses = LinkTree(ROBOT).poses(q)
    sent = {t.child_frame_id: t.transform for t in tf[-1][1].transforms}
    for child, pose in zip(LinkTree(ROBOT).children, poses, strict=True):
        place = sent[child].translation
        np.testing.assert_allclose([place.x, place.y, place.z], pose[:3, 3], atol=1e-12)
    lowest = min(pose[2, 3] for pose in LinkTree(ROBOT).base_poses(q).values())
    assert sent["base_footprint"].translation.z == pytest.approx(min(lowest, -0.018), abs=1e-9)

    hurt = Morphology.whole(ROBOT).without("RM")
    morphology.publish(ParameterEvent(node="/damage_manager", new_parameters=parameters_of(hurt.parameters())))
    wait_until(lambda: "foot_RM" not in urdf[-1][1].data, 10, lambda: node.output)
    wait_until(lambda: "foot_RM" not in ghost[-1][1].data, 10, lambda: node.output)
    time.sleep(0.2)  # messages under way are those of the whole robot
    tf.clear()
    wait_until(complete, 10, lambda: node.output)
    assert not [child for child in tree(tf[-1][1]) if child.endswith("RM")]

    tf.clear()  # nobody measures the joints any more
    probe.statuses.says("robot_description", "no joint_states: the links have no tf", 10)
    assert len(tf) < 3


@pytest.mark.parametrize(("name", "legs"), [("quadruped_with_sliders", 4), ("octopod", 8)])
def test_robots_with_other_legs_have_a_tf_of_every_link(probe, name, legs):
    file = str(Path(__file__).resolve().parents[1] / "robots" / f"{name}.yaml")
    robot = Robot.load(file)
    namespace = f"/{name}"
    with Process.node("robot_description", "-p", f"robot:={file}", "-r", f"__ns:={namespace}") as process:
        urdf = probe.hear(String, f"{namespace}/robot_description", LATCHED)
        tf = probe.hear(TFMessage, "/tf", keep=50)
        joints = probe.node.create_publisher(JointState, f"{namespace}/joint_states", 10)
        state = JointState(name=list(robot.joint_names), position=[0.0] * robot.joint_count)
        wanted = {f"{name}/{child}" for child in LinkTree(robot).children}
        assert sum("/foot_" in child for child in wanted) == legs

        def complete():
            joints.publish(state)
            return any(wanted <= set(tree(message)) for _, message in tf)

        wait_until(complete, 30, lambda: process.output)

        if name == "octopod":  # its screws: said, while tf shows it nevertheless
            probe.statuses.says(f"{name}/robot_description", "no helical joint")
            assert not urdf
        else:
            wait_until(lambda: urdf, 10, lambda: process.output)
            assert urdf[-1][1].data.count("foot_") >= legs
