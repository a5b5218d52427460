"""The tool `identify` and the bags that it reads."""

import dataclasses
import itertools

import numpy as np
import pytest
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_typestore

from hexapod_dynamics.bench.identification.bag import read_bag
from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.get_up_library import find_get_up_library
from hexapod_dynamics.identification import robot_yaml
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.loading import jethexa_path
from hexapod_dynamics.tools import identify

ROBOT = Robot.jethexa()
TYPES = get_typestore(Stores.ROS2_HUMBLE)
START = 1_000_000_000_000  # [ns]


def message(kind, **values):
    return TYPES.types[f"sensor_msgs/msg/{kind}"](**values)


def header(time):
    stamp = TYPES.types["builtin_interfaces/msg/Time"](*divmod(round(START + 1e9 * time), 10**9))
    return TYPES.types["std_msgs/msg/Header"](stamp, "")


def joints(time, names, angles):
    nothing = np.zeros(0)
    return message("JointState", header=header(time), name=names, position=angles, velocity=nothing, effort=nothing)


def imu(time, force):
    vector, nine = TYPES.types["geometry_msgs/msg/Vector3"], np.zeros(9)
    upright = TYPES.types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    return message(
        "Imu",
        header=header(time),
        orientation=upright,
        orientation_covariance=nine,
        angular_velocity=vector(0.1, 0.2, 0.3),
        angular_velocity_covariance=nine,
        linear_acceleration=vector(*force),
        linear_acceleration_covariance=nine,
    )


def write_bag(path, topics):
    with Writer(path, version=8) as writer:
        for topic, kind, rows in topics:
            connection = writer.add_connection(topic, f"sensor_msgs/msg/{kind}", typestore=TYPES)
            for row in rows:
                stamp = row.header.stamp.sec * 10**9 + row.header.stamp.nanosec
                writer.write(connection, stamp, TYPES.serialize_cdr(row, row.__msgtype__))


def test_a_bag_is_read_with_the_time_of_each_reading(tmp_path):
    names = list(ROBOT.joint_names)
    commands = [joints(0.02 * k, names, np.full(18, 0.1 * k)) for k in range(3)]
    readings = [joints(0.021, ["femur_joint_LM"], np.array([0.5])), joints(0.025, ["unknown"], np.array([0.1]))]
    write_bag(
        tmp_path / "bag",
        [
            ("/left/joint_commands", "JointState", commands),
            ("/left/servos/measurements", "JointState", readings),
            ("/left/imu/data_raw", "Imu", [imu(0.01, (9.81, 0.0, 0.0))]),
            ("/left/simulator/joint_states", "JointState", [joints(0.0, names, np.zeros(18))]),
        ],
    )
    recording = read_bag(tmp_path / "bag", ROBOT)
    assert recording.command_time == pytest.approx([0.0, 0.02, 0.04])
    assert recording.commands[2] == pytest.approx(np.full(18, 0.2))
    assert recording.reading_time == pytest.approx([0.021]) and recording.readings == pytest.approx([0.5])
    assert names[recording.reading_joint[0]] == "femur_joint_LM"
    assert recording.specific_force[0] == pytest.approx(ROBOT.imu.rotation @ [9.81, 0.0, 0.0])  # base_link axes
    assert recording.angular_rate[0] == pytest.approx(ROBOT.imu.rotation @ [0.1, 0.2, 0.3])


def test_a_bag_that_lacks_a_topic_and_what_is_no_bag_are_named(tmp_path):
    write_bag(
        tmp_path / "bag", [("/joint_commands", "JointState", [joints(0.0, list(ROBOT.joint_names), np.zeros(18))])]
    )
    with pytest.raises(IdentificationError, match="servos/measurements or joint_states"):
        read_bag(tmp_path / "bag", ROBOT)
    with pytest.raises(IdentificationError, match="no bag"):
        read_bag(tmp_path / "none", ROBOT)


def test_the_tool_writes_exercises_and_names_what_is_wrong(tmp_path, capsys):
    table = tmp_path / "suspended.csv"
    assert identify.main(["--exercise", "suspended", "--out", str(table)]) == 0
    rows = np.genfromtxt(table, delimiter=",", names=True)
    assert rows.dtype.names == ("time", *ROBOT.joint_names) and np.ptp(rows["femur_joint_LF"]) > 0.3
    for wrong, named in (([], "no bag"), (["--exercise", "standing"], "--out"), (["x", "--weight", "-1"], "kilograms")):
        assert identify.main(wrong) == 1
        assert named in capsys.readouterr().err


def test_plans_and_manoeuvres_come_beside_the_identified_file(tmp_path, capsys):
    links = tuple(dataclasses.replace(one, mass=1.2 * one.mass) for one in ROBOT.legs[0].links)
    legs = (dataclasses.replace(ROBOT.legs[0], links=links), *ROBOT.legs[1:])
    mine, file = dataclasses.replace(ROBOT, name="mine", legs=legs), tmp_path / "mine.yaml"
    file.write_text(robot_yaml(mine, ""), encoding="utf-8")
    identify.take_over_plans(ROBOT, file)
    said, robot = capsys.readouterr().out, Robot.load(file)
    assert "50 of 50 plans of jethexa" in said and "ways to get up" in said and "none without" not in said
    assert find_get_up_library(robot).manoeuvres(["LF", "RR"])
    gait = AdaptiveGait().bind(robot, Morphology.whole(robot).without("RM", "LM"))
    assert gait.plan is not None and len(gait.plan.legs) == 4
    for lost in itertools.chain(*(itertools.combinations(ROBOT.leg_names, count) for count in (1, 2, 3))):
        gait.set_morphology(Morphology.whole(robot).without(*lost))
        assert gait.plan is not None and not set(lost) & set(gait.plan.legs)
    heavy = dataclasses.replace(mine, body=dataclasses.replace(mine.body, mass=3.0 * mine.body.mass))
    file.write_text(robot_yaml(heavy, ""), encoding="utf-8")
    identify.take_over_plans(ROBOT, file)
    assert "does not get up" in capsys.readouterr().out
    (tmp_path / "plans_jethexa.yaml").write_text("format: 7\n", encoding="utf-8")  # beside the file it begins with
    (tmp_path / "jethexa.yaml").write_bytes(jethexa_path().read_bytes())
    identify.take_over_plans(Robot.load(tmp_path / "jethexa.yaml"), file)
    assert "no plans are taken over: gait plans" in capsys.readouterr().out
