"""The YAML file of a robot: `robot_fields` reads and checks its content key by key, `robot_yaml` writes it.

Every error names the key, the value and what is allowed.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import yaml

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.checked_yaml import Section, integer, number, shown, sign
from hexapod_dynamics.robot.leg import Leg
from hexapod_dynamics.robot.parts import (
    INERTIA,
    ROTATION,
    Array,
    Body,
    Contact,
    Imu,
    Joint,
    JointServo,
    Link,
    Number,
    Part,
    Servo,
    check_name,
    checks,
)
from hexapod_dynamics.se3 import inertia_elements, roll_pitch_yaw, rotation_rpy, rotation_x_to

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot

PartT = TypeVar("PartT", bound=Part)
DIGITS = 9  # significant digits of a number that is written


def _key(name: str, check: Number | Array) -> str:
    """Return the key of a part's field: angles [rad] are in degrees in a file, a rotation is roll, pitch and yaw."""
    if check is ROTATION:
        return "rpy_deg"
    return f"{name}_deg" if isinstance(check, Number) and check.unit == "rad" else name


def _read(section: Section, kind: type[PartT], /, **given: Any) -> PartT:
    """Return the part of this kind in a section that has the keys of its fields and no others; given: fields that are
    known. Raises RobotError.
    """
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if field.name in given:
            continue
        check = checks(kind)[field.name]
        key = _key(field.name, check)
        if key in section.values or field.default is field.default_factory is dataclasses.MISSING:
            given[field.name] = _read_field(section, key, check)
        else:
            section.asked.append(key)
    section.done()
    return kind(**given)


def _read_field(section: Section, key: str, check: Number | Array) -> Any:
    if check is INERTIA:
        return section.inertia()
    if check is ROTATION:
        return rotation_rpy(*np.radians(section.vector(key, 3)))
    if isinstance(check, Array):
        return section.vector(key, 3)
    value = number(section.read(key), section.key(key))
    if key.endswith("_deg"):
        return math.radians(dataclasses.replace(check, unit="deg").checked(value, section.key(key)) or 0.0)
    return check.checked(value, section.key(key))


def _write(part: Part) -> dict[str, object]:
    """Return the section of a part, {key: value}."""
    data: dict[str, object] = {}
    for name, check in checks(type(part)).items():
        key, value = _key(name, check), getattr(part, name)
        if check is INERTIA:
            data[key] = _numbers(inertia_elements(value))
        elif isinstance(check, Array):
            data[key] = _numbers(np.degrees(roll_pitch_yaw(value)) if check is ROTATION else value)
        elif value is not None:
            data[key] = _number(math.degrees(value) if key.endswith("_deg") else value)
    return data


def packaged_file(name: str) -> Path | None:
    """Return the path of a file in `config` of the package, None if there is none of this name.

    The file of the source tree comes first, then those that colcon (AMENT_PREFIX_PATH) and pip have installed.
    """
    here, ament = Path(__file__).resolve(), os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    prefixes = [*(Path(prefix) for prefix in ament if prefix), *here.parents[2:8]]  # lib/python3.x/site-packages/...
    folders = [here.parents[2] / "config", *(prefix / "share" / "hexapod_dynamics" / "config" for prefix in prefixes)]
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def jethexa_path() -> Path:
    """Return the path of config/jethexa.yaml."""
    path = packaged_file("jethexa.yaml")
    if path is None:
        raise RobotError(
            "jethexa.yaml is neither in the source tree nor installed; source the workspace's install/setup.bash, or "
            "give the file to Robot.load()"
        )
    return path


def robot_fields(data: object) -> dict[str, Any]:
    """Return the fields of the `Robot` that is described by the content of a YAML file. Raises RobotError."""
    top = Section(data, "")
    name = top.text("name")
    gravity = top.number("gravity", 9.81, low=0.0)

    body, imu = _read(top.section("body"), Body), _read(top.section("imu", {}), Imu)
    servo, contact = _read(top.section("servo"), Servo), _read(top.section("contact"), Contact)
    if servo.stiffness == 0.0:
        raise RobotError("servo.stiffness: 0 given, a number > 0 needed")

    modules = top.section("leg_modules")
    order = top.read("leg_order")
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
    laws = top.section("joint_servos", {})  # which `identify` writes: one entry for each joint, or none at all
    servos = [_read(laws.section(joint.name), JointServo) for leg in legs for joint in leg.joints if laws.values]
    laws.done()
    top.done()
    own = {"name": name, "gravity": gravity, "body": body, "legs": legs, "servo": servo}
    return own | {"contact": contact, "imu": imu, "joint_servos": tuple(servos)}


def _parse_leg(name: str, section: Section, modules: Section) -> Leg:
    check_name(name, f"legs.{name}")
    module = section.text("module")
    if module not in modules.values:
        known = ", ".join(map(str, modules.values))
        raise RobotError(f"{section.key('module')}: {shown(module)} given, one of {known} needed")
    parts = modules.read(module)
    if not isinstance(parts, list) or not parts:
        raise RobotError(f"leg_modules.{module}: {shown(parts)} given, a list of joints with their links needed")
    servo_ids = section.read("servo_ids", [None] * len(parts))
    directions = section.read("servo_directions", [None] * len(parts))
    zeros = section.read("servo_zeros_deg", [0.0] * len(parts))
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
        link, joint = _parse_link(entry.section("link")), entry.section("joint")
        entry.done()
        origin = end + joint.vector("offset", 3, [0, 0, 0])
        lower, upper = joint.vector("limits", 2)
        servo_id, direction, zero = servo_ids[index], directions[index], zeros[index]
        given = {
            "name": f"{joint.text('name')}_{name}",
            "kind": joint.text("kind", "revolute"),
            "origin": origin,
            "lower": lower,
            "upper": upper,
            "servo_id": None if servo_id is None else integer(servo_id, section.key("servo_ids"), range(254)),
            "servo_direction": None if servo_id is None else sign(direction, section.key("servo_directions")),
            "servo_zero": math.radians(number(zero, section.key("servo_zeros_deg"))),
        }
        joints.append(_read(joint, Joint, **given))
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
        tripod_group=integer(section.read("tripod_group"), section.key("tripod_group"), range(1, 3)),
        module=module,
    )
    section.done()
    return leg


