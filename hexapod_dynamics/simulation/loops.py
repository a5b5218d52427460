"""The compiled loops over steps: walking under a gait, following commanded servos, predicting a horizon.

They release the interpreter's lock while they compute, so each thread must work on its own memory.
"""

import cython

from hexapod_dynamics import kernel_memory
from hexapod_dynamics.dynamics import c_model
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import tripod_kernel
from hexapod_dynamics.simulation import contact, ground_kernel, servo_kernel
from hexapod_dynamics.simulation import step as stepping


def _write(memory, row):
    """Write a row of the log, in the order of `trajectory.split`."""
    joints = memory.joint_count
    for r in range(3):
        row[r] = memory.position[r]
        row[18 + r] = memory.ground_force[r]
    for r in range(9):
        row[3 + r] = memory.rotation[r]
    for r in range(6):
        row[12 + r] = memory.nu[r]
    for j in range(joints):
        row[21 + j] = memory.q[j]
        row[21 + joints + j] = memory.nu[6 + j]
        row[21 + 2 * joints + j] = memory.servos[j].setpoint
        row[21 + 3 * joints + j] = memory.servos[j].torque
    for r in range(3 * memory.leg_count):
        row[21 + 4 * joints + r] = memory.foot_forces[r]


def _row_width(memory):
    """Return the number of values of a row of the log."""
    return 21 + 4 * memory.joint_count + 3 * memory.leg_count


