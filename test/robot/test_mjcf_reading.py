"""Robots read from MJCF against the robots they were written from, and against MuJoCo's own positions and masses."""

from pathlib import Path

import numpy as np
import pytest
from support.gait_joints import with_gait_joints

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.robot import Robot, Servo

ROBOTS = Path(__file__).resolve().parent.parent / "robots"
mujoco = pytest.importorskip("mujoco")

# Legs as others write them: degrees, defaults, masses of geoms, a femur that turns down with positive angles and a
# tibia that is straight at zero, axes that differ between the sides, hinges beside the origins of their bodies.
SIDE = """
  <body name="{n}_hip" pos="{x} {y} 0.01" euler="0 0 {yaw}">
    <joint name="{n}_yaw" axis="0 0 {s}" range="-40 40" pos="0 0 0.01"/>
    <geom type="capsule" fromto="0 0 0.01 0.05 0 0.01" size="0.01" mass="0.04"/>
    <body name="{n}_thigh" pos="0.05 0 0.01">
      <joint name="{n}_lift" axis="0 1 0" range="-60 80"/>
      <geom type="capsule" fromto="0 0 0 0.08 0 0" size="0.01" mass="0.06"/>
      <body name="{n}_shank" pos="0.08 0 0">
        <joint name="{n}_knee" axis="0 {k} 0" range="{low} {high}"/>
        <geom type="capsule" fromto="0 0 0 0.13 0 0" size="0.008" mass="0.05"/>
        <body name="{n}_toe" pos="0.13 0 0">
          <geom type="sphere" size="0.01" mass="0.01" contype="1" conaffinity="1"/>
        </body>
      </body>
    </body>
  </body>"""
LEGS = [("FL", 0.1, 0.06, 90), ("HL", -0.1, 0.06, 90), ("FR", 0.1, -0.06, -90), ("HR", -0.1, -0.06, -90)]


def foreign(actuators=True, extra=""):
    """Return the text of a foreign quadruped."""
    legs = "".join(
        SIDE.format(n=n, x=x, y=y, yaw=yaw, s=1 if y > 0 else -1, k=1 if y > 0 else -1,
                    low=10 if y > 0 else -140, high=140 if y > 0 else -10)
        for n, x, y, yaw in LEGS
    )  # fmt: skip
    joints = [f"{n}_{j}" for n, *_ in LEGS for j in ("yaw", "lift", "knee")]
    servos = "".join(f'<position joint="{j}" kp="12" kv="0.3" forcerange="-3 3"/>' for j in joints)
    return f"""<mujoco model="foreign robot">
      <compiler angle="degree" autolimits="true"/>
      <default><geom contype="0" conaffinity="0"/><joint damping="0.1" armature="0.002"/></default>
      <worldbody><geom type="plane" size="1 1 1"/>
        <body name="trunk" pos="0 0 0.2"><freejoint/>{extra}
          <geom type="box" size="0.12 0.05 0.02" mass="1.2" pos="0.01 0 0"/>
          <body name="head" pos="0.1 0 0.03"><geom type="sphere" size="0.02" mass="0.1"/></body>
          <site name="sensor" pos="0.02 0.01 0.03"/>{legs}
        </body></worldbody>
      <actuator>{servos if actuators else ""}</actuator>
      <sensor><gyro site="sensor"/></sensor></mujoco>"""


@pytest.mark.parametrize("of", ["jethexa", "eight_legs"])
def test_a_robot_written_as_mjcf_is_read_back(of):
    robot = Robot.jethexa() if of == "jethexa" else Robot.load(ROBOTS / "eight_legs.yaml")
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


def test_a_foreign_robot_with_gait_joints_is_where_mujoco_has_it():
    """Feet and centres of mass of all links at random angles, joints counted as gaits count them."""
    text = foreign()
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    robot, joints = with_gait_joints(Robot.from_mjcf(text, {n: f"{n}_yaw" for n, *_ in LEGS}))
    assert robot.name == "foreign_robot"
    assert robot.body.mass == pytest.approx(1.3)
    assert (robot.servo.stiffness, robot.servo.damping) == (12.0, pytest.approx(0.4))
    centre = (1.2 * np.array([0.01, 0.0, 0.0]) + 0.1 * np.array([0.1, 0.0, 0.03])) / 1.3
    np.testing.assert_allclose(robot.imu.position, np.array([0.02, 0.01, 0.03]) - centre, atol=1e-12)
    random = np.random.default_rng(4)
    for _ in range(5):
        ours = np.concatenate(
            [random.uniform([j.lower for j in leg.joints], [j.upper for j in leg.joints]) for leg in robot.legs]
        )
        np.testing.assert_allclose(joints.to_gait(joints.to_file(ours)), ours, atol=1e-12)
        data.qpos[:] = 0.0
        data.qpos[3] = 1.0
        for name, angle in zip(robot.joint_names, joints.to_file(ours), strict=True):
            data.qpos[model.joint(name).qposadr[0]] = angle
        mujoco.mj_kinematics(model, data)
        for k, leg in enumerate(robot.legs):
            shank, toe = data.body(f"{leg.name}_shank"), data.body(f"{leg.name}_toe")
            along = (toe.xpos - shank.xpos) / np.linalg.norm(toe.xpos - shank.xpos)
            foot = LegKinematics.of(robot, leg.name)
            place = foot.to_base(foot.forward(ours[3 * k : 3 * k + 3]))
            np.testing.assert_allclose(place, toe.xpos + 0.01 * along - centre, atol=1e-9)
            low, high = model.joint(f"{leg.name}_knee").range
            ends = joints.to_file(np.concatenate([[0.0, 0.0, leg.joints[2].upper] for leg in robot.legs]))[3 * k + 2]
            assert min(abs(ends - low), abs(ends - high)) < 1e-9


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<mujoco><worldbody/></mujoco>", "one body that floats"),
        ("<mujoco><worldbody><bod/></worldbody></mujoco>", "cannot compile"),
        ("no/such/file.xml", "no such file"),
        ("x" * 100_000, "no such file"),
        ("\ud800", "no such file"),
        (12, "text of an MJCF model"),
        (foreign(actuators=False), "give servo"),
        (foreign(extra='<body name="arm"><joint type="ball"/><geom size="0.1" mass="1"/></body>'), "arm: a ball"),
        (foreign(extra='<body name="arm"><joint/><joint axis="1 0 0"/><geom size="1"/></body>'), "arm: 2 joints"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named(text, what):
    with pytest.raises(RobotError, match=what):
        Robot.from_mjcf(text)


def test_a_servo_can_be_given():
    servo = Servo(5.0, 0.1, 1.0, 4.0, 0.001)
    assert Robot.from_mjcf(foreign(actuators=False), servo=servo).servo is servo


def test_a_leg_that_is_no_coxa_femur_and_tibia_is_named():
    robot = Robot.from_mjcf(foreign().replace('axis="0 1 0"', 'axis="1 0 0"'))
    with pytest.raises(RobotError, match="FL"):
        with_gait_joints(robot)
