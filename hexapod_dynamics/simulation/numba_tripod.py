"""The tripod gait for the walking loop as numba compiles it, until the loop is Cython; see `gait/tripod_kernel`."""

from math import acos, atan2, cos, exp, floor, pi, sin, sqrt

from hexapod_dynamics.compiled import plain_kernel
from hexapod_dynamics.gait.leg_table import FOOTHOLD, FREE, HELD, KNEE, LENGTHS, LOWER, MOUNT, UPPER
from hexapod_dynamics.gait.leg_table import PHASE as LEG_PHASE

# Rates of a leg that is nearer to stretched or folded than this (in sin(knee)) are damped instead of growing.
STRETCHED = 1e-3


@plain_kernel
def wrap(angle):
    """Return the angle in [-pi, pi) that points the same way."""
    return (angle + pi) % (2.0 * pi) - pi


@plain_kernel
def foot_position(q1, q2, q3, l1, l2, l3):
    """Return the foot (x, y, z) [m] in the leg frame, from joint angles [rad] and link lengths [m]."""
    radius = l1 + l2 * cos(q2) + l3 * sin(q2 + q3)
    return radius * cos(q1), radius * sin(q1), l2 * sin(q2) - l3 * cos(q2 + q3)


@plain_kernel
def place_foot(x, y, z, xd, yd, zd, l1, l2, l3, free1, free2, free3, held1, held2, held3, straight, folded):
    """Return the angles [rad] that bring the foot nearest to (x, y, z) [m], and their rates [rad/s] for a target moving
    at (xd, yd, zd) [m/s]: six numbers, coxa, femur, tibia. Foot outward, knee up.

    free: false (or 0) for a joint locked at the angle held [rad]. The foot is at the target if the free joints can
    bring it there, else as near as they can. straight, folded: cosines of the smallest and the largest knee angle that
    the tibia's limits allow (1 and -1 without limits). Rates of a leg nearly stretched are damped.
    """
    if free1:
        distance = sqrt(x * x + y * y)
        q1 = atan2(y, x)
        c1, s1 = (x / distance, y / distance) if distance > 0.0 else (1.0, 0.0)
        radius = distance - l1
        r1 = (c1 * yd - s1 * xd) / max(distance, STRETCHED * (l1 + l2))
    else:
        q1, c1, s1 = held1, cos(held1), sin(held1)
        radius = c1 * x + s1 * y - l1
        r1 = 0.0
    rd = c1 * xd + s1 * yd
    q2, q3, r2, r3 = held2, held3, 0.0, 0.0
    square = radius * radius + z * z
    if free2 and free3:
        c = min(straight, max(folded, (square - l2 * l2 - l3 * l3) / (2.0 * l2 * l3)))
        s = sqrt(1.0 - c * c)
        # The foot in the femur's frame is (along, -below); turn that to the target's direction.
        along, below = l2 + l3 * c, l3 * s
        cosine, sine = radius * along - z * below, z * along + radius * below
        q2, q3 = atan2(sine, cosine), 0.5 * pi - acos(c)
        size = sqrt(cosine * cosine + sine * sine)
        c2, s2 = (cosine / size, sine / size) if size > 0.0 else (1.0, 0.0)
        ct, st = c2 * c + s2 * s, s2 * c - c2 * s
        damped = -s / (s * s + STRETCHED * STRETCHED)
        r2 = (ct * rd + st * zd) * damped / l2
        r3 = -(c2 * rd + s2 * zd) * damped / l3 - r2
    elif free3:
        dx, dz = radius - l2 * cos(q2), z - l2 * sin(q2)
        q3 = wrap(atan2(dz, dx) - q2 + 0.5 * pi)
        r3 = (dx * zd - dz * rd) / max(dx * dx + dz * dz, (STRETCHED * l3) ** 2)
    elif free2:
        q2 = wrap(atan2(z, radius) - atan2(-l3 * cos(q3), l2 + l3 * sin(q3)))
        r2 = (radius * zd - z * rd) / max(square, (STRETCHED * l2) ** 2)
    return q1, q2, q3, r1, r2, r3


