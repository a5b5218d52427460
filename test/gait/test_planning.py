"""Planning: what judges a plan against the whole-body model, the search, the tool. Robots with other legs or masses:
their plans by the same search, or those of the robot that they were begun with, as far as they hold; where plans are
found.

A missing plan: test_plan_worker.py.
"""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics import worker_processes
from hexapod_dynamics.cma_es import minimise
from hexapod_dynamics.core._core import cycle_foot, hull_margin, least_distance, link_centres
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import HexapodError, RobotWarning
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.legs import leg_table, rest_pose
from hexapod_dynamics.gait.planning import search
from hexapod_dynamics.gait.planning.library import PlanLibrary, find_library_file
from hexapod_dynamics.gait.planning.plan import PlanEvaluator
from hexapod_dynamics.gait.planning.search import Search, make_demands, make_plan
from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
from hexapod_dynamics.identification.transfer import compute_margin, transfer_library, transfer_manoeuvres
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.robot_file import robot_yaml
from hexapod_dynamics.simulation import MujocoSimulator
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


def test_margin_and_distance_are_those_to_the_nearest_edge_and_place():
    square = np.array([[0.0, 0.0], [0.1, 0.0], [0.1, 0.1], [0.0, 0.1], [0.05, 0.05]])
    assert hull_margin(square, 0.05, 0.02) == 0.02
    assert hull_margin(square, 0.13, 0.05) < -0.029
    assert hull_margin(square[:2], 0.05, 0.03) < 0.0
    assert all(hull_margin(square[[1] * count], 0.1, 0.0) == -1.0 for count in range(1, 5))  # one point is no polygon
    line, point = [[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]], [[0.5, 0.1, 0.0] * 2]
    assert least_distance(line, point) == least_distance(point, line) == 0.1


def test_a_leg_whose_servos_are_off_hangs_straight_down_as_far_as_its_limits():
    angles = rest_pose(leg_table(ROBOT)[0], (False, True, True))
    assert angles[1:] == pytest.approx((-0.5 * np.pi, 1.2))  # of the tibia: its limit


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
    plan = make_plan(ROBOT, iter(("LF", "LM", "RR", "RM")))
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
    for wrong, said in (
        ("--get-up --missing XX", "no such leg"),
        (f"--missing RM --plot --out {tmp_path}", "it is a folder"),
        ("--missing RM --plot --out plan.doc", "a picture needs a file that ends with .png"),
        ("--missing RM --again --out plans.yaml", "--out: a plan is only shown"),
        ("--plot", "add --missing"),
    ):
        assert tool.main(wrong.split()) == 1
        assert said in capsys.readouterr().err
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


def test_the_tool_keeps_the_plans_that_its_file_has_unless_asked_and_replaces_no_other_file(
    tmp_path, capsys, monkeypatch
):
    stored, out = PlanLibrary.load_for_robot(ROBOT), tmp_path / "plans.yaml"
    own = dataclasses.replace(stored.find(["LM"]), period=2.5)
    monkeypatch.setattr(worker_processes, "WorkerProcesses", ThreadPoolExecutor)
    monkeypatch.setattr(search, "make_plan", lambda _, lost: stored.find(lost))
    monkeypatch.setattr(search, "improve_plan", lambda _, plan: dataclasses.replace(plan, period=plan.period + 0.5))

    def periods(*words):
        assert tool.main([*words, "--out", str(out)]) == 0
        library = PlanLibrary.load(ROBOT, out)
        return [round(library.find(lost).period, 4) for lost in (["LM"], ["LR", "RM"])]

    PlanLibrary(ROBOT, [own]).save(out)
    first, second = (stored.find(lost).period for lost in (["LM"], ["LR", "RM"]))
    assert periods("--most-lost", "2") == [2.5, second]
    assert periods("--missing", "LR", "RM", "--improve") == [2.5, round(second + 0.5, 4)]
    assert periods("--most-lost", "1", "--again") == [first, round(second + 0.5, 4)]
    for file in ("plans_phantomx.yaml", "jethexa.yaml"):
        text = Path("config", file).read_text()
        out.write_text(text)
        for words in (["--most-lost", "1"], ["--improve"], ["--missing", "RM", "--improve"], ["--get-up"]):
            assert tool.main([*words, "--out", str(out)]) == 1
            assert "it is not replaced: name another file" in capsys.readouterr().err and out.read_text() == text


LIBRARY = PlanLibrary.load_for_robot(ROBOT)


