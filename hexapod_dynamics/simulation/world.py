"""State and surroundings of a simulated robot, as arrays; compiled loops use them as a StepMemory."""

from __future__ import annotations

from collections import namedtuple
from functools import lru_cache
from typing import Any

import numpy as np

from hexapod_dynamics.dynamics.robot_kernels import RobotKernels
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.simulation.contact import CORNERS, STICTION_VISCOSITY
from hexapod_dynamics.simulation.ground import Ground
from hexapod_dynamics.simulation.servo_kernel import (
    DAMPING,
    DRIVEN,
    FEED_FORWARD,
    LOADED,
    LOWER,
    NUMBERS,
    SERVO,
    SPEED_LIMIT,
    STIFFNESS,
    TORQUE_LIMIT,
    UPPER,
)

# State: position (3,) [m], rotation (3, 3) world <- base_link, q (n,), nu (6 + n,): body twist, linear first, and
# rates. World: the environment of the robot. Outputs of the last step: acceleration (6 + n,), foot_forces (legs, 3) [N,
# world] at the end of each leg's last link, ground_force (3,) [N, world], the number of contacts.
State = namedtuple("State", "position rotation q nu")
World = namedtuple(
    "World",
    "box ground contact servo servos acceleration foot_forces ground_force contact_count friction_memory",
)


@lru_cache(maxsize=8)
def kernels_of(robot: Robot) -> RobotKernels:
    """Return the RobotKernels of a Robot; there is one for each robot, cached."""
    return RobotKernels(robot)


def make_state(joints: int) -> State:
    """Return a State of zeros for this number of joints, at the origin, upright."""
    return State(np.zeros(3), np.eye(3), np.zeros(joints), np.zeros(6 + joints))


def make_servos(robot: Robot) -> tuple[Any, Any]:
    """Return the numbers of a Robot's servos and their states (n, SERVO): loaded, at zero."""
    joints = robot.joint_count
    servo = np.zeros(NUMBERS)
    servo[STIFFNESS], servo[DAMPING] = robot.servo.stiffness, robot.servo.damping
    servo[TORQUE_LIMIT], servo[SPEED_LIMIT] = robot.servo.torque_limit, robot.servo.speed_limit
    servo[FEED_FORWARD] = 1.0
    servos = np.zeros((joints, SERVO))
    servos[:, LOADED] = servos[:, DRIVEN] = 1.0
    limits = [(joint.lower, joint.upper) for leg in robot.legs for joint in leg.joints]
    servos[:, LOWER], servos[:, UPPER] = np.array(limits).reshape(joints, 2).T
    return servo, servos


def make_world(robot: Robot, ground: Ground) -> World:
    """Return the World of a Robot on a Ground, its servos at zero."""
    joints = robot.joint_count
    servo, servos = make_servos(robot)
    return World(
        box=np.array(robot.body.box, float),
        ground=ground.numbers(),
        contact=np.array(
            [
                robot.contact.stiffness,
                robot.contact.damping,
                robot.contact.friction,
                -1.0 if ground.is_viscous else ground.friction,
                STICTION_VISCOSITY,
            ]
        ),
        servo=servo,
        servos=servos,
        acceleration=np.zeros(6 + joints),
        foot_forces=np.zeros((len(robot.legs), 3)),
        ground_force=np.zeros(3),
        contact_count=np.zeros(1, np.int64),
        friction_memory=np.zeros((joints + CORNERS, 2)),
    )
