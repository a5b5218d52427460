"""A robot made from a few numbers that its owner is asked for: equal legs, evenly placed along both sides."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot import Body, Contact, Imu, Joint, Leg, Link, Robot, Servo
from hexapod_dynamics.robot.urdf_legs import NAMES, standard_robot
from hexapod_dynamics.se3 import rotation_x_to, rotation_z

DIRECTIONS = ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0))
AXES = ((0.0, 0.0, 1.0), (0.0, -1.0, 0.0), (0.0, -1.0, 0.0))
THICKNESS = 0.012  # [m] radius of the rods that stand for the links
NAMES_OF_SIX = ("LF", "LM", "LR", "RR", "RM", "RF")
NAMES_OF_FOUR = ("LF", "LR", "RR", "RF")


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
                value = float(text or question.default)
            except ValueError:
                value = math.nan
            if question.low <= value <= question.high and not (question.key == "legs" and value % 2):
                given[question.key] = value
            else:
                tell(f"  {text!r}: a number from {question.low:g} to {question.high:g} is needed")
    return given


def defaults() -> dict[str, float]:
    """Return the JetHexa's answers."""
    return {question.key: question.default for question in QUESTIONS}


def servo_from_data_sheet(torque: float, speed: float) -> Servo:
    """Return a servo of this stall torque [N m] and speed [rad/s], stiff and damped in the JetHexa's proportion."""
    stiffness = torque * 30.0 / 3.43
    return Servo(stiffness, 0.01 * stiffness, torque, speed, math.radians(0.24))


def robot_of_answers(given: dict[str, float], name: str) -> Robot:
    """Return the Robot of these numbers; RobotError if its legs weigh as much as the whole robot."""
    count = round(given["legs"])
    body_mass = given["mass"] - count * given["leg_mass"]
    if body_mass <= 0.0:
        raise RobotError(
            f"mass: {given['mass']:g} kg given, and {count} legs of {given['leg_mass']:g} kg: "
            "nothing is left for the body"
        )
    box = np.array([given["length"], given["width"], given["height"]])
    squares = box**2
    body = Body(body_mass, np.diag(body_mass * (squares.sum() - squares) / 12.0), box)
    side = count // 2
    names = NAMES_OF_SIX if count == 6 else NAMES_OF_FOUR if count == 4 else None
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
        legs.append(_leg(label, place, sign * yaw, given, 3 * k + 1))
    servo = servo_from_data_sheet(given["torque"], given["speed"])
    parts = body, tuple(legs), servo, Contact(10000.0, 150.0, 50.0), Imu(np.zeros(3), np.eye(3))
    return standard_robot(Robot(name, 9.81, *parts), legs, name)


def _leg(name: str, place: np.ndarray, yaw: float, given: dict[str, float], servo: int) -> Leg:
    """Return a leg of rods; its mass is divided among them as in the JetHexa. servo: id of its first servo."""
    joints, links, end = [], [], np.zeros(3)
    for k, share in enumerate((0.1, 0.35, 0.55)):
        mass, length = share * given["leg_mass"], given[NAMES[k]]
        along, across = 0.5 * mass * THICKNESS**2, mass * (length**2 / 12.0 + 0.25 * THICKNESS**2)
        inertia, axes = np.diag([along, across, across]), rotation_x_to(DIRECTIONS[k])
        links.append(Link(NAMES[k], mass, length, np.array([0.5 * length, 0.0, 0.0]), inertia, axes))
        lower, upper = ((-1.5, 1.5), (-1.7, 2.0), (-2.0, 1.2))[k]
        joints.append(Joint(f"{NAMES[k]}_joint_{name}", "revolute", np.array(AXES[k]), end, lower, upper,
                            servo_id=servo + k, servo_direction=1))  # fmt: skip
        end = end + length * np.array(DIRECTIONS[k])
    return Leg(name, rotation_z(yaw), place, tuple(joints), tuple(links), 1, "leg")
