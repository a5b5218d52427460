"""The robot's YAML file: what it says is what the Robot has, and what cannot be is refused by name."""

import copy
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
import yaml

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot import Body, Contact, Imu, Joint, Link, Robot, Servo
from hexapod_dynamics.robot.robot_file import jethexa_path, robot_fields

ROBOTS = Path(__file__).parents[1] / "robots"
JETHEXA = yaml.safe_load(jethexa_path().read_text())


def parse_robot(data):
    return Robot(**robot_fields(data))


def changed(path, value):
    data = copy.deepcopy(JETHEXA)
    *parents, key = path
    place = data
    for parent in parents:
        place = place[parent]
    if value is None:
        del place[key]
    else:
        place[key] = value
    return data


def test_at_zero_the_femur_is_horizontal_and_the_tibia_points_straight_down():
    leg = Robot.jethexa().leg("RM")
    np.testing.assert_allclose(leg.mount_rotation @ [1, 0, 0], [0, -1, 0], atol=1e-15)
    np.testing.assert_allclose(leg.links[1].tip, [0.077, 0, 0])
    np.testing.assert_allclose(leg.links[2].tip, [0, 0, -0.123])
    np.testing.assert_allclose(leg.joints[2].screw, [0, 0, -0.122, 0, -1, 0])
    np.testing.assert_allclose(np.diag(leg.links[2].inertia_in_leg), [10.01e-5, 10e-5, 0.22e-5])


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("body", "mass"), -1.35, ("body.mass", "-1.35")),
        (("body", "mass"), True, ("body.mass", "True")),
        (("body", "mass"), "1_350e-3", ("body.mass", "'1_350e-3' given", "number")),
        (("body", "inertia"), [1e-4, 1e-4, 9e-4], ("body.inertia", "triangle", "0.0009")),
        (("body", "inertia"), [1e-4, 1e-4], ("body.inertia", "[Ixx, Iyy, Izz]")),
        (("body", "com"), [0.01, 0.02], ("body.com", "3 numbers")),
        (("body", "com"), [0.01, float("nan"), 0.0], ("body.com", "not finite")),
        (("leg_modules", "jethexa_leg", 1, "joint", "rotor_inertia"), -1e-3, ("joint.rotor_inertia", "-0.001", ">= 0")),
        (("body", "colour"), "red", ("body.colour", "unknown key", "mass")),
        (("colour",), "red", ("colour", "unknown key")),
        (("servo", "stiffness"), 0, ("servo.stiffness", "> 0")),
        (("servo", "damping"), None, ("servo.damping", "missing")),
        (("legs", "RM"), None, ("legs.RM", "missing")),
        (("legs", "XX"), JETHEXA["legs"]["RM"], ("legs.XX", "leg_order")),
        (("legs", "RM", "tripod_group"), 3, ("legs.RM.tripod_group", "3")),
        (("legs", "RM", "servo_ids"), [18, 10, 8], ("servo ids", "18")),
        (("legs", "RM", "servo_ids"), [254, 10, 8], ("legs.RM.servo_ids", "254", "0..253")),
        (("legs", "RM", "servo_ids"), [12, None, 8], ("legs.RM", "joint 2", "given together")),
        (("legs", "RM", "servo_directions"), [0, 1, 1], ("legs.RM.servo_directions", "+1 or -1")),
        (("legs", "RM", "module"), "spider", ("legs.RM.module", "spider", "jethexa_leg")),
        (("leg_modules", "jethexa_leg", 1, "link", "mass"), -0.07, ("leg_modules.jethexa_leg[1].link.mass", "-0.07")),
        (("leg_modules", "jethexa_leg", 1, "joint", "kind"), "ball", ("kind", "ball", "helical")),
        (("leg_modules", "jethexa_leg", 1, "joint", "limits"), [1, -1], ("limits", "lower < upper")),
        (("leg_modules", "jethexa_leg", 1, "joint", "axis"), [0, 0, 0], ("axis", "direction")),
        (("leg_modules", "jethexa_leg", 2, "link", "name"), "femur", ("link names", "femur")),
    ],
)
def test_what_cannot_be_is_refused_with_the_key_and_the_value(path, value, named):
    with pytest.raises(RobotError) as refusal:
        parse_robot(changed(path, value))
    for part in named:
        assert part in str(refusal.value)


