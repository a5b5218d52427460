"""One tick of the tripod gait, compiled: phase, feet and joints advance in place and nothing is allocated.

Farghdani & Chhabra 2025, eq. (64), for any planar twist (vx, vy, wz) of the body. Leg i has the phase
p = (t/T + phi_i) mod 1. In stance (p < 1/2) the foot stands on the ground, so in the body it moves with minus the
body's twist; in swing it goes from where it lifted off to half a stroke ahead of its neutral place. For a steady
straight walk this IS eq. (64): the stance foot moves back by S in T/2 and the body moves at 2 S / T.
"""

from collections import namedtuple
from math import cos, exp, floor, pi, sin, sqrt

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.gait.leg_motion import carried, lead_from, minimum_jerk, minimum_jerk_rate, set_leg
from hexapod_dynamics.gait.leg_table import FOOTHOLD, LENGTHS, MOUNT
from hexapod_dynamics.gait.leg_table import PHASE as LEG_PHASE
from hexapod_dynamics.kinematics.three_joint_leg import foot_position

# Columns of `parameters`.
PERIOD, STEP_HEIGHT, STEP_DEPTH, RESPONSE_TIME, SMOOTH, SPEED_LIMIT, PARAMETERS = range(7)
# Columns of `state`: phase, filtered (vx, vy, wz, body height), their rates, walking or standing, blend elapsed and in
# all.
PHASE, TWIST, RATE, WALKING, BLEND, BLEND_TIME, STATE = 0, 1, 5, 9, 10, 11, 12
# Columns of a row of `feet`, points (x, y) in base_link: foot now, where it lifted off, where it will touch down.
FOOT, LIFT_OFF, DOWN, FEET = 0, 2, 4, 6

# What the functions below work on: rows of `legs` are those of `leg_table`; command is (vx, vy, wz, body height).
Tripod = namedtuple("Tripod", "parameters legs command state feet start position velocity")

# A stroke shorter than this [m] is standing; a foot nearer than NEAR [m] to its neutral place is home.
STANDING, NEAR = 1e-4, 1e-3
# Rate, in units of 2 / T, at which the touch-down point follows a changing command early in the swing; it decays to 0
# at the end.
RETARGETING = 8.0
# Phases this near to a half cycle are on it: sums of dt / T are not exact.
ON_THE_BOUNDARY = 1e-9


@kernel
def stroke(parameters, legs, i, vx, vy, wz):
    """Return what a stance foot of this leg travels in half a period, (x, y) [m], forward positive."""
    half = 0.5 * parameters[PERIOD]
    return (vx - wz * legs[i, FOOTHOLD + 1]) * half, (vy + wz * legs[i, FOOTHOLD]) * half


@kernel
def longest_stroke(parameters, legs, vx, vy, wz):
    """Return the longest stroke [m] over the legs for a twist (vx, vy, wz)."""
    longest = 0.0
    for i in range(legs.shape[0]):
        x, y = stroke(parameters, legs, i, vx, vy, wz)
        longest = max(longest, x * x + y * y)
    return sqrt(longest)


@kernel
def _filter(parameters, command, state, dt):
    """Filter twist and height by two equal poles, integrated exactly, so that there is no overshoot."""
    tau = parameters[RESPONSE_TIME]
    decay = exp(-dt / tau)
    for k in range(4):
        error = state[TWIST + k] - command[k]
        slope = state[RATE + k] + error / tau
        state[TWIST + k] = command[k] + (error + slope * dt) * decay
        state[RATE + k] = (slope - (error + slope * dt) / tau) * decay


@kernel
def _touch_down(parameters, legs, i, state, s):
    """Return the ground point at which a foot at the fraction s of its swing will touch down if the twist stays
    constant.
    """
    vx, vy, wz = state[TWIST], state[TWIST + 1], state[TWIST + 2]
    ax, ay = stroke(parameters, legs, i, vx, vy, wz)
    return carried(
        legs[i, FOOTHOLD] + 0.5 * ax, legs[i, FOOTHOLD + 1] + 0.5 * ay, vx, vy, wz, (s - 1.0) * 0.5 * parameters[PERIOD]
    )