def other_masses(seed=3, name="mine", heavier=1.0):
    """The JetHexa with other links (+-25 %), its body 2 cm off its middle."""
    random = np.random.default_rng(seed)
    legs = tuple(
        dataclasses.replace(
            leg,
            links=tuple(dataclasses.replace(one, mass=one.mass * random.uniform(0.75, 1.25)) for one in leg.links),
        )
        for leg in ROBOT.legs
    )
    centre = np.array([*random.uniform(-0.02, 0.02, 2), 0.0])
    body = dataclasses.replace(ROBOT.body, mass=heavier * ROBOT.body.mass, com=centre)
    return dataclasses.replace(ROBOT, name=name, legs=legs, body=body)


@pytest.mark.parametrize("seed", [0, 3])
def test_plans_keep_a_margin_where_the_feet_move_with_the_centre_of_mass(seed):
    robot = other_masses(seed)
    plans, left = transfer_library(LIBRARY, robot)
    assert len(plans) == len(LIBRARY.with_images()) and not left
    assert min(plan.margin for plan in plans) > 0.0042
    assert min(compute_margin(robot, plan, share=1.0) for plan in LIBRARY) < 0.003  # with the feet where they were


def test_a_plan_without_a_margin_is_left_out_and_its_set_of_legs_named():
    legs = list(ROBOT.legs)
    heavy = tuple(dataclasses.replace(one, mass=6.0 * one.mass) for one in legs[0].links)
    legs[0] = dataclasses.replace(legs[0], links=heavy)
    plans, left = transfer_library(LIBRARY, dataclasses.replace(ROBOT, name="mine", legs=tuple(legs)))
    assert left and all(set(lost) <= set(ROBOT.leg_names) for lost in left)
    assert len(plans) + len(left) == len(LIBRARY.with_images())


def test_the_robot_walks_by_them_without_two_legs(tmp_path):
    robot = other_masses(0)
    plans, _ = transfer_library(LIBRARY, robot)
    plans.save(tmp_path / "plans_mine.yaml")
    gait = AdaptiveGait(plans=tmp_path / "plans_mine.yaml").bind(robot)
    lost = Morphology.whole(robot).without("RR", "RM")
    gait.set_morphology(lost)
    assert gait.plan is not None and "RR" not in gait.plan.legs
    simulator = MujocoSimulator(robot, lost, gait=gait)
    gait.command(0.06, 0.0, 0.0)
    simulator.run(2.0)
    begin, tilt = simulator.position.copy(), []
    for _ in range(40):
        simulator.run(0.1)
        tilt.append(np.arccos(simulator.rotation[2, 2]))
    assert np.linalg.norm(simulator.position - begin) > 0.9 * 0.06 * 4.0 and max(tilt) < np.radians(6.0)


def test_another_shape_and_a_robot_that_is_too_heavy_are_refused_with_the_reason():
    with pytest.raises(HexapodError, match="different legs"):
        transfer_library(LIBRARY, Robot.load("config/octopod.yaml"))
    longer = dataclasses.replace(ROBOT, name="mine", body=dataclasses.replace(ROBOT.body, box=(0.3, 0.2, 0.1)))
    with pytest.raises(HexapodError, match="body's box"):
        transfer_library(LIBRARY, longer)
    manoeuvres = GetUpLibrary.load_for_robot(ROBOT)
    assert list(transfer_manoeuvres(manoeuvres, other_masses())) == list(manoeuvres)
    with pytest.raises(HexapodError, match="times the mass"):
        transfer_manoeuvres(manoeuvres, other_masses(heavier=2.0))


