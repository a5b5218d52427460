"""The tool `identify` and the bags that it reads."""

import dataclasses
import itertools
import re
import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_typestore

from hexapod_dynamics import identification
from hexapod_dynamics.errors import IdentificationError, RecordingWarning
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.recovery.manoeuvres import GetUpLibrary
from hexapod_dynamics.identification import robot_yaml
from hexapod_dynamics.identification.bag import read_bag
from hexapod_dynamics.identification.exercise import split_exercises
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.robot_file import jethexa_path
from hexapod_dynamics.tools import identify, score

ROBOT = Robot.jethexa()
DOCS = Path(__file__).parents[2] / "docs"
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
    """Rows of topics: messages, received at their stamps, or (received [s], message)."""
    with Writer(path, version=8) as writer:
        for topic, kind, rows in topics:
            connection = writer.add_connection(topic, f"sensor_msgs/msg/{kind}", typestore=TYPES)
            for row in rows:
                received, sent = row if isinstance(row, tuple) else (None, row)
                stamp = sent.header.stamp.sec * 10**9 + sent.header.stamp.nanosec
                at = stamp if received is None else round(1e9 * received)
                writer.write(connection, at, TYPES.serialize_cdr(sent, sent.__msgtype__))
    return path


def test_identify_runs_on_the_recording_that_the_page_says_how_to_make(tmp_path, capsys, monkeypatch):
    """The commands of docs/identify.md for those who have no robot at hand."""
    page = (DOCS / "identify.md").read_text(encoding="utf-8")
    make, use = re.findall(r"^    \./with_ros2 (.* practice.*)$", page, re.M)
    monkeypatch.chdir(tmp_path)
    compute, known = identification.identify, []

    def once(robot, suspended, standing, weighed):
        """Identify what the example has recorded; the command finds that, but for what was at rest, in its bag."""
        if known:
            expected, _ = split_exercises(robot, known[0])
            for name in ("commands", "readings", "reading_joint", "specific_force", "angular_rate"):
                np.testing.assert_allclose(getattr(suspended, name), getattr(expected, name), atol=1e-6)
            for name in ("command_time", "reading_time", "imu_time"):
                since, there = (getattr(one, name) - one.command_time[0] for one in (suspended, expected))
                np.testing.assert_allclose(since, there, atol=1e-6)
        known[:] = known or [suspended, compute(robot, suspended, standing, weighed=weighed)]
        return known[1]

    monkeypatch.setattr(identification, "identify", once)
    program, *options = make.removeprefix("python ").split()
    monkeypatch.setattr("sys.argv", [program, *options])
    runpy.run_path(str(DOCS.parent / program))
    assert identify.main(use.removeprefix("ros2 run hexapod_dynamics identify ").split()) == 0
    said = capsys.readouterr().out
    assert "no standing exercise in practice" in said and (tmp_path / "practice.yaml").exists()
    assert "true: latency 22.0 ms, lag 18.0 ms" in said
    for name, true in (("latency", 22.0), ("lag", 18.0)):  # printed by the example, and by the tool
        found = [float(value) for value in re.findall(rf"^\w+\.{name} +([\d.]+) ", said, re.M)]
        assert len(found) == 3 + 18
        np.testing.assert_allclose(found, true, atol=2.0)


@pytest.mark.parametrize("stored", [1, 2])
def test_a_bag_is_read_with_the_time_of_each_reading(tmp_path, stored):
    """Recorders in two places, or a bag that was joined, store each message twice: the period was 0 s then."""
    names = list(ROBOT.joint_names)
    commands = [joints(0.02 * k, names, np.full(18, 0.1 * k)) for k in range(3) for _ in range(stored)]
    readings = [joints(0.021, ["femur_joint_LM"], np.array([0.5])), joints(0.025, ["unknown"], np.array([0.1]))]
    write_bag(
        tmp_path / "bag",
        [
            ("/left/joint_commands", "JointState", commands),
            ("/left/servos/measurements", "JointState", readings),
            ("/left/imu/data_raw", "Imu", [imu(0.01, (9.81, 0.0, 0.0))]),
            ("/left/simulator/joint_states", "JointState", [joints(0.0, names, np.zeros(18))]),
            ("/left/gait/joint_commands", "JointState", [joints(0.01, names, np.zeros(18))]),
        ],
    )
    recording = read_bag(str(tmp_path / "bag"), ROBOT)
    assert recording.command_time == pytest.approx([0.0, 0.02, 0.04]) and recording.command_period == 0.02
    assert recording.commands[2] == pytest.approx(np.full(18, 0.2))
    assert recording.reading_time == pytest.approx([0.021]) and recording.readings == pytest.approx([0.5])
    assert names[recording.reading_joint[0]] == "femur_joint_LM"
    assert recording.specific_force[0] == pytest.approx(ROBOT.imu.rotation @ [9.81, 0.0, 0.0])  # base_link axes
    assert recording.angular_rate[0] == pytest.approx(ROBOT.imu.rotation @ [0.1, 0.2, 0.3])


