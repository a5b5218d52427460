"""What is drawn of a walk is what the walk was."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_typestore

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import RecordingWarning
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Simulator, TripodGait
from hexapod_dynamics.simulation.trajectory import Log
from hexapod_dynamics.tools.plot import main
from hexapod_dynamics.view.record import from_bag, from_log

ROBOT = Robot.jethexa()


@pytest.fixture(scope="module")
def log():
    return Simulator(ROBOT, gait=TripodGait()).run(2.6)


def test_a_log_is_read_as_it_was_saved(log, tmp_path):
    log.save(tmp_path / "walk.npz")
    again = Log.load(tmp_path / "walk.npz")
    for name in Log.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(again, name), getattr(log, name))


def test_the_gait_diagram_of_a_tripod_has_two_groups_of_three(log):
    record = from_log(log, ROBOT)
    assert len(repr(record)) < 200 and "true 2600, measured 2600" in repr(record)
    record.foot_forces = None  # as from a bag: from joints and attitude alone
    time, standing = record.find_standing()
    standing = standing[time > 1.3]
    record.measured.values[0] = np.nan  # as where no servo has answered yet: no foot stands, and no warning
    assert not record.find_standing()[1][0].any()
    groups = {leg: k for k, leg in enumerate(ROBOT.leg_names)}
    together = np.mean(standing[:, groups["LF"]] == standing[:, groups["LR"]])
    apart = np.mean(standing[:, groups["LF"]] == standing[:, groups["LM"]])
    assert together > 0.9
    assert apart < 0.5


def test_plot_writes_a_picture_and_names_what_is_no_walk(log, tmp_path, capsys, monkeypatch):
    log.save(tmp_path / "walk.npz")
    assert main([str(tmp_path / "walk.npz")]) == 0
    assert (tmp_path / "walk.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.chdir(SAMPLE)
    pictures = []
    monkeypatch.setattr(Figure, "savefig", lambda self, path, **_: pictures.append(path))
    assert main(["."]) == 0 and pictures == [SAMPLE.with_name("damage_bag.png")]  # a bag may be the present folder
    (tmp_path / "other.npz").write_text("nothing")
    assert main([str(tmp_path / "other.npz")]) == 1
    assert "Log.save()" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main([str(tmp_path / "empty")]) == 1
    assert "no bag that can be read" in capsys.readouterr().err


SAMPLE = Path(__file__).resolve().parents[2] / "docs" / "damage_bag"


def write_odometry(path, clocks, seconds=14.0, attitude=lambda t: (0.0, 0.0, 0.0, 1.0)):
    """A motion at 1 m/s, 20 messages a second; clocks(t): stamp and receipt [s]; attitude(t): quaternion."""
    types = get_typestore(Stores.ROS2_HUMBLE)
    with Writer(path, version=8) as writer:
        at, kind = writer.add_connection("/simulator/odom", "nav_msgs/msg/Odometry", typestore=types), types.types
        still = kind["geometry_msgs/msg/Twist"](*(kind["geometry_msgs/msg/Vector3"](0.0, 0.0, 0.0) for _ in range(2)))
        nine = np.zeros(36)
        for t in np.arange(0.0, seconds, 0.05):
            stamp, received = clocks(t)
            clock = kind["builtin_interfaces/msg/Time"](*divmod(round(1e9 * stamp), 10**9))
            place = kind["geometry_msgs/msg/Point"](t, 0.0, 0.1), kind["geometry_msgs/msg/Quaternion"](*attitude(t))
            message = kind["nav_msgs/msg/Odometry"](
                kind["std_msgs/msg/Header"](clock, "odom"),
                "base_link",
                kind["geometry_msgs/msg/PoseWithCovariance"](kind["geometry_msgs/msg/Pose"](*place), nine),
                kind["geometry_msgs/msg/TwistWithCovariance"](still, nine),
            )
            writer.write(at, round(1e9 * received), types.serialize_cdr(message, message.__msgtype__))
    return path


def test_a_bag_of_simulated_time_is_on_one_clock_from_its_first_second_on(tmp_path):
    track = from_bag(write_odometry(tmp_path / "bag", lambda t: (t, 1.8e9 + t)), ROBOT).true
    np.testing.assert_allclose(track.time, 0.05 * np.arange(280), atol=1e-6)
    np.testing.assert_allclose(track.position[:, 0], track.time, atol=1e-6)


def test_a_jump_of_the_clock_of_a_bag_is_cut_and_told(tmp_path, capsys):
    path = write_odometry(tmp_path / "bag", lambda t: (1.8e9 + t + (2 * 86400.0 if t >= 4.0 else 0.0),) * 2)
    assert main([str(path), "--output", str(tmp_path / "walk.png")]) == 0
    assert (tmp_path / "walk.png").read_bytes().startswith(b"\x89PNG")
    assert "plot: note: bag: its clock jumps by +172800" in capsys.readouterr().err
    with pytest.warns(RecordingWarning):
        assert from_bag(path, ROBOT).true.time[-1] == pytest.approx(9.95)


@pytest.mark.parametrize(("good", "unknown", "said"), [(1.0, np.nan, "260 of 280"), (0.0, 0.0, "280 of 280")])
def test_odometry_without_an_attitude_is_left_out_and_told(tmp_path, capsys, good, unknown, said):
    path = write_odometry(
        tmp_path / "bag", lambda t: (t, t), attitude=lambda t: (0, 0, 0, 1.0 if t < good else unknown)
    )
    assert main([str(path), "--output", str(tmp_path / "walk.png")]) == 0
    assert f"{said} messages of simulator/odom have no attitude: they are left out" in capsys.readouterr().err


def test_the_robot_of_a_bag_is_the_one_beside_it_and_joints_of_another_are_told(tmp_path, capsys):
    bag = shutil.copytree(SAMPLE, tmp_path / "bag")
    shutil.copy(SAMPLE.parents[1] / "config" / "octopod.yaml", bag / "robot.yaml")
    main([str(bag)])
    assert "397 of 397 messages of joint_states have no joint of octopod" in capsys.readouterr().err


@pytest.fixture(scope="module")
def sample():
    return from_bag(SAMPLE, ROBOT)


def test_the_sample_bag_is_small_and_holds_a_damage_and_a_recovery(sample):
    assert sum(file.stat().st_size for file in SAMPLE.iterdir()) < 2e6
    times, texts = zip(*sample.events, strict=True)
    assert texts[-1] == "declared: LM missing, RM missing"
    assert "broken: LM missing, RM missing" in texts
    found, track = times[-1], sample.true
    assert 3.0 < found < track.time[-1] - 5.0
    # The legs were torn off while it walked, before that was found; then it walks on, upright.
    lost = np.isnan(sample.measured.values[:, list(ROBOT.leg_joints("RM"))]).all(axis=1)
    torn = sample.measured.time[np.flatnonzero(~lost)[-1]]
    assert 2.0 < torn < found
    broken = times[texts.index("broken: LM missing, RM missing")]
    assert broken - 0.2 < torn < broken + 1.0  # the last reading of the leg's servos
    gone = np.linalg.norm(track.position[track.time > found][-1] - track.position[track.time > found][0])
    assert gone / (track.time[-1] - found) > 0.02  # [m/s]
    assert track.tilt[track.time > found + 1.0].max() < 5.0


def test_the_predicted_foot_forces_of_a_bag_carry_the_robot(sample):
    time, forces = sample.foot_forces
    assert forces.shape[1] == len(ROBOT.legs) and sample.forces_predicted
    model = WholeBodyModel(ROBOT)
    before, after = time < 4.0, time > sample.events[-1][0] + 1.0
    hurt = Morphology.whole(ROBOT).without("RM", "LM")
    for chosen, morphology in ((before, None), (after, hurt)):
        weight = ROBOT.gravity * model.total_mass(morphology)
        assert forces[chosen].sum(axis=1).mean() == pytest.approx(weight, rel=0.1)
    assert not forces[after][:, [ROBOT.leg_names.index("RM"), ROBOT.leg_names.index("LM")]].any()


def test_times_are_those_of_the_stamps(sample):
    """Joints are read every 20 ms or so, by their stamps: arrivals at the recorder would be later and uneven."""
    assert sample.measured.time[0] < 0.2 and sample.true.time[0] < 0.2
    assert (np.diff(sample.true.time) > 0.0).all()


HOSTILE_METADATA = {
    "nested": "rosbag2_bagfile_information: " + "[" * 1_000,
    "nested mappings": "rosbag2_bagfile_information: " + "{a: " * 1_000,
    "a list": "[1, 2]",
    "another shape": "rosbag2_bagfile_information: {version: [], storage_identifier: 7}",
    "a number": "rosbag2_bagfile_information: " + "1" * 20_000,
    "no text": "\udcff\udcfe",
}


@pytest.mark.parametrize("metadata", HOSTILE_METADATA.values(), ids=HOSTILE_METADATA)
def test_a_bag_with_hostile_metadata_is_refused_in_one_line(tmp_path, capsys, metadata):
    (tmp_path / "metadata.yaml").write_bytes(metadata.encode(errors="surrogateescape"))
    (tmp_path / "bag_0.db3").write_bytes(b"SQLite format 3\0" + b"\xff" * 1000)
    assert main([str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert "no bag that can be read" in error and error.count("\n") == 1 and len(error) < 1000
