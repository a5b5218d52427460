"""The command `ros2 bag`: what it records is what was published, and what it plays is what it recorded."""

import subprocess

import pytest
from cli_process import OURS, environment_in, node, ros2
from domains import reserve_domain
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

ENVIRONMENT = environment_in(domain=reserve_domain())
TOPICS = ("/ns/text", "/ns/odometry", "/ns/latched")


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    """A bag of a second of the node of cli_node.py."""
    folder = tmp_path_factory.mktemp("bags") / "walk"
    with node(ENVIRONMENT):
        code, out, err = ros2(ENVIRONMENT, "bag", "record", *TOPICS, "-o", str(folder), "-d", "2.5")
    assert (code, err) == (0, "")
    assert str(folder) in out
    return folder


def test_a_reader_that_is_not_ours_finds_the_messages(bag):
    types = get_typestore(Stores.ROS2_HUMBLE)
    with Reader(bag) as reader:
        assert {c.topic for c in reader.connections} == set(TOPICS)
        found = {c.topic: types.deserialize_cdr(raw, c.msgtype) for c, _, raw in reader.messages()}
        latched = next(c for c in reader.connections if c.topic == "/ns/latched")
    assert found["/ns/latched"].data == "stays"
    assert latched.ext.offered_qos_profiles[0].durability.name == "TRANSIENT_LOCAL"


def test_what_is_played_arrives(bag):
    player = subprocess.Popen([*OURS, "bag", "play", str(bag), "--loop"], env=ENVIRONMENT)
    try:
        assert (
            ros2(ENVIRONMENT, "topic", "echo", "--once", "/ns/latched", "std_msgs/msg/String")[1]
            == "data: stays\n---\n"
        )
    finally:
        player.kill()
        player.wait()


def test_info_counts_and_wrong_paths_are_refused(bag, tmp_path):
    code, out, _ = ros2(ENVIRONMENT, "bag", "info", str(bag))
    assert code == 0
    assert "Topic: /ns/latched | Type: std_msgs/msg/String | Count: 1" in out
    code, _, err = ros2(ENVIRONMENT, "bag", "play", str(tmp_path / "none"))
    assert code != 0
    assert "no bag that can be read" in err
    code, _, err = ros2(ENVIRONMENT, "bag", "record", "-a", "-o", str(bag))
    assert code != 0
    assert "exists already" in err
