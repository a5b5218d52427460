"""The topic `support` of dynamics: a standing robot's markers carry its weight on its feet, above its ZMP."""

import numpy as np
from support.ros_session import Process, wait_until

from hexapod_dynamics.control.support import support_polygon
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.ros.node_functions import stamp_seconds
from sensor_msgs.msg import Imu, JointState
from visualization_msgs.msg import Marker, MarkerArray

ROBOT = Robot.jethexa()
STANDING = TripodGait().bind(ROBOT).position


def named(message):
    """Forces {leg index: (foot (3,), force (3,))}, corners (k, 3), centre of mass (3,), ZMP (3,) or None."""
    forces, others = {}, {}
    for marker in message.markers:
        there = marker.action == Marker.ADD
        points = np.array([(p.x, p.y, p.z) for p in marker.points])
        if marker.ns == "foot_forces":
            if there:
                forces[marker.id] = points[0], (points[1] - points[0]) / 0.01
        elif marker.type == Marker.SPHERE:
            place = marker.pose.position
            others[marker.ns] = np.array([place.x, place.y, place.z]) if there else None
        else:
            others[marker.ns] = points
    return forces, others["support_polygon"], others["center_of_mass"], others["zero_moment_point"]


def check(message, morphology):
    forces, corners, center, zmp = named(message)
    model, tree = WholeBodyModel(ROBOT), LinkTree(ROBOT, morphology).base_poses(STANDING)
    total = np.sum([force for _, force in forces.values()], axis=0)
    np.testing.assert_allclose(total, [0, 0, ROBOT.gravity * model.total_mass(morphology)], rtol=0.02, atol=0.4)
    # The model stands level, but for what its servos give way: in base_link its feet are where the joints put them.
    expected = model.center_of_mass(np.eye(3), np.zeros(3), STANDING, morphology)
    feet = {leg: tree[f"foot_{name}"][:3, 3] for leg, name in enumerate(ROBOT.leg_names) if f"foot_{name}" in tree}
    for leg, (foot, _) in forces.items():
        np.testing.assert_allclose(foot - center, feet[leg] - expected, atol=0.01)
    np.testing.assert_allclose(zmp, [center[0], center[1], 0.0], atol=0.005)
    hull = support_polygon([foot for foot, _ in forces.values()], [force for _, force in forces.values()])
    np.testing.assert_allclose(corners, [*hull, hull[0]], atol=1e-9)
    return set(forces)


def test_the_markers_of_a_standing_robot_carry_its_weight(probe):
    heard, level = probe.hear(MarkerArray, "support", keep=100), Imu()
    level.orientation.w = 1.0
    joints = JointState(name=list(ROBOT.joint_names), position=STANDING.tolist())
    with (
        Process.node("dynamics") as node,
        probe.publishing("joint_states", lambda: joints, 0.02),
        probe.publishing("imu/data", lambda: level, 0.02),
    ):
        wait_until(lambda: len(heard) > 60, 90, lambda: node.output)  # the model has come to rest
    assert {marker.header.frame_id for marker in heard[-1][1].markers} == {"odom"}
    assert check(heard[-1][1], Morphology.whole(ROBOT)) == set(range(6))
    # In the robot's clock: a burst that arrives late is no higher rate.
    stamps = [stamp_seconds(message.markers[0].header.stamp) for _, message in list(heard)[-50:]]
    assert 49 / (stamps[-1] - stamps[0]) < 26.0  # publications a second
