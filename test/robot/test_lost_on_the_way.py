"""Nothing of a robot is lost or changed without a word on its way from a URDF and into URDF and MJCF."""

import dataclasses
import math
import warnings
import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation
from support.jethexa import ROBOT

from hexapod_dynamics.errors import RobotError, RobotWarning
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import roll_pitch_yaw, rotation_rpy

INERTIAL = """<inertial><mass value="{m}"/><origin xyz="0.05 0 0"/>
<inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>"""


def link(name, mass=1.0, inside=""):
    return f'<link name="{name}">{INERTIAL.format(m=mass)}{inside}</link>'


def joint(name, parent, child, kind="revolute", inside='<limit lower="-1" upper="2"/>', xyz="0.1 0 0"):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}<origin xyz="{xyz}"/><axis xyz="0 0 1"/>{inside}</joint>'


def text(*parts, attributes=""):
    return f'<robot name="r"{attributes}>{link("trunk")}{"".join(parts)}</robot>'


def legs(inside="", kind="revolute", limit='<limit lower="-1" upper="2"/>'):
    """Two legs of a link each."""
    return "".join(link(f"leg_{n}") + joint(f"hip_{n}", "trunk", f"leg_{n}", kind, limit + inside) for n in ("L", "R"))


CYCLE = link("a") + link("b") + joint("ab", "a", "b") + joint("ba", "b", "a")
SIX = [f"{side}{place}" for side in "LR" for place in "FMR"]


def with_head(joints=1):
    """Six legs of two joints, and a head of one or two."""
    parts = [
        link(f"coxa_{n}") + link(f"tibia_{n}") + joint(f"coxa_joint_{n}", "trunk", f"coxa_{n}")
        + joint(f"tibia_joint_{n}", f"coxa_{n}", f"tibia_{n}") for n in SIX
    ]  # fmt: skip
    head = link("pan") + joint("pan_joint", "trunk", "pan")
    return text(*parts, head, (link("tilt") + joint("tilt_joint", "pan", "tilt")) if joints == 2 else "")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (text(link("leg_L"), link("leg_R"), joint("hip", "trunk", "leg_L"), joint("hip", "trunk", "leg_R")),
         ("joint hip", "two of this name")),
        (text(legs(), CYCLE), ("links a, b", "joints ba, ab", "trunk", "not connected")),
        (text(legs(inside='<mimic joint="hip_R" multiplier="2"/>')), ("joint hip_L", "mimic", "hip_R")),
        (text(legs().replace('value="1.0"', 'value="${mass}"', 1)), ("link leg_L", "${mass}", "run xacro first")),
        (text('<xacro:leg name="L"/>', attributes=' xmlns:xacro="http://www.ros.org/wiki/xacro"'),
         ("xacro:leg", "run xacro first")),
        (text('<xacro:leg name="L"/>'), ("xacro:leg", "run xacro first")),
        (text(legs().replace("leg_L", "$(arg left)")), ("$(arg left)", "run xacro first")),
        (with_head(), ("pan_joint", "coxa_joint_LF", "legs={'LF': 'coxa_joint_LF'", 'type="fixed"')),
        (text(link("leg"), joint("", "trunk", "leg")), ("name",)),
        (None, ("None", "text", "path")),
        (7, ("7", "text", "path")),
    ],
)  # fmt: skip
def test_what_would_be_dropped_is_refused_by_name(given, named):
    with pytest.raises(RobotError) as refusal:
        Robot.from_urdf(given)
    for part in named:
        assert part in str(refusal.value)


def test_a_head_like_a_leg_and_named_legs_are_read_as_before():
    """A head of as many joints as a leg cannot be told from one; a head that is fixed belongs to the body."""
    assert len(Robot.from_urdf(with_head(joints=2)).legs) == 7
    fixed = with_head().replace('name="pan_joint" type="revolute"', 'name="pan_joint" type="fixed"')
    robot = Robot.from_urdf(fixed)
    assert set(robot.leg_names) == set(SIX) and robot.body.mass == 2.0
    with pytest.raises(RobotError, match='pan_joint.*type="fixed"'):
        Robot.from_urdf(with_head(), legs={n: f"coxa_joint_{n}" for n in SIX})