@kernel
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


@kernel
def _lift(parameters, s, amplitude):
    """Return the height [m] and its rate [m/s] at the fraction s of a half cycle: a half sine, or its square if
    smooth.
    """
    half = 0.5 * parameters[PERIOD]
    if parameters[SMOOTH] == 0.0:
        return amplitude * sin(pi * s), amplitude * pi / half * cos(pi * s)
    return amplitude * sin(pi * s) ** 2, amplitude * pi / half * sin(2.0 * pi * s)


@kernel
def _carry_ground(feet, i, vx, vy, wz, dt):
    """Move the lift-off and touch-down points by dt, in the frame of the body."""
    for k in (LIFT_OFF, DOWN):
        x, y = carried(feet[i, k], feet[i, k + 1], vx, vy, wz, dt)
        feet[i, k], feet[i, k + 1] = x, y


@kernel
def _lift_off(parameters, legs, feet, i, state, since):
    """Begin a swing at the foot's present place, `since` seconds ago."""
    feet[i, LIFT_OFF], feet[i, LIFT_OFF + 1] = feet[i, FOOT], feet[i, FOOT + 1]
    if parameters[SMOOTH] != 0.0:
        x, y = carried(feet[i, FOOT], feet[i, FOOT + 1], state[TWIST], state[TWIST + 1], state[TWIST + 2], since)
        feet[i, LIFT_OFF], feet[i, LIFT_OFF + 1] = x, y
    feet[i, DOWN], feet[i, DOWN + 1] = _touch_down(parameters, legs, i, state, 2.0 * since / parameters[PERIOD])


@kernel
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


@kernel
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


@kernel
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


@kernel
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


@kernel
def reaches(gait, height, length, directions, samples):
    """Tell whether every leg can walk strokes of this length [m] in every direction at the body height [m].

    Walks one period per direction at steady twist; fails where a foot misses its place, or a joint is at the limit of
    its range or its speed. The state of the gait is overwritten.
    """
    parameters, legs, command, state, feet = gait.parameters, gait.legs, gait.command, gait.state, gait.feet
    speed = 2.0 * length / parameters[PERIOD]
    for direction in range(directions):
        angle = 2.0 * pi * direction / directions
        state[:] = 0.0
        command[0], command[1], command[2], command[3] = speed * cos(angle), speed * sin(angle), 0.0, height
        for k in range(4):
            state[TWIST + k] = command[k]
        state[WALKING] = 1.0
        place(parameters, legs, state, feet)
        for _ in range(samples):
            advance(gait, parameters[PERIOD] / samples)
            for i in range(legs.shape[0]):
                q, qd = gait.position[3 * i : 3 * i + 3], gait.velocity[3 * i : 3 * i + 3]
                x, y, z = foot_position(q[0], q[1], q[2], legs[i, LENGTHS], legs[i, LENGTHS + 1], legs[i, LENGTHS + 2])
                dx = legs[i, 0] * x + legs[i, 3] * y + legs[i, 6] * z + legs[i, MOUNT] - feet[i, FOOT]
                dy = legs[i, 1] * x + legs[i, 4] * y + legs[i, 7] * z + legs[i, MOUNT + 1] - feet[i, FOOT + 1]
                lift = legs[i, 2] * x + legs[i, 5] * y + legs[i, 8] * z + legs[i, MOUNT + 2] + height
                if dx * dx + dy * dy > 1e-12:
                    return False
                if lift < -parameters[STEP_DEPTH] - 1e-6 or lift > parameters[STEP_HEIGHT] + 1e-6:
                    return False
                if max(abs(qd[0]), abs(qd[1]), abs(qd[2])) >= parameters[SPEED_LIMIT]:
                    return False
    return True
