"""The robot's YAML file: what it says is what the Robot has, and what cannot be is refused by name; which servo moves
which joint.
"""

import copy
import dataclasses
import math
import pickle
import runpy
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import yaml
from scipy.spatial.transform import Rotation
from support.jethexa import ROBOT
from support.pinocchio_robot import PinocchioRobot

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import DeviceError, RobotError
from hexapod_dynamics.robot import Body, Contact, Imu, Joint, Leg, Link, Morphology, Robot, Servo
from hexapod_dynamics.robot.geometry import LinkGeometry
from hexapod_dynamics.robot.robot_file import jethexa_path, robot_fields, robot_yaml
from hexapod_dynamics.robot.servo_map import BUS_SERVO, ServoMap
from hexapod_dynamics.robot.urdf_legs import robot_of_urdf

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


def with_last_link(leg, **change):
    return dataclasses.replace(leg, links=(*leg.links[:-1], dataclasses.replace(leg.links[-1], **change)))


def test_what_is_rounded_in_a_file_stays_possible():
    """Two moments of a plate are together just the third, one of a rod is nearly zero."""
    for seed in range(3):
        random = np.random.default_rng(seed)
        turn, (a, b) = Rotation.random(random_state=seed).as_matrix(), random.uniform(1e-5, 1e-4, 2)
        plate = turn @ np.diag([a, b, a + b]) @ turn.T
        for inertia in (np.diag([a, b, a + b]), 0.5 * (plate + plate.T), np.diag([1e-10, a, a])):
            robot = dataclasses.replace(ROBOT, legs=[with_last_link(leg, inertia=inertia) for leg in ROBOT.legs])
            for made in (robot, robot_of_urdf(robot.to_urdf(), "made")[0]):
                read = parse_robot(yaml.safe_load(robot_yaml(made)))
                moments = np.linalg.eigvalsh(read.legs[-1].links[-1].inertia)
                np.testing.assert_allclose(moments, np.linalg.eigvalsh(inertia), rtol=1e-5, atol=2e-14)


def test_legs_keep_their_own_links_in_a_file_and_need_limits():
    """The module of leg LR, which differs from those of LF, had the name of that of LM, and replaced it."""
    legs = [with_last_link(leg, mass=0.1 + 0.01 * k) for k, leg in enumerate(ROBOT.legs)]
    legs = [dataclasses.replace(leg, module="leg_LR" if leg.name == "LM" else "leg") for leg in legs]
    read = parse_robot(yaml.safe_load(robot_yaml(dataclasses.replace(ROBOT, legs=legs))))
    assert [leg.links[-1].mass for leg in read.legs] == pytest.approx([leg.links[-1].mass for leg in legs])
    legs[0] = dataclasses.replace(legs[0], joints=[dataclasses.replace(j, lower=-math.inf) for j in legs[0].joints])
    with pytest.raises(RobotError, match="joint coxa_joint_LF: limits -inf to 1.75; .* finite"):
        robot_yaml(dataclasses.replace(ROBOT, legs=legs))


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
LINK = {"name": "x", "mass": 1.0, "length": 0.1, "com": np.zeros(3), "inertia": np.eye(3), "rotation": np.eye(3)}


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Servo(**SERVO | {"stiffness": math.nan}), "servo.stiffness: nan"),
        (lambda: Servo(**SERVO | {"torque_limit": 0.0}), "servo.torque_limit: 0.0"),
        (lambda: Contact(1e4, -1.0, 50.0), "contact.damping: -1.0"),
        (lambda: Imu([0, 0, math.nan], np.eye(3)), "imu.position"),
        (lambda: Imu([1.0, None, "x"]), "imu.position: .* given, an array of shape"),
        (lambda: sliding_leg("L", rotation="upright"), "leg L.mount_rotation: .* given, an array of shape"),
        (lambda: Imu([0, 0, 0], np.ones((3, 3))), "imu.rotation: .* is not a rotation"),
        (lambda: Link(**LINK | {"rotation": np.diag([1, 1, -1])}), "link x.rotation: .* is not a rotation"),
        (lambda: Link(**LINK | {"com": np.array([0, 0, 1j])}), "link x.com: complex numbers given"),
        (lambda: Link(**LINK | {"mass": -1.0}), "link x.mass: -1.0"),
        (lambda: Joint("x", "revolute", np.eye(3)[0], np.zeros(3), "-1", 1.0), r"joint x.limits: \[-1, 1.0\] given"),
        (lambda: Joint("x", "revolute", np.eye(3)[0], np.zeros(3), -1.0, math.nan), r"joint x.limits: .*nan.* given"),
        (lambda: Body(1.0, np.eye(3), [0.1, -0.1, 0.1]), "body.box: .*-0.1"),
        (lambda: Link(**LINK | {"name": "a.b"}), "link.*'a.b' given as its name"),
        (
            lambda: dataclasses.replace(ROBOT.legs[0], joints=(1, 2, 3)),
            r"leg LF.joints: \(1, 2, 3\) given, a tuple of Joint",
        ),
    ],
)
def test_parts_made_in_python_are_checked_like_those_of_a_file(make, named):
    with pytest.raises(RobotError, match=named):
        make()