def test_of_a_bag_what_no_joint_can_have_is_left_out_and_named(tmp_path):
    """Readings in degrees, of a joint that is named twice, or fewer than names, were the readings of joints."""
    names = list(ROBOT.joint_names)
    imus = ("/imu/data_raw", "Imu", [imu(0.01, (9.81, 0.0, 0.0))])
    commands = [joints(0.02 * k, names, np.full(18, 0.1 * k)) for k in range(3)]
    odd = [
        joints(0.01, names, np.full(18, 0.2)),
        joints(0.02, names[:2], np.array([90.0, 0.3])),
        joints(0.03, [names[0], names[0], names[1]], np.array([0.4, 0.5, 0.6])),
        joints(0.04, names, np.full(5, 0.7)),
    ]
    rows = [("/joint_commands", "JointState", [*commands, odd[3]]), imus]
    write_bag(tmp_path / "bag", [*rows, ("/joint_states", "JointState", odd)])
    with pytest.warns(RecordingWarning, match="18 names and 5 values.*: 4 such values or messages are left out"):
        recording = read_bag(tmp_path / "bag", ROBOT)
    assert len(recording.commands) == 3
    assert recording.readings[18:] == pytest.approx([0.3, 0.6]) and recording.reading_joint[18:].tolist() == [1, 1]
    write_bag(tmp_path / "degrees", [*rows[1:], ("/joint_commands", "JointState", commands),
              ("/joint_states", "JointState", odd[1:2] + [joints(0.03, names[:1], np.array([80.0]))])])  # fmt: skip
    with pytest.warns(RecordingWarning, match="are these degrees"):
        assert len(read_bag(tmp_path / "degrees", ROBOT).readings) == 1
    write_bag(tmp_path / "none", [*rows[1:], ("/joint_commands", "JointState", commands),
              ("/joint_states", "JointState", [joints(0.03, names[:1], np.array([80.0]))])])  # fmt: skip
    with pytest.raises(IdentificationError, match="no reading of a joint of jethexa in joint_states; .*these degrees"):
        read_bag(tmp_path / "none", ROBOT)


def test_of_a_bag_one_robot_is_read_and_several_are_refused(tmp_path):
    """The messages of two robots, or of a robot and of the device behind it, were read as those of one."""
    names = list(ROBOT.joint_names)

    def topics(namespace, angle):
        rows = [joints(0.02 * k, names, np.full(18, angle)) for k in range(3)]
        return [(f"{namespace}/joint_commands", "JointState", rows), (f"{namespace}/joint_states", "JointState", rows)]

    own = [("/imu/data_raw", "Imu", [imu(0.01, (9.81, 0.0, 0.0))]), *topics("", 0.1)]
    write_bag(tmp_path / "one", [*own, *topics("/device", 0.2)])
    with pytest.warns(RecordingWarning, match="of /device/joint_states and /joint_states that in / is read"):
        recording = read_bag(tmp_path / "one", ROBOT)
    assert (recording.commands == 0.1).all() and (recording.readings == 0.1).all()
    write_bag(tmp_path / "two", [*own[:1], *topics("/left", 0.1), *topics("/right", 0.2)])
    with pytest.raises(IdentificationError, match="/left/joint_commands and /right/joint_commands are of several"):
        read_bag(tmp_path / "two", ROBOT)


def write_walk(path, clocks, seconds=14.0, force=(0.0, 0.0, 9.81)):
    """Commands, joints and IMU at 20 a second; clocks(topic, t): stamp and receipt [s]."""
    names, kinds = list(ROBOT.joint_names), {"joint_commands": "JointState", "joint_states": "JointState"}
    topics = []
    for topic, kind in (*kinds.items(), ("imu/data_raw", "Imu")):
        topics.append((f"/{topic}", kind, rows := []))
        for k in range(int(20 * seconds)):
            stamp, received = clocks(topic, 0.05 * k)
            time = stamp - 1e-9 * START
            row = imu(time, force) if kind == "Imu" else joints(time, names, np.full(18, 0.01 * k))
            rows.append((received, row))
    return write_bag(path, topics)


