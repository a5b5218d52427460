"""Formulas of legs are the model: evaluated they are its matrices, printed they can be read and calculated with. What
needs CasADi says so where it is not installed.
"""

import sys

import casadi as ca
import numpy as np
import pytest
from support.closeness import assert_close
from support.jethexa import ROBOT, WHOLE
from support.programs import python
from support.random_robots import random_robot, rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.dynamics.leg_expressions import Polynomial
from hexapod_dynamics.errors import HexapodError, RobotError
from hexapod_dynamics.papers import reproduce
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import Ad, inverse, pose

MODEL = WholeBodyModel(ROBOT)


@pytest.mark.parametrize("family", [None, 0, 1, 2])
def test_the_formulas_are_the_model(family):
    """JetHexa, damaged; robots with revolute, prismatic and helical joints, with rotors: all matrices and gravity."""
    rng = np.random.default_rng(0)
    robot = ROBOT if family is None else random_robot(rng, family, 4)
    morphology = Morphology.whole(robot)
    if family is None:
        morphology = morphology.broken("LF.tibia", 0.5).without("LM.tibia")
    model, q, R = WholeBodyModel(robot), rng.normal(size=robot.joint_count), rotation(rng)
    M, weight = model.mass_matrix(q, morphology), model.gravity_force(R, q, morphology)
    M_00, head, at = robot.body.spatial_inertia.copy(), np.zeros(6), 6
    head += robot.body.spatial_inertia[:, :3] @ (R.T @ [0, 0, robot.gravity])
    for leg in robot.legs:
        formulas, joints = model.symbolic(leg.name, morphology), robot.leg_joints(leg.name)
        n = len(formulas.joints)
        of_leg = q[joints.start : joints.start + n]
        turn = Ad(inverse(pose(leg.mount_rotation, leg.mount_position)))
        assert_close(formulas.evaluate(formulas.M_ii, of_leg), M[at : at + n, at : at + n], 1e-12)
        assert_close(turn.T @ formulas.evaluate(formulas.M_0i, of_leg), M[:6, at : at + n], 1e-12)
        M_00 += turn.T @ formulas.evaluate(formulas.M_00, of_leg) @ turn
        up = leg.mount_rotation.T @ R.T @ [0, 0, robot.gravity]
        gravity = formulas.evaluate(formulas.gravity, of_leg) @ up
        head += turn.T @ gravity[:6]
        assert_close(gravity[6:], weight[at : at + n], 1e-12)
        tip = model.tip_jacobian(leg.name, q, morphology)  # V_tip = Ad^-1 (V + J qdot)
        screws = np.linalg.solve(tip[:, :6], tip[:, at : at + n])
        assert_close(np.linalg.inv(turn) @ formulas.evaluate(formulas.J, of_leg), screws, 1e-12)
        at += n
    assert_close(M_00, M[:6, :6], 1e-12)
    assert_close(head, weight[:6], 1e-12)


def test_the_jethexa_s_formulas_as_they_are_printed():
    text = str(MODEL.symbolic("LF"))
    assert "M_ii[2,2] = Iyy2 + Iyy3 + m3*px3**2 - 2*hz3*px3*s3\n" in text
    assert "M_ii[2,3] = Iyy3 - hz3*px3*s3\n" in text
    assert "J[6,1] = 1\n" in text and "m3 = 0.11" in text
    assert "m3" not in str(MODEL.symbolic("LF", WHOLE.without("LF.tibia")))


def test_a_printed_formula_is_python_and_takes_casadi_s_symbols():
    formulas = MODEL.symbolic("RM")
    entry = formulas.M_ii[0, 0]
    angles = dict(zip(("q1", "q2", "q3"), (0.3, -0.2, 0.5), strict=True))
    numbers = formulas.values | {f"{name[0]}{k}": getattr(np, name)(angles[f"q{k}"])
                                 for k in (1, 2, 3) for name in ("sin", "cos")}  # fmt: skip
    expected = formulas.evaluate(formulas.M_ii, list(angles.values()))[0, 0]
    assert eval(str(entry), {}, numbers) == pytest.approx(expected, rel=1e-14)
    q2 = ca.SX.sym("q2")
    function = ca.Function("M_11", [q2], [entry.evaluate(numbers | {"s2": ca.sin(q2), "c2": ca.cos(q2)})])
    assert float(function(-0.2)) == pytest.approx(expected, rel=1e-14)


def test_equal_formulas_are_equal():
    s, c, m = (Polynomial.from_name(name) for name in ("s1", "c1", "m1"))
    assert s * s + c * c == Polynomial.constant(1.0)
    assert (m + s) * (m - s) == m * m + c * c - Polynomial.constant(1.0)
    assert str(m - m) == "0" and str(-m * s) == "-m1*s1"


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
    done = python("-c", code, timeout=300)
    assert done.stdout == "(24, 24)\n", done.stderr
