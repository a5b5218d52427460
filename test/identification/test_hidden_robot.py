"""What is identified of a robot in MuJoCo whose servos, masses and IMU are hidden, from short exercises."""

import math

import matplotlib
import numpy as np
import pytest
from support.identification_rig import LATENCY, record

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.estimation.pose_uncertainty import PoseDrift
from hexapod_dynamics.identification import Exercise, identify, standing_exercise, suspended_exercise
from hexapod_dynamics.identification.exercise import Footing
from hexapod_dynamics.identification.geometry import identify_geometry
from hexapod_dynamics.identification.identify import draw_report
from hexapod_dynamics.identification.servo_response import PLAY, identify_servos
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.se3 import rotation_vector
from hexapod_dynamics.simulation import Truth

ROBOT = Robot.jethexa()
TRUTH = Truth.parse("servos=real,seed=5,payload=0")
DELAY = 1e3 * (LATENCY + TRUTH.delay)  # [ms]


def hang(truth, seed=0):
    """Record a hidden robot that hangs while its femurs move: a third of the exercise."""
    whole, third = suspended_exercise(ROBOT), slice(1075, 1900)
    return record(ROBOT, truth, Exercise(whole.time[third], whole.targets[third]), suspended=True, seed=seed)


@pytest.fixture(scope="module")
def whole_standing():
    """A recording of the standing exercise."""
    return record(ROBOT, TRUTH, standing_exercise(ROBOT), suspended=False)


@pytest.fixture(scope="module")
def standing(whole_standing):
    """A third of it."""
    return whole_standing.select_between(0.0, 42.0)


@pytest.fixture(scope="module")
def result(standing):
    hanging = hang(TRUTH)
    weight = WholeBodyModel(TRUTH.robot(ROBOT)).total_mass()
    return identify(ROBOT, hanging, standing, weighed=weight)


def values(result, kind):
    found = [finding for finding in result.findings if kind in finding.name and not finding.missing]
    return np.array([finding.value for finding in found]), np.array([finding.deviation for finding in found])


def test_servos_are_identified(result):
    latency, deviation = values(result, ".latency")
    assert len(latency) == 6  # of the joints that moved
    assert np.abs(latency - DELAY).max() < 4.0 and deviation.max() < 4.0  # [ms]
    zone, _ = values(result, ".dead_zone")
    assert np.abs(zone - TRUTH.zone).max() < 0.15  # [deg]
    feed, _ = values(result, ".feed_forward")
    assert np.abs(feed - TRUTH.ff).max() < 0.35
    assert result.servos.noise[result.servos.moved].max() < 0.5 * result.servos.before[result.servos.moved].min()


def test_latency_lag_and_play_of_servos_that_damp_against_zero_rate_are_told_apart():
    """A fit from one start had 7 ms too much latency, 6 ms too little lag, and half of the play."""
    truth = Truth.parse("servos=real,seed=1107,payload=0")
    found = identify_servos(ROBOT, hang(truth, seed=1107).with_quantised_commands(ROBOT))
    latency, lag, kind = found.values[found.moved][:, :3].mean(axis=0)
    assert truth.ff == 0.0 and kind < 0.1
    assert latency == pytest.approx(LATENCY + truth.delay, abs=0.0015)
    assert lag == pytest.approx(ROBOT.servo.damping / ROBOT.servo.stiffness / truth.stiffness + truth.lag, abs=0.003)
    play = found.values[found.moved][:, PLAY].mean()
    assert math.degrees(play) == pytest.approx(truth.hysteresis, abs=0.12)


def test_stiffness_and_the_imus_mounting_are_identified(result):
    stiffness, deviation = values(result, ".stiffness")
    true = 30.0 * TRUTH.stiffness
    assert abs(stiffness.mean() - true) < 0.15 * true
    assert np.mean(np.abs(stiffness - true) < 2.0 * deviation) > 0.8
    mounting = np.degrees(rotation_vector(TRUTH.imu_rotation()))
    assert np.abs(np.degrees(result.geometry.mounting) - mounting)[:2].max() < 0.5


