"""One tick of the tripod gait, compiled: phase, feet and joints advance in place and nothing is allocated.

Farghdani & Chhabra 2025, eq. (64), for any planar twist (vx, vy, wz) of the body. Leg i has the phase
p = (t/T + phi_i) mod 1. In stance (p < 1/2) the foot stands on the ground, so in the body it moves with minus the
body's twist; in swing it moves from the point of lift-off to half a stroke ahead of its neutral place. For a
steady straight walk this is exactly eq. (64): the stance foot moves back by S in T/2 and the body moves at 2 S /
T.
"""

import math

from hexapod_dynamics.gait import leg_motion
from hexapod_dynamics.kinematics import three_joint_leg

PI = math.pi
# A stroke shorter than this [m] counts as standing; a foot nearer than NEAR [m] to its neutral place counts as being
# there.
STANDING, NEAR = 1e-4, 1e-3
# Rate, in units of 2 / T, at which the touch-down point follows a changing command early in the swing; it decays to 0
# at the end.
RETARGETING = 8.0
# Phases this near to a half cycle count as equal to it, because sums of dt / T are not exact.
ON_THE_BOUNDARY = 1e-9


def stroke(parameters, legs, i, vx, vy, wz):
    """Return the way (x, y) [m] of a stance foot of this leg in half a period, forward positive."""
    half = 0.5 * parameters.period
    return (vx - wz * legs[i].foothold[1]) * half, (vy + wz * legs[i].foothold[0]) * half


def longest(gait, vx, vy, wz):
    """Return the longest stroke [m] over the legs for a twist (vx, vy, wz)."""
    most = 0.0
    for i in range(gait.legs_count):
        x, y = stroke(gait.parameters, gait.legs, i, vx, vy, wz)
        most = max(most, x * x + y * y)
    return math.sqrt(most)


def _filter(parameters, command, state, dt):
    """Filter twist and height by two equal poles, integrated exactly, so that there is no overshoot."""
    tau = parameters.response_time
    decay = math.exp(-dt / tau)
    for k in range(4):
        error = state.twist[k] - command[k]
        slope = state.rate[k] + error / tau
        state.twist[k] = command[k] + (error + slope * dt) * decay
        state.rate[k] = (slope - (error + slope * dt) / tau) * decay


def _touch_down(parameters, legs, i, state, s):
    """Return the ground point at which a foot at the fraction s of its swing will touch down if the twist stays
    constant.
    """
    vx, vy, wz = state.twist[0], state.twist[1], state.twist[2]
    ax, ay = stroke(parameters, legs, i, vx, vy, wz)
    return leg_motion.carried(
        legs[i].foothold[0] + 0.5 * ax, legs[i].foothold[1] + 0.5 * ay, vx, vy, wz, (s - 1.0) * 0.5 * parameters.period
    )


def _swing(parameters, legs, feet, i, state, s):
    """Place the swinging foot at the fraction s of its swing; return its rates (x, y) in base_link [m/s]."""
    half = 0.5 * parameters.period
    vx, vy, wz = state.twist[0], state.twist[1], state.twist[2]
    lx, ly = feet[i].lift_off[0], feet[i].lift_off[1]
    if parameters.smooth == 0.0:
        ax, ay = stroke(parameters, legs, i, vx, vy, wz)
        bx, by = stroke(parameters, legs, i, state.rate[0], state.rate[1], state.rate[2])
        dx, dy = legs[i].foothold[0] + 0.5 * ax - lx, legs[i].foothold[1] + 0.5 * ay - ly
        feet[i].place[0], feet[i].place[1] = lx + dx * s, ly + dy * s
        return dx / half + 0.5 * bx * s, dy / half + 0.5 * by * s
    # With minimum jerk between two points of the ground, which move in the body's frame: no jump in velocity or
    # acceleration at either end.
    h, slope = leg_motion.minimum_jerk(s), leg_motion.minimum_jerk_rate(s) / half
    dx, dy = feet[i].touch_down[0] - lx, feet[i].touch_down[1] - ly
    feet[i].place[0], feet[i].place[1] = lx + h * dx, ly + h * dy
    wanted_x, wanted_y = _touch_down(parameters, legs, i, state, s)
    gain = h * RETARGETING * (1.0 - s) / half
    return (
        slope * dx - vx + wz * feet[i].place[1] + gain * (wanted_x - feet[i].touch_down[0]),
        slope * dy - vy - wz * feet[i].place[0] + gain * (wanted_y - feet[i].touch_down[1]),
    )


def _lift(parameters, s, amplitude):
    """Return the height [m] and its rate [m/s] at the fraction s of a half cycle: a half sine, or its square if
    smooth.
    """
    half = 0.5 * parameters.period
    if parameters.smooth == 0.0:
        return amplitude * math.sin(PI * s), amplitude * PI / half * math.cos(PI * s)
    return amplitude * math.sin(PI * s) ** 2, amplitude * PI / half * math.sin(2.0 * PI * s)