def _walk(memory, gait, h, steps, since_command, command_steps, resolution, rows, log_steps):
    """Walk as `walk` does."""
    duration, width = command_steps * h, _row_width(memory)
    for k in range(steps):
        if since_command % command_steps == 0:
            tripod_kernel.tick(gait, duration)
            for joint in range(memory.joint_count):
                target = servo_kernel.quantised(gait.position[joint], resolution)
                servo_kernel.send(memory.servos, memory.drive, joint, target, duration)
        since_command += 1
        stepping.step(memory, h)
        if (k + 1) % log_steps == 0:
            _write(memory, rows + ((k + 1) // log_steps - 1) * width)
    return since_command % command_steps


def _follow(memory, h, steps, rows, log_steps):
    """Advance as `follow` does."""
    width = _row_width(memory)
    for k in range(steps):
        stepping.step(memory, h)
        if (k + 1) % log_steps == 0:
            _write(memory, rows + ((k + 1) // log_steps - 1) * width)


def _command(memory, targets, duration, resolution):
    """Send every servo to its target (n,) [rad] in the duration [s]."""
    for joint in range(memory.joint_count):
        target = servo_kernel.quantised(targets[joint], resolution)
        servo_kernel.send(memory.servos, memory.drive, joint, target, duration)


def _copy(to, source, count):
    """Copy the first numbers of an array."""
    for i in range(count):
        to[i] = source[i]


def _begin_at(memory, start):
    """Copy the state and the servos of `start`."""
    _copy(memory.position, start.position, 3)
    _copy(memory.rotation, start.rotation, 9)
    _copy(memory.q, start.q, memory.joint_count)
    _copy(memory.nu, start.nu, 6 + memory.joint_count)
    for joint in range(memory.joint_count):
        memory.servos[joint] = start.servos[joint]


def _roll_out(memory, targets, count, period, h, steps, positions, rotations, joints):
    """Predict as `roll_out` does."""
    n = memory.joint_count
    for k in range(count):
        _command(memory, targets + k * n, period, 0.0)
        for _ in range(steps):
            stepping.step(memory, h)
        _copy(positions + 3 * k, memory.position, 3)
        _copy(rotations + 9 * k, memory.rotation, 9)
        _copy(joints + n * k, memory.q, n)


def _clearance(memory, px, py, pz):
    """Return the height of the body at which a point of the body frame touches the ground."""
    rotation = memory.rotation
    x = rotation[0] * px + rotation[1] * py + rotation[2] * pz
    y = rotation[3] * px + rotation[4] * py + rotation[5] * pz
    z = rotation[6] * px + rotation[7] * py + rotation[8] * pz
    height, _, _, _ = ground_kernel.surface_at(memory.plane, memory.rises, memory.rise_count, x, y)
    return height - z


def _resting_height(memory):
    """Return the height of the body as `resting_height` does."""
    m = memory.model
    c_model.hd_set_state(m, memory.rotation, memory.q, memory.nu, memory.no_torque)
    c_model.hd_leg_terms(m)
    highest, width = -1e9, m.width
    for i in range(m.leg_count):
        lane = c_model.hd_lane(m, m.legs[i].block, m.legs[i].lane)
        for j in range(m.legs[i].last + 1):
            row = (m.rows.point + 3 * j) * width
            highest = max(highest, _clearance(memory, lane[row], lane[row + width], lane[row + 2 * width]))
    for corner in range(contact.ALL_CORNERS):
        px, py, pz = contact.corner_point(memory.box, corner)
        highest = max(highest, _clearance(memory, px, py, pz))
    return highest


# ---- for Python: each takes a StepMemory -----------------------------------------------------------------------------


def walk(memory, gait, h, steps, since_command, command_steps, resolution, log, log_steps):
    """Walk for a number of steps of h [s]; return the number of steps since the last command.

    The gait, a TripodMemory, commands the servos every command_steps steps, in multiples of the resolution [rad]. Every
    log_steps-th step is written to the log (rows, width).
    """
    rows = kernel_memory.numbers(log, len(log) * _row_width(memory))
    _check_rows(log, steps, log_steps)
    with cython.nogil:
        since = _walk(memory, gait, h, steps, since_command, command_steps, resolution, rows, log_steps)
    return since


def follow(memory, h, steps, log, log_steps):
    """Simulate a number of steps of h [s] while the servos move to their targets; log every log_steps-th step."""
    rows = kernel_memory.numbers(log, len(log) * _row_width(memory))
    _check_rows(log, steps, log_steps)
    with cython.nogil:
        _follow(memory, h, steps, rows, log_steps)


def _check_rows(log, steps, log_steps):
    """Raise HexapodError unless the log has a row for every log_steps-th step."""
    if len(log) < steps // log_steps:
        raise HexapodError(f"log: {len(log)} rows given, {steps // log_steps} are needed")


def command_all(memory, targets, duration, resolution):
    """Send every servo to its target (n,) [rad] in the duration [s]."""
    _command(memory, kernel_memory.values(targets, memory.joint_count), duration, resolution)


def take_steps(memory, h, steps):
    """Simulate a number of steps of h [s] while the servos move to their targets."""
    with cython.nogil:
        for _ in range(steps):
            stepping.step(memory, h)


def roll_out(memory, start, targets, period, h, steps, positions, rotations, joints):
    """Predict from the state and the servos of another StepMemory under future targets (K, n), one every period [s].

    The results after each period go to positions (K, 3), rotations (K, 3, 3), joints (K, n); state and servos of
    `memory` are overwritten, those of `start` are only read.
    """
    count, n = len(targets), memory.joint_count
    wanted = kernel_memory.values(targets, count * n)
    places, turns = kernel_memory.numbers(positions, 3 * count), kernel_memory.numbers(rotations, 9 * count)
    angles = kernel_memory.numbers(joints, count * n)
    with cython.nogil:
        _begin_at(memory, start)
        _roll_out(memory, wanted, count, period, h, steps, places, turns, angles)


def settle_setpoints(memory, q):
    """Put every servo's set-point and target at the joint's angle (n,) [rad], at rest."""
    angles = kernel_memory.values(q, memory.joint_count)
    for joint in range(memory.joint_count):
        memory.servos[joint].setpoint = memory.servos[joint].target = angles[joint]
        memory.servos[joint].rate = memory.servos[joint].speed = 0.0


def resting_height(memory):
    """Return the height [m] of the body over the origin at which the lowest link end or corner just touches the
    ground.
    """
    return _resting_height(memory)
