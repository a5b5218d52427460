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
    servo = servos[joint]
    distance = abs(target - servo[SETPOINT])
    servo[TARGET] = target
    servo[SPEED] = numbers[SPEED_LIMIT]
    if distance < servo[SPEED] * duration:
        servo[SPEED] = distance / duration


@kernel
def move_setpoints(servos, h):
    """Move every set-point on by h seconds."""
    for joint in range(servos.shape[0]):
        servo = servos[joint]
        left = servo[TARGET] - servo[SETPOINT]
        furthest = servo[SPEED] * h
        # A last bit of a move that ends with this step is not worth a slow step of its own.
        if abs(left) <= furthest * (1.0 + 1e-9):
            servo[RATE] = left / h
            servo[SETPOINT] = servo[TARGET]
        else:
            servo[RATE] = servo[SPEED] if left > 0.0 else -servo[SPEED]
            servo[SETPOINT] += servo[RATE] * h


@kernel
def add_servos(ws, servos, numbers, q, nu, h):
    """Add the servos' torques at the old velocity to the right-hand side and their implicit part to the arrow."""
    damping = numbers[DAMPING]
    rows = ws.rows
    for joint in range(servos.shape[0]):
        if ws.moving[joint] == 0.0:
            continue
        servo = servos[joint]
        block, lane, k = ws.joints[joint, 0], ws.joints[joint, 1], ws.joints[joint, 2]
        if servo[SATURATED] == 0.0:
            rate = nu[6 + joint]
            stiffness = numbers[STIFFNESS] * servo[LOADED]
            lag = servo[SETPOINT] - q[joint] - h * rate
            torque = stiffness * lag + damping * (servo[LOADED] * servo[RATE] - rate)
            ws.lanes[block, rows.block + k * (k + 3) // 2, lane] += h * (damping + h * stiffness)
        else:
            torque = servo[SATURATED] * numbers[TORQUE_LIMIT]
        ws.lanes[block, rows.force + k, lane] += torque


@kernel
def settle_servos(ws, servos, numbers, q, nu, h):
    """Set the torques at the new velocity nu; tell whether a guess about saturation was wrong, and correct it."""
    limit = numbers[TORQUE_LIMIT]
    wrong = False
    for joint in range(servos.shape[0]):
        servo = servos[joint]
        if ws.moving[joint] == 0.0:
            servo[TORQUE] = 0.0
            continue
        rate = nu[6 + joint]
        pull = numbers[STIFFNESS] * (servo[SETPOINT] - q[joint] - h * rate) + numbers[DAMPING] * servo[RATE]
        torque = servo[LOADED] * pull - numbers[DAMPING] * rate
        servo[TORQUE] = min(limit, max(-limit, torque))
        saturated = 0.0
        if torque > limit:
            saturated = 1.0
        elif torque < -limit:
            saturated = -1.0
        if saturated != servo[SATURATED]:
            wrong = True
            servo[SATURATED] = saturated
    return wrong