@plain_kernel
def carried(x, y, vx, vy, wz, dt):
    """Return where a point of the ground, (x, y) in base_link, is after dt at a constant twist: it moves on an arc."""
    if wz == 0.0:
        return x - vx * dt, y - vy * dt
    half = -0.5 * wz * dt
    c, s = cos(half), sin(half)
    sinc = dt * (s / half if abs(half) > 1e-8 else 1.0)
    cx, cy = c * x - s * y - sinc * vx, s * x + c * y - sinc * vy
    return c * cx - s * cy, s * cx + c * cy


@plain_kernel
def minimum_jerk(s):
    """Return the quintic from 0 to 1 whose velocity and acceleration are zero at its ends."""
    s = min(1.0, max(0.0, s))
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


@plain_kernel
def minimum_jerk_rate(s):
    """Return the derivative of `minimum_jerk`."""
    s = min(1.0, max(0.0, s))
    return 30.0 * (s * (1.0 - s)) ** 2


@plain_kernel
def in_leg_axes(legs, i, x, y, z):
    """Return a vector given in base_link axes in the axes of leg i's mount frame."""
    return (
        legs[i, 0] * x + legs[i, 1] * y + legs[i, 2] * z,
        legs[i, 3] * x + legs[i, 4] * y + legs[i, 5] * z,
        legs[i, 6] * x + legs[i, 7] * y + legs[i, 8] * z,
    )


@plain_kernel
def from_mount(legs, i, x, y, z):
    """Return a point given in base_link [m] in the mount frame of leg i [m]."""
    return in_leg_axes(legs, i, x - legs[i, MOUNT], y - legs[i, MOUNT + 1], z - legs[i, MOUNT + 2])


@plain_kernel
def leg_angles(legs, i, x, y, z, xd, yd, zd):
    """Return the angles [rad] of leg i and their rates [rad/s] for a foot at (x, y, z) [m] that moves at (xd, yd, zd).

    In the leg's mount frame; see `place_foot`.
    """
    return place_foot(
        x,
        y,
        z,
        xd,
        yd,
        zd,
        legs[i, LENGTHS],
        legs[i, LENGTHS + 1],
        legs[i, LENGTHS + 2],
        legs[i, FREE] != 0.0,
        legs[i, FREE + 1] != 0.0,
        legs[i, FREE + 2] != 0.0,
        legs[i, HELD],
        legs[i, HELD + 1],
        legs[i, HELD + 2],
        legs[i, KNEE],
        legs[i, KNEE + 1],
    )


@plain_kernel
def set_leg(legs, i, foot, rate, speed_limit, q, qd):
    """Write the set-points of leg i into q (3 a leg) [rad] and qd [rad/s], within its joints' ranges and their speed.

    foot, rate: place [m] and velocity [m/s] of the foot, three numbers each, in base_link axes.
    """
    x, y, z = from_mount(legs, i, foot[0], foot[1], foot[2])
    xd, yd, zd = in_leg_axes(legs, i, rate[0], rate[1], rate[2])
    j = 3 * i
    before = q[j], q[j + 1], q[j + 2]
    q[j], q[j + 1], q[j + 2], qd[j], qd[j + 1], qd[j + 2] = leg_angles(legs, i, x, y, z, xd, yd, zd)
    for k in range(3):
        lower, upper = legs[i, LOWER + k], legs[i, UPPER + k]
        if legs[i, FREE + k] != 0.0 and (q[j + k] < lower or q[j + k] > upper):
            # At the limit where it was: an angle beyond one that passes pi would jump to the other.
            q[j + k] = upper if upper - before[k] < before[k] - lower else lower
            qd[j + k] = 0.0
        qd[j + k] = min(speed_limit, max(-speed_limit, qd[j + k]))


@plain_kernel
def lead_from(start, elapsed, duration, q, qd):
    """Replace q [rad] and qd [rad/s] by a minimum-jerk transition from the joints `start` to them, `elapsed` s after
    its start.
    """
    s = elapsed / duration
    h, slope = minimum_jerk(s), minimum_jerk_rate(s) / duration
    for j in range(q.size):
        qd[j] = slope * (q[j] - start[j]) + h * qd[j]
        q[j] = start[j] + h * (q[j] - start[j])


