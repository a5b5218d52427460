"""Whole nodes whose temporary directory is full: what cannot be kept is said, and the nodes go on."""

import contextlib
import os
import sys
import time
import uuid

import pytest
from support.programs import run
from support.ros_session import Process, wait_until

from diagnostic_msgs.msg import DiagnosticStatus
from hexapod_dynamics.runtime_directory import device_directory

# A mount namespace of its own: the small file system is there for the node alone, and goes with it.
UNSHARE = ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-rm")
MOUNT = 'mount -t tmpfs -o size=64k,nr_inodes=NUMBER,mode=0700 tmpfs "$0" && '
FILL = 'cat /dev/zero >"$0/ballast" 2>/dev/null; '
SMALL = "2"  # inodes: there is neither room nor a name; nor can a directory be made


def script(inodes):
    """What a shell does before it becomes the node: mount, fill up."""
    return MOUNT.replace("NUMBER", inodes) + FILL + 'exec "$@"'


@pytest.fixture(scope="module", autouse=True)
def permitted(tmp_path_factory):
    place = tmp_path_factory.mktemp("place")
    done = run(*UNSHARE, "sh", "-c", script("1000"), place, "true")
    if done.returncode:
        pytest.skip(f"no small file system can be mounted here ({done.stderr.strip()}): see test_crash_recovery.py")


def start(name, place, inodes, *arguments):
    node = (sys.executable, "-m", "hexapod_dynamics.nodes", name, "--ros-args", "-p", "session:=full", *arguments)
    folders = {"TMPDIR": place, "XDG_RUNTIME_DIR": place, "HEXAPOD_DYNAMICS_RUNTIME": place / "run"}
    return Process(*UNSHARE, "sh", "-c", script(inodes), str(place), *node, **{k: str(v) for k, v in folders.items()})


def test_nodes_go_on_and_the_damage_manager_says_that_it_cannot_keep_damage(probe, tmp_path):
    (tmp_path / "manager").mkdir()
    (tmp_path / "others").mkdir()
    port = device_directory() / f"nothing-{uuid.uuid4().hex}"
    arguments = {"gait": (), "dynamics": (), "servos": ("-p", f"port:={port}")}
    with contextlib.ExitStack() as started:
        manager = started.enter_context(start("damage_manager", tmp_path / "manager", SMALL))
        nodes = {
            name: started.enter_context(start(name, tmp_path / "others", "1000", *given))
            for name, given in arguments.items()
        }
        morphology = probe.morphology()
        wait_until(morphology, 60, lambda: manager.output)
        for there in (False, True):
            accepted, reason = probe.set("set_morphology", {"legs.RM": there})
            assert accepted and "would lose the declared damage" in reason
            wait_until(lambda there=there: morphology()["legs.RM"] is there, 10, lambda: manager.output)
        wait_until(lambda: "no state can be stored" in manager.output, 10, lambda: manager.output)
        assert manager.output.count("no state can be stored") == 1, manager.output
        for name, process in nodes.items():
            reports = lambda name=name: probe.statuses(name).level != DiagnosticStatus.STALE  # noqa: E731
            wait_until(reports, 120, lambda process=process: process.output)
        time.sleep(3.0)  # dynamics and gait keep their state once a second
        for name, process in {**nodes, "damage_manager": manager}.items():
            assert process.running() and "Traceback" not in process.output, f"{name}: {process.output}"
        assert "no state can be stored" in nodes["servos"].output
