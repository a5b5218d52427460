"""The bus servo: a set-point that moves uniformly to its target, and a torque that pulls the joint after it.

    tau = clip(k (setpoint - q) + d (d setpoint/dt - qdot), +- torque limit)

A limp servo (unloaded, as its protocol says) only damps: tau = -d qdot.
Treated implicitly like the contact: over a step of length h the torque is the one at the end of it.
"""

from hexapod_dynamics.dynamics.kernel_cache import kernel

# Numbers of the servo.
STIFFNESS, DAMPING, TORQUE_LIMIT, SPEED_LIMIT, NUMBERS = range(5)
# Columns of a row of `servos`: set-point, its rate now, target, speed towards it, torque, +-1 where the torque
# saturates, 1 where the motor is loaded and 0 where it is limp.
SETPOINT, RATE, TARGET, SPEED, TORQUE, SATURATED, LOADED, SERVO = range(8)


@kernel
def command(servos, numbers, joint, target, duration):
    """Send one servo to the target [rad or m] in the duration [s], uniformly, but no faster than it can."""
    distance = abs(target - servos[joint, SETPOINT])
    servos[joint, TARGET] = target
    servos[joint, SPEED] = numbers[SPEED_LIMIT]
    if distance < servos[joint, SPEED] * duration:
        servos[joint, SPEED] = distance / duration


@kernel
def move_setpoints(servos, h):
    """Move every set-point on by h seconds."""
    for joint in range(servos.shape[0]):
        left = servos[joint, TARGET] - servos[joint, SETPOINT]
        furthest = servos[joint, SPEED] * h
        # A last bit of a move that ends with this step is not worth a slow step of its own.
        if abs(left) <= furthest * (1.0 + 1e-9):
            servos[joint, RATE] = left / h
            servos[joint, SETPOINT] = servos[joint, TARGET]
        else:
            servos[joint, RATE] = servos[joint, SPEED] if left > 0.0 else -servos[joint, SPEED]
            servos[joint, SETPOINT] += servos[joint, RATE] * h


@kernel
def add_servos(lanes, joints, moving, rows_block, rows_force, servos, numbers, q, nu, h):
    """Add the servos' torques at the old velocity to the right-hand side and their implicit part to the arrow."""
    damping = numbers[DAMPING]
    for joint in range(servos.shape[0]):
        if moving[joint] == 0.0:
            continue
        block, lane, k = joints[joint, 0], joints[joint, 1], joints[joint, 2]
        if servos[joint, SATURATED] == 0.0:
            rate = nu[6 + joint]
            stiffness = numbers[STIFFNESS] * servos[joint, LOADED]
            lag = servos[joint, SETPOINT] - q[joint] - h * rate
            torque = stiffness * lag + damping * (servos[joint, LOADED] * servos[joint, RATE] - rate)
            lanes[block, rows_block + k * (k + 3) // 2, lane] += h * (damping + h * stiffness)
        else:
            torque = servos[joint, SATURATED] * numbers[TORQUE_LIMIT]
        lanes[block, rows_force + k, lane] += torque


@kernel
def settle_servos(moving, servos, numbers, q, nu, h):
    """Set the torques at the new velocity nu; tell whether a guess about saturation was wrong, and correct it."""
    limit = numbers[TORQUE_LIMIT]
    wrong = False
    for joint in range(servos.shape[0]):
        if moving[joint] == 0.0:
            servos[joint, TORQUE] = 0.0
            continue
        rate = nu[6 + joint]
        stiffness = numbers[STIFFNESS] * servos[joint, LOADED]
        lag = servos[joint, SETPOINT] - q[joint] - h * rate
        torque = stiffness * lag + numbers[DAMPING] * (servos[joint, LOADED] * servos[joint, RATE] - rate)
        servos[joint, TORQUE] = min(limit, max(-limit, torque))
        saturated = 0.0
        if torque > limit:
            saturated = 1.0
        elif torque < -limit:
            saturated = -1.0
        if saturated != servos[joint, SATURATED]:
            wrong = True
            servos[joint, SATURATED] = saturated
    return wrong