# Columns of `parameters`.
PERIOD, STEP_HEIGHT, STEP_DEPTH, RESPONSE_TIME, SMOOTH, SPEED_LIMIT, PARAMETERS = range(7)
# Columns of `state`: phase, filtered (vx, vy, wz, body height), their rates, walking or standing, blend elapsed and in
# all.
PHASE, TWIST, RATE, WALKING, BLEND, BLEND_TIME, STATE = 0, 1, 5, 9, 10, 11, 12
# Columns of a row of `feet`, points (x, y) in base_link: foot now, where it lifted off, where it will touch down.
FOOT, LIFT_OFF, DOWN, FEET = 0, 2, 4, 6


# A stroke shorter than this [m] is standing; a foot nearer than NEAR [m] to its neutral place is home.
STANDING, NEAR = 1e-4, 1e-3
# Rate, in units of 2 / T, at which the touch-down point follows a changing command early in the swing; it decays to 0
# at the end.
RETARGETING = 8.0
# Phases this near to a half cycle are on it: sums of dt / T are not exact.
ON_THE_BOUNDARY = 1e-9


@plain_kernel
def stroke(parameters, legs, i, vx, vy, wz):
    """Return what a stance foot of this leg travels in half a period, (x, y) [m], forward positive."""
    half = 0.5 * parameters[PERIOD]
    return (vx - wz * legs[i, FOOTHOLD + 1]) * half, (vy + wz * legs[i, FOOTHOLD]) * half


@plain_kernel
def longest_stroke(parameters, legs, vx, vy, wz):
    """Return the longest stroke [m] over the legs for a twist (vx, vy, wz)."""
    longest = 0.0
    for i in range(legs.shape[0]):
        x, y = stroke(parameters, legs, i, vx, vy, wz)
        longest = max(longest, x * x + y * y)
    return sqrt(longest)


@plain_kernel
def _filter(parameters, command, state, dt):
    """Filter twist and height by two equal poles, integrated exactly, so that there is no overshoot."""
    tau = parameters[RESPONSE_TIME]
    decay = exp(-dt / tau)
    for k in range(4):
        error = state[TWIST + k] - command[k]
        slope = state[RATE + k] + error / tau
        state[TWIST + k] = command[k] + (error + slope * dt) * decay
        state[RATE + k] = (slope - (error + slope * dt) / tau) * decay


@plain_kernel
def _touch_down(parameters, legs, i, state, s):
    """Return the ground point at which a foot at the fraction s of its swing will touch down if the twist stays
    constant.
    """
    vx, vy, wz = state[TWIST], state[TWIST + 1], state[TWIST + 2]
    ax, ay = stroke(parameters, legs, i, vx, vy, wz)
    return carried(
        legs[i, FOOTHOLD] + 0.5 * ax, legs[i, FOOTHOLD + 1] + 0.5 * ay, vx, vy, wz, (s - 1.0) * 0.5 * parameters[PERIOD]
    )


@plain_kernel
def _swing(parameters, legs, feet, i, state, s):
    """Place the swinging foot at the fraction s of its swing; return its rates (x, y) in base_link [m/s]."""
    half = 0.5 * parameters[PERIOD]
    vx, vy, wz = state[TWIST], state[TWIST + 1], state[TWIST + 2]
    lx, ly = feet[i, LIFT_OFF], feet[i, LIFT_OFF + 1]
    if parameters[SMOOTH] == 0.0:
        ax, ay = stroke(parameters, legs, i, vx, vy, wz)
        bx, by = stroke(parameters, legs, i, state[RATE], state[RATE + 1], state[RATE + 2])
        dx, dy = legs[i, FOOTHOLD] + 0.5 * ax - lx, legs[i, FOOTHOLD + 1] + 0.5 * ay - ly
        feet[i, FOOT], feet[i, FOOT + 1] = lx + dx * s, ly + dy * s
        return dx / half + 0.5 * bx * s, dy / half + 0.5 * by * s
    # With minimum jerk between two points of the ground, which move in the body's frame: no jump in velocity or
    # acceleration at either end.
    h, slope = minimum_jerk(s), minimum_jerk_rate(s) / half
    dx, dy = feet[i, DOWN] - lx, feet[i, DOWN + 1] - ly
    feet[i, FOOT], feet[i, FOOT + 1] = lx + h * dx, ly + h * dy
    wanted_x, wanted_y = _touch_down(parameters, legs, i, state, s)
    gain = h * RETARGETING * (1.0 - s) / half
    return (
        slope * dx - vx + wz * feet[i, FOOT + 1] + gain * (wanted_x - feet[i, DOWN]),
        slope * dy - vy - wz * feet[i, FOOT] + gain * (wanted_y - feet[i, DOWN + 1]),
    )


