"""The tf of a whole robot that walks, from all nodes together: one tree without a gap, at even rates."""

import time

import numpy as np
import pytest
from support.machine_load import on_a_free_machine
from support.ros_session import Probe, Process, separate, wait_until

from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.ros.node_functions import stamp_seconds
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

LINKS = set(LinkTree(Robot.jethexa()).children)
WATCHED = 5.0  # [s]
STATIC = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
ROBOT_DESCRIPTION_RATE = 50.0  # [1/s]


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
    """A function that watches the walk for some seconds and returns the edges of /tf; edges of /tf_static."""
    separate()
    probe = Probe()
    moving = probe.hear(TFMessage, "/tf")
    fixed = probe.hear(TFMessage, "/tf_static", STATIC)
    launch = Process("ros2", "launch", "hexapod_dynamics", "walk.launch.py", "status:=false", "detect:=off")
    try:
        wanted = LINKS | {f"predicted/{link}" for link in LINKS} | {"base_link", "base_footprint"}
        wait_until(lambda: fixed and wanted <= set(edges(moving[-60:], 0.0)), 90, lambda: launch.output)
        time.sleep(1.0)

        def watch(seconds=WATCHED):
            moving.clear()
            time.sleep(seconds)
            return edges(moving, 0.0)

        yield watch, edges(fixed, 0.0)
    finally:
        launch.end()
        probe.close()


def test_every_frame_has_one_parent_and_hangs_on_odom(walking):
    watch, fixed = walking
    moving = watch(1.0)
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


def test_stamps_go_forward_at_an_even_rate_and_arrive_at_once(walking):
    on_a_free_machine(lambda: check_rates(walking[0]()))


def check_rates(moving):
    for child, edge in moving.items():
        steps = np.diff(edge.stamps)
        assert (steps > 0.0).all(), f"{child}: a stamp goes back or comes twice"
        assert len(edge.stamps) > 0.9 * WATCHED / np.median(steps), f"{child}: gaps of up to {steps.max():.3f} s"
        even = np.mean(np.abs(steps - np.median(steps)) < 0.5 * np.median(steps))
        assert even > 0.9, f"{child}: {100 * even:.0f} % of the steps are even"
        assert np.median(np.diff(edge.arrivals)) == pytest.approx(np.median(steps), rel=0.1)
    for link in (*LINKS, "base_footprint"):
        assert np.median(np.diff(moving[link].stamps)) == pytest.approx(1.0 / ROBOT_DESCRIPTION_RATE, rel=0.1)