def _parse_link(section: Section) -> Link:
    direction = section.vector("direction", 3)
    norm = float(np.linalg.norm(direction))
    if norm < 1e-9:
        raise RobotError(f"{section.key('direction')}: {direction.tolist()} has no direction")
    name = section.text("name")
    check_name(name, section.key("name"))
    com = section.vector("com", 3, [section.number("length") / 2, 0, 0])
    return _read(section, Link, name=name, com=com, rotation=rotation_x_to(direction / norm))


# ---- writing ----------------------------------------------------------------------------------------------------


class _Flow(list):
    """A list that is written in one line."""


class _Dumper(yaml.SafeDumper):
    """SafeDumper with lists of numbers in one line."""

    def ignore_aliases(self, data: object) -> bool:
        return True


_Dumper.add_representer(
    _Flow, lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=True)
)


def robot_yaml(robot: Robot, notes: str = "", comments: Mapping[str, str] | None = None) -> str:
    """YAML text of a robot; notes: comment at its head, each line with a #; comments: {key of the first level: comment
    above it}.

    Each leg that differs from the previous ones has its own module. Raises RobotError for a robot that the format
    cannot describe: links whose axes are rotated about themselves.
    """
    modules: dict[str, list[dict[str, object]]] = {}
    legs = {}
    for leg in robot.legs:
        parts = _parts(leg)
        name = next((known for known, those in modules.items() if those == parts), None)
        if name is None:
            name = leg.module if leg.module not in modules else f"{leg.module}_{leg.name}"
            modules[name] = parts
        legs[leg.name] = _leg(leg, name)
    data: dict[str, object] = {
        "name": robot.name,
        "gravity": _number(robot.gravity),
        "body": _write(robot.body),
        "imu": _write(robot.imu),
        "servo": _write(robot.servo),
        "contact": _write(robot.contact),
        "leg_modules": modules,
        "leg_order": _Flow(robot.leg_names),
        "legs": legs,
    }
    if robot.joint_servos:
        laws = zip(robot.joint_names, robot.joint_servos, strict=True)
        data["joint_servos"] = {name: _write(law) for name, law in laws}
    text = _comment(notes)
    for key, value in data.items():
        said = _comment((comments or {}).get(key, ""))
        text += ("\n" + said if said else "") + yaml.dump({key: value}, Dumper=_Dumper, sort_keys=False, width=120)
    return text


def _comment(text: str) -> str:
    return "".join(f"# {line}".rstrip() + "\n" for line in text.splitlines())


def _leg(leg: Leg, module: str) -> dict[str, object]:
    roll, pitch, yaw = np.degrees(roll_pitch_yaw(np.asarray(leg.mount_rotation)))
    entry: dict[str, object] = {"module": module, "hip": _numbers(leg.mount_position), "yaw_deg": _number(yaw)}
    if max(abs(roll), abs(pitch)) > 1e-9:
        entry["roll_pitch_deg"] = _numbers([roll, pitch])
    entry["tripod_group"] = leg.tripod_group
    if all(joint.servo_id is not None for joint in leg.joints):
        entry["servo_ids"] = _Flow(joint.servo_id for joint in leg.joints)
        entry["servo_directions"] = _Flow(joint.servo_direction for joint in leg.joints)
    if any(joint.servo_zero for joint in leg.joints):
        entry["servo_zeros_deg"] = _numbers(np.degrees([joint.servo_zero for joint in leg.joints]))
    return entry


def _parts(leg: Leg) -> list[dict[str, object]]:
    parts: list[dict[str, object]] = []
    end = np.zeros(3)
    for joint, link in zip(leg.joints, leg.links, strict=True):
        if not joint.name.endswith(f"_{leg.name}"):
            raise RobotError(f"joint {joint.name}: its name must end in _{leg.name} to be written to a robot file")
        entry: dict[str, object] = {
            "name": joint.name.removesuffix(f"_{leg.name}"),
            "kind": joint.kind,
            "axis": _numbers(joint.axis),
            "limits": _numbers([joint.lower, joint.upper]),
        }
        offset = joint.origin - end
        if np.abs(offset).max() > 1e-12:
            entry["offset"] = _numbers(offset)
        for key in ("pitch", "rotor_inertia"):
            if getattr(joint, key):
                entry[key] = _number(getattr(joint, key))
        parts.append({"joint": entry, "link": _link(link)})
        end = joint.origin + link.tip
    return parts


def _link(link: Link) -> dict[str, object]:
    direction = link.rotation[:, 0]
    if np.abs(rotation_x_to(direction) - link.rotation).max() > 1e-6:
        raise RobotError(f"link {link.name}: its axes are turned about its own; a robot file cannot say so")
    data = _write(link)
    del data["rpy_deg"]  # of its rotation: the direction says it
    return {"name": link.name, "direction": _numbers(direction), **data}


def _numbers(values: Iterable[float]) -> _Flow:
    return _Flow(_number(value) for value in values)


def _number(value: float) -> float:
    if not math.isfinite(value):
        raise RobotError(f"a robot file has no word for {value}")
    return float(f"{float(value):.{DIGITS}g}") + 0.0
