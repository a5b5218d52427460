"""Both commands `ros2` on both kinds of nodes say the same, where REAL_ROS2_SETUP names a real ROS 2's setup file."""

import difflib
import re
import shlex

import pytest
from cli_process import OURS, environment_in, node, real_environment, ros2
from domains import reserve_domain
from launch_transcript import REAL

pytestmark = pytest.mark.skipif(not REAL, reason="REAL_ROS2_SETUP names no setup file of a real ROS 2")

COMMANDS = """
topic list -t
topic list -v
topic list -c --include-hidden-topics
topic type /nope
topic info -v /ns/joints
topic info -v /ns/latched
topic info -v /elsewhere/listen
topic info /nope
topic echo --once /ns/text
topic echo --once /ns/text -l 3
topic echo --once /ns/odometry
topic echo --once /ns/odometry --csv
topic echo --once /ns/odometry --no-arr --flow-style
topic echo --once /ns/odometry --field pose.covariance
topic echo --once /ns/odometry --raw
topic echo --once /ns/joints --flow-style
topic echo --once /ns/diagnostics
topic echo --once /ns/octets --csv
topic echo --once /ns/latched
topic echo --once /nope
topic pub --once /ns/listen std_msgs/msg/String "data: hi"
topic pub -t 3 -r 10 -p 2 -w 0 /x geometry_msgs/msg/Twist "{linear: {x: 1}, angular: {z: 0.5}}"
topic pub --once -w 0 /x std_msgs/msg/UInt8 "{data: 300}"
topic pub --once -w 0 /x sensor_msgs/msg/JointState "{name: [a, b], position: [1, 2.5]}"
service list -t
service call /ns/switch std_srvs/srv/SetBool "{data: true}"
service call /ns/everything/get_parameters rcl_interfaces/srv/GetParameters "{names: [gain, count]}"
service call /ns/everything/list_parameters rcl_interfaces/srv/ListParameters
service call /ns/everything/describe_parameters rcl_interfaces/srv/DescribeParameters "{names: [gain]}"
node list
node info /ns/everything
node info /nope
param list /ns/everything --param-type
param describe /ns/everything gain count fixed
param get /ns/everything many.y
param get /ns/everything nope
param set /ns/everything gain 3.5
param set /ns/everything gain 300.0
param set /ns/everything gain text
param set /ns/everything count 11
param set /ns/everything name bad
param set /ns/everything fixed 8
param set /ns/everything nope 8
param set /ns/everything any hello
param dump /ns/everything
""".strip().splitlines()
NO_DAEMON = {("topic", "pub"), ("service", "call")}


def comparable(text):
    """Return an output without what differs from run to run, and without what the middleware says."""
    text = "\n".join(line for line in text.splitlines() if "multicast" not in line)
    return re.sub(r"GID: \S+", "GID: ...", text)


@pytest.fixture(scope="module")
def sides():
    """Return both environments and the domains on which a node of either kind runs."""
    domain = reserve_domain()
    real = [real_environment(domain + i) for i in (0, 1)]
    pocket = [environment_in(domain + i) for i in (0, 1)]
    with node(real[0], "python3"), node(pocket[1]):
        yield real, pocket


@pytest.mark.parametrize("command", COMMANDS)
def test_four_ways_one_output(sides, command):
    words = shlex.split(command)
    real, pocket = sides
    daemonless = [*words[:2], "--no-daemon", *words[2:]] if tuple(words[:2]) not in NO_DAEMON else words
    if words[:2] == ["service", "list"]:
        daemonless = [*words, "--no-daemon"]
    said = {}
    for kind, at in (("rclpy", 0), ("pocket", 1)):
        said["ros2", kind] = ros2(real[at], *daemonless, command=["ros2"])
        said["pocket", kind] = ros2(pocket[at], *words, command=OURS)
    code, out, err = said.pop(("ros2", "rclpy"))
    for side, (other_code, other_out, other_err) in said.items():
        for one, other in ((out, other_out), (err, other_err)):
            one, other = comparable(one), comparable(other)
            assert one == other, f"{side}: " + "\n".join(difflib.ndiff(one.splitlines(), other.splitlines()))
        assert code == other_code, side
