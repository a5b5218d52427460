"""MJCF (MuJoCo's model format) of a robot with a morphology.

Bodies and joints have the names of the URDF's frames and joints (`base_link`, `femur_link_LF`, `femur_joint_LF`);
actuators have those of their joints. Joint positions are those of this package. A locked joint is fixed at its
angle, a missing link is left out, a broken link is cut; a limp joint's actuator has no gain, only friction.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.link_tree import Branch, branches
from hexapod_dynamics.robot.morphology import Morphology
from hexapod_dynamics.robot.parts import Servo, check_number, constant
from hexapod_dynamics.robot.urdf import as_text, checked_text
from hexapod_dynamics.se3 import quaternion_from_rotation

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot

# Collision shapes [m]: capsules of links, spheres at the ends of legs, whose lowest point is the link's end.
LINK_RADIUS, FOOT_RADIUS = 0.010, 0.002
FAR = 1e9  # [rad or m] limit for the unlimited side of a joint that is limited on one side only
# Collision groups: ground 1, robot 2; shapes of the robot collide with each other, except shapes of adjacent bodies.
GROUND, ROBOT = 1, 2


def to_mjcf(
    robot: Robot,
    morphology: Morphology | None = None,
    *,
    timestep: float = 1e-3,
    friction: float = 0.6,
    extra: str = "",
    payload: float = 0.0,
    payload_position: tuple[float, ...] = (0.0, 0.0, 0.0),
    rotor_inertia: float = 0.0,
    floor: bool = True,
) -> str:
    """MJCF text of a robot with servos, joint stops and collision shapes, floating over a plane.

    timestep [s]: of MuJoCo. friction: Coulomb's coefficient of all shapes. extra: elements for the world. payload [kg],
    payload_position (3,) [m]: point mass on the body. floor: whether there is the plane z = 0. rotor_inertia [kg
    m^2]: for joints whose rotor inertia is 0. RobotError names what is wrong, for example a helical joint, which
    MuJoCo does not have.
    """
    for name, value in (("timestep", timestep), ("friction", friction), ("payload", payload)):
        check_number(value, name, "s" if name == "timestep" else "", zero=name != "timestep")
    check_number(rotor_inertia, "rotor_inertia", "kg m^2")
    constant(payload_position, (3,), "payload_position")
    tree = branches(robot, morphology)
    servo = robot.servo
    plane = f'<geom name="ground" type="plane" size="0 0 1" contype="{GROUND}" conaffinity="{ROBOT}"/>' if floor else ""
    box = as_text(0.5 * np.asarray(robot.body.box))
    weight = (
        f'<body name="payload" pos="{as_text(payload_position)}">'
        f'<inertial pos="0 0 0" mass="{float(payload)!r}" diaginertia="1e-9 1e-9 1e-9"/></body>'
        if payload > 0.0
        else ""
    )
    legs = "".join(_links([b for b in tree if b.leg == leg.name], rotor_inertia) for leg in robot.legs)
    actuators = "".join(_actuator(b, servo) for b in tree if b.joint is not None and b.lock is None)
    return f"""<mujoco model="{_name(robot.name)}">
  <compiler angle="radian" autolimits="true" boundmass="1e-9" boundinertia="1e-12" balanceinertia="true"/>
  <option timestep="{float(timestep)!r}" gravity="0 0 {-float(robot.gravity)!r}" integrator="implicitfast"
          cone="elliptic" impratio="10"/>
  <default>
    <geom friction="{float(friction)!r} 0.0001 0.00001" solref="0.004 1" solimp="0.95 0.99 0.0005" condim="3"/>
    <joint limited="true" solreflimit="0.006 1"/>
  </default>
  <worldbody>{plane}{extra}
    <body name="base_link"><freejoint name="floating_base"/>
      {_inertial(robot.body.mass, robot.body.com, robot.body.inertia)}
      <geom name="base_link" type="box" size="{box}" {_collides()}/>
      <site name="imu" pos="{as_text(robot.imu.position)}"/>{weight}{legs}
    </body>
  </worldbody>
  <actuator>{actuators}</actuator>
