"""What is identified of a robot in MuJoCo whose servos, masses and IMU are hidden, from short exercises."""

import math

import numpy as np
import pytest
from support.identification_rig import Rig, record

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.identification import Exercise, PayloadEstimator, identify, standing_exercise, suspended_exercise
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import rotation_vector
from hexapod_dynamics.simulation import Truth
from hexapod_dynamics.simulation.servo_law import LOOP_PERIOD

ROBOT = Robot.jethexa()
TRUTH = Truth.parse("servos=real,seed=5,payload=0")
# [ms] CHAIN, the Truth's delay and one period of the servo's loop, which samples its encoder and holds its torque.
LATENCY = 14.0 + 1e3 * (TRUTH.delay + LOOP_PERIOD)


@pytest.fixture(scope="module")
def result():
    whole = suspended_exercise(ROBOT)
    third = slice(975, 1950)  # the femurs' part
    hanging = record(ROBOT, TRUTH, Exercise(whole.time[third], whole.targets[third]), suspended=True)
    standing = record(ROBOT, TRUTH, standing_exercise(ROBOT, 20.0), suspended=False)
    weight = WholeBodyModel(TRUTH.robot(ROBOT)).total_mass()
    return identify(ROBOT, hanging, standing, weighed=weight)


def values(result, kind):
    found = [finding for finding in result.findings if kind in finding.name and not finding.missing]
    return np.array([finding.value for finding in found]), np.array([finding.deviation for finding in found])


def test_servos_are_identified(result):
    latency, deviation = values(result, ".latency")
    assert len(latency) == 6  # of the joints that moved
    assert np.abs(latency - LATENCY).max() < 4.0 and deviation.max() < 4.0  # [ms]
    zone, _ = values(result, ".dead_zone")
    assert np.abs(zone - TRUTH.zone).max() < 0.15  # [deg]
    feed, _ = values(result, ".feed_forward")
    assert np.abs(feed - TRUTH.ff).max() < 0.35
    assert result.servos.noise[result.servos.moved].max() < 0.5 * result.servos.before[result.servos.moved].min()


def test_stiffness_and_the_imus_mounting_are_identified(result):
    stiffness, deviation = values(result, ".stiffness")
    true = 30.0 * TRUTH.stiffness
    assert abs(stiffness.mean() - true) < 0.15 * true
    assert np.mean(np.abs(stiffness - true) < 2.0 * deviation) > 0.8
    mounting = np.degrees(rotation_vector(TRUTH.imu_rotation()))
    assert np.abs(np.degrees(result.geometry.mounting) - mounting)[:2].max() < 0.5


def test_what_is_not_seen_says_which_motion_is_missing(result):
    missing = {finding.name: finding.missing for finding in result.findings if finding.missing}
    assert "waves" in missing["coxa_joint_LF.latency"] and "femur_joint_LF.latency" not in missing
    with pytest.raises(IdentificationError, match="no recording"):
        identify(ROBOT, None, None)


def test_the_robot_with_the_results_is_one(result):
    assert result.robot.joint_servos[1].dead_zone == pytest.approx(math.radians(TRUTH.zone), abs=math.radians(0.15))
    assert abs(result.robot.legs[0].joints[1].servo_zero) > 0.0
    assert WholeBodyModel(result.robot).total_mass() == pytest.approx(WholeBodyModel(TRUTH.robot(ROBOT)).total_mass())


def carried(mass, x, estimator):
    """Feed the estimator with a standing robot of the catalogue that carries a mass at x, y = 20 mm."""
    targets = standing_exercise(ROBOT, 12.0).targets
    rig = Rig(ROBOT, Truth(payload=mass, payload_x=x, payload_y=0.02), targets[0], suspended=False)
    rig.play(0.02 * np.arange(len(targets)), targets)
    recording = rig.recording()
    sent = 0
    for time, joint, angle in zip(recording.reading_time, recording.reading_joint, recording.readings, strict=True):
        while sent < len(targets) and recording.command_time[sent] <= time:
            estimator.command(recording.command_time[sent] - 0.003, recording.commands[sent])
            sent += 1
        estimator.measure_up(recording.specific_force[np.searchsorted(recording.imu_time, time) - 1])
        estimator.measure_joint(time, int(joint), float(angle))
    return estimator.estimate()


def test_a_payload_is_weighed_and_found():
    estimator = PayloadEstimator(ROBOT)
    assert "needed" in estimator.estimate().reason and not estimator.tare()
    payload = carried(0.4, 0.04, estimator)
    assert payload.reason == ""
    assert abs(payload.mass - 0.4) < 0.2 and abs(payload.mass - 0.4) < 2.0 * payload.mass_deviation
    assert abs(payload.x - 0.04) < 0.02 and abs(payload.y - 0.02) < 0.02
    assert payload.wrench([0.0, 0.0, 1.0], 9.81)[2] == pytest.approx(-9.81 * payload.mass)
    assert estimator.tare()
    assert abs(estimator.estimate().mass) < 1e-9 and estimator.estimate().tared
    estimator.set_morphology(Morphology.whole(ROBOT).limp("LF.femur"))
    assert "femur_joint_LF" in estimator.estimate().reason
