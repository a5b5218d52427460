"""Exercises stay within limits; robot files are read back; only possible bodies come out; sections are found."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.dynamics.regressors import parameters_to_body
from hexapod_dynamics.errors import IdentificationError, RobotError
from hexapod_dynamics.estimation.foot_loads import Servos, compute_feet
from hexapod_dynamics.identification import Recording, robot_yaml, standing_exercise, suspended_exercise
from hexapod_dynamics.identification.exercise import compute_body_poses, find_standing_feet, split_exercises
from hexapod_dynamics.identification.masses import possible_body, pseudo_inertia, pseudo_inertia_to_parameters
from hexapod_dynamics.identification.recording import find_side_of_play
from hexapod_dynamics.identification.servo_response import count_repeats
from hexapod_dynamics.robot import JointServo, Robot
from hexapod_dynamics.robot.checked_yaml import check_inertia
from hexapod_dynamics.robot.servo_map import BUS_SERVO, ServoMap

ROBOT = Robot.jethexa()
CONFIG = Path(__file__).resolve().parents[2] / "config"
LINKS = WholeBodyModel(ROBOT).inertial_parameters()[10:].reshape(-1, 10)
LIMITS = np.array([joint.planned_range for joint in ROBOT.joints]).T


@pytest.mark.parametrize("make", [suspended_exercise, standing_exercise])
def test_an_exercise_stays_within_limits_and_begins_and_ends_at_rest(make):
    exercise = make(ROBOT)
    assert (exercise.targets > LIMITS[0]).all() and (exercise.targets < LIMITS[1]).all()
    assert np.array_equal(exercise.targets[0], exercise.targets[20])
    assert np.abs(exercise.targets[-1] - exercise.targets[0]).max() < 1e-9
    assert exercise.time[-1] < 121.0


def test_gravity_pulls_with_a_long_lever_at_each_joint_that_moves_while_the_robot_hangs():
    """A tibia hung straight down: 0.02 N m, root mean square."""
    exercise, model = suspended_exercise(ROBOT), WholeBodyModel(ROBOT)
    recording = of_commands(exercise.time, exercise.targets)
    for joint in range(ROBOT.joint_count):
        rows = exercise.targets[recording.find_own_motion(ROBOT, joint)[::10]]
        assert np.ptp(rows[:, joint]) == pytest.approx(0.9, abs=0.02)
        torque = np.sqrt(np.mean([model.gravity_force(np.eye(3), row)[6 + joint] ** 2 for row in rows]))
        assert torque >= (0.0, 0.14, 0.06)[joint % 3]  # [N m] coxa, femur, tibia
    lowest = [compute_feet(ROBOT, model, exercise.targets[::100])[0][:, leg] for leg in range(6)]
    reach = [np.hypot(*(feet[:, :2] - leg.mount_position[:2]).T) for feet, leg in zip(lowest, ROBOT.legs, strict=True)]
    assert np.min(reach) > 0.07  # [m] no foot comes below the body
    assert np.max(reach) < 0.25  # [m] what docs/identify.md asks to keep clear
    rates = np.abs(np.diff(exercise.targets, axis=0)).max(axis=1) / 0.02
    assert np.max(rates[rates < 4.0]) < 0.8  # [rad/s] all but the steps of 0.1 rad


def test_set_points_are_those_that_the_servos_get_and_the_motion_that_of_one_joint():
    time = 0.02 * np.arange(400)
    targets = np.zeros((400, 18))
    targets[50:150, 2] = np.linspace(0.0, 1.0, 100)
    targets[150:, 2] = 1.0
    targets[200:300, 1] = 0.2 * np.sin(np.linspace(0.0, 2.0 * np.pi, 100))
    targets[320:360, 1] = targets[320:360, 2] = 0.5
    recording = of_commands(time, targets)
    assert recording.find_own_motion(ROBOT, 1)[0] >= 199 and recording.find_own_motion(ROBOT, 1)[-1] < 300
    assert recording.find_own_motion(ROBOT, 2)[-1] < 150 and len(recording.find_own_motion(ROBOT, 0)) == 0
    sent = recording.with_quantised_commands(ROBOT).commands / ROBOT.servo.resolution
    assert np.abs(sent - np.round(sent)).max() < 1e-6
    assert 0.4 < np.abs(sent - targets / ROBOT.servo.resolution).max() < 0.5 + 1e-6


def test_readings_of_a_joint_at_rest_count_as_one():
    joint = np.array([0, 1, 0, 1, 0, 0, 0, 1])
    readings = np.array([0.1, 0.5, 0.1, 0.6, 0.2, 0.1, 0.1, 0.6])
    assert np.array_equal(count_repeats(joint, readings), [2, 1, 2, 2, 1, 2, 2, 2])


def test_a_servo_that_lifts_gives_more_than_its_load_and_one_that_lowers_it_less():
    servos = Servos(np.array([30.0]), np.array([0.0]), np.array([0.0]), np.ones(1), 0.01, 0.1)
    for load, rate in ((0.5, 0.4), (0.5, -0.4), (-0.5, 0.4), (-0.5, -0.4)):
        torque = load + np.sign(rate) * (0.01 + 0.1 * abs(load))
        assert servos.torques(np.array([torque / 30.0]), np.array([rate])) == pytest.approx([load], rel=5e-3)


def test_a_standing_robot_moves_slowly_on_feet_that_stay_around_its_centre():
    exercise = standing_exercise(ROBOT)
    assert np.abs(np.diff(exercise.targets, axis=0)).max() / 0.02 < 0.8  # [rad/s]
    rows = exercise.targets[::25]
    feet = compute_feet(ROBOT, WholeBodyModel(ROBOT), rows)[0]
    stands = np.array([find_standing_feet(row) for row in feet])
    assert set(stands.sum(axis=1)) == {3, 6}
    turns, places = compute_body_poses(feet, stands)
    floor = np.einsum("tij,tlj->tli", turns, feet) + places[:, None]
    stay = stands[1:] & stands[:-1]
    assert np.abs(np.diff(floor, axis=0))[stay].max() < 2e-3  # a foot that comes down is a little over the floor
    for place, seen, down in zip(places, floor, stands, strict=True):
        if down.sum() == 3:
            assert seen[~down, 2].max() < seen[down, 2].mean() + 0.031
            assert inside_of_triangle(place[:2], seen[down, :2]) > 0.025  # [m]


def inside_of_triangle(point, corners):
    """How far a point (2,) is from the nearest side of corners (3, 2), negative outside."""
    sides = np.roll(corners, -1, axis=0) - corners
    turn = np.sign(sides[0, 0] * sides[1, 1] - sides[0, 1] * sides[1, 0])
    across = sides[:, 0] * (point - corners)[:, 1] - sides[:, 1] * (point - corners)[:, 0]
    return (turn * across / np.hypot(*sides.T)).min()


def test_robots_with_shorter_legs_move_less_and_some_cannot_stand_on_half_of_their_legs():
    for name in ("octopod", "phantomx"):
        robot = Robot.load(CONFIG / f"{name}.yaml")
        low, high = np.array([joint.planned_range for joint in robot.joints]).T
        targets = standing_exercise(robot, 24.0).targets
        assert (targets > low).all() and (targets < high).all()
    with pytest.raises(IdentificationError, match="cannot stand on LF, RR alone"):
        standing_exercise(Robot.load(CONFIG / "quadruped.yaml"))
    with pytest.raises(IdentificationError, match="at least 12 s"):
        standing_exercise(ROBOT, 8.0)


def test_the_side_of_its_play_follows_from_how_the_readings_go():
    time, q, play = 0.01 * np.arange(1000), np.sin(0.02 * np.arange(1000)), 0.1
    encoder, y = np.zeros(1000), 0.0
    for k, angle in enumerate(q):
        encoder[k] = y = min(max(y, angle - play), angle + play)
    found = encoder + play * find_side_of_play(time, encoder)
    assert np.abs(found - q)[100:900].mean() < 0.15 * np.abs(encoder - q)[100:900].mean()
    assert np.array_equal(find_side_of_play(time, np.zeros(1000)), np.zeros(1000))


def of_commands(time, targets):
    some = np.arange(0.0, time[-1], 0.1)
    return Recording(time, targets, some, np.zeros(len(some), np.intp), np.zeros(len(some)))


def test_the_parts_of_a_recording_are_found_in_its_commands():
    hanging, standing = suspended_exercise(ROBOT), standing_exercise(ROBOT, 20.0)
    pause = 10.0
    between = np.repeat(standing.targets[:1], round(pause / 0.02), axis=0)
    targets = np.concatenate([hanging.targets, between, standing.targets])
    recording = of_commands(0.02 * np.arange(len(targets)), targets)
    first, second = split_exercises(ROBOT, recording)
    assert first.command_time[0] < 2.0 and abs(first.command_time[-1] - hanging.time[-1]) < 4.0
    assert abs(second.command_time[0] - (hanging.time[-1] + pause)) < 4.0
    still = of_commands(standing.time, np.repeat(between[:1], len(standing.time), axis=0))
    assert split_exercises(ROBOT, still) == (None, None)


def identified():
    laws = tuple(JointServo(25.0 + k, 0.005, 0.02, 0.01, 0.5, 0.004, 0.02, 0.1, 0.003 + 1e-4 * k) for k in range(18))
    legs = []
    for number, leg in enumerate(ROBOT.legs):
        joints = tuple(dataclasses.replace(joint, servo_zero=0.01 * number) for joint in leg.joints)
        links = (dataclasses.replace(leg.links[0], mass=0.02 + 1e-3 * number), *leg.links[1:])
        legs.append(dataclasses.replace(leg, joints=joints, links=links))
    imu = dataclasses.replace(ROBOT.imu, tilt_deviation=7e-4)
    return dataclasses.replace(ROBOT, legs=tuple(legs), joint_servos=laws, imu=imu)


def test_a_robot_file_is_read_back(tmp_path):
    robot, path = identified(), tmp_path / "mine.yaml"
    path.write_text(robot_yaml(robot, "by a test"), encoding="utf-8")
    again = Robot.load(path)
    assert path.read_text(encoding="utf-8").startswith("# by a test\n")
    assert again.joint_names == robot.joint_names
    for mine, read in zip(robot.joint_servos, again.joint_servos, strict=True):
        assert dataclasses.astuple(mine) == pytest.approx(dataclasses.astuple(read))
    assert again.imu.tilt_deviation == pytest.approx(7e-4)
    path.write_text(robot_yaml(ROBOT), encoding="utf-8")
    assert Robot.load(path).imu.tilt_deviation is None
    model, other = WholeBodyModel(robot), WholeBodyModel(again)
    assert other.inertial_parameters() == pytest.approx(model.inertial_parameters(), abs=1e-9)
    q = np.linspace(-0.5, 0.5, 18)
    assert other.mass_matrix(q) == pytest.approx(model.mass_matrix(q), abs=1e-9)
    assert [j.servo_zero for j in again.joints] == pytest.approx([j.servo_zero for j in robot.joints])


def test_zero_offsets_act_on_commands_and_readings_alike():
    robot, angles = identified(), np.linspace(-0.4, 0.4, 18)
    servos = ServoMap.from_robot(robot)
    shaft = servos.servo_angles(angles)
    assert [servos.joint_angle(k, shaft[k]) for k in range(18)] == pytest.approx(angles)
    assert servos.servo_angle(17, angles[17]) == pytest.approx(shaft[17])
    assert shaft[17] == pytest.approx(ROBOT.legs[5].joints[2].servo_direction * (angles[17] + 0.05))
    assert servos.quantise(angles) == pytest.approx(angles, abs=0.0022)
    assert BUS_SERVO.count(shaft[17]) - 500 == pytest.approx(shaft[17] * BUS_SERVO.per_radian, abs=0.5)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda data: data["joint_servos"]["femur_joint_LF"].update(dead_zone_deg=-1.0), "dead_zone_deg"),
        (lambda data: data["joint_servos"]["femur_joint_LF"].update(zone=1.0), "unknown key"),
        (lambda data: data["joint_servos"].pop("femur_joint_LF"), "joint_servos.femur_joint_LF: missing"),
        (lambda data: data["joint_servos"]["femur_joint_LF"].update(feed_forward=2.0), "feed_forward"),
        (lambda data: data["joint_servos"]["femur_joint_LF"].update(zero_deviation_deg=-0.1), "zero_deviation_deg"),
        (lambda data: data["imu"].update(tilt_deviation_deg="small"), "tilt_deviation_deg"),
        (lambda data: data["legs"]["LF"].update(servo_zeros_deg=[1.0]), "servo_zeros_deg"),
    ],
)
def test_wrong_values_of_a_robot_file_are_named(tmp_path, change, named):
    data = yaml.safe_load(robot_yaml(identified()))
    change(data)
    path = tmp_path / "wrong.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    with pytest.raises(RobotError, match=named):
        Robot.load(path)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-2.0, 2.0), min_size=10, max_size=10))
def test_whatever_the_fit_does_the_body_is_possible(theta):
    mass, _, inertia = parameters_to_body(possible_body(LINKS[2], np.array(theta)))
    assert mass > 0.0
    check_inertia(0.5 * (inertia + inertia.T), "link")  # positive, triangle inequality


def test_the_pseudo_inertia_is_another_form_of_the_parameters():
    phi = LINKS[1]
    assert pseudo_inertia_to_parameters(pseudo_inertia(phi)) == pytest.approx(phi, rel=1e-12)
    assert possible_body(phi, np.zeros(10)) == pytest.approx(phi, rel=1e-9)
    with pytest.raises(IdentificationError, match="no body has them"):
        possible_body(-phi, np.zeros(10))


def test_of_the_numbers_of_a_possible_body_one_is_the_mass_and_three_are_the_centre():
    """A mass within 20 % was one within 28 %: second moments had a part in it."""
    before = ROBOT.legs[0].links[2]
    phi = LINKS[2]
    radii = np.sqrt(np.diag(0.5 * np.trace(before.inertia) * np.eye(3) - before.inertia) / before.mass)
    for k in range(10):
        mass, com, _ = parameters_to_body(possible_body(phi, 0.1 * np.eye(10)[k]))
        assert mass == pytest.approx(before.mass * (np.exp(0.2) if k == 0 else 1.0))
        if k < 7:
            assert com == pytest.approx(before.com)
        else:
            assert np.linalg.norm(com - before.com) == pytest.approx(0.1 * radii[k - 7], rel=0.05)