def _carry_ground(feet, i, vx, vy, wz, dt):
    """Move the lift-off and touch-down points by dt, in the frame of the body."""
    x, y = leg_motion.carried(feet[i].lift_off[0], feet[i].lift_off[1], vx, vy, wz, dt)
    feet[i].lift_off[0], feet[i].lift_off[1] = x, y
    x, y = leg_motion.carried(feet[i].touch_down[0], feet[i].touch_down[1], vx, vy, wz, dt)
    feet[i].touch_down[0], feet[i].touch_down[1] = x, y


def _lift_off(parameters, legs, feet, i, state, since):
    """Begin a swing at the foot's present place, `since` seconds ago."""
    feet[i].lift_off[0], feet[i].lift_off[1] = feet[i].place[0], feet[i].place[1]
    if parameters.smooth != 0.0:
        vx, vy, wz = state.twist[0], state.twist[1], state.twist[2]
        x, y = leg_motion.carried(feet[i].place[0], feet[i].place[1], vx, vy, wz, since)
        feet[i].lift_off[0], feet[i].lift_off[1] = x, y
    x, y = _touch_down(parameters, legs, i, state, 2.0 * since / parameters.period)
    feet[i].touch_down[0], feet[i].touch_down[1] = x, y


def put_feet(gait):
    """Place every foot as in a steady walk (or stand) with the twist and phase of the state."""
    parameters, legs, state, feet = gait.parameters, gait.legs, gait.state, gait.feet
    for i in range(gait.legs_count):
        p = leg_motion.fraction(state.phase + legs[i].phase)
        ax, ay = 0.0, 0.0
        if state.walking != 0.0:
            ax, ay = stroke(parameters, legs, i, state.twist[0], state.twist[1], state.twist[2])
        along = 0.5 - 2.0 * min(p, 0.5)
        feet[i].place[0], feet[i].place[1] = legs[i].foothold[0] + along * ax, legs[i].foothold[1] + along * ay
        _lift_off(parameters, legs, feet, i, state, max(0.0, p - 0.5) * parameters.period)


def _advance_feet(gait, dt):
    """Advance every foot and the phase by dt."""
    parameters, legs, state, feet = gait.parameters, gait.legs, gait.state, gait.feet
    period = parameters.period
    vx, vy, wz = state.twist[0], state.twist[1], state.twist[2]
    for i in range(gait.legs_count):
        p = leg_motion.fraction(state.phase + legs[i].phase)
        left = ((0.5 if p < 0.5 else 1.0) - p) * period
        changes = dt > left - ON_THE_BOUNDARY * period
        rest = max(0.0, dt - left)
        if p < 0.5:
            x, y = leg_motion.carried(feet[i].place[0], feet[i].place[1], vx, vy, wz, left if changes else dt)
            feet[i].place[0], feet[i].place[1] = x, y
            if changes:
                _lift_off(parameters, legs, feet, i, state, rest)
        elif changes:
            _carry_ground(feet, i, vx, vy, wz, left)
            _swing(parameters, legs, feet, i, state, 1.0)
            x, y = leg_motion.carried(feet[i].place[0], feet[i].place[1], vx, vy, wz, rest)
            feet[i].place[0], feet[i].place[1] = x, y
        elif parameters.smooth != 0.0:
            _carry_ground(feet, i, vx, vy, wz, dt)
            s = 2.0 * (p + dt / period) - 1.0
            wanted_x, wanted_y = _touch_down(parameters, legs, i, state, s)
            gain = min(1.0, RETARGETING * (1.0 - s) * 2.0 * dt / period)
            feet[i].touch_down[0] += gain * (wanted_x - feet[i].touch_down[0])
            feet[i].touch_down[1] += gain * (wanted_y - feet[i].touch_down[1])
    phase = state.phase + dt / period
    nearest = 0.5 * math.floor(2.0 * phase + 0.5)
    if math.fabs(phase - nearest) < ON_THE_BOUNDARY:
        phase = nearest
    halted = False
    if math.floor(2.0 * phase) > math.floor(2.0 * state.phase):
        halted = True
        for i in range(gait.legs_count):
            dx, dy = feet[i].place[0] - legs[i].foothold[0], feet[i].place[1] - legs[i].foothold[1]
            if dx * dx + dy * dy > NEAR * NEAR:
                halted = False
    if halted and longest(gait, vx, vy, wz) < STANDING:
        state.walking = 0.0
        phase = nearest if math.fabs(phase - nearest) < ON_THE_BOUNDARY else 0.5 * math.floor(2.0 * phase)
    state.phase = leg_motion.fraction(phase)


