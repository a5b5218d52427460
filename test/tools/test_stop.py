"""`ros2 run hexapod_dynamics stop`: what it imports, and that the socket is enough; over ROS: test_nodes_stop.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hexapod_dynamics
from hexapod_dynamics.drivers.stop_request import socket_path
from hexapod_dynamics.drivers.stop_socket import StopSocket
from hexapod_dynamics.runtime_directory import VARIABLE

SCRIPT = Path(__file__).parents[2] / "scripts" / "stop"
# Besides its own modules the tool imports `os` and what is in C: each further module delays the stop.
STANDARD = {"_socket", "select", "time", "__future__", "_collections_abc", "_stat", "errno", "genericpath", "os"}
STANDARD |= {"os.path", "posixpath", "stat"}
PACKAGE = {
    "hexapod_dynamics",
    "hexapod_dynamics.drivers",
    "hexapod_dynamics.drivers.stop_request",
    "hexapod_dynamics.errors",
    "hexapod_dynamics.runtime_directory",
    "hexapod_dynamics.tools",
    "hexapod_dynamics.tools.stop",
}


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "r"))
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")


def test_it_imports_a_client_and_nothing_else():
    code = (
        "import sys; before = set(sys.modules); import hexapod_dynamics.tools.stop; print(*set(sys.modules) - before)"
    )
    package = str(Path(hexapod_dynamics.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=os.environ | {"PYTHONPATH": package},
    )
    loaded = set(done.stdout.split())
    assert loaded - PACKAGE <= STANDARD and loaded >= PACKAGE


@pytest.fixture
def without_ros(tmp_path):
    """An environment in which an import of rclpy, numpy or asyncio ends the process with an error."""
    for name in ("rclpy", "numpy", "asyncio", "std_srvs"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} was imported')\n")
    return os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}


@pytest.mark.parametrize("answer, code", [((True, "frozen"), 0), ((False, "the port is closed"), 1)])
def test_the_socket_is_enough(without_ros, answer, code):
    stops = []
    door = StopSocket(socket_path("left"), lambda: stops.append(1) or answer)
    try:
        done = subprocess.run(
            [sys.executable, SCRIPT, "--namespace", "left"],
            capture_output=True,
            text=True,
            timeout=60,
            env=without_ros,
            check=False,
        )
    finally:
        door.close()
    assert (done.returncode, stops) == (code, [1]), done
    assert answer[1] in (done.stderr if code else done.stdout)


def test_python_starts_without_the_site_packages():
    """Only where the service has to be called they are added."""
    assert SCRIPT.read_text().startswith("#!/usr/bin/env -S python3 -S\n")
    done = subprocess.run(
        [sys.executable, "-S", SCRIPT, "--resume", "--timeout", "0"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "no server for" in done.stderr, done


def test_without_a_node_at_the_socket_and_for_the_end_of_a_stop_it_calls_the_service(without_ros):
    for words in ([], ["--resume"], ["--release"], ["--sit"]):
        stops = []
        door = StopSocket(socket_path(), lambda stops=stops: stops.append(1) or (True, "")) if words else None
        done = subprocess.run(
            [sys.executable, SCRIPT, *words], capture_output=True, text=True, timeout=60, env=without_ros, check=False
        )
        if door is not None:
            door.close()
        assert "rclpy was imported" in done.stderr and not stops, (words, done)


def test_an_impossible_namespace_is_named():
    done = subprocess.run(
        [sys.executable, SCRIPT, "--namespace", "left robot"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1 and "--namespace left robot: " in done.stderr and "Traceback" not in done.stderr, done