WALL = 1.8e9


@pytest.mark.parametrize(
    ("clocks", "said"),
    [
        (lambda topic, t: (t, WALL + t), ""),  # of a simulation, from 0 s on
        (lambda topic, t: (t, WALL + 3.0 * t), ""),  # that runs at a third of the time
        (lambda topic, t: (WALL + t, WALL + t + 0.01), ""),
        (lambda topic, t: (WALL + t, WALL), ""),  # written by a program, which received nothing
        (lambda topic, t: (0.0, WALL + t), "joint_commands has no header stamps|imu/data_raw has no header stamps"),
        (lambda topic, t: (0.0 if topic[0] == "i" else WALL + t, WALL + t), "imu/data_raw has no header stamps"),
        (lambda topic, t: (t if topic[0] == "i" else WALL + t, WALL + t), "imu/data_raw are .* by another clock"),
        (lambda topic, t: (0.0 if topic[0] == "i" and 4.0 < t < 4.1 else WALL + t, WALL + t), "1 messages without"),
        (lambda topic, t: (WALL, WALL + t), "the stamps of .* stand still"),
        (lambda topic, t: (WALL + (int(t) if topic[0] == "i" else t), WALL + t), "of imu/data_raw stand still"),
        # An odd stamp in the middle of a topic put the whole bag on the time of receipt, elsewhere it cut the bag.
        (lambda topic, t: (9.0 if topic[0] == "i" and t == 7.0 else WALL + t, WALL + t), "1 messages with a stamp"),
        (lambda topic, t: (WALL + (60.0 if topic[0] == "i" and 4.0 < t < 4.12 else t), WALL + t), "2 messages with a"),
    ],
)
def test_all_messages_of_a_bag_are_on_one_clock(tmp_path, clocks, said):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        recording = read_bag(write_walk(tmp_path / "bag", clocks), ROBOT)
    assert [bool(re.search(said, str(one.message))) for one in caught] == ([True] if said else [])
    assert len(recording.commands) == 280 and recording.reading_time[-1] == pytest.approx(13.95, abs=1e-6)
    np.testing.assert_allclose(recording.command_time, 0.05 * np.arange(280), atol=1e-6)
    assert abs(recording.imu_time[0]) < 1e-6 and recording.imu_time[-1] == pytest.approx(13.95, abs=1e-6)


@pytest.mark.parametrize("jump", [-3600.0, 2 * 86400.0, 5 * 365 * 86400.0, 7.0, -20.0])
@pytest.mark.parametrize("stamps", ["wall", "stamp only"])
def test_a_jump_of_the_clock_is_cut_with_its_time(tmp_path, jump, stamps):
    def clocks(topic, t):
        moved = WALL + t + (jump if t >= 3.0 else 0.0)
        return moved, WALL + t if stamps == "stamp only" else moved

    with pytest.warns(RecordingWarning, match=r"clock jumps by .* s after 20\d\d-.*the longest part is used, 11.0 s"):
        recording = read_bag(write_walk(tmp_path / "bag", clocks), ROBOT)
    assert recording.command_time[0] == 0.0 and recording.command_time[-1] == pytest.approx(10.95, abs=0.06)


def test_a_jump_of_the_clock_ends_no_tool(tmp_path, capsys):
    path = write_walk(tmp_path / "bag", lambda _, t: (WALL + t - 3600.0 * (t >= 3.0),) * 2)
    assert identify.main([str(path)]) == 1  # it is no exercise
    assert "note: bag: its clock jumps" in capsys.readouterr().err
    assert score.main([str(path)]) == 0 and "note: bag: its clock jumps" in capsys.readouterr().err


def test_an_imu_in_other_units_is_refused_by_name(tmp_path):
    path = write_walk(tmp_path / "bag", lambda _, t: (WALL + t,) * 2, force=(0.0, 0.0, 1.0))  # g
    with pytest.raises(IdentificationError, match=r"most samples of imu/data_raw .*wants m/s\^2 with gravity"):
        read_bag(path, ROBOT)


