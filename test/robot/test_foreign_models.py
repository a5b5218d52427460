"""Other people's MJCF and URDF files are read right, refused, or named; MuJoCo and geometry are the truth. In the
frames that gaits expect, feet and inertias are Pinocchio's.
"""

import math
import re
import struct
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from support.foreign_urdf import PHANTOMX, foreign_phantomx

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import RobotError, RobotWarning
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.papers.closed_form import ClosedForm
from hexapod_dynamics.robot import Morphology, Robot, Servo
from hexapod_dynamics.robot.robot_file import robot_yaml
from hexapod_dynamics.robot.urdf_legs import robot_of_urdf, standard_leg

mujoco = pytest.importorskip("mujoco")
YAWS = {"LF": 45, "LM": 90, "LR": 135, "RR": -135, "RM": -90, "RF": -45}
JOINTS = [f"{kind}_{leg}" for leg in YAWS for kind in ("yaw", "lift", "knee")]


def place(yaw):
    return 0.12 * math.cos(math.radians(yaw)), 0.12 * math.sin(math.radians(yaw))


def mjcf_leg(name, yaw, joint=("", "", ""), end='<site name="foot_{n}" pos="0 0 -.12"/>'):
    x, y = place(yaw)
    return f"""<body name="{name}_c" pos="{x} {y} 0" euler="0 0 {yaw}">
      <joint name="yaw_{name}" axis="0 0 1" range="-60 60" {joint[0]}/>
      <geom type="capsule" fromto="0 0 0 .05 0 0" size=".01" mass=".06"/>
      <body name="{name}_f" pos=".05 0 0"><joint name="lift_{name}" axis="0 -1 0" range="-80 80" {joint[1]}/>
        <geom type="capsule" fromto="0 0 0 .08 0 0" size=".01" mass=".07"/>
        <body name="{name}_t" pos=".08 0 0"><joint name="knee_{name}" axis="0 -1 0" range="-80 80" {joint[2]}/>
          <geom type="capsule" fromto="0 0 0 0 0 -.112" size=".008" mass=".05"/>{end.format(n=name)}
    </body></body></body>"""


POSITION = '<position joint="{j}" kp="20" forcerange="-2 2"/>'


def mjcf(actuator=POSITION, defaults='damping=".3"', extra="", floating="<freejoint/>", **leg):
    actuators = actuator if actuator.count("{j}") == 0 else "".join(actuator.format(j=joint) for joint in JOINTS)
    legs = "".join(mjcf_leg(name, yaw, **leg) for name, yaw in YAWS.items())
    return f"""<mujoco model="other"><compiler angle="degree"/><default><joint {defaults}/></default>
      <worldbody><body name="trunk" pos="0 0 .2">{floating}<geom type="box" size=".1 .07 .03" mass="1.2"/>
      {legs}</body></worldbody><actuator>{actuators}</actuator>{extra}</mujoco>"""


@pytest.mark.parametrize(
    "joint",
    [("", "", ""), ("", 'ref="10"', 'ref="-30"'), ('ref="45"', "", 'ref="70"'), ('pos="0 0 .01"', 'pos=".01 0 0"', "")],
)
def test_feet_and_gravity_torques_are_mujocos_with_any_ref_and_beside_the_origins_of_bodies(joint):
    text = mjcf(joint=joint)
    compiled = mujoco.MjModel.from_xml_string(text)
    state, robot = mujoco.MjData(compiled), Robot.from_mjcf(text, keep_frame=True)
    model, q = WholeBodyModel(robot), np.random.default_rng(1).uniform(-0.5, 0.5, 18)
    state.qpos[:7] = 0, 0, 0, 1, 0, 0, 0
    for name, angle in zip(robot.joint_names, q, strict=True):
        state.qpos[compiled.joint(name).qposadr[0]] = angle
    mujoco.mj_forward(compiled, state)
    poses = model.link_poses(np.eye(3), np.zeros(3), q)
    for leg in robot.legs:
        turn, start = poses[f"{leg.name}.{leg.links[-1].name}"]
        foot = start + turn @ [leg.links[-1].length, 0.0, 0.0]
        np.testing.assert_allclose(foot, state.site(f"foot_{leg.name}").xpos, atol=1e-12)
    order = [compiled.joint(name).dofadr[0] for name in robot.joint_names]
    gravity = model.gravity_force(np.eye(3), q)[6:]
    np.testing.assert_allclose(gravity, state.qfrc_bias[order], atol=1e-12)


