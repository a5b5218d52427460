"""MJCF (MuJoCo's model format) of a robot with a morphology.

Bodies and joints have the names of the URDF's frames and joints (`base_link`, `femur_link_LF`, `femur_joint_LF`);
actuators have those of their joints. Joint positions are those of this package. A locked joint is fixed at its
angle, a missing link is left out, a broken link is cut; a limp joint's actuator has no gain, only friction.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.checked_yaml import Number, make_constant
from hexapod_dynamics.robot.link_tree import Branch, list_branches
from hexapod_dynamics.robot.morphology import Morphology
from hexapod_dynamics.robot.parts import Body, Joint, Link
from hexapod_dynamics.robot.urdf import add, format_document
from hexapod_dynamics.se3 import inertia_elements, quaternion_from_rotation

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot

# Collision shapes [m]: capsules of links, spheres at the ends of legs, whose lowest point is the link's end.
LINK_RADIUS, FOOT_RADIUS = 0.010, 0.002
# Collision groups: ground 1, robot 2; shapes of the robot collide with each other, except shapes of adjacent bodies.
GROUND, ROBOT = 1, 2
COLLISION = {"contype": str(ROBOT), "conaffinity": str(GROUND | ROBOT), "mass": "0"}


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
    Number("s", zero=False).check(timestep, "timestep")
    for name, unit, value in (("friction", "", friction), ("payload", "kg", payload)):
        Number(unit).check(value, name)
    Number("kg m^2").check(rotor_inertia, "rotor_inertia")
    make_constant(payload_position, (3,), "payload_position")
    tree = list_branches(robot, morphology)
    root = ET.Element("mujoco", model=robot.name)
    add(root, "compiler", angle="radian", autolimits="true", boundmass="1e-9", boundinertia="1e-12",
        balanceinertia="true")  # fmt: skip
    add(root, "option", timestep=timestep, gravity=(0.0, 0.0, -robot.gravity), integrator="implicitfast",
        cone="elliptic", impratio="10")  # fmt: skip
    default = add(root, "default")
    add(default, "geom", friction=(friction, 1e-4, 1e-5), solref="0.004 1", solimp="0.95 0.99 0.0005", condim="3")
    add(default, "joint", limited="true", solreflimit="0.006 1")
    world = add(root, "worldbody")
    if floor:
        add(world, "geom", name="ground", type="plane", size="0 0 1", contype=str(GROUND), conaffinity=str(ROBOT))
    try:
        world.extend(ET.fromstring(f"<extra>{extra}</extra>"))
    except ET.ParseError as error:
        raise RobotError(f"extra: {extra[:60]!r} given, elements of XML needed: {error}") from None
    body = add(world, "body", name="base_link")
    add(body, "freejoint", name="floating_base")
    _inertial(body, robot.body)
    add(body, "geom", name="base_link", type="box", size=0.5 * np.asarray(robot.body.box), **COLLISION)
    add(body, "site", name="imu", pos=robot.imu.position)
    if payload > 0.0:
        weight = add(body, "body", name="payload", pos=payload_position)
        add(weight, "inertial", pos="0 0 0", mass=payload, diaginertia="1e-9 1e-9 1e-9")
    for leg in robot.legs:
        _links(body, [b for b in tree if b.leg == leg.name], rotor_inertia)
    actuators = add(root, "actuator")
    for branch in tree:
        # A position servo: torque = k (set-point - q) - d qdot within its limits; a limp joint has only friction.
        if (joint := branch.moving) is not None:
            limp, limit = branch.damage is not None and branch.damage.limp, robot.servo.torque_limit
            k, d = 0.0 if limp else robot.servo.stiffness, robot.servo.damping
            add(actuators, "general", name=joint.name, joint=joint.name, biastype="affine", gainprm=k,
                biasprm=(0.0, -k, -d), forcerange=(-limit, limit))  # fmt: skip
    return format_document(root, "")


def _links(body: ET.Element, chain: list[Branch], rotor_inertia: float) -> None:
    """Write the nested bodies of one leg."""
    for branch in chain:
        if branch.link is None:  # the foot
            end, radius = branch.at_zero[:3, 3], np.array([FOOT_RADIUS, 0.0, 0.0])
            add(body, "geom", name=branch.child, type="sphere", size=FOOT_RADIUS, pos=end - radius, **COLLISION)
            add(body, "site", name=branch.child, pos=end)
            continue
        pose, link = branch.at_zero, branch.link
        x, y, z, w = quaternion_from_rotation(pose[:3, :3])
        body = add(body, "body", name=branch.child, pos=pose[:3, 3], quat=(w, x, y, z))
        if branch.moving is not None:
            _joint(body, branch.moving, branch.axis, rotor_inertia)
        _inertial(body, link)
        # From one radius behind the joint to a point well before the end, where the foot is.
        if link.length > 4.0 * LINK_RADIUS:
            ends = LINK_RADIUS, 0.0, 0.0, link.length - 1.5 * LINK_RADIUS, 0.0, 0.0
            add(body, "geom", name=branch.child, type="capsule", size=LINK_RADIUS, fromto=ends, **COLLISION)


def _joint(body: ET.Element, joint: Joint, axis: np.ndarray, rotor_inertia: float) -> None:
    if joint.kind == "helical":
        raise RobotError(f"joint {joint.name}: MuJoCo has no helical joints; hinges and slides can be written")
    limits: dict[str, str | np.ndarray] = {"limited": "false"}
    if math.isfinite(joint.lower) or math.isfinite(joint.upper):
        limits = {"range": np.clip((joint.lower, joint.upper), -1e9, 1e9)}  # a range has two numbers
    kind, armature = {"revolute": "hinge", "prismatic": "slide"}[joint.kind], joint.rotor_inertia or rotor_inertia
    add(body, "joint", name=joint.name, type=kind, axis=axis, **limits, armature=armature)


def _inertial(body: ET.Element, part: Body | Link) -> None:
    add(body, "inertial", mass=part.mass, pos=part.com, fullinertia=inertia_elements(part.inertia))