@plain_kernel
def _lift(parameters, s, amplitude):
    """Return the height [m] and its rate [m/s] at the fraction s of a half cycle: a half sine, or its square if
    smooth.
    """
    half = 0.5 * parameters[PERIOD]
    if parameters[SMOOTH] == 0.0:
        return amplitude * sin(pi * s), amplitude * pi / half * cos(pi * s)
    return amplitude * sin(pi * s) ** 2, amplitude * pi / half * sin(2.0 * pi * s)


@plain_kernel
def _carry_ground(feet, i, vx, vy, wz, dt):
    """Move the lift-off and touch-down points by dt, in the frame of the body."""
    for k in (LIFT_OFF, DOWN):
        x, y = carried(feet[i, k], feet[i, k + 1], vx, vy, wz, dt)
        feet[i, k], feet[i, k + 1] = x, y


@plain_kernel
def _lift_off(parameters, legs, feet, i, state, since):
    """Begin a swing at the foot's present place, `since` seconds ago."""
    feet[i, LIFT_OFF], feet[i, LIFT_OFF + 1] = feet[i, FOOT], feet[i, FOOT + 1]
    if parameters[SMOOTH] != 0.0:
        x, y = carried(feet[i, FOOT], feet[i, FOOT + 1], state[TWIST], state[TWIST + 1], state[TWIST + 2], since)
        feet[i, LIFT_OFF], feet[i, LIFT_OFF + 1] = x, y
    feet[i, DOWN], feet[i, DOWN + 1] = _touch_down(parameters, legs, i, state, 2.0 * since / parameters[PERIOD])


@plain_kernel
def place(parameters, legs, state, feet):
    """Put every foot where a steady walk (or stand) with the state's twist and phase has it."""
    for i in range(legs.shape[0]):
        p = (state[PHASE] + legs[i, LEG_PHASE]) % 1.0
        ax, ay = 0.0, 0.0
        if state[WALKING] != 0.0:
            ax, ay = stroke(parameters, legs, i, state[TWIST], state[TWIST + 1], state[TWIST + 2])
        along = 0.5 - 2.0 * min(p, 0.5)
        feet[i, FOOT], feet[i, FOOT + 1] = legs[i, FOOTHOLD] + along * ax, legs[i, FOOTHOLD + 1] + along * ay
        _lift_off(parameters, legs, feet, i, state, max(0.0, p - 0.5) * parameters[PERIOD])