@pytest.mark.parametrize("gear, kv, outer", [(1.0, 0.3, 0.0), (3.0, 0.1, 0.2), (-2.0, 0.0, 0.5)])
@pytest.mark.parametrize("where", ["forcerange", "actuatorfrcrange"])
def test_the_servo_is_what_mujoco_does_at_the_joint(gear, kv, outer, where):
    force = 'forcerange="-2 2"' if where == "forcerange" else ""
    defaults = f'damping="{outer}"' + ('actuatorfrcrange="-1.5 1.5"' if not force else "")
    text = mjcf(f'<position joint="{{j}}" kp="20" kv="{kv}" gear="{gear}" {force}/>', defaults.replace('"act', '" act'))
    servo = Robot.from_mjcf(text).servo
    compiled = mujoco.MjModel.from_xml_string(text)
    state, dof = mujoco.MjData(compiled), compiled.joint("lift_LF").dofadr[0]

    def torque(setpoint, rate):
        mujoco.mj_resetData(compiled, state)
        state.ctrl[JOINTS.index("lift_LF")] = gear * setpoint
        state.qvel[dof] = rate
        mujoco.mj_forward(compiled, state)
        return state.qfrc_actuator[dof] + state.qfrc_passive[dof]

    small = 1e-4
    assert torque(small, 0.0) == pytest.approx(servo.stiffness * small)
    assert torque(0.0, small) == pytest.approx(-servo.damping * small)
    assert torque(50.0, 0.0) == pytest.approx(servo.torque_limit)
    reached = torque(math.radians(80.0), servo.speed_limit)  # of a set-point half the range of most joints ahead
    assert reached == pytest.approx(0.0, abs=1e-6 * servo.stiffness)


@pytest.mark.parametrize(
    ("actuator", "named"),
    [
        ('<motor joint="{j}" gear="2" forcerange="-1 1"/>', "yaw_LF, .*torque motor.*give servo"),
        ('<velocity joint="{j}" kv="5" forcerange="-2 2"/>', "yaw_LF.*velocity servo.*give servo"),
        ('<intvelocity joint="{j}" kp="20" actrange="-1 1" forcerange="-2 2"/>', "yaw_LF.*integrates.*give servo"),
        ('<general joint="{j}" gainprm="20" biastype="affine" biasprm="0 -10 0" forcerange="-2 2"/>', "_LF.*gain 20"),
        ('<damper joint="{j}" kv="5" ctrlrange="0 1" forcerange="-2 2"/>', "yaw_LF.*give servo"),
        ('<position joint="{j}" kp="20"/>', "yaw_LF.*force limit.*actuatorfrcrange.*give servo"),
        ('<position joint="{j}" kp="20" forcerange="-2 2"/><velocity joint="{j}" kv="1"/>', "yaw_LF.*one position"),
        ('<position joint="yaw_LF" kp="20" forcerange="-2 2"/>', "lift_LF.*no actuator"),
    ],
)  # fmt: skip
def test_actuators_that_are_no_position_servos_are_refused_with_their_joints(actuator, named):
    with pytest.raises(RobotError, match=named):
        Robot.from_mjcf(mjcf(actuator))
    servo = Servo(20.0, 0.3, 2.0, 6.0, 0.004)
    assert Robot.from_mjcf(mjcf(actuator), servo=servo).servo is servo


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"defaults": 'damping=".3" stiffness="4"'}, "joints yaw_LF, lift_LF.*stiffness 4"),
        ({"defaults": 'damping=".3" frictionloss=".1"'}, "joints yaw_LF, lift_LF.*frictionloss 0.1"),
        ({"joint": ('stiffness="2"', "", "")}, "joints yaw_LF, yaw_LM.*stiffness 2"),
        ({"actuator": '<position joint="{j}" kp="20" forcerange="-1 2"/>'}, "forces? .*smallest"),
        ({"actuator": '<position joint="{j}" kp="20" timeconst=".1" forcerange="-2 2"/>'}, "filter of 0.1 s"),
        ({"actuator": '<position joint="{j}" kp="20" ctrlrange="-.5 .5" forcerange="-2 2"/>'}, "-0.5 and 0.5"),
        ({"actuator": "".join(f'<position joint="{j}" kp="20" forcerange="-{1 + (j != "knee_RM")} 2"/>'
                              for j in JOINTS)}, "joints knee_RM: torque limit 1 N m, others up to 2"),
        ({"actuator": "".join(f'<position joint="{j}" kp="{20 - 5 * (j == "lift_LR")}" forcerange="-2 2"/>'
                              for j in JOINTS)}, "joints lift_LR: stiffness 15 N m/rad, others up to 20"),
        ({"extra": '<tendon><fixed name="spring" stiffness="3"><joint joint="yaw_LF" coef="1"/></fixed></tendon>'},
         "tendon spring"),
        ({"extra": '<option><flag gravity="disable"/></option>'}, 'flag gravity="disable" is not used'),
        ({"extra": '<option><flag equality="disable"/></option>'}, 'flag equality="disable" is not used'),
        ({"floating": '<joint type="free"/>', "defaults": 'damping=".3" armature=".01"'},
         "armature 0.01 of the floating joint is not used"),
        ({"extra": '<option density="1000" viscosity=".001"/>'}, "density and viscosity"),
        ({"actuator": "".join(f'<position joint="{j}" kp="20" forcerange="-2 2"/>' for j in JOINTS)
                      + '<adhesion name="sole" body="LF_t" ctrlrange="0 1" gain="2"/>'}, "actuator sole is not used"),
    ],
)  # fmt: skip
def test_what_the_robot_has_no_place_for_is_named(change, named):
    with pytest.warns(RobotWarning, match=named):
        Robot.from_mjcf(mjcf(**change))