def test_a_body_s_centre_of_mass_and_rotors_are_read():
    assert not Robot.jethexa().body.com.any()
    assert parse_robot(changed(("body", "com"), [0.01, 0, -0.02])).body.com.tolist() == [0.01, 0.0, -0.02]
    robot = parse_robot(changed(("leg_modules", "jethexa_leg", 1, "joint", "rotor_inertia"), 3e-3))
    assert [joint.rotor_inertia for joint in robot.legs[2].joints] == [0.0, 3e-3, 0.0]


def test_the_own_errors_of_a_program_stay_its_own(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def robot(): return {}['legs']\n")
    with pytest.raises(KeyError, match="legs"):
        Robot.load(file)


def test_a_number_written_without_a_dot_is_a_number():
    assert parse_robot(changed(("body", "mass"), "2e0")).body.mass == 2.0


def test_robots_are_equal_when_every_number_is():
    assert parse_robot(JETHEXA) == Robot.jethexa()
    assert parse_robot(changed(("body", "mass"), 1.36)) != Robot.jethexa()


@pytest.mark.parametrize(("file", "legs", "joints"), [("quadruped_with_sliders.yaml", 4, 12), ("octopod.yaml", 8, 28)])
def test_another_robot_is_another_file(file, legs, joints):
    robot = Robot.load(ROBOTS / file)
    assert len(robot.legs) == legs
    assert robot.joint_count == joints
    weight = robot.gravity * WholeBodyModel(robot).total_mass()
    assert WholeBodyModel(robot).gravity_force(np.eye(3), np.linspace(-0.5, 0.5, joints))[2] == pytest.approx(weight)


SERVO = {"stiffness": 30.0, "damping": 0.3, "torque_limit": 3.4, "speed_limit": 5.8, "resolution": 0.004}
LINK = {
    "name": "x",
    "mass": 1.0,
    "length": 0.1,
    "com": np.zeros(3),
    "inertia": np.eye(3),
    "rotation": np.eye(3),
}


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Servo(**SERVO | {"stiffness": math.nan}), "servo.stiffness: nan"),
        (lambda: Servo(**SERVO | {"torque_limit": 0.0}), "servo.torque_limit: 0.0"),
        (lambda: Contact(1e4, -1.0, 50.0), "contact.damping: -1.0"),
        (lambda: Imu([0, 0, math.nan], np.eye(3)), "imu.position"),
        (lambda: Imu([0, 0, 0], np.ones((3, 3))), "imu.rotation: .* is not a rotation"),
        (lambda: Link(**LINK | {"rotation": np.diag([1, 1, -1])}), "link x.rotation: .* is not a rotation"),
        (lambda: Link(**LINK | {"com": np.array([0, 0, 1j])}), "link x.com: complex numbers given"),
        (lambda: Link(**LINK | {"mass": -1.0}), "link x.mass: -1.0"),
        (lambda: Joint("x", "revolute", np.eye(3)[0], np.zeros(3), "-1", 1.0), r"joint x.limits: \[-1, 1.0\] given"),
        (lambda: Joint("x", "revolute", np.eye(3)[0], np.zeros(3), -1.0, math.nan), r"joint x.limits: .*nan.* given"),
        (lambda: Body(1.0, np.eye(3), [0.1, -0.1, 0.1]), "body.box: .*-0.1"),
    ],
)
def test_parts_made_in_python_are_checked_like_those_of_a_file(make, named):
    with pytest.raises(RobotError, match=named):
        make()


def test_a_robot_is_its_own_copy_and_survives_pickle():
    robot = Robot.jethexa()
    assert copy.copy(robot) is copy.deepcopy(robot) is robot
    assert pickle.loads(pickle.dumps(robot)) == robot