def test_manoeuvres_beside_a_robots_file_are_its_own_and_those_of_other_numbers_are_not(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(robot_yaml(other_masses()), encoding="utf-8")
    robot = Robot.load(file)
    assert not list(GetUpLibrary.load_for_robot(robot))
    transfer_manoeuvres(GetUpLibrary.load_for_robot(ROBOT), robot).save(tmp_path / "get_up_mine.yaml")
    assert GetUpLibrary.load_for_robot(robot).choose({"RM": {0, 1, 2}})
    file.write_text(robot_yaml(other_masses(seed=1)), encoding="utf-8")
    with pytest.raises(HexapodError, match="another robot"):
        GetUpLibrary.load_for_robot(Robot.load(file))
    with pytest.warns(RobotWarning, match="none of these manoeuvres is used"):
        assert not list(GetUpLibrary.load_for_robot(dataclasses.replace(robot, name="jethexa")))


ROBOTS = Path(__file__).parents[1] / "robots"
QUADRUPED = Robot.load(ROBOTS / "quadruped.yaml")


@pytest.mark.parametrize("legs", [1, 2])
def test_a_robot_with_too_few_legs_is_refused_by_name(tmp_path, capsys, legs):
    content = yaml.safe_load((ROBOTS / "quadruped.yaml").read_text())
    content["leg_order"] = content["leg_order"][:legs]
    content["legs"] = {name: content["legs"][name] for name in content["leg_order"]}
    path = tmp_path / "robot.yaml"
    path.write_text(yaml.safe_dump(content))
    words = f"quadruped: {legs} leg"
    with pytest.raises(HexapodError, match=words):
        AdaptiveGait().bind(Robot.load(path))
    assert tool.main(["--robot", str(path), "--out", str(tmp_path / "plans.yaml")]) == 1
    assert words in capsys.readouterr().err
    assert not (tmp_path / "plans.yaml").exists()


def test_a_gait_without_a_plan_and_without_a_planner_warns():
    with pytest.warns(RobotWarning, match="no plan for the robot without a tripod.*ros2 run hexapod_dynamics plan"):
        AdaptiveGait(plans=PlanLibrary(QUADRUPED)).bind(QUADRUPED)
    with pytest.warns(RobotWarning, match="no plan for the robot without RM"):
        hexapod = Robot.jethexa()
        gait = AdaptiveGait(plans=PlanLibrary(hexapod)).bind(hexapod)
        gait.set_morphology(Morphology.whole(hexapod).without("RM"))


def test_plans_of_the_package_are_not_used_for_a_robot_of_that_name_that_was_edited(tmp_path):
    content = yaml.safe_load((ROBOTS.parents[1] / "config" / "phantomx.yaml").read_text())
    content["body"]["mass"] = 1.9
    file = tmp_path / "robot.yaml"
    file.write_text(yaml.safe_dump(content))
    robot = Robot.load(file)
    with pytest.warns(RobotWarning, match="the plans are of another robot"):
        assert AdaptiveGait().bind(robot).doing == "standing"  # a tripod needs none
    assert find_library_file(robot, "plans") == (ROBOTS.parents[1] / "config" / "plans_phantomx.yaml", False)
    PlanLibrary(robot).save(tmp_path / "plans_phantomx.yaml")
    assert find_library_file(robot, "plans") == (tmp_path / "plans_phantomx.yaml", True)


def test_a_script_finds_the_plans_beside_a_robots_file_as_the_nodes_do(tmp_path):
    hexapod = Robot.jethexa()
    mine = dataclasses.replace(hexapod, name="labhex", body=dataclasses.replace(hexapod.body, mass=1.4))
    file = tmp_path / "labhex.yaml"
    file.write_text(robot_yaml(mine), encoding="utf-8")
    robot = Robot.load(file)
    transfer_library(PlanLibrary.load_for_robot(hexapod), robot)[0].save(tmp_path / "plans_labhex.yaml")
    gait = AdaptiveGait().bind(Robot.load(file), Morphology.whole(robot).without("RM", "LM"))
    assert gait.plan is not None and gait.doing != "sitting"
    assert not len(PlanLibrary.load_for_robot(dataclasses.replace(robot, gravity=9.8)))  # a changed robot has no file
    file.write_text(robot_yaml(dataclasses.replace(mine, gravity=9.8)), encoding="utf-8")
    with pytest.raises(HexapodError, match="another robot"):
        AdaptiveGait().bind(Robot.load(file))


def test_files_of_a_robot_are_found_from_another_directory_and_beside_a_link_to_its_file(tmp_path, monkeypatch):
    folders = [tmp_path / name for name in ("shared", "mine", "elsewhere")]
    for folder in folders:
        folder.mkdir()
    shared, mine, elsewhere = folders
    mine_text = robot_yaml(dataclasses.replace(Robot.jethexa(), name="labhex"))
    (shared / "labhex.yaml").write_text(mine_text, encoding="utf-8")
    (mine / "labhex.yaml").symlink_to(shared / "labhex.yaml")
    plans = PlanLibrary(Robot.load(shared / "labhex.yaml"))
    for folder in (shared, mine):  # first only what the link leads to has plans, then both have
        plans.save(folder / "plans_labhex.yaml")
        monkeypatch.chdir(mine)
        robot = Robot.load("labhex.yaml")
        monkeypatch.chdir(elsewhere)
        assert find_library_file(robot, "plans") == (folder / "plans_labhex.yaml", True)