def test_what_a_newer_release_of_mujoco_adds_is_named_where_it_has_it():
    late = POSITION.replace("/>", ' delay=".02" nsample="10"/>')
    for text, named in ((mjcf(late), "delay 0.02"), (mjcf(defaults='damping=".3 .1"'), "damping that grows .* 0.1")):
        try:
            mujoco.MjModel.from_xml_string(text)
        except ValueError:
            continue  # this release does not know it
        with pytest.warns(RobotWarning, match=named):
            Robot.from_mjcf(text)


def test_an_actuator_whose_group_is_disabled_moves_no_joint():
    text = mjcf('<position joint="{j}" kp="20" forcerange="-2 2" group="3"/>')
    text = text.replace("<worldbody>", '<option actuatorgroupdisable="3"/><worldbody>')
    with pytest.raises(RobotError, match="no actuator on it"), pytest.warns(RobotWarning, match="group is disabled"):
        Robot.from_mjcf(text)


@pytest.mark.parametrize(
    ("equality", "named"),
    [
        ('<joint joint1="knee_LM" joint2="lift_LM" polycoef="0 -1 0 0 0"/>', "knee_LM: it follows joint lift_LM"),
        ('<joint joint1="knee_LM"/>', "knee_LM: it follows joint none, it is held"),
        ('<connect name="rod" body1="LF_t" body2="LM_t" anchor="0 0 0"/>', "rod.*connect"),
        ('<weld body1="LF_t" body2="LM_t"/>', "weld"),
    ],
)
def test_coupled_joints_and_closed_chains_are_refused_by_name(equality, named):
    with pytest.raises(RobotError, match=named):
        Robot.from_mjcf(mjcf(extra=f"<equality>{equality}</equality>"))
    off = equality.replace("/>", ' active="false"/>')
    assert len(Robot.from_mjcf(mjcf(extra=f"<equality>{off}</equality>")).legs) == 6


def test_loose_bodies_of_a_scene_are_not_the_robot():
    ball = '<body name="ball" pos="1 0 .1"><freejoint/><geom type="sphere" size=".05" mass=".1"/></body>'
    door = '<body name="door"><joint/><geom type="box" size=".1 .1 .1"/></body>'
    scene = mjcf().replace("<worldbody>", f"<worldbody>{ball}{door}")
    assert Robot.from_mjcf(scene) == Robot.from_mjcf(mjcf())
    trunk = scene[scene.index('<body name="trunk"') : scene.index("</worldbody>")]
    twin = re.sub(r'name="([^"]*)"', r'name="second_\1"', trunk)
    with pytest.raises(RobotError, match="found trunk, second_trunk"):
        Robot.from_mjcf(scene.replace("</worldbody>", f"{twin}</worldbody>"))


def test_legs_on_brackets_of_a_body_that_is_fixed_to_the_world_are_those_of_that_body():
    fixed = re.sub(r'(<body name=".._)c" (pos.*>)', r'\1bracket" \2\1c">', mjcf(floating=""))
    on_brackets = fixed.replace("</body></body></body>", "</body></body></body></body>")
    assert Robot.from_mjcf(on_brackets) == Robot.from_mjcf(mjcf())


