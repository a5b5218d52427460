"""Without CasADi, an extra, what needs it is refused in one line that says what to install; nothing else misses it."""

import subprocess
import sys

import pytest

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import HexapodError, RobotError
from hexapod_dynamics.papers import reproduce
from hexapod_dynamics.robot import Robot

REMEDY = "python3 -m pip install 'casadi>=3.6,<4'"


@pytest.fixture
def without_casadi(monkeypatch):
    monkeypatch.setitem(sys.modules, "casadi", None)  # importing it raises ModuleNotFoundError


def test_a_function_that_needs_it_says_what_to_install(without_casadi):
    with pytest.raises(HexapodError, match="CasADi") as refusal:
        WholeBodyModel(Robot.jethexa()).casadi_function("tip_positions")
    assert REMEDY in str(refusal.value) and "\n" not in str(refusal.value)


def test_a_robot_s_program_that_imports_it_says_what_to_install(without_casadi, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("import casadi\n")
    with pytest.raises(RobotError, match=r"mine\.py: it imports casadi.*python3 -m pip install casadi") as refusal:
        Robot.load(file)
    assert "\n" not in str(refusal.value)


def test_the_paper_that_needs_it_says_what_to_install(without_casadi, monkeypatch, tmp_path, capsys):
    for module in ("partial_lagrangian", "partial_lagrangian_examples", "figures.kusaka_tanaka2022"):
        monkeypatch.delitem(sys.modules, f"hexapod_dynamics.papers.{module}", raising=False)
    assert reproduce.main(["kusaka_tanaka2022", "--output", str(tmp_path)]) == 1
    assert REMEDY in capsys.readouterr().err


def test_the_model_and_every_node_s_module_are_loaded_without_it():
    code = (
        "import sys; sys.modules['casadi'] = None\n"
        "import numpy as np\n"
        "from hexapod_dynamics.dynamics import WholeBodyModel\n"
        "from hexapod_dynamics.gait import AdaptiveGait\n"
        "from hexapod_dynamics.robot import Robot\n"
        "from hexapod_dynamics.simulation import Simulator\n"
        "robot = Robot.jethexa()\n"
        "AdaptiveGait().bind(robot).step(0.02); Simulator(robot).run(0.01)\n"
        "print(WholeBodyModel(robot).mass_matrix(np.zeros(18)).shape)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "(24, 24)\n", done.stderr
