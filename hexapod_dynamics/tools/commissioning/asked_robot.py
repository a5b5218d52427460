"""A robot made from a few numbers that its owner is asked for: equal legs, evenly placed along both sides."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hexapod_dynamics.errors import RobotError, parse_number
from hexapod_dynamics.robot import Body, Imu, Leg, Robot, Servo
from hexapod_dynamics.robot.urdf_legs import standard_robot
from hexapod_dynamics.se3 import rotation_z


@dataclass(frozen=True)
class Question:
    """A question for one number: key, meaning with unit, the JetHexa's value, and bounds."""

    key: str
    text: str
    default: float
    low: float
    high: float


QUESTIONS = (
    Question("legs", "number of legs (even)", 6, 4, 12),
    Question("mass", "mass of the whole robot with its battery [kg]", 2.55, 0.1, 200),
    Question("length", "length of the body [m]", 0.198, 0.03, 3),
    Question("width", "width of the body [m]", 0.084, 0.03, 3),
    Question("height", "height of the body [m]", 0.036, 0.01, 1),
    Question("hips_x", "from the middle to the coxa joints of the front legs, forward [m]", 0.093, 0.01, 2),
    Question("hips_y", "from the middle to the coxa joints of the front legs, sideways [m]", 0.051, 0.01, 2),
    Question("middle_y", "the same sideways of the middle legs [m]", 0.073, 0.01, 2),
    Question("yaw", "direction of the front legs from straight ahead [deg]", 45, 0, 90),
    Question("coxa", "length of a coxa, from joint to joint [m]", 0.045, 0.005, 1),
    Question("femur", "length of a femur [m]", 0.077, 0.01, 1),
    Question("tibia", "length of a tibia, from its joint to the ground [m]", 0.123, 0.01, 2),
    Question("leg_mass", "mass of one leg with its servos [kg]", 0.2, 0.005, 20),
    Question("torque", "stall torque of a servo [N m] (1 kg cm = 0.098 N m)", 3.43, 0.05, 200),
    Question("speed", "no-load speed of a servo [rad/s] (0.16 s per 60 degrees = 6.5 rad/s)", 5.82, 0.2, 100),
)


def ask(answer: Callable[[str], str], tell: Callable[[str], None]) -> dict[str, float]:
    """Ask every question until a number within its bounds is given; an empty answer is the value in brackets."""
    given: dict[str, float] = {}
    for question in QUESTIONS:
        if question.key == "middle_y" and given["legs"] < 6:
            continue
        while question.key not in given:
            text = answer(f"{question.text} [{question.default:g}]: ").strip()
            try:
                value = parse_number(text or str(question.default))
            except ValueError:
                value = math.nan
            if question.low <= value <= question.high and not (question.key == "legs" and value % 2):
                given[question.key] = value
            else:
                tell(f"  {text!r}: a number from {question.low:g} to {question.high:g} is needed")
    return given


def list_defaults() -> dict[str, float]:
    """Return the JetHexa's answers."""
    return {question.key: question.default for question in QUESTIONS}


def servo_from_data_sheet(torque: float, speed: float) -> Servo:
    """Return a servo of this stall torque [N m] and speed [rad/s], stiff and damped in the JetHexa's proportion."""
    pattern = Robot.jethexa().servo
    share = torque / pattern.torque_limit
    stiffness, damping = share * pattern.stiffness, share * pattern.damping
    return Servo(stiffness, damping, torque, speed, pattern.resolution)


def make_robot_from_answers(given: dict[str, float], name: str) -> Robot:
    """Return the Robot of these numbers; RobotError if its legs weigh as much as the whole robot."""
    count = round(given["legs"])
    body_mass = given["mass"] - count * given["leg_mass"]
    if body_mass <= 0.0:
        raise RobotError(
            f"mass: {given['mass']:g} kg given, and {count} legs of {given['leg_mass']:g} kg: "
            "nothing is left for the body"
        )
    pattern = Robot.jethexa()
    box = np.array([given["length"], given["width"], given["height"]])
    squares = box**2
    body = Body(body_mass, np.diag(body_mass * (squares.sum() - squares) / 12.0), box)
    side = count // 2
    names = {6: ("LF", "LM", "LR", "RR", "RM", "RF"), 4: ("LF", "LR", "RR", "RF")}.get(count)
    legs = []
    for k in range(count):
        left, along = k < side, k if k < side else count - 1 - k
        share = 1.0 - 2.0 * along / (side - 1)  # from 1, the front, to -1
        wide = given.get("middle_y", given["hips_y"])
        y = wide + (given["hips_y"] - wide) * abs(share)
        yaw = math.radians(90.0 - share * (90.0 - given["yaw"]))
        sign = 1.0 if left else -1.0
        label = names[k] if names else f"{'L' if left else 'R'}{along + 1}"
        place = np.array([share * given["hips_x"], sign * y, 0.0])
        legs.append(_leg(pattern.legs[0], label, place, sign * yaw, given))
    servo = servo_from_data_sheet(given["torque"], given["speed"])
    robot = replace(pattern, body=body, servo=servo, imu=Imu(np.zeros(3), np.eye(3)))
    return standard_robot(robot, legs, name)


def _leg(pattern: Leg, name: str, place: np.ndarray, yaw: float, given: dict[str, float]) -> Leg:
    """Return a leg of rods with joints as the pattern's, the JetHexa's; its mass is divided as there."""
    joints, links, end = [], [], np.zeros(3)
    whole = sum(link.mass for link in pattern.links)
    limits = (-1.5, 1.5), (-1.7, 2.0), (-2.0, 1.2)
    for joint, link, (lower, upper) in zip(pattern.joints, pattern.links, limits, strict=True):
        mass, length = given["leg_mass"] * link.mass / whole, given[link.name]
        square = 0.012**2  # of a rod's radius [m^2]
        along, across = 0.5 * mass * square, mass * (length**2 / 12.0 + 0.25 * square)
        com, inertia = np.array([0.5 * length, 0.0, 0.0]), np.diag([along, across, across])
        links.append(replace(link, mass=mass, length=length, com=com, inertia=inertia))
        label = f"{link.name}_joint_{name}"
        joints.append(replace(joint, name=label, origin=end, lower=lower, upper=upper, servo_direction=1))
        end = end + length * link.rotation[:, 0]
    return Leg(name, rotation_z(yaw), place, tuple(joints), tuple(links), 1, "leg")