@pytest.mark.parametrize("sensor", ["gyro", "accelerometer"])
@pytest.mark.parametrize("fixed", [False, True])
def test_bodies_that_are_fixed_are_parts_of_what_carries_them_and_the_site_of_the_sensor_is_the_imu(sensor, fixed):
    site, here = '<site name="chip" pos=".02 .01 .03"/>', (0.09, 0.02, 0.06) if fixed else (0.02, 0.01, 0.03)
    inside = f'<geom type="sphere" size=".02" mass=".1"/>{site * fixed}'
    head = f'<body name="head" pos=".1 0 .03" euler="0 0 90">{inside}</body>{site * (not fixed)}'
    text = mjcf(floating=f"<freejoint/>{head}", extra=f'<sensor><{sensor} site="chip"/></sensor>')
    robot = Robot.from_mjcf(text.replace('model="other"', 'model="other robot"'))
    assert robot.name == "other_robot" and robot.body.mass == pytest.approx(1.3)
    centre = 0.1 * np.array([0.1, 0.0, 0.03]) / 1.3
    np.testing.assert_allclose(robot.imu.position, np.array(here) - centre, atol=1e-12)
    np.testing.assert_allclose(robot.imu.rotation[:, 0], (0, 1, 0) if fixed else (1, 0, 0), atol=1e-12)


@pytest.mark.parametrize(
    ("shapes", "size"),
    [
        ('<geom type="sphere" size=".08" mass="1"/><geom type="box" size=".01 .01 .01" mass=".1"/>', (0.16,) * 3),
        ('<geom type="cylinder" size=".1 .03" mass="1"/>', (0.2, 0.2, 0.06)),
        ('<geom type="capsule" size=".05" fromto="-.1 0 0 .1 0 0" mass="1"/>', (0.3, 0.1, 0.1)),
        ('<geom type="box" size=".1 .07 .03" euler="0 0 90" mass="1"/>', (0.14, 0.2, 0.06)),
        ('<geom type="mesh" mesh="trunk" mass="1"/>', (0.2, 0.14, 0.06)),
    ],
)
def test_the_largest_shape_of_any_kind_is_the_box_of_the_body(shapes, size):
    corners = " ".join(f"{x} {y} {z}" for x in (-0.1, 0.1) for y in (-0.07, 0.07) for z in (-0.03, 0.03))
    asset = f'<asset><mesh name="trunk" vertex="{corners}"/></asset>'
    text = mjcf(extra=asset).replace('<geom type="box" size=".1 .07 .03" mass="1.2"/>', shapes)
    np.testing.assert_allclose(Robot.from_mjcf(text).body.box, size, atol=1e-6)


def with_arm(joints):
    return mjcf(floating=f'<freejoint/><body name="arm">{joints}<geom size=".1" mass="1"/></body>')


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<mujoco><worldbody/></mujoco>", "one body that floats"),
        ("<mujoco><worldbody><bod/></worldbody></mujoco>", "cannot compile"),
        ("no/such/file.xml", "no such file"),
        ("x" * 100_000, "no such file"),
        ("\ud800", "no such file"),
        (12, "text of an MJCF model"),
        (with_arm('<joint type="ball"/>'), "arm: a ball"),
        (with_arm('<joint/><joint axis="1 0 0"/>'), "arm: 2 joints"),
    ],
)
def test_what_cannot_be_read_is_named(text, what):
    with pytest.raises(RobotError, match=what) as refusal:
        Robot.from_mjcf(text)
    assert "\n" not in str(refusal.value)


def test_a_name_that_is_not_utf_8_is_refused_with_the_remedy(tmp_path):
    (tmp_path / "own.xml").write_bytes(mjcf().replace("trunk", "Füße").encode("iso-8859-1"))
    with pytest.raises(RobotError, match="the name .* is not UTF-8; save the file"):
        Robot.from_mjcf(tmp_path / "own.xml")