@pytest.mark.parametrize(
    ("dynamics", "named"),
    [('damping="0.3" friction="0.1"', "damping 0.3 and friction 0.1"), ('damping="0.3"', "damping")],
)
def test_what_the_model_has_no_place_for_is_named(dynamics, named):
    with pytest.warns(RobotWarning, match=f"joints hip_L, hip_R: .*{named}.* not used"):
        robot = Robot.from_urdf(text(legs(inside=f"<dynamics {dynamics}/>")))
    assert len(robot.legs) == 2


def test_a_mechanical_reduction_is_named_and_what_is_zero_or_one_is_not():
    motor = """<transmission name="t"><joint name="hip_L"/>
    <actuator name="m"><mechanicalReduction>{}</mechanicalReduction></actuator></transmission>"""
    with pytest.warns(RobotWarning, match="joint hip_L: mechanicalReduction 50 is not used.*drake:gear_ratio"):
        Robot.from_urdf(text(legs(), motor.format(50)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "leg L, R: the end of the last link")
        # what is for simulators is left alone
        gazebo = "<gazebo><plugin><parameters><![CDATA[$(find own)/y.yaml]]></parameters></plugin></gazebo>"
        Robot.from_urdf(text(legs(inside='<dynamics damping="0" friction="0.0"/>'), motor.format(1), gazebo))
        Robot.from_urdf(ROBOT.to_urdf())


# ---- continuous joints -----------------------------------------------------------------------------------------------

TURNING = Robot.from_urdf(text(legs(kind="continuous", limit="")))


def test_a_continuous_joint_has_no_stops_in_any_export():
    assert [(joint.lower, joint.upper) for joint in TURNING.joints] == [(-math.inf, math.inf)] * 2
    root = ET.fromstring(TURNING.to_urdf())
    written = root.find("joint[@name='hip_L']")
    assert written.get("type") == "continuous"
    assert set(written.find("limit").keys()) == {"effort", "velocity"}
    model = pin.buildModelFromXML(TURNING.to_urdf(), pin.JointModelFreeFlyer())
    assert model.joints[model.getJointId("hip_L")].shortname().startswith("JointModelRUB")  # unbounded
    compiled = mujoco.MjModel.from_xml_string(TURNING.to_mjcf())
    assert not compiled.joint("hip_L").limited[0]
    again = Robot.from_urdf(TURNING.to_urdf())
    assert [leg.joints[0].upper for leg in again.legs] == [math.inf] * 2


def test_motions_of_joints_without_stops_are_planned_within_half_a_turn():
    def limited(lower, upper):
        legs = [
            dataclasses.replace(leg, joints=tuple(dataclasses.replace(j, lower=lower, upper=upper) for j in leg.joints))
            for leg in ROBOT.legs
        ]
        return dataclasses.replace(ROBOT, legs=legs, name="limited")

    def motion(robot, remaining):
        gait = AdaptiveGait().bind(robot, Morphology.whole(robot).broken("RM.tibia", remaining))
        gait.command(0.05, 0.0, 0.0)
        return np.array([np.array(gait.step(0.02)) for _ in range(100)])

    for remaining in (1.0, 0.3):  # it walks; it sits with a leg out of the way
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            free = motion(limited(-math.inf, math.inf), remaining)
        np.testing.assert_array_equal(free, motion(limited(-math.pi, math.pi), remaining))
        assert np.isfinite(free).all()
        assert np.ptp(free[:, 0], axis=0).max() > 0.1 or remaining < 1.0
    assert limited(0.0, math.inf).legs[0].joints[0].planned_range == (0.0, math.pi)
    assert limited(-math.inf, -4.0).legs[0].joints[0].planned_range == (-4.0 - math.pi, -4.0)


def test_limits_on_one_side_or_of_a_slider_without_limits_are_refused_by_urdf():
    def bounded(**limits):
        joint = dataclasses.replace(TURNING.legs[0].joints[0], **limits)
        leg = dataclasses.replace(TURNING.legs[0], joints=(joint,))
        return dataclasses.replace(TURNING, legs=(leg,))

    for robot in (bounded(lower=0.0), bounded(kind="prismatic")):
        with pytest.raises(RobotError, match="hip_L.*limits"):
            robot.to_urdf()
    compiled = mujoco.MjModel.from_xml_string(bounded(lower=0.0).to_mjcf())  # which can
    assert compiled.joint("hip_L").limited[0] and compiled.joint("hip_L").range[0] == 0.0


# ---- names and rotations ---------------------------------------------------------------------------------------------

ODD = "a \"b\" <c> & 'd'"


def test_names_are_escaped_in_both_formats():
    def renamed(leg):
        return dataclasses.replace(
            leg, joints=tuple(dataclasses.replace(j, name=f"{ODD} {j.name}") for j in leg.joints)
        )

    robot = dataclasses.replace(ROBOT, name=ODD, legs=tuple(renamed(leg) for leg in ROBOT.legs))
    compiled = mujoco.MjModel.from_xml_string(robot.to_mjcf())
    names = [f"{ODD} {name}" for name in ROBOT.joint_names]
    assert [compiled.joint(k).name for k in range(1, compiled.njnt)] == names
    assert [compiled.actuator(k).name for k in range(compiled.nu)] == names
    assert ET.fromstring(robot.to_mjcf()).get("model") == ODD
    assert Robot.from_urdf(robot.to_urdf(), {leg.name: leg.joints[0].name for leg in robot.legs}).joint_names == (
        robot.joint_names
    )


def test_names_that_xml_cannot_have_are_refused():
    robot = dataclasses.replace(ROBOT, name="a\x01b")
    for write in (robot.to_urdf, robot.to_mjcf):
        with pytest.raises(RobotError, match=r"'a\\x01b'"):
            write()


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("off", [0.0, *(10.0**-k for k in range(1, 17))])
def test_roll_pitch_and_yaw_near_a_right_pitch_are_the_rotation(sign, off):
    for seed in range(20):
        roll, yaw = np.random.default_rng(seed).uniform(-3, 3, 2)
        R = Rotation.from_euler("ZYX", (yaw, sign * (math.pi / 2 - off), roll)).as_matrix()
        assert np.abs(rotation_rpy(*roll_pitch_yaw(R)) - R).max() < 1e-14


# ---- arguments of another type ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "A.B", "A/B", "A B", 7, None])
def test_leg_names_that_are_no_word_are_refused(name):
    with pytest.raises(RobotError, match="leg.*one word"):
        dataclasses.replace(ROBOT.legs[0], name=name)
    with pytest.raises(RobotError, match="leg.*one word"):
        Robot.from_urdf(text(legs()), legs={name: "hip_L", "R": "hip_R"})


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"gravity": [0, 0, -9.81]}, ("gravity", "[0, 0, -9.81]", "number", "m/s^2")),
        ({"gravity": "9.81"}, ("gravity", "'9.81'", "number")),
        ({"gravity": None}, ("gravity", "None")),
        ({"body": 3.0}, ("body", "3.0", "Body")),
        ({"legs": ("LF",)}, ("legs", "'LF'", "Leg")),
        ({"legs": 6}, ("legs", "6", "Leg")),
        ({"legs": (*ROBOT.legs, ROBOT.legs[0])}, ("legs", "leg names LF", "more than once")),
        ({"servo": None}, ("servo", "None", "Servo")),
        ({"contact": "hard"}, ("contact", "'hard'", "Contact")),
        ({"imu": {}}, ("imu", "{}", "Imu")),
        ({"joint_servos": [30.0] * 18}, ("joint_servos", "30.0", "JointServo")),
        ({"name": 5}, ("name", "5", "text")),
        ({"name": "a/b"}, ("name", "'a/b'", "no slash")),  # the name of its file of plans was no file's name
    ],
)
def test_fields_of_another_type_are_refused_by_name(change, named):
    with pytest.raises(RobotError) as refusal:
        dataclasses.replace(ROBOT, **change)
    for part in named:
        assert part in str(refusal.value)