def test_a_robot_is_its_own_copy_and_survives_pickle():
    robot = Robot.jethexa()
    assert copy.copy(robot) is copy.deepcopy(robot) is robot
    assert pickle.loads(pickle.dumps(robot)) == robot


MAP = ServoMap.from_robot(Robot.jethexa())


def test_the_map_is_the_robots():
    names = dict(zip(MAP.joint_names, zip(MAP.ids, MAP.directions, strict=True), strict=True))
    assert names["coxa_joint_LF"] == (5, -1) and names["tibia_joint_RR"] == (14, 1)
    assert names["femur_joint_LM"] == (9, -1)
    # The vendor's default stance in counts.
    front, middle, rear = (0.1712, 0.7384, -0.5746), (0.0, 0.7436, -0.5952), (-0.1712, 0.7384, -0.5746)
    stance = np.array([*front, *middle, *rear] * 2)
    vendor = [459, 323, 637, 500, 322, 642, 540, 323, 637, 459, 676, 362, 500, 677, 357, 540, 676, 362]
    counts = np.array([BUS_SERVO.count(angle) for angle in MAP.servo_angles(stance)])
    assert np.abs(counts - vendor).max() <= 1  # the vendor truncates, we round
    assert np.allclose(MAP.quantise(stance), stance, atol=0.5 / BUS_SERVO.per_radian + 1e-12)


@pytest.mark.parametrize(
    ("ids", "directions", "zeros"),
    [((1,), (1, 1), ()), ((1, 2), (1,), ()), ((1, 2, 3), (1, 1), ()), ((1, 2), (1, 1), (0.1,))],
)
def test_a_map_needs_one_id_direction_and_zero_per_joint(ids, directions, zeros):
    with pytest.raises(DeviceError, match=f"2 joints, {len(ids)} servo ids, {len(directions)} directions.*one of each"):
        ServoMap(("a", "b"), ids, directions, zeros)


FILE = Path(__file__).parents[2] / "config" / "jethexa_by_positions.py"
POSITIONS = runpy.run_path(str(FILE))
coxa, femur, tibia = (POSITIONS[name] for name in ("coxa", "femur", "tibia"))
COXA, FEMUR = POSITIONS["COXA"], POSITIONS["FEMUR"]
TOLERANCE = 1e-9


def shin(q, point):
    """A prismatic shin, drawn out of the tibia by q[3]."""
    x, y, z = point
    return tibia(q, (0.1 + x + q[3], y, z))


def test_the_jethexa_by_positions_equals_the_jethexa_by_screws():
    robot, ours = Robot.jethexa(), Robot.load(FILE)
    assert ours.joint_names == robot.joint_names
    rng = np.random.default_rng(0)
    models = [
        (WholeBodyModel(each), Morphology.whole(each).without("RM").without("LM.femur")) for each in (robot, ours)
    ]
    q, nu, nudot = rng.uniform(-1, 1, 18), rng.normal(size=6 + 13), rng.normal(size=6 + 13)
    rotation = pin.exp3(rng.normal(size=3))
    results = [
        (
            model.coriolis_matrix(q, nu, hurt),
            model.tip_jacobian("LF", q, hurt),
            model.inverse_dynamics(rotation, q, nu, nudot, hurt),
        )
        for model, hurt in models
    ]
    for theirs, mine in zip(*results, strict=True):
        assert np.allclose(mine, theirs, rtol=TOLERANCE, atol=TOLERANCE)


