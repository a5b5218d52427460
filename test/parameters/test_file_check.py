"""A parameter file is checked as a whole before anything starts, by a list whose entries are possible."""

import dataclasses
from pathlib import Path

import pytest

from hexapod_dynamics.errors import ParameterError
from hexapod_dynamics.parameters import commands, damage_manager
from hexapod_dynamics.parameters.file_check import check_parameter_file, find_overridden
from hexapod_dynamics.parameters.spec import ParameterSpec
from hexapod_dynamics.robot import Morphology, Robot

ROBOT = Robot.jethexa()
CONFIG = Path(__file__).parents[2] / "config"


def check(tmp_path, text):
    path = tmp_path / "mine.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    check_parameter_file(path, ROBOT, foreign=("imu_filter",))


@pytest.mark.parametrize("path", sorted(CONFIG.glob("hardware_*.yaml")) + [CONFIG / "nodes.yaml"], ids=lambda p: p.stem)
def test_the_files_of_the_package_pass(path):
    check_parameter_file(path, ROBOT)


@pytest.mark.parametrize(
    "text",
    [
        "gait:\n  ros__parameters: {step_height: 0.03, wait_for: [a, b]}",
        "/left/gait:\n  ros__parameters: {step_height: 3e-2}",
        "left:\n  gait:\n    ros__parameters: {step_height: 0.03}",
        "/**:\n  ros__parameters: {command_period: 0.02, use_sim_time: false}",
        "/**/damage_manager:\n  ros__parameters: {legs: {RM: false}, remaining.LF.tibia: 0.5, locked_at.RF.tibia: 0.1}",
        "imu_filter:\n  ros__parameters: {whatever: [1, 2]}",
        "view:\n  ros__parameters: {port: 0}",
    ],
)
def test_what_nodes_accept_passes(tmp_path, text):
    check(tmp_path, text)


@pytest.mark.parametrize(
    "text, said",
    [
        ("gait:\n  ros__parameters: {step_hight: 0.03}", "gait.step_hight.*'step_height'"),
        ("gate:\n  ros__parameters: {step_height: 0.03}", "gate: no node has this name.*'gait'"),
        ("/**/dynamic:\n  ros__parameters: {rate: 50.0}", "'dynamics'"),
        ("/**:\n  ros__parameters: {comand_period: 0.02}", "'command_period'"),
        ("gait:\n  ros__parameters: {rate: 50}", "gait.rate is 50: allowed is a number from 10.0 to 100.0"),
        ("dynamics:\n  ros__parameters: {step_height: 0.03}", "dynamics has not this parameter; gait has it"),
        ("servos:\n  ros__parameters: {baudrate: 1_000_000}", "baudrate is '1_000_000': allowed is a whole number"),
        ("gait:\n  ros__parameters: {gait: gallop}", "'gallop': allowed is"),
        ("damage_manager:\n  ros__parameters: {legs.RM: false, legs: {RM: true}}", "legs.RM is given more than once"),
        (
            "gait:\n  ros__parameters: {period: 1.0}\n/gait:\n  ros__parameters: {period: 2.0}",
            "period is given more than",
        ),
        ("servos:\n  ros__parameters: {sit_pose: [0, 1, -1]}", "each written with a decimal point"),
        ("servos:\n  ros__parameters: {sit_pose: [0, 1]}", "sit_pose.*a list of numbers"),
        ("gait:\n  ros__parameters: {step_height: 3.0}", "parameter step_height is 3.0"),
        ("gait:\n  ros__parameters: {yaw_hold: yes please}", "true or false"),
        ("gait:\n  ros__parameters: {use_sim_time: true}", "real time"),
        ("damage_manager:\n  ros__parameters: {legs: {MR: false}}", "legs.MR.*did you mean .legs.R"),
        ("gait:\n  ros_parameters: {step_height: 0.03}", "ros__parameters"),
        ("gait:\n  step_height: 0.03", "sections are needed"),
        ("gait:\n  ros__parameters:\n    period: 1.0\n  step_height: 0.03", "stands beside"),
        ("gait:\n  ros__parameters:", "names with values"),
        ("gait:\n ros__parameters:\n\tperiod: 1.0", "line 3"),
        ("gait: {ros__parameters: {period: 1.0}", "not YAML"),
        ("a: &x {ros__parameters: {period: 1.0}}\ngait: *x", "line 1: ROS has no anchors"),
        (
            "gait:\n  ros__parameters: {step_height: 0.03, step_height: 0.05}",
            "line 2: step_height is given more than once",
        ),
        (
            "gait:\n  ros__parameters: {step_hight: 1.0}\ngait:\n  ros__parameters: {period: 1.0}",
            "line 3: gait is given",
        ),
        ("imu:\n  ros__parameters: {bus: 01}", "line 2: ROS does not read 01 as YAML"),
        ("imu:\n  ros__parameters: {address: 0b1101000}", "line 2: ROS does not read 0b1101000 as YAML"),
        ("%YAML 1.2\n---\ngait:\n  ros__parameters: {period: 1.0}", "line 1: ROS has no anchors.* directives"),
        *(
            (f"{name}:\n  ros__parameters: {{period: 1.0}}", f"{name}: ROS refuses this name")
            for name in ("/gait/", "//gait", "left//gait")
        ),
        ("gait:\n  ros__parameters: {<<: {period: 1.0}}", "line 2: ROS has no merged sections"),
        ("- 1\n- 2", "sections are needed"),
        ("", "sections are needed"),
        (b"\xff\xfe\x00g", "cannot be read: .*save the file as UTF-8"),
        ("[" * 3000, "line 1: nested more than 50 deep"),
    ],
)
def test_what_no_node_would_accept_is_one_line_with_the_nearest_name(tmp_path, text, said):
    with pytest.raises(ParameterError, match=f"params_file:=.*mine.yaml: .*({said})") as refused:
        check(tmp_path, text)
    assert "\n" not in str(refused.value)