@plain_kernel
def _advance_feet(parameters, legs, state, feet, dt):
    """Move every foot and the phase on by dt."""
    period = parameters[PERIOD]
    vx, vy, wz = state[TWIST], state[TWIST + 1], state[TWIST + 2]
    for i in range(legs.shape[0]):
        p = (state[PHASE] + legs[i, LEG_PHASE]) % 1.0
        left = ((0.5 if p < 0.5 else 1.0) - p) * period
        changes = dt > left - ON_THE_BOUNDARY * period
        rest = max(0.0, dt - left)
        if p < 0.5:
            x, y = carried(feet[i, FOOT], feet[i, FOOT + 1], vx, vy, wz, left if changes else dt)
            feet[i, FOOT], feet[i, FOOT + 1] = x, y
            if changes:
                _lift_off(parameters, legs, feet, i, state, rest)
        elif changes:
            _carry_ground(feet, i, vx, vy, wz, left)
            _swing(parameters, legs, feet, i, state, 1.0)
            x, y = carried(feet[i, FOOT], feet[i, FOOT + 1], vx, vy, wz, rest)
            feet[i, FOOT], feet[i, FOOT + 1] = x, y
        elif parameters[SMOOTH] != 0.0:
            _carry_ground(feet, i, vx, vy, wz, dt)
            s = 2.0 * (p + dt / period) - 1.0
            wanted_x, wanted_y = _touch_down(parameters, legs, i, state, s)
            gain = min(1.0, RETARGETING * (1.0 - s) * 2.0 * dt / period)
            feet[i, DOWN] += gain * (wanted_x - feet[i, DOWN])
            feet[i, DOWN + 1] += gain * (wanted_y - feet[i, DOWN + 1])
    phase = state[PHASE] + dt / period
    nearest = 0.5 * floor(2.0 * phase + 0.5)
    if abs(phase - nearest) < ON_THE_BOUNDARY:
        phase = nearest
    halted = False
    if floor(2.0 * phase) > floor(2.0 * state[PHASE]):
        halted = True
        for i in range(legs.shape[0]):
            dx, dy = feet[i, FOOT] - legs[i, FOOTHOLD], feet[i, FOOT + 1] - legs[i, FOOTHOLD + 1]
            if dx * dx + dy * dy > NEAR * NEAR:
                halted = False
    if halted and longest_stroke(parameters, legs, vx, vy, wz) < STANDING:
        state[WALKING] = 0.0
        phase = nearest if abs(phase - nearest) < ON_THE_BOUNDARY else 0.5 * floor(2.0 * phase)
    state[PHASE] = phase % 1.0


@plain_kernel
def _joints(parameters, legs, state, feet, q, qd):
    """Turn the feet into joint angles and rates; feet that swing are placed first."""
    limit = parameters[SPEED_LIMIT]
    for i in range(legs.shape[0]):
        z, zd = -state[TWIST + 3], -state[RATE + 3]
        xd, yd = 0.0, 0.0
        if state[WALKING] != 0.0:
            p = (state[PHASE] + legs[i, LEG_PHASE]) % 1.0
            if p < 0.5:
                xd = -(state[TWIST] - state[TWIST + 2] * feet[i, FOOT + 1])
                yd = -(state[TWIST + 1] + state[TWIST + 2] * feet[i, FOOT])
                lift, lift_rate = _lift(parameters, 2.0 * p, -parameters[STEP_DEPTH])
            else:
                xd, yd = _swing(parameters, legs, feet, i, state, 2.0 * p - 1.0)
                lift, lift_rate = _lift(parameters, 2.0 * p - 1.0, parameters[STEP_HEIGHT])
            z, zd = z + lift, zd + lift_rate
        set_leg(legs, i, (feet[i, FOOT], feet[i, FOOT + 1], z), (xd, yd, zd), limit, q, qd)


@plain_kernel
def advance(gait, dt):
    """Advance the gait by dt [s] (less than half a period) under its command; fill its position and velocity.

    During the first BLEND_TIME seconds the outputs are a minimum-jerk transition from the joint angles `start`. dt = 0
    only fills the outputs.
    """
    parameters, legs, command, state, feet = gait.parameters, gait.legs, gait.command, gait.state, gait.feet
    q, qd, start = gait.position, gait.velocity, gait.start
    blending = state[BLEND] < state[BLEND_TIME]
    if dt > 0.0:
        if blending:
            state[BLEND] = min(state[BLEND] + dt, state[BLEND_TIME])
        else:
            asked = longest_stroke(parameters, legs, command[0], command[1], command[2])
            if state[WALKING] == 0.0 and asked > STANDING:
                state[WALKING] = 1.0
                for i in range(legs.shape[0]):
                    _lift_off(parameters, legs, feet, i, state, 0.0)
            _filter(parameters, command, state, dt)
            if state[WALKING] != 0.0:
                _advance_feet(parameters, legs, state, feet, dt)
    _joints(parameters, legs, state, feet, q, qd)
    if blending:
        lead_from(start, state[BLEND], state[BLEND_TIME], q, qd)