@pytest.mark.parametrize("back, at", [(0.5, 6.0), (3.0, 8.0), (6.5, 7.0), (10.0, 12.0)])
def test_a_clock_that_goes_back_into_the_recording_is_refused_with_the_time(tmp_path, back, at):
    path = write_walk(tmp_path / "bag", lambda _, t: (WALL + t - back * (t > at),) * 2)
    with pytest.raises(IdentificationError, match="clock went back, or two programs have published") as refusal:
        read_bag(path, ROBOT)
    assert back != 3.0 or re.search(r"joint_commands comes \d+ times in the second from [4-8] s on", str(refusal.value))


def test_a_bag_that_lacks_a_topic_and_what_is_no_bag_are_named(tmp_path):
    rows, felt = [joints(0.0, list(ROBOT.joint_names), np.zeros(18))], [imu(0.0, np.ones(3))]
    sent, torques = ("/joint_commands", "JointState", rows), ("/feedforward_torques", "Imu", felt)
    write_bag(tmp_path / "bag", [sent, ("/joint_states", "Imu", felt)])
    with pytest.raises(IdentificationError, match="servos/measurements or joint_states .*; /joint_states is .*Imu"):
        read_bag(tmp_path / "bag", ROBOT)
    write_bag(tmp_path / "more", [sent, torques, ("/joint_states", "JointState", rows), ("/imu/data_raw", "Imu", felt)])
    with pytest.warns(RecordingWarning, match="another type are left out; /feedforward_torques is sensor_msgs/msg/Imu"):
        assert len(read_bag(tmp_path / "more", ROBOT).commands) == 1
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


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--out", "my.robot.yaml"], "--out my.robot.yaml: 'my.robot' given as its name"),
        (["--out", "nowhere/mine.yaml"], "--out nowhere/mine.yaml: its folder does not exist"),
        (["--out", str(jethexa_path())], "jethexa.yaml: it is there: --force replaces it"),
        (["--report", "nowhere/mine.png"], "--report nowhere/mine.png: its folder does not exist"),
        (["--report", "mine.doc"], "--report mine.doc: a picture needs a file that ends with .png"),
        (["--exercise", "standing", "--out", "mine.yaml"], "--out mine.yaml: a table needs a file that ends with .csv"),
    ],
)
def test_a_file_that_cannot_be_written_is_named_before_minutes_of_identification(capsys, words, named):
    assert identify.main(["no_bag_is_read", *words]) == 1
    assert named in capsys.readouterr().err


def test_plans_and_manoeuvres_come_beside_the_identified_file(tmp_path, capsys):
    links = tuple(dataclasses.replace(one, mass=1.2 * one.mass) for one in ROBOT.legs[0].links)
    legs = (dataclasses.replace(ROBOT.legs[0], links=links), *ROBOT.legs[1:])
    mine, file = dataclasses.replace(ROBOT, name="mine", legs=legs), tmp_path / "mine.yaml"
    file.write_text(robot_yaml(mine, ""), encoding="utf-8")
    identify.transfer_plans(ROBOT, file)
    said, robot = capsys.readouterr().out, Robot.load(file)
    assert "50 of 50 plans of jethexa" in said and "ways to get up" in said and "none without" not in said
    assert GetUpLibrary.load_for_robot(robot).choose({"LF": {0, 1, 2}, "RR": {0, 1, 2}})
    gait = AdaptiveGait().bind(robot, Morphology.whole(robot).without("RM", "LM"))
    assert gait.plan is not None and len(gait.plan.legs) == 4
    for lost in itertools.chain(*(itertools.combinations(ROBOT.leg_names, count) for count in (1, 2, 3))):
        gait.set_morphology(Morphology.whole(robot).without(*lost))
        assert gait.plan is not None and not set(lost) & set(gait.plan.legs)
    heavy = dataclasses.replace(mine, body=dataclasses.replace(mine.body, mass=3.0 * mine.body.mass))
    file.write_text(robot_yaml(heavy, ""), encoding="utf-8")
    identify.transfer_plans(ROBOT, file)
    assert "does not get up" in capsys.readouterr().out
    (tmp_path / "plans_jethexa.yaml").write_text("format: 7\n", encoding="utf-8")  # beside the file it begins with
    (tmp_path / "jethexa.yaml").write_bytes(jethexa_path().read_bytes())
    identify.transfer_plans(Robot.load(tmp_path / "jethexa.yaml"), file)
    assert "no plans are taken over: gait plans" in capsys.readouterr().out
