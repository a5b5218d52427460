"""Planning: what judges a plan against the whole-body model, the search, the tool."""

import numpy as np

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.gait.leg_table import MASS, leg_table
from hexapod_dynamics.gait.planning.cma_es import minimise
from hexapod_dynamics.gait.planning.evaluation import hull_margin, link_points
from hexapod_dynamics.gait.planning.making import make_plan
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.tools import plan as tool

ROBOT = Robot.jethexa()


def test_the_links_of_a_plan_are_where_the_whole_body_model_has_them():
    q = np.random.default_rng(3).uniform(-0.8, 0.8, 18)
    table, centres = leg_table(ROBOT), np.zeros((19, 3))
    for i in range(6):
        link_points(table, i, *q[3 * i : 3 * i + 3], centres, 3 * i, np.zeros(6))
    model = WholeBodyModel(ROBOT)
    masses = np.append(table[:, MASS : MASS + 3].ravel(), ROBOT.body.mass)
    # The mass matrix's upper right block of the body is minus the skew matrix of the first moment of mass.
    moment = model.mass_matrix(q, Morphology.whole(ROBOT))[:3, 3:6]
    expected = np.array([moment[1, 2], moment[2, 0], moment[0, 1]])
    np.testing.assert_allclose(masses @ centres, expected, atol=1e-12)


def test_the_margin_is_the_distance_to_the_nearest_edge():
    square = np.array([[0.0, 0.0], [0.1, 0.0], [0.1, 0.1], [0.0, 0.1], [0.05, 0.05]])
    assert hull_margin(square, 5, 0.05, 0.02) == 0.02
    assert hull_margin(square, 5, 0.13, 0.05) < -0.029
    assert hull_margin(square, 2, 0.05, 0.03) < 0.0


def test_cma_es_finds_the_valley_of_a_skewed_function():
    def function(points, values):
        values[:] = 100.0 * np.square(points[:, 1:] - points[:, :-1] ** 2).sum(axis=1)
        values += np.square(1.0 - points[:, :-1]).sum(axis=1)

    best, least = minimise(function, np.zeros(5), 0.5, 1500, seed=2)
    assert least < 1e-6 and np.abs(best - 1.0).max() < 1e-2


def test_three_legs_on_one_side_get_a_rowing_plan():
    plan = make_plan(ROBOT, ("RF", "RM", "RR"))
    assert plan.kind == "row" and plan.margin > 0.004


def test_the_tool_shows_and_draws_a_plan(tmp_path, capsys):
    picture = tmp_path / "plan.png"
    assert tool.main(["--missing", "RM", "--plot", "--out", str(picture)]) == 0
    assert "walk, period" in capsys.readouterr().out and picture.stat().st_size > 20_000
    assert tool.main(["--missing", "XX"]) == 1
    assert "no such leg" in capsys.readouterr().err
