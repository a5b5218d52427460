"""`--help` of every command ends with a sentence, and starts nothing; words that a node does not take are refused."""

import io
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

from hexapod_dynamics.robot import Robot
from hexapod_dynamics.simulation import Simulator
from hexapod_dynamics.tools.command_line import Progress

NODES = ("imu", "servos", "gait", "dynamics", "damage_manager", "damage_detector", "simulator", "view", "companions")

BEHIND_THEIR_NAMES = ("tools.set_morphology", "tools.stop")  # whose arguments begin with the program, as ROS has them
COMMANDS = (
    *(f"tools.{name}" for name in "check_robot compile_model identify new_robot plan plot record score".split()),
    *("tools.servo_tool", "tools.train_detector", "papers.reproduce", *BEHIND_THEIR_NAMES),
)


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


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
    assert terminal.getvalue().count("\r") == 4 and terminal.getvalue().count("\n") == 1