</mujoco>"""


def _collides() -> str:
    return f'contype="{ROBOT}" conaffinity="{GROUND | ROBOT}" mass="0"'


def _links(chain: list[Branch], rotor_inertia: float) -> str:
    """Nested bodies of one leg."""
    opening, closing = "", ""
    for branch in chain:
        if branch.joint is None or branch.link is None:  # the foot
            position = branch.position - np.array([FOOT_RADIUS, 0.0, 0.0])
            opening += (
                f'<geom name="{_name(branch.child)}" type="sphere" size="{FOOT_RADIUS}" pos="{as_text(position)}" '
                f'{_collides()}/><site name="{_name(branch.child)}" pos="{as_text(branch.position)}"/>'
            )
            continue
        pose = branch.at_zero
        opening += (
            f'<body name="{_name(branch.child)}" pos="{as_text(pose[:3, 3])}" quat="{_quaternion(pose[:3, :3])}">'
        )
        if branch.lock is None:
            opening += _joint(branch, rotor_inertia)
        link = branch.link
        opening += _inertial(link.mass, link.com, link.inertia)
        # From one radius behind the joint to a point well before the end, where the foot is.
        if link.length > 4.0 * LINK_RADIUS:
            start, end = LINK_RADIUS, link.length - 1.5 * LINK_RADIUS
            opening += (
                f'<geom name="{_name(branch.child)}" type="capsule" size="{LINK_RADIUS}" '
                f'fromto="{as_text([start, 0.0, 0.0, end, 0.0, 0.0])}" {_collides()}/>'
            )
        closing += "</body>"
    return opening + closing


def _joint(branch: Branch, rotor_inertia: float) -> str:
    joint = branch.joint
    if joint is None:
        raise RobotError("a branch without a joint cannot be written as a joint or an actuator")
    if joint.kind == "helical":
        raise RobotError(f"joint {joint.name}: MuJoCo has no helical joints; hinges and slides can be written")
    kind = {"revolute": "hinge", "prismatic": "slide"}[joint.kind]
    limited = math.isfinite(joint.lower) or math.isfinite(joint.upper)
    limits = (
        f'range="{float(max(joint.lower, -FAR))!r} {float(min(joint.upper, FAR))!r}"' if limited else 'limited="false"'
    )
    return (
        f'<joint name="{_name(joint.name)}" type="{kind}" axis="{as_text(branch.axis)}" {limits} '
        f'armature="{float(joint.rotor_inertia or rotor_inertia)!r}"/>'
    )


def _actuator(branch: Branch, servo: Servo) -> str:
    """A position servo: torque = k (set-point - q) - d qdot within its limits; a limp joint has only friction."""
    joint = branch.joint
    if joint is None:
        raise RobotError("a branch without a joint cannot be written as a joint or an actuator")
    k, d, limit = 0.0 if branch.limp else float(servo.stiffness), float(servo.damping), float(servo.torque_limit)
    return (
        f'<general name="{_name(joint.name)}" joint="{_name(joint.name)}" biastype="affine" gainprm="{k!r}" '
        f'biasprm="0 {-k!r} {-d!r}" forcerange="{-limit!r} {limit!r}"/>'
    )


def _inertial(mass: float, com: np.ndarray, inertia: np.ndarray) -> str:
    i = np.asarray(inertia)
    full = [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]
    return f'<inertial mass="{float(mass)!r}" pos="{as_text(com)}" fullinertia="{as_text(full)}"/>'


def _quaternion(rotation: np.ndarray) -> str:
    x, y, z, w = quaternion_from_rotation(rotation)
    return as_text([w, x, y, z])


def _name(name: str) -> str:
    """Return a name as the value of an attribute."""
    return escape(checked_text(name), {'"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})