def _joints(gait):
    """Convert the feet to joint angles and rates; feet that swing are placed first."""
    parameters, legs, state, feet = gait.parameters, gait.legs, gait.state, gait.feet
    limit = parameters.speed_limit
    for i in range(gait.legs_count):
        z, zd = -state.twist[3], -state.rate[3]
        xd, yd = 0.0, 0.0
        if state.walking != 0.0:
            p = leg_motion.fraction(state.phase + legs[i].phase)
            if p < 0.5:
                xd = -(state.twist[0] - state.twist[2] * feet[i].place[1])
                yd = -(state.twist[1] + state.twist[2] * feet[i].place[0])
                lift, lift_rate = _lift(parameters, 2.0 * p, -parameters.step_depth)
            else:
                xd, yd = _swing(parameters, legs, feet, i, state, 2.0 * p - 1.0)
                lift, lift_rate = _lift(parameters, 2.0 * p - 1.0, parameters.step_height)
            z, zd = z + lift, zd + lift_rate
        x, y = feet[i].place[0], feet[i].place[1]
        leg_motion.set_leg(legs, i, x, y, z, xd, yd, zd, limit, gait.position, gait.velocity)


def tick(gait, dt):
    """Advance the gait by dt [s] (less than half a period) under its command; fill its position and velocity.

    During the first BLEND_TIME seconds the outputs are a minimum-jerk transition from the joint angles `start`. dt = 0
    only fills the outputs.
    """
    command, state = gait.command, gait.state
    blending = state.blend < state.blend_time
    if dt > 0.0:
        if blending:
            state.blend = min(state.blend + dt, state.blend_time)
        else:
            asked = longest(gait, command[0], command[1], command[2])
            if state.walking == 0.0 and asked > STANDING:
                state.walking = 1.0
                for i in range(gait.legs_count):
                    _lift_off(gait.parameters, gait.legs, gait.feet, i, state, 0.0)
            _filter(gait.parameters, command, state, dt)
            if state.walking != 0.0:
                _advance_feet(gait, dt)
    _joints(gait)
    if blending:
        leg_motion.lead_from(
            gait.start, state.blend, state.blend_time, gait.position, gait.velocity, 3 * gait.legs_count
        )


def reaches_all(gait, height, length, directions, samples):
    """Return whether every leg can walk strokes of this length [m] in every direction at the body height [m].

    The test walks one period per direction at a steady twist; it fails if a foot does not reach its place, or if a
    joint reaches the limit of its range or its speed. The state of the gait is overwritten.
    """
    parameters, command, state = gait.parameters, gait.command, gait.state
    speed = 2.0 * length / parameters.period
    for direction in range(directions):
        angle = 2.0 * PI * direction / directions
        command[0], command[1], command[2], command[3] = speed * math.cos(angle), speed * math.sin(angle), 0.0, height
        for k in range(4):
            state.twist[k], state.rate[k] = command[k], 0.0
        state.phase, state.walking, state.blend, state.blend_time = 0.0, 1.0, 0.0, 0.0
        put_feet(gait)
        for _ in range(samples):
            tick(gait, parameters.period / samples)
            for i in range(gait.legs_count):
                if not _is_placed(gait, i, height):
                    return False
    return True


def _is_placed(gait, i, height):
    """Return whether the joints of leg i place its foot where the gait demands it, and are below their speed
    limit.
    """
    parameters, legs, foot = gait.parameters, gait.legs, gait.feet[i].place
    q, qd, j = gait.position, gait.velocity, 3 * i
    to_leg, mount, lengths = legs[i].to_leg, legs[i].mount, legs[i].lengths
    x, y, z = three_joint_leg.foot_at(q[j], q[j + 1], q[j + 2], lengths[0], lengths[1], lengths[2])
    dx = to_leg[0] * x + to_leg[3] * y + to_leg[6] * z + mount[0] - foot[0]
    dy = to_leg[1] * x + to_leg[4] * y + to_leg[7] * z + mount[1] - foot[1]
    lift = to_leg[2] * x + to_leg[5] * y + to_leg[8] * z + mount[2] + height
    if dx * dx + dy * dy > 1e-12:
        return False
    if lift < -parameters.step_depth - 1e-6 or lift > parameters.step_height + 1e-6:
        return False
    return max(math.fabs(qd[j]), max(math.fabs(qd[j + 1]), math.fabs(qd[j + 2]))) < parameters.speed_limit


# ---- for Python: each takes a TripodMemory ---------------------------------------------------------------------------


def advance(gait, dt):
    """Advance the gait by dt [s]; see `tick`."""
    tick(gait, dt)


def place(gait):
    """Place every foot as in a steady walk (or stand) with the twist and phase of the state."""
    put_feet(gait)


def longest_stroke(gait, vx, vy, wz):
    """Return the longest stroke [m] over the legs for a twist (vx, vy, wz)."""
    return longest(gait, vx, vy, wz)


def reaches(gait, height, length, directions, samples):
    """Tell whether every leg can walk strokes of this length [m]; see `reaches_all`."""
    return bool(reaches_all(gait, height, length, directions, samples))
