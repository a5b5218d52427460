"""Pocket nodes and real ROS 2 nodes on one network: each is to the other what its own kind is.

Needs a real ROS 2 with rmw_cyclonedds: REAL_ROS2_SETUP=/opt/ros/humble/setup.bash pytest tests/test_real_ros2.py
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_process import pocket_environment, real_environment
from domains import reserve_domain

pytestmark = pytest.mark.skipif(
    not os.environ.get("REAL_ROS2_SETUP"),
    reason="REAL_ROS2_SETUP names no setup file of a real ROS 2, so nothing is compared with one",
)

HERE = Path(__file__).parent
PAIRS = [("pocket", "real"), ("real", "pocket")]


@pytest.fixture(scope="module")
def environments():
    domain = int(os.environ.get("ROS_DOMAIN_ID") or reserve_domain())
    return {"pocket": (sys.executable, pocket_environment(domain)), "real": ("python3", real_environment(domain))}


@contextlib.contextmanager
def talker(environments, kind, number=signal.SIGINT):
    """Run talker.py on one of the two until the block ends."""
    python, environment = environments[kind]
    process = subprocess.Popen([python, HERE / "talker.py"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.send_signal(number)
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.communicate()


def observe(environments, kind, *words):
    """Run observer.py on one of the two and return what it saw."""
    python, environment = environments[kind]
    run = subprocess.run(
        [python, HERE / "observer.py", *words], env=environment, capture_output=True, text=True, timeout=90
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("kind", ["pocket", "real"])
def test_a_pocket_node_looks_like_a_real_one(environments, kind):
    """Whoever looks: names, types, QoS, services and parameters of talker.py are the same on both."""
    seen = {}
    for talking in ("pocket", "real"):
        with talker(environments, talking):
            seen[talking] = observe(environments, kind, "graph")
    assert seen["pocket"] == seen["real"]


def test_both_see_the_same(environments):
    with talker(environments, "pocket"):
        assert observe(environments, "pocket", "graph") == observe(environments, "real", "graph")


@pytest.mark.parametrize(("talking", "observing"), PAIRS)
def test_messages_services_and_parameters(environments, talking, observing):
    with talker(environments, talking):
        seen = observe(environments, observing, "talk")
    assert seen["latched"] == "kept for you"
    assert seen["joints"] == [["knee", "hip"], [0.5, -0.5]]
    assert "heard me" in seen["words"]
    assert seen["switch"] == [[True, "talker"], [False, "talker"]] * 10
    assert seen["parameters"] == {"gain": 1.5, "legs.RM": True, "names": ["a", "b"], "use_sim_time": False}
    assert seen["set"] == [
        [True, ""],
        [False, "Parameter gain out of range Min: 0.0, Max: 2.0, value: 5.0"],
        [False, "Wrong parameter type, expected 'Type.BOOL' got 'Type.INTEGER'"],
        [False, "('Invalid access to undeclared parameter(s)', [])"],
    ]
    assert seen["event"] == ["/ns/talker", "gain", 0.5]
    assert seen["incompatible"] == ["RELIABILITY", "DURABILITY"]


@pytest.mark.parametrize(("talking", "observing"), PAIRS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nobody_sees_a_ghost(environments, talking, observing, number):
    """The lease that a vanished participant leaves behind is 10 s; a clean exit takes the node away at once."""
    python, environment = environments[observing]
    with talker(environments, talking, number):
        watcher = subprocess.Popen(
            [python, HERE / "observer.py", "watch"], env=environment, stdout=subprocess.PIPE, text=True
        )
        assert watcher.stdout.readline() == "there\n"
    ended = time.monotonic()
    try:
        assert watcher.stdout.readline() == "gone\n"
        assert time.monotonic() - ended < 6
    finally:
        watcher.kill()
        watcher.communicate()
