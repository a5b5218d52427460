"""The servos of a step, compiled: moving set-points, torques at the end of the step, joint stops; see actuator.py."""

import math

import cython

from hexapod_dynamics import kernel_memory
from hexapod_dynamics.dynamics import c_model
from hexapod_dynamics.kernel_layout import columns, struct

# Numbers of the servos of a robot: stiffness [N m/rad], damping [N m s/rad], torque limit [N m], speed limit [rad/s],
# dead band [rad].
DRIVE = struct(stiffness=1, damping=1, torque_limit=1, speed_limit=1, dead_band=1)
STIFFNESS, DAMPING, TORQUE_LIMIT, SPEED_LIMIT, DEAD_BAND, NUMBERS = columns(DRIVE)
# State of one servo: set-point, its present rate, target, speed towards it, torque, +-1 if the torque saturates, 1 if
# the motor is loaded (else 0), 1 if it can give torque (0 if it is limp), the joint's limits, +-1 if the joint is at a
# stop.
SERVO_LAYOUT = struct(
    setpoint=1,
    rate=1,
    target=1,
    speed=1,
    torque=1,
    saturated=1,
    loaded=1,
    driven=1,
    lower=1,
    upper=1,
    stopped=1,
)
SETPOINT, RATE, TARGET, SPEED, TORQUE, SATURATED, LOADED, DRIVEN, LOWER, UPPER, STOPPED, SERVO = columns(SERVO_LAYOUT)
# Stiffness and damping of a joint stop, as multiples of those of the servo.
STOP_STIFFNESS, STOP_DAMPING = 20.0, 4.0
# Adding and subtracting this number rounds to the nearest whole number (halves to even), because doubles of this size
# are 1 apart.
ROUNDING = 1.5 * 2.0**52


def drive_of(array):
    """Return the numbers (NUMBERS,) of a robot's servos with their names."""
    return cython.cast("Drive *", kernel_memory.struct(array, DRIVE))


def servos_of(array):
    """Return the servos (n, SERVO) by the names of their columns."""
    return cython.cast("Servo *", kernel_memory.structs(array, SERVO_LAYOUT, len(array)))


def quantised(angle, resolution):
    """Return the multiple of the resolution nearest to the angle; the angle itself if the resolution is 0."""
    if resolution == 0.0:
        return angle
    return (angle / resolution + ROUNDING - ROUNDING) * resolution


def send(servos, drive, joint, target, duration):
    """Send one servo to the target [rad or m] in the duration [s], uniformly, within its speed limit."""
    distance = math.fabs(target - servos[joint].setpoint)
    servos[joint].target = target
    servos[joint].speed = drive.speed_limit
    if distance < servos[joint].speed * duration:
        servos[joint].speed = distance / duration


def move(servos, count, h):
    """Advance every set-point by h seconds."""
    for joint in range(count):
        left = servos[joint].target - servos[joint].setpoint
        furthest = servos[joint].speed * h
        # A remaining motion shorter than a step is added to this step.
        if math.fabs(left) <= furthest * (1.0 + 1e-9):
            servos[joint].rate = left / h
            servos[joint].setpoint = servos[joint].target
        else:
            servos[joint].rate = servos[joint].speed if left > 0.0 else -servos[joint].speed
            servos[joint].setpoint += servos[joint].rate * h


def stretch(lag, band):
    """Return the lag [rad] of a joint behind its set-point, less the servo's dead band."""
    return lag - min(band, max(-band, lag))


def stiffness_at(drive, lag):
    """Return the stiffness [N m/rad] of a servo at a lag [rad]: zero within its dead band."""
    if math.fabs(lag) > drive.dead_band or drive.dead_band == 0.0:
        return drive.stiffness
    return 0.0


def add_servos(m, servos, drive, q, nu, h):
    """Add the servos' torques at the old velocity to the right-hand side, and their implicit part to the mass
    matrix.
    """
    width = m.width
    for joint in range(m.joint_count):
        if m.moving[joint] == 0.0:
            continue
        k = m.joints[joint].k
        lane = c_model.hd_lane(m, m.joints[joint].block, m.joints[joint].lane)
        diagonal = (m.rows.block + k * (k + 3) // 2) * width
        if servos[joint].saturated == 0.0:
            rate = nu[6 + joint]
            on = servos[joint].loaded * servos[joint].driven
            lag = servos[joint].setpoint - q[joint]
            stiffness = on * stiffness_at(drive, lag)
            torque = stiffness * (stretch(lag, drive.dead_band) - h * rate)
            torque += drive.damping * (on * servos[joint].rate - rate)
            lane[diagonal] += h * (drive.damping + h * stiffness)
        else:
            torque = servos[joint].saturated * drive.torque_limit
        if servos[joint].stopped != 0.0:
            k_stop, d_stop = STOP_STIFFNESS * drive.stiffness, STOP_DAMPING * drive.damping
            limit = servos[joint].upper if servos[joint].stopped > 0.0 else servos[joint].lower
            torque += k_stop * (limit - q[joint] - h * nu[6 + joint]) - d_stop * nu[6 + joint]
            lane[diagonal] += h * (d_stop + h * k_stop)
        lane[(m.rows.force + k) * width] += torque


def settle_servos(m, servos, drive, q, nu, h):
    """Set the torques at the new velocity nu; return whether an assumption about saturation was wrong and was
    corrected.
    """
    limit = drive.torque_limit
    wrong = False
    for joint in range(m.joint_count):
        if m.moving[joint] == 0.0:
            servos[joint].torque = 0.0
            continue
        rate = nu[6 + joint]
        torque = 0.0
        if servos[joint].loaded * servos[joint].driven != 0.0:
            lag = servos[joint].setpoint - q[joint]
            torque = stiffness_at(drive, lag) * (stretch(lag, drive.dead_band) - h * rate)
            torque += drive.damping * (servos[joint].rate - rate)
        servos[joint].torque = min(limit, max(-limit, torque))
        saturated = 0.0
        if torque > limit:
            saturated = 1.0
        elif torque < -limit:
            saturated = -1.0
        if saturated != servos[joint].saturated:
            wrong = True
            servos[joint].saturated = saturated
        at = q[joint] + h * rate
        stopped = 0.0
        if at > servos[joint].upper:
            stopped = 1.0
        elif at < servos[joint].lower:
            stopped = -1.0
        if stopped != servos[joint].stopped:
            wrong = True
            servos[joint].stopped = stopped
    return wrong


# ---- for Python: servos (n, SERVO), numbers (NUMBERS,) ---------------------------------------------------------------


def command(servos, numbers, joint, target, duration):
    """Send one servo to the target [rad or m] in the duration [s], uniformly, within its speed limit."""
    send(servos_of(servos), drive_of(numbers), joint, target, duration)


def move_setpoints(servos, h):
    """Advance every set-point by h seconds."""
    move(servos_of(servos), len(servos), h)
