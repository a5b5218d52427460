"""The tf of a whole robot that walks, from all nodes together: one tree without a gap, at even rates."""

import pytest
from support.machine_load import sleep_and_measure
from support.ros_session import Probe, Process, separate, wait_until

from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.ros.node_functions import stamp_seconds
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

LINKS = set(LinkTree(Robot.jethexa()).children)
WATCHED = 5.0  # [s]
STATIC = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Edge:
    """The transforms of one child frame: its parents, and the stamps [s] and arrivals [s] of the messages."""

    def __init__(self):
        self.parents, self.stamps, self.arrivals = set(), [], []


def edges(heard, since):
    """{child: Edge} of the messages that came after `since` [s]."""
    found = {}
    for at, message in list(heard):
        for transform in message.transforms if at >= since else ():
            edge = found.setdefault(transform.child_frame_id, Edge())
            edge.parents.add(transform.header.frame_id)
            edge.stamps.append(stamp_seconds(transform.header.stamp))
            edge.arrivals.append(at)
    return found


@pytest.fixture(scope="module")
def walking():
    """A function that watches the walk for some seconds and returns (edges of /tf, how late the machine was [s]); edges
    of /tf_static.
    """
    separate()
    probe = Probe()
    moving = probe.hear(TFMessage, "/tf")
    fixed = probe.hear(TFMessage, "/tf_static", STATIC)
    launch = Process("ros2", "launch", "hexapod_dynamics", "walk.launch.py", "status:=false", "detect:=off")
    try:
        wanted = LINKS | {f"predicted/{link}" for link in LINKS} | {"base_link", "base_footprint"}
        wait_until(lambda: fixed and wanted <= set(edges(moving[-60:], 0.0)), 90, lambda: launch.output)
        sleep_and_measure(1.0)

        def watch(seconds=WATCHED):
            moving.clear()
            late = sleep_and_measure(seconds)
            return edges(moving, 0.0), late

        yield watch, edges(fixed, 0.0)
    finally:
        launch.end()
        probe.close()


def test_every_frame_has_one_parent_and_hangs_on_odom(walking):
    watch, fixed = walking
    moving, _ = watch(2.0)
    assert not set(moving) & set(fixed)
    every = moving | fixed
    parents = {}
    for child, edge in every.items():
        assert len(edge.parents) == 1, f"{child} hangs on {edge.parents}"
        parents[child] = next(iter(edge.parents))
    assert set(parents) >= LINKS | {f"predicted/{link}" for link in LINKS} | {"base_link", "base_footprint"}
    for child in parents:
        chain, seen = child, set()
        while chain in parents:
            assert chain not in seen, f"{child} hangs on itself"
            seen.add(chain)
            chain = parents[chain]
        assert chain == "odom", f"{child} hangs on {chain}"