def test_zero_offsets_are_identified_of_feet_that_slide_and_a_body_that_accelerates(whole_standing):
    """They were 0.5 degrees wrong, root mean square, those of the tibias all to one side."""
    n, standing = ROBOT.joint_count, whole_standing
    edges, delay = np.arange(0.5, standing.reading_time[-1], 0.25), 1e-3 * DELAY
    footing = Footing.from_recording(ROBOT, standing)
    means = standing.compute_means(edges, np.full(n, delay), np.full(n, math.radians(TRUTH.hysteresis)))
    found = identify_geometry(ROBOT, footing.remove_acceleration(means, delay), footing.find_always_standing(edges))
    errors = np.degrees(found.offsets - TRUTH.zeros(n))
    assert np.sqrt(np.mean(errors**2)) < 0.3
    assert abs(errors[2::3].mean()) < 0.2
    assert np.mean(np.abs(errors) < 2.0 * np.degrees(found.offset_deviations)) > 0.8


def test_what_is_not_seen_says_which_motion_is_missing(result):
    missing = {finding.name: finding.missing for finding in result.findings if finding.missing}
    assert "waves" in missing["coxa_joint_LF.latency"] and "femur_joint_LF.latency" not in missing
    with pytest.raises(IdentificationError, match="no recording"):
        identify(ROBOT, None, None)


def test_a_standing_exercise_alone_says_nothing_about_zone_play_and_kind_of_the_servos(standing, result):
    """Their priors were written into the file as if they were found."""
    found = identify(ROBOT, None, standing, weighed=2.5)
    assert found.robot.joint_servos == ()
    assert found.robot.servo.stiffness == pytest.approx(found.loads.servos.stiffness.mean())
    lag = ROBOT.servo.damping / ROBOT.servo.stiffness
    assert found.robot.servo.damping == pytest.approx(lag * found.robot.servo.stiffness)
    again = identify(result.robot, None, standing, weighed=2.5)
    file = {finding.name: finding.file for finding in again.findings}  # a file with laws was reported as one without
    law = result.robot.joint_servos[1]
    named = {"latency": 1e3 * law.latency, "dead_zone": math.degrees(law.dead_zone), "stiffness": law.stiffness}
    assert named == pytest.approx({name: file[f"femur_joint_LF.{name}"] for name in named})
    assert file["load_friction"] == pytest.approx(law.load_friction)
    for law, before, stiffness in zip(
        again.robot.joint_servos, result.robot.joint_servos, again.loads.servos.stiffness, strict=True
    ):
        assert law.stiffness == stiffness != before.stiffness
        assert (law.dead_zone, law.play, law.feed_forward) == (before.dead_zone, before.play, before.feed_forward)


def test_the_robot_with_the_results_is_one_whose_file_says_how_well_zeros_and_mounting_are_known(result):
    found = result.geometry
    laws = result.robot.joint_servos
    assert laws[1].dead_zone == pytest.approx(math.radians(TRUTH.zone), abs=math.radians(0.15))
    assert abs(result.robot.legs[0].joints[1].servo_zero) > 0.0
    assert WholeBodyModel(result.robot).total_mass() == pytest.approx(WholeBodyModel(TRUTH.robot(ROBOT)).total_mass())
    assert [law.zero_deviation for law in laws] == pytest.approx(found.offset_deviations)
    assert result.robot.imu.tilt_deviation == pytest.approx(np.sqrt(np.mean(found.mounting_deviations[:2] ** 2)))
    spread = PoseDrift.from_robot(result.robot, 0.1, 0.1)
    assert spread.mounting == result.robot.imu.tilt_deviation
    play = [law.play for law in laws]
    assert spread.angles == pytest.approx(np.sqrt(np.mean(found.offset_deviations**2 + np.square(play) / 3.0)))
    assert PoseDrift.from_robot(ROBOT, 0.02, 0.03) == PoseDrift(mounting=0.02, angles=0.03)


def test_the_report_is_drawn_without_a_change_of_the_callers_backend(result, tmp_path):
    with matplotlib.rc_context({"backend": "svg"}):
        draw_report(ROBOT, result, tmp_path / "report.png")
        assert matplotlib.get_backend() == "svg"
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")
