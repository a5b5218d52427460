"""The YAML file of a robot: `robot_fields` reads and checks its content key by key, `robot_yaml` writes it.

Every error names the key, the value and what is allowed.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.checked_yaml import Array, Check, Name, Number, Part, Section, number, quote
from hexapod_dynamics.robot.geometry import Leg
from hexapod_dynamics.robot.parts import (
    DIRECTION,
    INERTIA,
    ROTATION,
    SERVO_ID,
    Body,
    Contact,
    Imu,
    Joint,
    JointServo,
    Link,
    Servo,
)
from hexapod_dynamics.se3 import inertia_elements, roll_pitch_yaw, rotation_rpy, rotation_x_to

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot

PartT = TypeVar("PartT", bound=Part)


def _key(name: str, check: Check) -> str:
    """Return the key of a part's field: angles [rad] are in degrees in a file, a rotation is roll, pitch and yaw."""
    if check is ROTATION:
        return "rpy_deg"
    return f"{name}_deg" if isinstance(check, Number) and check.unit == "rad" else name


def _read(section: Section, kind: type[PartT], /, **given: Any) -> PartT:
    """Return the part of this kind in a section that has its fields and no others; given: fields that are known."""
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if field.name in given:
            continue
        check = kind.checks[field.name]
        key = _key(field.name, check)
        if key in section.values or field.default is field.default_factory is dataclasses.MISSING:
            given[field.name] = _read_field(section, key, check)
        else:
            section.used.append(key)
    section.check_all_read()
    return kind(**given)


def _read_field(section: Section, key: str, check: Check) -> Any:
    if check is INERTIA:
        return section.inertia()
    if check is ROTATION:
        return rotation_rpy(*np.radians(section.vector(key, 3)))
    if isinstance(check, Array):
        return section.vector(key, 3)
    if not isinstance(check, Number):
        return check.check(section.read(key), section.key(key))
    value = number(section.read(key), section.key(key))
    if key.endswith("_deg"):
        return math.radians(dataclasses.replace(check, unit="deg").check(value, section.key(key)) or 0.0)
    return check.check(value, section.key(key))


def _write(part: Part) -> dict[str, object]:
    """Return the section of a part, {key: value}."""
    data: dict[str, object] = {}
    for name, check in part.checks.items():
        key, value = _key(name, check), getattr(part, name)
        if check is INERTIA:
            data[key] = _numbers(inertia_elements(value))
        elif isinstance(check, Array):
            data[key] = _numbers(np.degrees(roll_pitch_yaw(value)) if check is ROTATION else value)
        elif isinstance(check, Name):
            data[key] = value
        elif value is not None:
            data[key] = _number(math.degrees(value) if key.endswith("_deg") else value)
    return data


def find_own_file(robot: Robot, name: str) -> Path | None:
    """Return the path of a file beside the robot's own file, which may be a link, or beside what it leads to; None if
    there is none of this name.
    """
    files = [] if robot.file is None else [robot.file, robot.file.resolve()]
    return next((beside for file in files if (beside := file.with_name(name)).is_file()), None)


def find_packaged_file(name: str) -> Path | None:
    """Return the path of a file in `config` of the package, None if there is none of this name.

    The file of the source tree comes first, then those that colcon (AMENT_PREFIX_PATH) and pip have installed.
    """
    here, ament = Path(__file__).resolve(), os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    prefixes = [*(Path(prefix) for prefix in ament if prefix), *here.parents[2:8]]  # lib/python3.x/site-packages/...
    folders = [here.parents[2] / "config", *(prefix / "share" / "hexapod_dynamics" / "config" for prefix in prefixes)]
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def jethexa_path() -> Path:
    """Return the path of config/jethexa.yaml."""
    path = find_packaged_file("jethexa.yaml")
    if path is None:
        raise RobotError(
            "jethexa.yaml is neither in the source tree nor installed; source the workspace's install/setup.bash, or "
            "give the file to Robot.load()"
        )
    return path


def robot_fields(data: object) -> dict[str, Any]:
    """Return the fields of the `Robot` that is described by the content of a YAML file. Raises RobotError."""
    top = Section(data, "")
    robot: dict[str, Any] = {"name": top.text("name"), "gravity": top.number("gravity", 9.81, low=0.0)}
    for key, kind in (("body", Body), ("servo", Servo), ("contact", Contact)):
        robot[key] = _read(top.section(key), kind)
    robot["imu"] = _read(top.section("imu", {}), Imu)
    modules, legs, order = top.section("leg_modules"), top.section("legs"), top.read("leg_order")
    if not isinstance(order, list) or not order or not all(isinstance(item, str) for item in order):
        raise RobotError(f"leg_order: {quote(order)} given, a list of leg names needed")
    robot["legs"] = tuple(_read_leg(leg, legs.section(leg), modules) for leg in order)
    legs.check_all_read("not named in leg_order")
    modules.check_all_read("no leg uses it")
    laws = top.section("joint_servos", {})  # which `identify` writes: one entry for each joint, or none at all
    joints = [joint for leg in robot["legs"] for joint in leg.joints if laws.values]
    robot["joint_servos"] = tuple(_read(laws.section(joint.name), JointServo) for joint in joints)
    laws.check_all_read()
    top.check_all_read()
    return robot


