"""The compiled loops over steps: walking under a gait, following commanded servos, predicting a horizon."""

from __future__ import annotations

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.dynamics.kernels import leg_terms, set_state
from hexapod_dynamics.dynamics.late_intrinsics import borrowed
from hexapod_dynamics.simulation.actuator import RATE, SETPOINT, SPEED, TARGET, TORQUE, command
from hexapod_dynamics.simulation.contact import CORNERS, corner_point
from hexapod_dynamics.simulation.ground import surface
from hexapod_dynamics.simulation.numba_tripod import advance
from hexapod_dynamics.simulation.step import step


@kernel
def quantised(angle, resolution):
    """Return the multiple of the resolution nearest to the angle; the angle itself if the resolution is 0."""
    if resolution == 0.0:
        return angle
    return round(angle / resolution) * resolution


@kernel
def _write(log, row, position, rotation, q, nu, servos, foot_forces, ground_force):
    """Write a row of the log, in the order of `trajectory.split`."""
    for r in range(3):
        log[row, r] = position[r]
        log[row, 18 + r] = ground_force[r]
        for c in range(3):
            log[row, 3 + 3 * r + c] = rotation[r, c]
    for r in range(6):
        log[row, 12 + r] = nu[r]
    joints = q.size
    for j in range(joints):
        log[row, 21 + j] = q[j]
        log[row, 21 + joints + j] = nu[6 + j]
        log[row, 21 + 2 * joints + j] = servos[j, SETPOINT]
        log[row, 21 + 3 * joints + j] = servos[j, TORQUE]
    for i in range(foot_forces.shape[0]):
        for r in range(3):
            log[row, 21 + 4 * joints + 3 * i + r] = foot_forces[i, r]


@kernel
def walk(ws, world, state, gait, h, steps, since_command, command_steps, resolution, log, log_steps):
    """Walk for so many steps of h [s]; return the number of steps since the last command.

    The gait commands the servos every command_steps steps, in multiples of the resolution [rad]. Every log_steps-th
    step is written to the log.
    """
    ws, world, state, gait, log = borrowed(ws), borrowed(world), borrowed(state), borrowed(gait), borrowed(log)
    servos, servo, wanted = world.servos, world.servo, gait.position
    position, rotation, q, nu = state.position, state.rotation, state.q, state.nu
    forces, total = world.foot_forces, world.ground_force
    duration = command_steps * h
    for k in range(steps):
        if since_command % command_steps == 0:
            advance(gait, duration)
            for joint in range(q.size):
                command(servos, servo, joint, quantised(wanted[joint], resolution), duration)
        since_command += 1
        step(ws, world, state, h)
        if (k + 1) % log_steps == 0:
            _write(log, (k + 1) // log_steps - 1, position, rotation, q, nu, servos, forces, total)
    return since_command % command_steps


@kernel
def follow(ws, world, state, h, steps, log, log_steps):
    """Take so many steps of h [s] with the servos on their way to their targets, every log_steps-th logged."""
    ws, world, state, log = borrowed(ws), borrowed(world), borrowed(state), borrowed(log)
    position, rotation, q, nu = state.position, state.rotation, state.q, state.nu
    servos, forces, total = world.servos, world.foot_forces, world.ground_force
    for k in range(steps):
        step(ws, world, state, h)
        if (k + 1) % log_steps == 0:
            _write(log, (k + 1) // log_steps - 1, position, rotation, q, nu, servos, forces, total)


@kernel
def command_all(world, targets, duration, resolution):
    """Send every servo to its target (n,) [rad] in the duration [s]."""
    for joint in range(world.servos.shape[0]):
        command(world.servos, world.servo, joint, quantised(targets[joint], resolution), duration)


@kernel
def take_steps(ws, world, state, h, steps):
    """Take so many steps of h [s] with the servos on their way to their targets."""
    ws, world, state = borrowed(ws), borrowed(world), borrowed(state)
    for _ in range(steps):
        step(ws, world, state, h)


@kernel
def _copy_row(to, source):
    """Copy an array of one dimension; by `[:]` numba would allocate, in case that they overlap."""
    for i in range(to.shape[0]):
        to[i] = source[i]


@kernel
def _copy_matrix(to, source):
    """Copy an array of two dimensions, likewise."""
    for i in range(to.shape[0]):
        for k in range(to.shape[1]):
            to[i, k] = source[i, k]


@kernel
def roll_out(ws, world, state, start, start_servos, targets, period, h, steps, positions, rotations, joints):
    """Predict from the state `start` and the servos `start_servos` under future targets (K, n), one every period [s].

    The results after each period go to positions (K, 3), rotations (K, 3, 3), joints (K, n); state and world.servos are
    overwritten, `start` is only read.
    """
    _copy_row(state.position, start.position)
    _copy_matrix(state.rotation, start.rotation)
    _copy_row(state.q, start.q)
    _copy_row(state.nu, start.nu)
    _copy_matrix(world.servos, start_servos)
    for k in range(targets.shape[0]):
        command_all(world, targets[k], period, 0.0)
        take_steps(ws, world, state, h, steps)
        _copy_row(positions[k], state.position)
        _copy_matrix(rotations[k], state.rotation)
        _copy_row(joints[k], state.q)


@kernel
def settle_setpoints(world, q):
    """Put every servo's set-point and target at the joint's angle, at rest."""
    for joint in range(q.size):
        world.servos[joint, SETPOINT] = q[joint]
        world.servos[joint, TARGET] = q[joint]
        world.servos[joint, RATE] = 0.0
        world.servos[joint, SPEED] = 0.0


@kernel
def _clearance(world, rotation, px, py, pz):
    """Return how high the body must be for the body-frame point to touch the ground."""
    x = rotation[0, 0] * px + rotation[0, 1] * py + rotation[0, 2] * pz
    y = rotation[1, 0] * px + rotation[1, 1] * py + rotation[1, 2] * pz
    z = rotation[2, 0] * px + rotation[2, 1] * py + rotation[2, 2] * pz
    return surface(world.ground, x, y)[0] - z


@kernel
def resting_height(ws, world, state):
    """Return the height [m] of the body over the origin at which the lowest link end or corner just touches the
    ground.
    """
    set_state(ws, state.rotation, state.q, state.nu, world.no_torque)
    leg_terms(ws)
    rotation = state.rotation
    highest = -1e9
    for i in range(ws.legs.shape[0]):
        for j in range(ws.legs[i, 4] + 1):
            row = ws.rows.point + 3 * j
            px = ws.lanes[ws.legs[i, 0], row, ws.legs[i, 1]]
            py = ws.lanes[ws.legs[i, 0], row + 1, ws.legs[i, 1]]
            pz = ws.lanes[ws.legs[i, 0], row + 2, ws.legs[i, 1]]
            highest = max(highest, _clearance(world, rotation, px, py, pz))
    for corner in range(CORNERS):
        px, py, pz = corner_point(world.box, corner)
        highest = max(highest, _clearance(world, rotation, px, py, pz))
    return highest
