"""Planning: what judges a plan against the whole-body model, the search, the tool."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics import worker_processes
from hexapod_dynamics.cma_es import minimise
from hexapod_dynamics.core._core import cycle_foot, hull_margin, link_centres
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.legs import leg_table
from hexapod_dynamics.gait.planning import search
from hexapod_dynamics.gait.planning.library import PlanLibrary, find_library_file
from hexapod_dynamics.gait.planning.plan import PlanEvaluator
from hexapod_dynamics.gait.planning.search import Search, make_demands, make_plan
from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
from hexapod_dynamics.tools import plan as tool


def test_the_links_of_a_plan_are_where_the_whole_body_model_has_them():
    q = np.random.default_rng(3).uniform(-0.8, 0.8, 18)
    table, centres = leg_table(ROBOT), np.zeros((19, 3))
    for i in range(6):
        centres[3 * i : 3 * i + 3] = link_centres(table, i, q[3 * i : 3 * i + 3])
    model = WholeBodyModel(ROBOT)
    masses = np.append(table["mass"].ravel(), ROBOT.body.mass)
    # The mass matrix's upper right block of the body is minus the skew matrix of the first moment of mass.
    moment = model.mass_matrix(q, WHOLE)[:3, 3:6]
    expected = np.array([moment[1, 2], moment[2, 0], moment[0, 1]])
    np.testing.assert_allclose(masses @ centres, expected, atol=1e-12)


def test_the_margin_is_the_distance_to_the_nearest_edge():
    square = np.array([[0.0, 0.0], [0.1, 0.0], [0.1, 0.1], [0.0, 0.1], [0.05, 0.05]])
    assert hull_margin(square, 0.05, 0.02) == 0.02
    assert hull_margin(square, 0.13, 0.05) < -0.029
    assert hull_margin(square[:2], 0.05, 0.03) < 0.0


def test_cma_es_finds_the_valley_of_a_skewed_function():
    def function(points, values):
        values[:] = 100.0 * np.square(points[:, 1:] - points[:, :-1] ** 2).sum(axis=1)
        values += np.square(1.0 - points[:, :-1]).sum(axis=1)

    best, least = minimise(function, np.zeros(5), 0.5, 1500, seed=2)
    assert least < 1e-6 and np.abs(best - 1.0).max() < 1e-2


def test_on_two_feet_the_belly_may_carry_half_of_the_weight():
    evaluator, twist = PlanEvaluator(ROBOT), (0.05, 0.0, 0.0)
    evaluator.accept(PlanLibrary.load_for_robot(ROBOT).find(("LF", "LM", "RR", "RM")))
    evaluator.findings(np.array(twist))
    half, legs = 0.5 * np.array(ROBOT.body.box[:2]), [ROBOT.leg_names.index(name) for name in ("LR", "RF")]
    corners, stands = half * [[1, 1], [1, -1], [-1, 1], [-1, -1]], 0
    for k, (*point, margin) in enumerate(evaluator.course):
        phase = k / len(evaluator.course)
        first, second = (np.array(cycle_foot(evaluator.numbers, evaluator.table, i, phase, *twist)[:2]) for i in legs)
        length = np.linalg.norm(second - first)
        along = (second - first) / length
        across = np.array([-along[1], along[0]])
        off, ahead = across @ (point - first), along @ (point - first)
        edge = max(0.0, *(np.sign(off) * (corners - first) @ across))
        lies = min(half - np.abs(point))
        expected = min(0.5 * edge - abs(off), ahead, length - ahead)
        assert margin == pytest.approx(expected, abs=1e-9) or margin == pytest.approx(lies, abs=1e-9)
        stands += margin == pytest.approx(expected, abs=1e-9)
    assert 10 < stands < len(evaluator.course)


def test_two_legs_on_one_side_get_no_plan_and_two_on_both_sides_row(monkeypatch):
    plan = make_plan(ROBOT, ("LF", "LM", "RR", "RM"))
    assert plan.kind == "row" and plan.margin > 0.01
    beside = [abs(y) - 0.5 * ROBOT.body.box[1] for _, y in plan.footholds]
    assert min(beside) > 0.045
    monkeypatch.setattr(search, "SHARES", search.SHARES[-1:])  # not even under the least demands
    with pytest.raises(HexapodError, match="no gait for the legs LF, LM"):
        make_plan(ROBOT, ("LR", "RF", "RM", "RR"))


def test_three_legs_on_one_side_get_a_rowing_plan():
    plan = make_plan(ROBOT, ("RF", "RM", "RR"))
    assert plan.kind == "row" and plan.margin > 0.004


def test_a_plan_whose_swings_are_too_fast_for_the_servos_is_improved():
    good = PlanLibrary.load(ROBOT, find_library_file(ROBOT, "plans")[0]).find(["LF", "RM"])
    search = Search(ROBOT, good.legs, make_demands(ROBOT, 4), morphology=WHOLE.without("LF", "RM"))
    hurried = dataclasses.replace(good, duty=0.81)

    def fastest(plan):
        return max(found.rate for found in search.evaluate(plan)) / ROBOT.servo.speed_limit

    assert fastest(hurried) > 1.15
    improved = search.improve(hurried, 160)
    assert fastest(improved) < 1.1 and improved.margin > 0.004
    with pytest.raises(HexapodError, match="same four legs"):
        search.improve(PlanLibrary.load(ROBOT, find_library_file(ROBOT, "plans")[0]).find(["LM"]))


@pytest.mark.parametrize(
    "kind, old, new, named",
    [
        (PlanLibrary, "format: 1", "format: 7", "format"),
        (PlanLibrary, "digest: ", "digest: x", "another robot"),
        (PlanLibrary, "kind: walk", "kind: hop", "walk or row"),
        (PlanLibrary, "duty: 0", "dirty: 0", "duty: missing"),
        (PlanLibrary, "LR", "QQ", "legs"),
        (PlanLibrary, "legs: [", "legs: [] # [", "legs"),
        (GetUpLibrary, "  - LF:", "  - XX:", "poses.0.*XX"),
        (GetUpLibrary, "times: [", "times: [.nan, ", "times"),
        (GetUpLibrary, "pushers: left", "pushers: up", "pushers"),
        (GetUpLibrary, "  - LF: [", "  - LF: [0.1, ", "LF"),
    ],
)
def test_what_is_wrong_with_a_library_is_named(tmp_path, kind, old, new, named):
    path = tmp_path / "library.yaml"
    text = find_library_file(ROBOT, kind.KIND)[0].read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(HexapodError, match=named) as refusal:
        kind.load(ROBOT, path)
    assert "library.yaml" in str(refusal.value)


def test_the_tool_shows_and_draws_a_plan(tmp_path, capsys):
    picture = tmp_path / "plan.png"
    assert tool.main(["--missing", "RM", "--plot", "--out", str(picture)]) == 0
    assert "walk, period" in capsys.readouterr().out and picture.stat().st_size > 20_000
    assert tool.main(["--missing", "XX"]) == 1
    assert "no such leg" in capsys.readouterr().err
    assert tool.main(["--missing", "RM", "--plot", "--improve", "--out", str(picture)]) == 1
    assert "--plot and --improve" in capsys.readouterr().err


def test_the_tool_improves_all_plans_for_four_legs_and_keeps_the_others(tmp_path, capsys, monkeypatch):
    stored, out = PlanLibrary.load(ROBOT, find_library_file(ROBOT, "plans")[0]), tmp_path / "plans.yaml"
    four = [plan for plan in stored if len(plan.legs) == 4]
    monkeypatch.setattr(worker_processes, "WorkerProcesses", ThreadPoolExecutor)
    monkeypatch.setattr(search, "improve_plan", lambda _, plan: dataclasses.replace(plan, period=plan.period + 0.5))
    assert tool.main(["--improve", "--out", str(out)]) == 0
    assert f"{len(four)}/{len(four)}" in capsys.readouterr().out
    longer = PlanLibrary.load(ROBOT, out)
    assert len(longer) == len(stored) > len(four) > 3
    for plan in stored:
        more = 0.5 * (len(plan.legs) == 4)
        lost = [name for name in ROBOT.leg_names if name not in plan.legs]
        assert longer.find(lost).period == pytest.approx(plan.period + more)
