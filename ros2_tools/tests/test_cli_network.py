"""The command `ros2` against a node, each in a process of its own: commands.txt has what the real one prints."""

import re
import shlex
import signal
import subprocess
import time

import pytest
from processes import REAL, ROS2, check_printed, environment_in, node, printed, reserve_domain, ros2, session
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

ENVIRONMENT = environment_in(domain=reserve_domain())
SESSION = {}  # {verb: (command, what it prints), in order: what one changes the next ones show}
for command, expected in [*session("commands.txt"), *([] if REAL else session("own_commands.txt"))]:
    verb = command.partition(" ")[0]
    SESSION.setdefault("param" if verb == "service" else verb, []).append((command, expected))
TOPICS = ("/ns/text", "/ns/odometry", "/ns/latched")


@pytest.fixture(scope="module", autouse=True)
def everything():
    """Have the node of everything_node.py running."""
    with node(ENVIRONMENT):
        yield


@pytest.mark.parametrize("verb", SESSION)
def test_commands_print_what_the_session_has(verb):
    for command, expected in SESSION[verb]:
        check_printed(f"$ {command}\n{expected}", f"$ {command}\n{printed(*ros2(ENVIRONMENT, *shlex.split(command)))}")


@pytest.mark.parametrize(
    ("words", "pattern"),
    [("hz /ns/odometry", r"average rate: (1\d|2[0-3])\.\d{3}\n\tmin: "), ("echo /ns/text", 'data: \'héllo: "w"\n')],
)
def test_verbs_that_go_on_end_on_sigint_without_a_traceback(words, pattern):
    process = subprocess.Popen(
        [*ROS2, "topic", *words.split()], env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    text, deadline = "", time.monotonic() + 60
    while not re.search(pattern, text) and time.monotonic() < deadline:
        text += process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert re.search(pattern, text), text
    assert "Traceback" not in errors
    assert process.returncode == 2


@pytest.mark.skipif(bool(REAL), reason="the real doctor has more checks")
def test_doctor_fails_checks_by_warnings_on_request_only():
    code, out, err = ros2(ENVIRONMENT, "doctor")
    assert (code, out) == (0, "\nAll 3 checks passed\n\n")
    assert "Publisher without subscriber detected on /ns/text." in err
    code, out, err = ros2(ENVIRONMENT, "doctor", "--include-warnings", "--report-failed")
    assert code == 0 and re.search(r"\n[12]/3 check\(s\) failed\n\nFailed modules: (network )?topic\n", out)
    assert "\n   TOPIC LIST\n" in out and "RMW MIDDLEWARE" not in out
    code, report, err = ros2(ENVIRONMENT, "doctor", "--report")
    assert (code, err) == (0, "")
    for line in (
        "middleware name    : rmw_",
        "topic               : /ns/text\npublisher count     : 1\nsubscriber count    : 0\n",
        "compatibility status    : No publisher/subscriber pairs found\n",
    ):
        assert line in report


@pytest.fixture(scope="module")
def bag(everything, tmp_path_factory):
    """A bag of some seconds of the node."""
    folder = tmp_path_factory.mktemp("bags") / "walk"
    code, out, err = ros2(ENVIRONMENT, "bag", "record", *TOPICS, "-o", str(folder), "-d", "2.5")
    assert (code, err) == (0, "")
    assert str(folder) in out
    return folder


def test_a_reader_that_is_not_ours_finds_the_messages_of_a_bag(bag):
    types = get_typestore(Stores.ROS2_HUMBLE)
    with Reader(bag) as reader:
        assert {c.topic for c in reader.connections} == set(TOPICS)
        found = {c.topic: types.deserialize_cdr(raw, c.msgtype) for c, _, raw in reader.messages()}
        latched = next(c for c in reader.connections if c.topic == "/ns/latched")
    assert found["/ns/latched"].data == "stays"
    assert latched.ext.offered_qos_profiles[0].durability.name == "TRANSIENT_LOCAL"


def test_what_is_played_arrives(bag):
    elsewhere = environment_in(reserve_domain())
    player = subprocess.Popen([*ROS2, "bag", "play", str(bag), "--loop"], env=elsewhere)
    try:
        echo = "topic", "echo", "--once", "/ns/latched", "std_msgs/msg/String"
        assert ros2(elsewhere, *echo)[1] == "data: stays\n---\n"
    finally:
        player.kill()
        player.wait()


def test_info_counts_and_wrong_paths_are_refused(bag, tmp_path):
    code, out, _ = ros2(ENVIRONMENT, "bag", "info", str(bag))
    assert code == 0
    assert "Topic: /ns/latched | Type: std_msgs/msg/String | Count: 1" in out
    for words, reason in (
        (["play", str(tmp_path / "none")], "no bag that can be read"),
        (["record", "-a", "-o", str(bag)], "exists already"),
    ):
        code, _, err = ros2(ENVIRONMENT, "bag", *words)
        assert code != 0 and reason in err
