"""One step of the robot in time, compiled: model, contacts, servos, all forces taken at the end of the step.

With M the mass matrix and D the derivative of contact and servo forces by the new velocity (implicit part):

    (M + h D) a = tau(old velocity) - C nu - N,    nu' = nu + h a,    g' = g exp(h V'),    q' = q + h qdot'

First order in h, and stable however stiff contact and servos are. M + h D is an arrow like M, and is solved as one.
"""

from __future__ import annotations

from collections import namedtuple
from functools import lru_cache
from math import cos, sin, sqrt
from typing import Any

import numpy as np

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.dynamics.kernels import RobotKernels, get_acceleration, leg_terms, set_state, solve_arrow
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.simulation.actuator import (
    DAMPING,
    DRIVEN,
    LOADED,
    LOWER,
    NUMBERS,
    SERVO,
    SPEED_LIMIT,
    STIFFNESS,
    TORQUE_LIMIT,
    UPPER,
    add_servos,
    move_setpoints,
    settle_servos,
)
from hexapod_dynamics.simulation.contact import (
    CONTACT_DAMPING,
    CONTACT_STIFFNESS,
    CORNERS,
    JACOBIAN,
    STICTION_VISCOSITY,
    add_contacts,
    begin_friction,
    find_contacts,
    move_contacts,
    record_forces,
    remember_friction,
    settle_contacts,
    settle_friction,
)
from hexapod_dynamics.simulation.ground import Ground

# Limit of the corrections per step of the predicted contact, friction and saturation states.
CORRECTIONS = 4

# State: position (3,) [m], rotation (3, 3) world <- base_link, q (n,), nu (6 + n,): body twist, linear first, and
# rates. World: what acts on the robot. Outputs of the last step: acceleration (6 + n,), foot_forces (legs, 3) [N,
# world] at the end of each leg's last link, contacts with their number in contact_count[0].
State = namedtuple("State", "position rotation q nu")
World = namedtuple(
    "World",
    "box ground contact servo servos acceleration foot_forces ground_force contacts contact_count friction_memory "
    "no_torque",
)


@lru_cache(maxsize=8)
def kernels_of(robot: Robot) -> RobotKernels:
    """Return the RobotKernels of a Robot; there is one for each robot, cached."""
    return RobotKernels(robot)


def make_state(joints: int) -> State:
    """Return a State of zeros for so many joints, at the origin, upright."""
    return State(np.zeros(3), np.eye(3), np.zeros(joints), np.zeros(6 + joints))


def make_servos(robot: Robot) -> tuple[Any, Any]:
    """Return the numbers of a Robot's servos and their rows (n, SERVO), loaded, at zero."""
    joints = robot.joint_count
    servo = np.zeros(NUMBERS)
    servo[STIFFNESS], servo[DAMPING] = robot.servo.stiffness, robot.servo.damping
    servo[TORQUE_LIMIT], servo[SPEED_LIMIT] = robot.servo.torque_limit, robot.servo.speed_limit
    servos = np.zeros((joints, SERVO))
    servos[:, LOADED] = servos[:, DRIVEN] = 1.0
    limits = [(joint.lower, joint.upper) for leg in robot.legs for joint in leg.joints]
    servos[:, LOWER], servos[:, UPPER] = np.array(limits).reshape(joints, 2).T
    return servo, servos


def make_world(robot: Robot, ground: Ground) -> World:
    """Return the World of a Robot on a Ground, its servos at zero."""
    joints = robot.joint_count
    deepest = max(len(leg.joints) for leg in robot.legs)
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
        contacts=np.zeros((joints + CORNERS, JACOBIAN + 3 * deepest)),
        contact_count=np.zeros(1, np.int64),
        friction_memory=np.zeros((joints + CORNERS, 2)),
        no_torque=np.zeros(joints),
    )


