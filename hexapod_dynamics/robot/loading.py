"""Reads the YAML file of a robot and checks it key by key: every error names the key, the value and what is allowed."""

from __future__ import annotations

import math
import os
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.casadi_extra import INSTALL
from hexapod_dynamics.robot.checked_yaml import Section, integer, load_yaml, number, shown, sign
from hexapod_dynamics.robot.leg import Leg
from hexapod_dynamics.robot.parts import Body, Contact, Imu, Joint, JointServo, Link, Servo, constant
from hexapod_dynamics.se3 import rotation_rpy, rotation_x_to

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot

LONGEST_REASON = 1000  # characters: names in a file are not bounded


def jethexa_path() -> Path:
    """Return the path of config/jethexa.yaml: the installed file, else that of the source tree."""
    tried = []
    try:
        from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
    except ImportError:
        pass
    else:
        try:
            tried.append(Path(get_package_share_directory("hexapod_dynamics")) / "config" / "jethexa.yaml")
        except (PackageNotFoundError, OSError):  # OSError: no ROS environment is sourced
            pass
    here = Path(__file__).resolve()
    tried.append(here.parents[2] / "config" / "jethexa.yaml")  # source tree
    # installed by colcon or pip without the ament index on the path: <prefix>/lib/python3.x/site-packages/...
    tried.extend(parent / "share" / "hexapod_dynamics" / "config" / "jethexa.yaml" for parent in here.parents[2:8])
    for path in tried:
        if path.is_file():
            return path
    raise RobotError(
        f"jethexa.yaml not found in {', '.join(str(path.parent) for path in tried[:2])}; "
        "source the workspace's install/setup.bash, or give the file to Robot.load()"
    )


def load_robot(path: str | os.PathLike[str], make: type[Robot]) -> Robot:
    """Read and check a robot's YAML file, or execute a Python file and call its robot(). Raises RobotError.

    make: the class `Robot`, passed as an argument because its module imports this one. A Python file is trusted
    code: see `Robot.load`.
    """
    if str(path).endswith(".py"):
        return _robot_of_program(path, make)
    try:
        return make(**robot_fields(load_yaml(path)))
    except RobotError as error:
        text = str(error)
        text = text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}..."
        raise RobotError(f"robot file {path}: {text}") from None


def _robot_of_program(path: str | os.PathLike[str], make: type[Robot]) -> Robot:
    """Return the result of the function robot() of a Python file."""
    if not Path(path).is_file():
        raise RobotError(f"robot file {path}: cannot be read: there is no such file")
    try:
        program = runpy.run_path(str(path)).get("robot")
        if not callable(program):
            raise RobotError("defines no function robot() that returns a Robot")
        robot = program()
    except RobotError as error:
        raise RobotError(f"robot file {path}: {error}") from None
    except ModuleNotFoundError as error:
        if error.name != "casadi":
            raise
        raise RobotError(f"robot file {path}: it imports CasADi, which is not installed here: {INSTALL}") from None
    if not isinstance(robot, make):
        raise RobotError(f"robot file {path}: robot() returns {type(robot).__name__}, a Robot needed")
    return robot


def robot_fields(data: Any) -> dict[str, Any]:
    """Return the fields of the `Robot` that is described by the content of a YAML file. Raises RobotError."""
    top = Section(data, "")
    name = top.text("name")
    gravity = top.number("gravity", 9.81, low=0.0)

    section = top.section("body")
    body = Body(
        section.number("mass", above=0.0),
        section.inertia(),
        section.vector("box", 3),
        section.vector("com", 3, [0, 0, 0]),
    )
    section.done()

    section = top.section("imu", {})
    imu = Imu(
        constant(section.vector("position", 3, [0, 0, 0]), (3,), "imu.position"),
        constant(rotation_rpy(*np.radians(section.vector("rpy_deg", 3, [0, 0, 0]))), (3, 3), "imu.rotation"),
        _deviation(section, "tilt_deviation_deg"),
    )
    section.done()

    section = top.section("servo")
    limits = {key: section.number(key, above=0.0) for key in ("stiffness", "torque_limit", "speed_limit")}
    servo = Servo(
        damping=section.number("damping", low=0.0),
        resolution=math.radians(section.number("resolution_deg", low=0.0)),
        **limits,
    )
    section.done()

    section = top.section("contact")
    contact = Contact(*(section.number(key, low=0.0) for key in ("stiffness", "damping", "friction")))
    section.done()

    modules = top.section("leg_modules")
    order = top.take("leg_order")
    if not isinstance(order, list) or not order or not all(isinstance(item, str) for item in order):
        raise RobotError(f"leg_order: {shown(order)} given, a list of leg names needed")
    if len(set(order)) != len(order):
        raise RobotError(f"leg_order: {order} names a leg twice")
    section = top.section("legs")
    for missing in (leg for leg in order if leg not in section.values):
        raise RobotError(f"legs.{missing}: missing, but leg_order names it; describe the leg or take it off leg_order")
    legs = tuple(_parse_leg(leg, section.section(leg), modules) for leg in order)
    for extra in (leg for leg in section.values if leg not in order):
        raise RobotError(f"legs.{extra}: not named in leg_order {order}")
    for key in modules.values:
        if key not in modules.asked:
            used = ", ".join(dict.fromkeys(modules.asked))
            raise RobotError(f"leg_modules.{key}: no leg uses it; the legs use {used}")
    joint_servos = _parse_joint_servos(top, [joint.name for leg in legs for joint in leg.joints])
    top.done()
    return {
        "name": name,
        "gravity": gravity,
        "body": body,
        "legs": legs,
        "servo": servo,
        "contact": contact,
        "imu": imu,
        "joint_servos": joint_servos,
    }