def test_what_the_arguments_of_a_launch_override_is_named(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "/**:\n  ros__parameters: {robot: mine.yaml}\n/left/gait:\n  ros__parameters: {velocity: 0.05, period: 1.0}\n"
        "/**/damage_detector:\n  ros__parameters: {detect: report}\n/right/gait:\n  ros__parameters: {velocity: 0.06}"
    )
    launch = {"gait": {"velocity": 0.077, "robot": ""}, "damage_detector": {"detect": "report"}}
    assert [text.partition(" of the params_file")[0] for text in find_overridden(path, launch, "/left")] == [
        "gait.robot: 'mine.yaml'",
        "gait.velocity: 0.05",
    ]


def test_in_a_namespace_a_section_without_one_is_refused_since_no_node_would_read_it(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("gait:\n  ros__parameters: {step_height: 0.03}")
    with pytest.raises(ParameterError, match=r"gait: no node of the namespace left .* /\*\*/gait"):
        check_parameter_file(path, ROBOT, namespace="left")
    path.write_text("'*':\n  ros__parameters: {step_height: 0.03}")  # of all nodes without a namespace
    with pytest.raises(ParameterError, match=r"\*: no node of the namespace left .* /\*\*/\*"):
        check_parameter_file(path, ROBOT, namespace="left")
    path.write_text("/*/gait:\n  ros__parameters: {step_height: 0.03}")  # of a gait in any namespace of one name
    with pytest.raises(ParameterError, match=r"\*/gait: no node of this launch, which has no namespace"):
        check_parameter_file(path, ROBOT, namespace="")
    check_parameter_file(path, ROBOT, namespace="left")
    path.write_text("/**/gait:\n  ros__parameters: {step_height: 0.03}\n/left/imu:\n  ros__parameters: {rate: 100.0}")
    check_parameter_file(path, ROBOT, namespace="left")


@pytest.mark.parametrize("namespace, nearest", [("left", "left/gait"), ("", "/gait")])
def test_a_section_of_a_misspelt_namespace_is_refused_with_the_nearest_name(tmp_path, namespace, nearest):
    path = tmp_path / "mine.yaml"
    path.write_text("/lft/gait:\n  ros__parameters: {step_height: 0.03}")
    with pytest.raises(ParameterError, match=rf"lft/gait: no node .* did you mean {nearest}, or /\*\*/gait"):
        check_parameter_file(path, ROBOT, namespace=namespace)


def test_sections_of_other_robots_in_one_file_are_accepted(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("/robot1/gait:\n  ros__parameters: {period: 1.0}\n/robot2/gait:\n  ros__parameters: {period: 2.0}")
    for namespace in ("robot1", "/robot2", "right", "robot_a"):
        check_parameter_file(path, ROBOT, namespace=namespace)
    for section in ("gait", "/**/gait"):  # of the robot without a namespace, or of all
        path.write_text(
            f"{section}:\n  ros__parameters: {{period: 1.0}}\n/robot2/gait:\n  ros__parameters: {{period: 2.0}}"
        )
        check_parameter_file(path, ROBOT, namespace="")


@pytest.mark.parametrize(
    "values, words",
    [
        ({"default": 2.0, "low": 0.0, "high": 1.0}, "2.0: allowed is a number from 0.0 to 1.0"),
        ({"default": 0.5, "low": 0.0}, "low 0.0, high None; give both or none"),
        ({"default": "c", "choices": ("a", "b")}, "'c': allowed is a or b"),
        ({"default": 1, "in_file": True, "file_value": 3}, "file_reason"),
        (
            {"default": 1, "low": 0, "high": 2, "in_file": True, "file_value": 3, "file_reason": "because"},
            "3: allowed is a whole number from 0 to 2",
        ),
    ],
)
def test_an_impossible_entry_of_the_list_is_refused(values, words):
    with pytest.raises(ParameterError, match="parameter speed") as error:
        ParameterSpec("speed", description="[m/s]", **values)
    assert words in str(error.value)


def test_a_derived_default_is_that_of_its_source():
    (speed_limit,) = (each for each in commands.GUARD if each.name == "speed_limit")
    robot = dataclasses.replace(ROBOT, servo=dataclasses.replace(ROBOT.servo, speed_limit=4.5))
    assert speed_limit.compute_default(robot) == 4.5
    assert commands.RATE.compute_default(0.0125) == 80.0
    assert commands.COMMAND_PERIOD.compute_default() == 0.02


def test_damage_manager_has_a_parameter_for_each_part_of_the_robot():
    morphology = Morphology.whole(ROBOT).without("RM")
    parameters = damage_manager.list_parameters(morphology)
    assert {parameter.name: parameter.default for parameter in parameters} == morphology.parameters()
    described = {parameter.name: parameter.description for parameter in parameters}
    assert described["links.LM.femur"].startswith("link LM.femur exists")
    assert described["legs.RM"].startswith("leg RM exists")
    assert not any("<" in text for pair in described.items() for text in pair)