def _read_leg(name: str, section: Section, modules: Section) -> Leg:
    module = section.text("module")
    if module not in modules.values:
        known = ", ".join(map(str, modules.values))
        raise RobotError(f"{section.key('module')}: {quote(module)} given, one of {known} needed")
    parts = modules.read(module)
    if not isinstance(parts, list) or not parts:
        raise RobotError(f"leg_modules.{module}: {quote(parts)} given, a list of joints with their links needed")

    def one_a_joint(key: str, check: Callable[[Any, str], Any], default: float | None) -> list[Any]:
        values = section.read(key, [default] * len(parts))
        if not isinstance(values, list) or len(values) != len(parts):
            raise RobotError(f"{section.key(key)}: {quote(values)} given, a list of {len(parts)} (one a joint) needed")
        return [check(value, section.key(key)) for value in values]

    servos = zip(
        one_a_joint("servo_ids", SERVO_ID.check, None),
        one_a_joint("servo_directions", DIRECTION.check, None),
        one_a_joint("servo_zeros_deg", number, 0.0),
        strict=True,
    )
    joints: list[Joint] = []
    links: list[Link] = []
    end = np.zeros(3)  # end of the last link, mount frame at zero
    for index, (part, (servo_id, direction, zero)) in enumerate(zip(parts, servos, strict=True)):
        if (servo_id is None) != (direction is None):
            raise RobotError(
                f"{section.label}: joint {index + 1} has servo id {servo_id} and direction {direction}; servo_ids and "
                "servo_directions are given together or not at all"
            )
        entry = Section(part, f"leg_modules.{module}[{index}]")
        links.append(_read_link(entry.section("link")))
        joint = entry.section("joint")
        entry.check_all_read()
        lower, upper = joint.vector("limits", 2)
        given = {
            "name": f"{joint.text('name')}_{name}",
            "kind": joint.text("kind", "revolute"),
            "origin": end + joint.vector("offset", 3, [0, 0, 0]),
            "lower": lower,
            "upper": upper,
            "servo_id": servo_id,
            "servo_direction": direction,
            "servo_zero": math.radians(zero),
        }
        joints.append(_read(joint, Joint, **given))
        end = joints[-1].origin + links[-1].tip
    angles = [*section.vector("roll_pitch_deg", 2, [0, 0]), section.number("yaw_deg", 0.0)]
    mount = {"mount_rotation": rotation_rpy(*np.radians(angles)), "mount_position": section.vector("hip", 3)}
    return _read(section, Leg, name=name, joints=tuple(joints), links=tuple(links), module=module, **mount)


def _read_link(section: Section) -> Link:
    direction = section.vector("direction", 3)
    norm = float(np.linalg.norm(direction))
    if norm < 1e-9:
        raise RobotError(f"{section.key('direction')}: {direction.tolist()} has no direction")
    com = section.vector("com", 3, [section.number("length") / 2, 0, 0])
    return _read(section, Link, com=com, rotation=rotation_x_to(direction / norm))


# ---- writing ----------------------------------------------------------------------------------------------------


def robot_yaml(robot: Robot, notes: str = "", comments: Mapping[str, str] | None = None) -> str:
    """YAML text of a robot; notes: comment at its head, each line with a #; comments: {key of the first level: comment
    above it}.

    Each leg that differs from the previous ones has its own module. Raises RobotError for a robot that the format
    cannot describe: links whose axes are rotated about themselves.
    """
    from hexapod_dynamics.robot.yaml_text import dump_yaml

    modules: dict[str, list[dict[str, object]]] = {}
    legs = {}
    for leg in robot.legs:
        parts = _parts(leg)
        name = next((known for known, those in modules.items() if those == parts), None)
        if name is None:
            name = leg.module
            while name in modules:
                name = f"{name}_{leg.name}"
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
        "leg_order": list(robot.leg_names),
        "legs": legs,
    }
    if robot.joint_servos:
        laws = zip(robot.joint_names, robot.joint_servos, strict=True)
        data["joint_servos"] = {name: _write(law) for name, law in laws}
    text = _comment(notes)
    for key, value in data.items():
        said = _comment((comments or {}).get(key, ""))
        text += ("\n" + said if said else "") + dump_yaml({key: value})
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
        entry["servo_ids"] = [joint.servo_id for joint in leg.joints]
        entry["servo_directions"] = [joint.servo_direction for joint in leg.joints]
    if any(joint.servo_zero for joint in leg.joints):
        entry["servo_zeros_deg"] = _numbers(np.degrees([joint.servo_zero for joint in leg.joints]))
    return entry


def _parts(leg: Leg) -> list[dict[str, object]]:
    parts: list[dict[str, object]] = []
    end = np.zeros(3)
    for joint, link in zip(leg.joints, leg.links, strict=True):
        if not joint.name.endswith(f"_{leg.name}"):
            raise RobotError(f"joint {joint.name}: its name must end in _{leg.name} to be written to a robot file")
        if not (math.isfinite(joint.lower) and math.isfinite(joint.upper)):
            limits = f"limits {joint.lower} to {joint.upper}"
            raise RobotError(f"joint {joint.name}: {limits}; a robot file needs finite ones: replace lower and upper")
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
        raise RobotError(
            f"link {link.name}: its frame is turned about the link's direction, which a robot file cannot store"
        )
    data = _write(link)
    del data["rpy_deg"]  # of its rotation: the direction says it
    return {"name": data.pop("name"), "direction": _numbers(direction), **data}


def _numbers(values: Iterable[float]) -> list[float]:
    return [_number(value) for value in values]


def _number(value: float) -> float:
    return float(f"{float(value):.9g}") + 0.0
