"""Onboard and the launched nodes agree on the same walk: set-points, predictions, decisions.

A launched robot walks and loses a leg that nobody declares. What the IMU and the servos of this walk have measured is
given to an Onboard, by its stamps, which steps when the node `gait` did. Then

- set-points of the gait are those of the node within SET_POINTS, until the leg is lost;
- the predicted pose is that of the node within PLACE and TURN until then;
- the same is declared, within DECIDED of each other.

They differ by 0.0002 rad, 2 mm, 0.3 degrees and 0.06 s. They are not closer because the nodes see a measurement when it
arrives, by up to a tick later than its stamp says, each has its own calibration of the gyroscope, and `dynamics`
predicts at other times. After the loss the gait of the node plans while it walks, and Onboard at once: from then on
their phases differ.
"""

import time

import numpy as np
from support.launched_robot import Launched
from support.machine_load import on_a_free_machine
from support.ros_session import Probe

from geometry_msgs.msg import Twist
from hexapod_dynamics.onboard import Onboard
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.ros.node_functions import stamp_seconds
from hexapod_dynamics.se3 import rotation_from_quaternion, rotation_vector
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, JointState

ROBOT = Robot.jethexa()
INDEX = {name: joint for joint, name in enumerate(ROBOT.joint_names)}
TORN = list(ROBOT.leg_joints("RM"))
SET_POINTS, PLACE, TURN, DECIDED = 0.002, 0.01, np.radians(1.0), 0.3  # [rad], [m], [rad], [s]


class Recorded(Launched):
    """A launched walk and what its nodes have measured, commanded, predicted and declared."""

    def __init__(self, probe):
        super().__init__(probe, "velocity:=0.0", "get_up:=asked")
        try:
            self._record()
        finally:
            self.close()

    def _record(self):
        hear = self.probe.hear
        self.raw, self.readings = hear(Imu, "imu/data_raw", 200), hear(JointState, "servos/measurements", 200)
        self.commands, self.poses = hear(JointState, "joint_commands", 200), hear(Odometry, "predicted_state", 200)
        self.twists, self.broken = [], np.inf
        self.wait(lambda: self.truth and self.poses and self.commands, 120, "it is launched")
        time.sleep(4.0)  # the gyroscope is calibrated
        publisher = self.probe.node.create_publisher(Twist, "cmd_vel", 10)
        timer = self.probe.node.create_timer(0.05, lambda: self._forward(publisher))
        self.wait(lambda: self.speed() > 0.05, 30, "it walks")
        time.sleep(4.0)
        self.broken = time.time()
        assert self.probe.set("simulator/set_damage", {"legs.RM": False}) == (True, "")
        self.wait(lambda: self.lost() == {"RM"}, 10, "the loss is declared")
        self.declared = time.time()
        time.sleep(1.0)
        timer.cancel()

    def _forward(self, publisher):
        message = Twist()
        message.linear.x = 0.07
        publisher.publish(message)
        self.twists.append(time.time())

    def events(self):
        """Yield (time [s], kind, what) of all inputs and commands, in the order of time."""
        found = [(stamp_seconds(m.header.stamp), "imu", m) for _, m in list(self.raw)]
        found += [(stamp_seconds(m.header.stamp), "tick", m) for _, m in list(self.commands)]
        for _, message in list(self.readings):
            at = stamp_seconds(message.header.stamp)
            each = zip(message.name, message.position, message.effort, strict=True)
            found += [(at - age, "joint", (INDEX[name], angle)) for name, angle, age in each]
        return sorted(found, key=lambda event: event[0])


def replay(walk):
    """Return the decisions of an Onboard, differences of set-points (time, [rad]) and poses (time, place, turn)."""
    onboard, gaps, poses = Onboard(ROBOT, get_up="asked"), [], []
    for t, kind, what in walk.events():
        if kind == "imu":
            force, rate = what.linear_acceleration, what.angular_velocity
            onboard.imu(t, (force.x, force.y, force.z), (rate.x, rate.y, rate.z))
            if onboard.prediction is not None:
                poses.append((t, onboard.prediction.position, onboard.prediction.rotation))
        elif kind == "joint":
            onboard.joint(t, *what)
        else:
            for joint in onboard.reads(t):
                if joint in TORN and t > walk.broken:
                    onboard.silent(t, joint)
            if any(t - 1.0 < at < t - 0.002 for at in walk.twists):  # it has arrived before the tick
                onboard.command(t, 0.07, 0.0, 0.0)
            onboard.step(t)
            joints = [INDEX[name] for name in what.name]
            gaps.append((t, np.abs(onboard.standing_pose[joints] - what.position).max()))
    onboard.close()
    return onboard.decisions, np.array(gaps), poses


def compare_set_points(walk, gaps):
    before = gaps[gaps[:, 0] < walk.broken, 1]
    print(f"set-points differ by {before.max():.4f} rad at most, median {np.median(before):.4f}")
    assert len(before) > 200 and before.max() < SET_POINTS


def compare_predictions(walk, poses):
    times = np.array([at for at, _, _ in poses])
    places, turns = [], []
    for _, message in list(walk.poses):
        at, p, o = stamp_seconds(message.header.stamp), message.pose.pose.position, message.pose.pose.orientation
        k = int(np.argmin(np.abs(times - at)))
        if at < walk.broken and abs(times[k] - at) < 0.01:
            places.append(np.linalg.norm(poses[k][1] - [p.x, p.y, p.z]))
            turns.append(
                np.linalg.norm(rotation_vector(poses[k][2].T @ rotation_from_quaternion((o.x, o.y, o.z, o.w))))
            )
    print(f"places differ by {1e3 * max(places):.1f} mm, turns by {np.degrees(max(turns)):.2f} degrees at most")
    assert len(places) > 400 and max(places) < PLACE and max(turns) < TURN


def compare_decisions(walk, decisions):
    declared = [decision for decision in decisions if decision.action == "declare"]
    assert [decision.values for decision in declared] == [{"legs.RM": False}]
    after = (declared[0].time - walk.broken, walk.declared - walk.broken)
    print(f"declared {after[0]:.2f} s after the loss, by the nodes {after[1]:.2f}")
    assert abs(declared[0].time - walk.declared) < DECIDED


def test_set_points_predictions_and_decisions_are_those_of_the_nodes(domain):
    def attempt():
        with Probe() as probe:
            walk = Recorded(probe)
        decisions, gaps, poses = replay(walk)
        compare_set_points(walk, gaps)
        compare_predictions(walk, poses)
        compare_decisions(walk, decisions)

    on_a_free_machine(attempt)