def _deviation(section: Section, key: str) -> float | None:
    """Read an optional standard deviation in degrees, in radians; None if it is not given."""
    return math.radians(section.number(key, low=0.0)) if key in section.values else None


def _parse_joint_servos(top: Section, joints: list[str]) -> tuple[JointServo, ...]:
    """Read the optional section `joint_servos`, which `identify` writes: one entry for each joint, or none at all."""
    section = top.section("joint_servos", {})
    if not section.values:
        return ()
    laws = []
    for name in joints:
        entry = section.section(name)
        values = {key: entry.number(key, 0.0, low=0.0) for key in ("latency", "lag", "coulomb", "load_friction")}
        values |= {key: math.radians(entry.number(f"{key}_deg", 0.0, low=0.0)) for key in ("dead_zone", "play")}
        feed = entry.number("feed_forward", 1.0, low=0.0)
        zero = _deviation(entry, "zero_deviation_deg")
        laws.append(JointServo(entry.number("stiffness", above=0.0), feed_forward=feed, zero_deviation=zero, **values))
        entry.done()
    section.done()
    return tuple(laws)


def _parse_leg(name: str, section: Section, modules: Section) -> Leg:
    if any(character in name for character in ". /") or not name:
        raise RobotError(f"legs.{name}: a leg's name must be one word without dots")
    module = section.text("module")
    if module not in modules.values:
        known = ", ".join(map(str, modules.values))
        raise RobotError(f"{section.key('module')}: {shown(module)} given, one of {known} needed")
    parts = modules.take(module)
    if not isinstance(parts, list) or not parts:
        raise RobotError(f"leg_modules.{module}: {shown(parts)} given, a list of joints with their links needed")
    servo_ids = section.take("servo_ids", [None] * len(parts))
    directions = section.take("servo_directions", [None] * len(parts))
    zeros = section.take("servo_zeros_deg", [0.0] * len(parts))
    for key, values in (("servo_ids", servo_ids), ("servo_directions", directions), ("servo_zeros_deg", zeros)):
        if not isinstance(values, list) or len(values) != len(parts):
            raise RobotError(f"{section.key(key)}: {shown(values)} given, a list of {len(parts)} (one a joint) needed")
    for index, (servo_id, direction) in enumerate(zip(servo_ids, directions, strict=True)):
        if (servo_id is None) != (direction is None):
            raise RobotError(
                f"{section.where}: joint {index + 1} has servo id {servo_id} and direction {direction}; servo_ids and "
                "servo_directions are given together or not at all"
            )

    joints, links = [], []
    end = np.zeros(3)  # end of the last link, mount frame at zero
    for index, part in enumerate(parts):
        entry = Section(part, f"leg_modules.{module}[{index}]")
        link = _parse_link(entry.section("link"))
        joint = entry.section("joint")
        origin = end + joint.vector("offset", 3, [0, 0, 0])
        lower, upper = joint.vector("limits", 2)
        servo_id = servo_ids[index]
        joints.append(
            Joint(
                name=f"{joint.text('name')}_{name}",
                kind=joint.text("kind", "revolute"),
                axis=joint.vector("axis", 3),
                origin=origin,
                lower=lower,
                upper=upper,
                pitch=joint.number("pitch", 0.0),
                servo_id=None if servo_id is None else integer(servo_id, section.key("servo_ids"), range(254)),
                servo_direction=None if servo_id is None else sign(directions[index], section.key("servo_directions")),
                rotor_inertia=joint.number("rotor_inertia", 0.0, low=0.0),
                servo_zero=math.radians(number(zeros[index], section.key("servo_zeros_deg"))),
            )
        )
        joint.done()
        entry.done()
        links.append(link)
        end = origin + link.tip
    yaw = section.number("yaw_deg", 0.0)
    roll_pitch = section.vector("roll_pitch_deg", 2, [0, 0])
    leg = Leg(
        name=name,
        mount_rotation=rotation_rpy(*np.radians([*roll_pitch, yaw])),
        mount_position=section.vector("hip", 3),
        joints=tuple(joints),
        links=tuple(links),
        tripod_group=integer(section.take("tripod_group"), section.key("tripod_group"), range(1, 3)),
        module=module,
    )
    section.done()
    return leg


def _parse_link(section: Section) -> Link:
    length = section.number("length", low=0.0)
    direction = section.vector("direction", 3)
    norm = float(np.linalg.norm(direction))
    if norm < 1e-9:
        raise RobotError(f"{section.key('direction')}: {direction.tolist()} has no direction")
    mass = section.number("mass", above=0.0)
    name = section.text("name")
    if any(character in name for character in ". /"):
        raise RobotError(f"{section.key('name')}: {shown(name)} given, one word without dots needed")
    link = Link(
        name=name,
        mass=mass,
        length=length,
        com=section.vector("com", 3, [length / 2, 0, 0]),
        inertia=section.inertia(),
        rotation=rotation_x_to(direction / norm),
    )
    section.done()
    return link