def sliding_leg(name="A", **mount):
    inertia = np.diag([1e-5, 1e-4, 1e-4])
    links = [
        LinkGeometry("coxa", coxa, 0.02, COXA, inertia),
        LinkGeometry("femur", femur, 0.07, FEMUR, inertia),
        LinkGeometry("tibia", tibia, 0.06, 0.1, inertia),
        LinkGeometry("shin", shin, 0.05, 0.06, inertia, lower=0.0, upper=0.05),
    ]
    return Leg.from_geometry(
        name, links, mount_rotation=mount.get("rotation", np.eye(3)), mount_position=mount.get("position", np.zeros(3))
    )


def test_a_leg_with_a_prismatic_shin_goes_into_the_whole_body_model():
    turns = [pin.exp3(np.array([0, 0, angle])) for angle in (0.5, 2.0, 4.0, 5.5)]
    legs = tuple(sliding_leg(f"L{i}", rotation=turn, position=turn @ [0.1, 0, 0]) for i, turn in enumerate(turns))
    robot = dataclasses.replace(Robot.jethexa(), legs=legs)
    assert [joint.kind for joint in legs[0].joints] == ["revolute"] * 3 + ["prismatic"]
    whole, rng = Morphology.whole(robot), np.random.default_rng(1)
    q, nu, nudot = rng.uniform(0, 0.05, 16), rng.normal(size=22), rng.normal(size=22)
    rotation = pin.exp3(rng.normal(size=3))
    theirs = PinocchioRobot(whole)
    reference = pin.rnea(theirs.model, theirs.data, theirs.configuration(rotation, q), nu, nudot)
    ours = WholeBodyModel(robot).inverse_dynamics(rotation, q, nu, nudot, whole)
    assert np.allclose(ours, reference, rtol=TOLERANCE, atol=TOLERANCE)


def geometry(place, **change):
    return LinkGeometry(
        **{"name": "odd", "place": place, "mass": 0.1, "length": 0.1, "inertia": np.diag([1e-5, 1e-4, 1e-4]), **change}
    )


@pytest.mark.parametrize(
    "places, needle",
    [
        ([], "no links"),
        ([lambda q, p: (p[0] + 2 * q[0], p[1], p[2])], "moves it by 2 m"),
        ([lambda q, p: coxa([2 * q[0]], p)], "turns it by 2 rad"),
        ([lambda q, p: (2 * p[0], p[1], p[2])], "rigid body"),
        ([lambda q, p: (p[0] + q[0], p[1], p[2])[: 3 - any(p)]], "2 coordinates"),
        ([lambda q, p: (p[0] + q[1], p[1], p[2])], "fails"),
        ([lambda q, p: coxa(q, (p[0] + 0.1, p[1], p[2]))], "off its joint"),
        ([lambda q, p: (p[0] + q[0] ** 2 + q[0], p[1], p[2])], "one fixed screw motion"),
        ([coxa, lambda q, p: (p[0], p[1] + q[1], p[2])], "one fixed screw motion"),
        ([lambda q, p: (p[0], p[1], p[2])], "moves it by 0 m"),
    ],
)
def test_positions_that_make_no_leg_are_refused_by_name(places, needle):
    with pytest.raises(RobotError, match=needle):
        Leg.from_geometry(
            "A", [geometry(place) for place in places], mount_rotation=np.eye(3), mount_position=np.zeros(3)
        )


@pytest.mark.parametrize(
    "text, needle",
    [
        (None, "no such file"),
        ("def spider(): pass", r"robot\.py: defines no function robot\(\)"),
        ("def robot():\n    return 3", "returns int"),
    ],
)
def test_a_program_that_makes_no_robot_is_refused(tmp_path, text, needle):
    path = tmp_path / "robot.py"
    if text:
        path.write_text(text)
    with pytest.raises(RobotError, match=needle):
        Robot.load(path)