@pytest.mark.parametrize("of", ["jethexa", "eight_legs"])
def test_a_robot_written_as_mjcf_is_read_back(of):
    robot = Robot.jethexa() if of == "jethexa" else Robot.load(Path(__file__).parents[1] / "robots" / "eight_legs.yaml")
    back = Robot.from_mjcf(robot.to_mjcf(rotor_inertia=0.003))
    assert back.leg_names == robot.leg_names and back.joint_names == robot.joint_names
    assert back.body.mass == pytest.approx(robot.body.mass)
    np.testing.assert_allclose(back.body.inertia, robot.body.inertia, atol=1e-12)
    np.testing.assert_allclose(back.body.box, robot.body.box, atol=1e-12)
    np.testing.assert_allclose(back.imu.position, robot.imu.position, atol=1e-12)
    assert back.servo.stiffness == robot.servo.stiffness
    assert back.servo.damping == pytest.approx(robot.servo.damping)
    assert back.servo.torque_limit == robot.servo.torque_limit
    for mine, theirs in zip(robot.legs, back.legs, strict=True):
        for joint, read in zip(mine.joints, theirs.joints, strict=True):
            assert (read.lower, read.upper) == pytest.approx((joint.lower, joint.upper))
            assert read.rotor_inertia == pytest.approx(joint.rotor_inertia or 0.003)
        for link, read in zip(mine.links, theirs.links, strict=True):
            assert (read.name, read.mass) == (link.name, pytest.approx(link.mass))
            assert read.length == pytest.approx(link.length, abs=1e-9)
            np.testing.assert_allclose(theirs.mount_rotation @ read.tip, mine.mount_rotation @ link.tip, atol=1e-9)
            np.testing.assert_allclose(
                theirs.mount_rotation @ read.inertia_in_leg @ theirs.mount_rotation.T,
                mine.mount_rotation @ link.inertia_in_leg @ mine.mount_rotation.T,
                atol=1e-12,
            )


def test_an_ordinary_model_is_read_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RobotWarning)
        robot = Robot.from_mjcf(mjcf())
    assert robot.legs[0].links[-1].length == pytest.approx(0.12)


FOOT = '<link name="foot_{n}"/>' + (
    '<joint name="foot_joint_{n}" type="fixed"><parent link="t_{n}"/><child link="foot_{n}"/>'
    '<origin xyz="0 0 -.12"/></joint>'
)
LIMIT = '<limit lower="-1.2" upper="1.2" effort="2" velocity="6"/>'


