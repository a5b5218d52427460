"""State of the servos, compiled: their columns, commands and moving set-points; see actuator.py."""

import math

import cython

from hexapod_dynamics import kernel_memory
from hexapod_dynamics.kernel_layout import columns, struct

# Numbers of the servos of a robot: stiffness [N m/rad], damping [N m s/rad], torque limit [N m], speed limit [rad/s],
# dead band [rad], share of the set-point's rate that they feed forward (0: they damp against zero rate).
DRIVE = struct(stiffness=1, damping=1, torque_limit=1, speed_limit=1, dead_band=1, feed_forward=1)
STIFFNESS, DAMPING, TORQUE_LIMIT, SPEED_LIMIT, DEAD_BAND, FEED_FORWARD, NUMBERS = columns(DRIVE)
# State of one servo: set-point, its present rate, target, speed towards it, torque, +-1 if the torque saturates, 1 if
# the motor is loaded (else 0), 1 if it can give torque (0 if it is limp), the joint's limits, +-1 if the joint is at a
# stop. Of a servo with its own law (held_servos.py): 1 if it has one, the torque that its loop holds, its damping, its
# gear's viscous friction and limit of dry friction, +-1 if the gear slides (0: it sticks), all friction of the last
# step.
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
    holds=1,
    held=1,
    damping=1,
    viscous=1,
    dry=1,
    sliding=1,
    friction=1,
)
_COLUMNS = columns(SERVO_LAYOUT)
SETPOINT, RATE, TARGET, SPEED, TORQUE, SATURATED, LOADED, DRIVEN, LOWER, UPPER, STOPPED = _COLUMNS[:11]
HOLDS, HELD, SERVO_DAMPING, VISCOUS, DRY, SLIDING, FRICTION, SERVO = _COLUMNS[11:]
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


# ---- for Python: servos (n, SERVO), numbers (NUMBERS,) ---------------------------------------------------------------


def command(servos, numbers, joint, target, duration):
    """Send one servo to the target [rad or m] in the duration [s], uniformly, within its speed limit."""
    send(servos_of(servos), drive_of(numbers), joint, target, duration)


def command_all(servos, numbers, targets, duration):
    """Send every servo to its target (n,) [rad or m] in the duration [s], uniformly, within its speed limit."""
    rows, drive = servos_of(servos), drive_of(numbers)
    wanted = kernel_memory.values(targets, len(servos))
    for joint in range(len(servos)):
        send(rows, drive, joint, wanted[joint], duration)


def move_setpoints(servos, h):
    """Advance every set-point by h seconds."""
    move(servos_of(servos), len(servos), h)
