"""`ros2 run hexapod_dynamics stop`: what it imports, and that the socket is enough; over ROS: test_nodes_stop.py.
`--help` of every command ends with a sentence, and starts nothing; words that a node does not take are refused.
"""

import io
import os
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from support.programs import python

import hexapod_dynamics
from hexapod_dynamics.drivers.stop_socket import StopSocket
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.runtime_directory import VARIABLE
from hexapod_dynamics.simulation import Simulator
from hexapod_dynamics.tools.command_line import Progress, describe_time_left

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
    done = python("-S", "-c", code, check=True, variables={"PYTHONPATH": package})
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
    door = StopSocket("left", lambda: stops.append(1) or answer)
    try:
        done = python(SCRIPT, "--namespace", "left", env=without_ros)
    finally:
        door.close()
    assert (done.returncode, stops) == (code, [1]), done
    assert answer[1] in (done.stderr if code else done.stdout)


def test_python_starts_without_the_site_packages():
    """Only where the service has to be called they are added."""
    assert SCRIPT.read_text().startswith("#!/usr/bin/env -S python3 -S\n")
    done = python("-S", SCRIPT, "--resume", "--timeout", "0")
    assert "no server for" in done.stderr, done


def test_without_a_node_at_the_socket_and_for_the_end_of_a_stop_it_calls_the_service(without_ros):
    for words in ([], ["--resume"], ["--release"], ["--sit"]):
        stops = []
        door = StopSocket("", lambda stops=stops: stops.append(1) or (True, "")) if words else None
        done = python(SCRIPT, *words, env=without_ros)
        if door is not None:
            door.close()
        assert "rclpy was imported" in done.stderr and not stops, (words, done)


def test_an_impossible_namespace_is_named():
    done = python(SCRIPT, "--namespace", "left robot")
    assert done.returncode == 1 and "--namespace left robot: " in done.stderr and "Traceback" not in done.stderr, done


NODES = ("imu", "servos", "gait", "dynamics", "damage_manager", "damage_detector", "simulator", "view", "companions")
BEHIND_THEIR_NAMES = ("tools.set_morphology", "tools.stop")  # whose arguments begin with the program, as ROS has them
COMMANDS = (
    *(f"tools.{name}" for name in "check_robot compile_model identify new_robot plan plot record score".split()),
    *("tools.servo_tool", "tools.train_detector", "papers.reproduce", *BEHIND_THEIR_NAMES),
)


def run(code):
    return python("-c", code)


@pytest.mark.parametrize("node", NODES)
def test_help_of_a_node_tells_what_it_does_and_starts_nothing(node):
    done = run(f"from hexapod_dynamics.ros import start; start.{node}(['--help'])")
    assert done.returncode == 0 and done.stdout.startswith(f"usage: ros2 run hexapod_dynamics {node}")
    assert "docs/parameters.md" in done.stdout and not done.stderr


@pytest.mark.parametrize("module", COMMANDS)
def test_help_of_a_command_ends_with_a_sentence(module, capsys):
    words = ["--help"] if module not in BEHIND_THEIR_NAMES else [module, "--help"]
    with pytest.raises(SystemExit) as ended:
        import_module(f"hexapod_dynamics.{module}").main(words)
    usage, about, *_ = capsys.readouterr().out.split("\n\n")
    assert ended.value.code == 0 and usage.startswith("usage: ") and about.endswith("."), about


@pytest.mark.parametrize("node", ["view", "gait"])
def test_a_word_that_a_node_does_not_take_is_refused(node):
    done = run(f"from hexapod_dynamics.ros import start; start.{node}(['--prot', '8081'])")
    assert done.returncode != 0 and "'--prot'" in done.stderr and "--ros-args" in done.stderr


def test_a_printed_log_is_one_short_line():
    text = str(Simulator(Robot.jethexa()).run(0.05))
    assert "50 steps" in text and "18 joints" in text and len(text) < 200
    assert "\n" not in text and str(np.pi)[:3] not in text


def test_progress_is_rewritten_on_a_terminal_and_a_line_a_stage_and_tenth_elsewhere(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        monkeypatch.setattr(sys, "stderr", stream)
        progress = Progress("paper")
        for share, stage in ((0.0, ""), (0.15, "one"), (0.19, "one"), (1.0, "done")):
            progress(share, stage)
    assert [line.split()[-1] for line in file.getvalue().splitlines()] == ["%", "one", "done"]
    assert not describe_time_left(0.0, 0.0)
    assert terminal.getvalue().count("\r") == 4 and terminal.getvalue().count("\n") == 1