def inertial(mass, xyz):
    return (
        f'<inertial><origin xyz="{xyz}"/><mass value="{mass}"/>'
        '<inertia ixx="2e-5" iyy="3e-5" izz="3.5e-5" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def urdf_leg(n, yaw, limits, kinds, tibia, end):
    x, y = place(yaw)
    text = "".join(
        f'<link name="{k}_{n}">{inertial(0.06, xyz)}{tibia if k == "t" else ""}</link>'
        for k, xyz in (("c", ".02 0 0"), ("f", ".04 0 0"), ("t", "0 0 -.045"))
    )
    rows = (("c", "base_link", f"{x} {y} 0", math.radians(yaw), "0 0 1"), ("f", f"c_{n}", ".05 0 0", 0, "0 1 0"),
            ("t", f"f_{n}", ".08 0 0", 0, "0 1 0"))  # fmt: skip
    for (kind, above, at, turned, axis), limit, moves in zip(rows, limits, kinds, strict=True):
        text += (
            f'<joint name="j_{kind}_{n}" type="{moves}"><parent link="{above}"/><child link="{kind}_{n}"/>'
            f'<origin xyz="{at}" rpy="0 0 {turned}"/><axis xyz="{axis}"/>{limit}</joint>'
        )
    return text + end.format(n=n)


def urdf(limits=(LIMIT,) * 3, kinds=("revolute",) * 3, tibia="", end=FOOT, head="", declaration=""):
    legs = "".join(urdf_leg(n, yaw, limits, kinds, tibia, end) for n, yaw in YAWS.items())
    body = f'<link name="base_link">{inertial(1.2, "0 0 .01")}</link>'
    return f'{declaration}<robot name="own">{head}{body}{legs}</robot>'


def shape(geometry, origin="", what="collision"):
    return f"<{what}><origin {origin}/><geometry>{geometry}</geometry></{what}>"


BALL = shape('<sphere radius=".008"/>', 'xyz="0 0 -.112"')
ROD = shape('<cylinder radius=".01" length=".12"/>', 'xyz="0 0 -.06"')
ON_FOOT = FOOT.replace("-.12", "-.1").replace(
    '<link name="foot_{n}"/>', '<link name="foot_{n}">' + shape('<sphere radius=".02"/>') + "</link>"
)


@pytest.mark.parametrize(
    ("tibia", "end"),
    [
        ("", FOOT),
        (shape('<box size=".02 .02 .12"/>', 'xyz="0 0 -.06"') + BALL, ""),
        (shape('<box size=".12 .02 .02"/>', 'xyz="0 0 -.06" rpy="0 1.5707963267948966 0"'), ""),
        (ROD, ""),
        (ROD.replace("collision", "visual"), ""),
        (shape('<capsule radius=".01" length=".1"/>', 'xyz="0 0 -.06"'), ""),
        (shape('<cylinder radius=".02" length=".01"/>', 'xyz="0 0 -.1" rpy="1.5707963267948966 0 0"'), ""),  # a wheel
        (BALL, FOOT.replace("-.12", "-.03")),  # a frame that is no foot
        (ROD.replace("collision", "visual"), FOOT.replace("-.12", "-.06")),
        (ROD.replace("collision", "visual") + shape('<box size=".03 .02 .03"/>'), ""),  # only the servo collides
        ("", ON_FOOT),
    ],
)
def test_a_foot_that_is_only_a_shape_gives_the_reach(tibia, end):
    for robot in (Robot.from_urdf(urdf(tibia=tibia, end=end)), robot_of_urdf(urdf(tibia=tibia, end=end), "own")[0]):
        assert [leg.links[2].length for leg in robot.legs] == pytest.approx([0.12] * 6, abs=1e-9)


def test_the_vertices_of_a_mesh_give_the_reach(tmp_path):
    corners = np.array([[0, 0, 0], [10, 8, -120], [-10, -8, -120]], float)
    raw = bytes(80) + struct.pack("<I", 1) + struct.pack("<12f", 0, 0, 1, *corners.ravel()) + bytes(2)
    (tmp_path / "tibia.stl").write_bytes(raw)
    words = "".join(f"vertex {x} {y} {z}\n" for x, y, z in corners)
    (tmp_path / "words.STL").write_text(
        f"solid t\nfacet normal 0 0 1\nouter loop\n{words}endloop\nendfacet\nendsolid t\n"
    )
    for name in ("tibia.stl", "words.STL", "package://my_robot/tibia.stl", "model://my_robot/words.STL"):
        mesh = shape(f'<mesh filename="{name}" scale=".001 -.001 .001"/>')
        (tmp_path / "own.urdf").write_text(urdf(tibia=mesh, end=""))
        for robot in (Robot.from_urdf(tmp_path / "own.urdf"), robot_of_urdf(tmp_path / "own.urdf", "own")[0]):
            assert robot.legs[0].links[2].length == pytest.approx(0.12)
    unreadable = shape('<mesh filename="package://nowhere/tibia.dae"/>')
    for tibia, end in ((unreadable, ""), ("", ""), (unreadable, FOOT.replace("-.12", "-.03"))):
        with pytest.warns(RobotWarning, match="leg LF, LM, .*the end of the last link is not in the file"):
            Robot.from_urdf(urdf(tibia=tibia, end=end))


def test_the_weakest_joint_counts_and_is_named():
    weak = LIMIT.replace('effort="2"', 'effort="1"')
    for limits, torque, named in (
        ((weak, LIMIT, LIMIT), 1.0, "joints j_c_LF, .*torque limit 1 N m, others up to 2"),
        ((LIMIT, LIMIT, weak), 1.0, "joints j_t_LF, .*torque limit 1 N m, others up to 2"),
        ((LIMIT, LIMIT.replace('velocity="6"', 'velocity="3"'), LIMIT), 2.0, "j_f_LF, .*speed limit 3 rad/s"),
    ):
        with pytest.warns(RobotWarning, match=named):
            robot = Robot.from_urdf(urdf(limits))
        assert robot.servo.torque_limit == torque
    with warnings.catch_warnings():
        warnings.simplefilter("error", RobotWarning)
        assert Robot.from_urdf(urdf()).servo.torque_limit == 2.0
        zero = LIMIT.replace('effort="2"', 'effort="0"')  # an exporter's word for unknown
        assert Robot.from_urdf(urdf((zero, LIMIT, LIMIT))).servo.torque_limit == 2.0


def with_effort(text):
    return urdf((LIMIT.replace('"2"', f'"{text}"'), LIMIT, LIMIT))


WITH_BALLS = urdf(tibia=BALL, head='<material name="red"><color rgba="1 0 0 1"/></material>')
TURNING = urdf(kinds=("continuous", "revolute", "revolute"))
READERS = {"a new robot": lambda text: robot_of_urdf(text, "own")[0], "any robot": Robot.from_urdf}


@pytest.mark.parametrize(
    ("text", "readers", "named"),
    [
        (with_effort(""), READERS, "joint j_c_LF: effort: ''.*write effort="),
        (with_effort("inf"), READERS, "joint j_c_LF: effort: 'inf'.*write effort="),
        (with_effort("2 Nm"), READERS, "joint j_c_LF: effort: '2 Nm'.*write effort="),
        (with_effort("1_000"), READERS, "joint j_c_LF: effort: '1_000'.*write effort="),
        (with_effort("\u0662"), READERS, "joint j_c_LF: effort: '\u0662'.*write effort="),
        (urdf((LIMIT.replace('"-1.2"', '""'), LIMIT, LIMIT)), READERS, "joint j_c_LF: lower: ''"),
        (TURNING, ["a new robot"], 'joint j_c_LF: continuous.*type="revolute" with <limit'),
        (urdf(kinds=("revolute", "revolute", "planar")), ["any robot"], "joint j_t_LF: type 'planar'"),
        (urdf().split('<link name="c_LR">')[0] + "</robot>", ["a new robot"],
         "2 legs found, at least 3 needed: no other moving joint is on the body"),
        (WITH_BALLS.replace('xyz=".05 0 0"', 'xyz=".05 0"'), ["any robot"],
         "joint j_f_LF: origin xyz: '.05 0'.*3 finite numbers"),
        (WITH_BALLS.replace('xyz="0 0 -.045"', 'xyz="0 0 x"'), ["any robot"],
         "link t_LF: inertial: origin xyz: '0 0 x'"),
        (WITH_BALLS.replace('radius=".008"', 'radius="-.008"'), ["any robot"], "link t_LF: sphere: '-.008'.*below 0"),
        (WITH_BALLS.replace("1 0 0 1", "1 0 0"), ["any robot"], "material red: rgba: '1 0 0'"),
        (urdf().replace('"/><axis xyz=', '"/><axis rpy='), READERS, "joint j_c_LF: <axis> has no 'rpy'.*'xyz'"),
        (urdf().replace("upper=", "uper="), READERS, "joint j_c_LF: <limit> has no 'uper'; did you mean 'upper'"),
        (urdf().replace("<origin", "<Orgin"), READERS, "link base_link: <inertial> has no 'Orgin'.*'origin'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_joint_or_link_and_the_remedy(text, readers, named):
    for reader in readers:
        with pytest.raises(RobotError, match=named) as refusal:
            READERS[reader](text)
        assert "\n" not in str(refusal.value)


def test_what_simulators_and_controllers_add_is_left_alone():
    text = urdf().replace("effort=", 'command_effort="1" gear_velocity="10" effort=')
    assert Robot.from_urdf(text.replace("</joint>", "<hardwareInterface/></joint>")) == Robot.from_urdf(urdf())


def test_limits_of_any_size_are_limits_and_named_as_degrees():
    far = '<limit lower="-1e308" upper="1e308" effort="2" velocity="6"/>'
    for read in READERS.values():
        with pytest.warns(RobotWarning, match="more than two turns: degrees"):
            robot = read(urdf(limits=(LIMIT, LIMIT, far)))
        assert robot.joints[2].upper == 1e308


def test_a_body_that_floats_on_a_link_world_is_the_body():
    world = (
        '<link name="world"/><joint name="free" type="floating"><parent link="world"/><child link="base_link"/>'
        '<origin xyz="0 0 .2"/></joint>'
    )
    floating, plain = urdf(head=world), urdf()
    assert Robot.from_urdf(floating) == Robot.from_urdf(plain)
    assert Robot.from_urdf(floating.replace("floating", "planar")) == Robot.from_urdf(plain)
    assert robot_of_urdf(floating, "own")[0] == robot_of_urdf(plain, "own")[0]
    frames = world.replace("world", "map").replace("base_link", "odom").replace("free", "first")
    odom = world.replace("world", "odom")
    assert Robot.from_urdf(urdf(head=frames + odom)) == Robot.from_urdf(plain)
    assert robot_of_urdf(urdf(head=frames + odom), "own")[0] == robot_of_urdf(plain, "own")[0]
    mast = floating.replace('type="floating">', 'type="prismatic"><limit lower="0" upper="1"/>')
    heavy = floating.replace('<link name="world"/>', f'<link name="world">{inertial(3.0, "0 0 0")}</link>')
    for read in READERS.values():
        with pytest.raises(RobotError, match="link world: no mass.*base_link is the body, its joint free must be"):
            read(mast)
        with pytest.raises(RobotError, match="link world: mass 3 kg .*base_link is the body.*remove its <inertial>"):
            read(heavy)


@pytest.mark.parametrize(
    "encoding", ["iso-8859-1", "utf-16", "utf-16-le", "utf-16-be", "utf-8", "windows-1252", "gb2312", "shift_jis"]
)
def test_a_file_is_read_in_the_encoding_that_it_declares(tmp_path, encoding):
    path = tmp_path / "own.urdf"
    comment = "<!-- 足 -->" if encoding in ("gb2312", "shift_jis") else "<!-- Füße -->"
    equals = " = " if encoding == "gb2312" else "="
    path.write_bytes(urdf(declaration=f'<?xml version="1.0" encoding{equals}"{encoding}"?>{comment}').encode(encoding))
    assert Robot.from_urdf(path) == Robot.from_urdf(urdf())
    assert len(robot_of_urdf(path, "own")[0].legs) == 6
    path.write_bytes(urdf(declaration='<?xml version="1.0" encoding="utf-8"?><!-- Füße -->').encode("iso-8859-1"))
    with pytest.raises(RobotError, match="the encoding that it declares"):
        Robot.from_urdf(path)


ROBOTS = Path(__file__).parents[1] / "robots"
TEXT = foreign_phantomx()
ROBOT, LEFT_OUT = robot_of_urdf(TEXT, "foreign")


def angles_of_urdf(q):
    """Angles (n,) of the URDF's joints for those of the robot, as its servos turn."""
    return [joint.servo_direction * (angle + joint.servo_zero) for joint, angle in zip(ROBOT.joints, q, strict=True)]


def pinocchio_of(q):
    model = pin.buildModelFromXML(TEXT, pin.JointModelFreeFlyer())
    theirs = pin.neutral(model)
    for name, angle in zip(ROBOT.joint_names, angles_of_urdf(q), strict=True):
        theirs[model.joints[model.getJointId(name)].idx_q] = angle
    return model, model.createData(), theirs


def test_legs_are_found_and_what_is_none_becomes_a_part_of_the_body():
    assert ROBOT.leg_names == ("lf", "lm", "lr", "rr", "rm", "rf")
    assert set(LEFT_OUT) == {"j_head_pan", "arm_1"}
    assert [leg.tripod_group for leg in ROBOT.legs] == [leg.tripod_group for leg in PHANTOMX.legs]
    np.testing.assert_allclose(ROBOT.body.mass, PHANTOMX.body.mass + 0.26)
    for ours, given in zip(ROBOT.legs, PHANTOMX.legs, strict=True):
        np.testing.assert_allclose(
            [link.length for link in ours.links], [link.length for link in given.links], atol=1e-6
        )
        limits = [[(j.lower, j.upper) for j in leg.joints] for leg in (ours, given)]
        np.testing.assert_allclose(*limits, atol=2e-6)


def test_feet_and_inertias_are_those_of_the_urdf():
    q = np.random.default_rng(3).uniform(-0.6, 0.6, ROBOT.joint_count)
    model, data, theirs = pinocchio_of(q)
    pin.framesForwardKinematics(model, data, theirs)
    middle = np.mean([data.oMi[model.getJointId(f"j_c1_{leg}")].translation for leg in ROBOT.leg_names], axis=0)
    for leg in ROBOT.leg_names:
        foot = data.oMf[model.getFrameId(f"foot_{leg.upper()}")].translation - middle
        mine = LegKinematics.from_robot(ROBOT, leg)
        np.testing.assert_allclose(mine.to_base(mine.forward(q[list(ROBOT.leg_joints(leg))])), foot, atol=5e-6)
    M = pin.crba(model, data, theirs)
    order = [model.joints[model.getJointId(name)].idx_v for name in ROBOT.joint_names]
    senses = np.array([joint.servo_direction for joint in ROBOT.joints])
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)] * np.outer(senses, senses)
    np.testing.assert_allclose(ClosedForm(Morphology.whole(ROBOT)).mass_matrix(q)[6:, 6:], M, atol=2e-7)


def test_its_file_is_read_back_with_comments(tmp_path):
    path = tmp_path / "foreign.yaml"
    path.write_text(robot_yaml(ROBOT, "Mine.", {"legs": "CHECK\nall"}))
    assert "# CHECK\n# all\nlegs:" in path.read_text()
    again = Robot.load(path)
    assert again.leg_names == ROBOT.leg_names and len({leg.module for leg in again.legs}) == 1
    np.testing.assert_allclose(ClosedForm(Morphology.whole(again)).mass_matrix(np.zeros(18)),
                               ClosedForm(Morphology.whole(ROBOT)).mass_matrix(np.zeros(18)), atol=1e-8)  # fmt: skip


def test_what_is_no_leg_is_refused_by_name():
    first = PHANTOMX.to_urdf().replace('xyz="0.0 0.0 1.0"', 'xyz="1.0 0.0 0.0"')
    with pytest.raises(
        RobotError, match="0 legs found, at least 3 needed: coxa_joint_LF: leg LF: its first joint turns"
    ):
        robot_of_urdf(first, "other")
    with pytest.raises(RobotError, match="2 joints; gaits need three"):
        standard_leg(Robot.load(ROBOTS / "octopod.yaml").legs[0])
