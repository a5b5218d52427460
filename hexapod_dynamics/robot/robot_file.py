"""The YAML text of a robot, as `Robot.load` reads it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import yaml

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.description import Robot
from hexapod_dynamics.robot.leg import Leg
from hexapod_dynamics.robot.parts import Link
from hexapod_dynamics.se3 import roll_pitch_yaw, rotation_x_to

DIGITS = 9  # number of significant digits in the file


class _Flow(list):
    """A list that is written in one line."""


class _Dumper(yaml.SafeDumper):
    """SafeDumper with lists of numbers in one line."""

    def ignore_aliases(self, data: Any) -> bool:
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
    modules: dict[str, list[dict[str, Any]]] = {}
    legs = {}
    for leg in robot.legs:
        parts = _parts(leg)
        name = next((known for known, those in modules.items() if those == parts), None)
        if name is None:
            name = leg.module if leg.module not in modules else f"{leg.module}_{leg.name}"
            modules[name] = parts
        legs[leg.name] = _leg(leg, name)
    servo, body, imu = robot.servo, robot.body, robot.imu
    data: dict[str, Any] = {
        "name": robot.name,
        "gravity": _number(robot.gravity),
        "body": {
            "mass": _number(body.mass),
            "inertia": _inertia(body.inertia),
            "box": _numbers(body.box),
            "com": _numbers(body.com),
        },
        "imu": {
            "position": _numbers(imu.position),
            "rpy_deg": _numbers(np.degrees(roll_pitch_yaw(np.asarray(imu.rotation)))),
            **_deviation("tilt_deviation_deg", imu.tilt_deviation),
        },
        "servo": {
            "stiffness": _number(servo.stiffness),
            "damping": _number(servo.damping),
            "torque_limit": _number(servo.torque_limit),
            "speed_limit": _number(servo.speed_limit),
            "resolution_deg": _number(math.degrees(servo.resolution)),
        },
        "contact": {key: _number(getattr(robot.contact, key)) for key in ("stiffness", "damping", "friction")},
        "leg_modules": modules,
        "leg_order": _Flow(robot.leg_names),
        "legs": legs,
    }
    if robot.joint_servos:
        data["joint_servos"] = {
            name: {
                "stiffness": _number(law.stiffness),
                "dead_zone_deg": _number(math.degrees(law.dead_zone)),
                "latency": _number(law.latency),
                "lag": _number(law.lag),
                "feed_forward": _number(law.feed_forward),
                "play_deg": _number(math.degrees(law.play)),
                "coulomb": _number(law.coulomb),
                "load_friction": _number(law.load_friction),
                **_deviation("zero_deviation_deg", law.zero_deviation),
            }
            for name, law in zip(robot.joint_names, robot.joint_servos, strict=True)
        }
    text = _comment(notes)
    for key, value in data.items():
        said = _comment((comments or {}).get(key, ""))
        text += ("\n" + said if said else "") + yaml.dump({key: value}, Dumper=_Dumper, sort_keys=False, width=120)
    return text


def _deviation(key: str, value: float | None) -> dict[str, float]:
    """The key with a standard deviation [rad] in degrees; nothing if there is none."""
    return {} if value is None else {key: _number(math.degrees(value))}


def _comment(text: str) -> str:
    return "".join(f"# {line}".rstrip() + "\n" for line in text.splitlines())


def _leg(leg: Leg, module: str) -> dict[str, Any]:
    roll, pitch, yaw = np.degrees(roll_pitch_yaw(np.asarray(leg.mount_rotation)))
    entry: dict[str, Any] = {"module": module, "hip": _numbers(leg.mount_position), "yaw_deg": _number(yaw)}
    if max(abs(roll), abs(pitch)) > 1e-9:
        entry["roll_pitch_deg"] = _numbers([roll, pitch])
    entry["tripod_group"] = leg.tripod_group
    if all(joint.servo_id is not None for joint in leg.joints):
        entry["servo_ids"] = _Flow(joint.servo_id for joint in leg.joints)
        entry["servo_directions"] = _Flow(joint.servo_direction for joint in leg.joints)
    if any(joint.servo_zero for joint in leg.joints):
        entry["servo_zeros_deg"] = _numbers(np.degrees([joint.servo_zero for joint in leg.joints]))
    return entry


def _parts(leg: Leg) -> list[dict[str, Any]]:
    parts, end = [], np.zeros(3)
    for joint, link in zip(leg.joints, leg.links, strict=True):
        if not joint.name.endswith(f"_{leg.name}"):
            raise RobotError(f"joint {joint.name}: its name must end in _{leg.name} to be written to a robot file")
        entry: dict[str, Any] = {
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


def _link(link: Link) -> dict[str, Any]:
    direction = link.rotation[:, 0]
    if np.abs(rotation_x_to(direction) - link.rotation).max() > 1e-6:
        raise RobotError(f"link {link.name}: its axes are turned about its own; a robot file cannot say so")
    return {
        "name": link.name,
        "mass": _number(link.mass),
        "length": _number(link.length),
        "direction": _numbers(direction),
        "com": _numbers(link.com),
        "inertia": _inertia(link.inertia),
    }


def _inertia(inertia: np.ndarray) -> _Flow:
    return _numbers([inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))])


def _numbers(values: Any) -> _Flow:
    return _Flow(_number(value) for value in values)


def _number(value: float) -> float:
    if not math.isfinite(value):
        raise RobotError(f"a robot file has no word for {value}")
    return float(f"{float(value):.{DIGITS}g}") + 0.0