@kernel
def move_body(position, rotation, nu, h):
    """Advance the body by h seconds at its twist: g exp(h V), Rodrigues' formula; the rotation stays a rotation."""
    x, y, z = h * nu[3], h * nu[4], h * nu[5]
    square = x * x + y * y + z * z
    if square > 1e-6:
        angle = sqrt(square)
        a, b = sin(angle) / angle, (1.0 - cos(angle)) / square
        c = (1.0 - a) / square
    else:
        a = 1.0 - square * (1.0 / 6.0 - square / 120.0)
        b = 0.5 - square * (1.0 / 24.0 - square / 720.0)
        c = 1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0)
    vx, vy, vz = h * nu[0], h * nu[1], h * nu[2]
    ux, uy, uz = y * vz - z * vy, z * vx - x * vz, x * vy - y * vx
    dx = vx + b * ux + c * (y * uz - z * uy)
    dy = vy + b * uy + c * (z * ux - x * uz)
    dz = vz + b * uz + c * (x * uy - y * ux)
    for r in range(3):
        r0, r1, r2 = rotation[r, 0], rotation[r, 1], rotation[r, 2]
        position[r] += r0 * dx + r1 * dy + r2 * dz
        # Row r of R times exp: r + a (r x w) + b ((r x w) x w).
        c0, c1, c2 = r1 * z - r2 * y, r2 * x - r0 * z, r0 * y - r1 * x
        r0, r1, r2 = (
            r0 + a * c0 + b * (c1 * z - c2 * y),
            r1 + a * c1 + b * (c2 * x - c0 * z),
            r2 + a * c2 + b * (c0 * y - c1 * x),
        )
        # Correct the rounding error of the row length to first order.
        scale = 1.5 - 0.5 * (r0 * r0 + r1 * r1 + r2 * r2)
        rotation[r, 0], rotation[r, 1], rotation[r, 2] = r0 * scale, r1 * scale, r2 * scale


@kernel
def step(ws, world, state, h):
    """Advance the state by h [s]; servos move to their targets. Nothing is allocated."""
    q, nu, acceleration, position, rotation = state.q, state.nu, world.acceleration, state.position, state.rotation
    contacts, servos, servo = world.contacts, world.servos, world.servo
    lanes, shared, joints, moving = ws.lanes, ws.shared, ws.joints, ws.moving
    arm, block, force = ws.rows.arm, ws.rows.block, ws.rows.force
    law, memory = world.contact, world.friction_memory
    stiffness, damping = law[CONTACT_STIFFNESS], law[CONTACT_DAMPING]
    move_setpoints(servos, h)
    set_state(ws, rotation, q, nu, world.no_torque)
    leg_terms(ws)
    point, screw, box, ground = ws.rows.point, ws.rows.screw, world.box, world.ground
    count = find_contacts(lanes, ws.legs, moving, point, screw, rotation, position, box, ground, contacts)
    move_contacts(contacts, count, nu)
    settle_contacts(contacts, count, stiffness, damping, 0.0)
    begin_friction(contacts, count, law, memory)
    for correction in range(CORRECTIONS + 1):
        if correction > 0:
            # The solver overwrites the arrow; nu is reset.
            for i in range(nu.size):
                nu[i] -= h * acceleration[i]
            set_state(ws, rotation, q, nu, world.no_torque)
            leg_terms(ws)
            move_contacts(contacts, count, nu)
        add_contacts(lanes, shared, contacts, count, arm, block, force, stiffness, damping, h)
        add_servos(lanes, joints, moving, block, force, servos, servo, q, nu, h)
        solve_arrow(ws)
        get_acceleration(ws, acceleration)
        for i in range(nu.size):
            nu[i] += h * acceleration[i]
        move_contacts(contacts, count, nu)
        wrong = settle_servos(moving, servos, servo, q, nu, h)
        if settle_contacts(contacts, count, stiffness, damping, h):
            wrong = True
        if correction == CORRECTIONS:
            break
        if settle_friction(contacts, count, law, wrong, correction == CORRECTIONS - 1):
            wrong = True
        if not wrong:
            break
    world.contact_count[0] = count
    remember_friction(contacts, count, law, memory)
    record_forces(contacts, count, rotation, ws.legs, world.foot_forces, world.ground_force)
    for joint in range(q.size):
        q[joint] += h * nu[6 + joint]
    move_body(position, rotation, nu, h)
