"""A periodic gait in closed form, compiled: where every foot is at a phase of the cycle and a twist of the body.

Leg i has the phase p = (phase + phi_i) mod 1: it stands for p < duty and swings for the rest. Standing feet rest on the
ground. A nominal frame moves over the ground with the body's twist; in this frame a standing foot moves along an
arc, and passes its foothold in the middle of its stance. The body sways in the nominal frame by two harmonics,

    s(phase) = a1 cos(2 pi phase) + b1 sin(2 pi phase) + a2 cos(4 pi phase) + b2 sin(4 pi phase)

for x and for y, whose coefficients are affine in the twist: the polygon of the standing feet moves with it. A
swinging foot goes from one point of the ground to another: up first, then over the ground at a smooth speed, then down,
so that it neither slides where it lifts off nor where it touches down.

In a rowing gait (three legs) all legs move together: the body rises from its belly, is pushed ahead, sits down,
and the feet return. Its nominal frame moves only while the legs push; `progress` gives its speed in units of the
mean.
"""

import math

from hexapod_dynamics.gait import leg_motion

TURN = 2.0 * math.pi
SPEED_UNIT, TURN_UNIT = 0.08, 0.35

# A swinging foot is lifted in this share of its swing, and set down in the same share; it begins to move over the
# ground after the share START of its lifting; RAMP: see `over_ground`.
UP, START, RAMP = 0.32, 0.06, 0.3
# Share of the cycle in which a rowing body rises from its belly, or sits down.
RISING = 0.11


def over_ground(s):
    """Return how far a foot has come over the ground, and its derivative, at the fraction s of its swing.

    The speed rises and falls as a cubic in the share RAMP of the time and is constant in between. Its peak, which
    the servos must follow, is 1.4 times the mean; with minimum jerk it would be 1.9 times the mean.
    """
    span = 1.0 - 2.0 * START
    u = min(1.0, max(0.0, (s - START) / span))
    peak = 1.0 / (1.0 - RAMP)
    if u < RAMP:
        r = u / RAMP
        return peak * RAMP * r * r * r * (1.0 - 0.5 * r), peak * r * r * (3.0 - 2.0 * r) / span
    if u > 1.0 - RAMP:
        r = (1.0 - u) / RAMP
        return 1.0 - peak * RAMP * r * r * r * (1.0 - 0.5 * r), peak * r * r * (3.0 - 2.0 * r) / span
    return peak * (u - 0.5 * RAMP), peak / span


def lifted(s):
    """Return the height of a swinging foot as a share of its lift, and its derivative, at the fraction s."""
    if s < UP:
        return leg_motion.minimum_jerk(s / UP), leg_motion.minimum_jerk_rate(s / UP) / UP
    if s > 1.0 - UP:
        return leg_motion.minimum_jerk((1.0 - s) / UP), -leg_motion.minimum_jerk_rate((1.0 - s) / UP) / UP
    return 1.0, 0.0


def sway(plan, phase, axis, vx, vy, wz):
    """Return the body's sway [m] along x (axis 0) or y (1) at a twist, and its derivative by the phase [m]."""
    a = TURN * phase
    return sway_at(plan, math.cos(a), math.sin(a), axis, vx, vy, wz)


def sway_at(plan, c1, s1, axis, vx, vy, wz):
    """Return the same as `sway`, at the phase whose cosine and sine are c1 and s1."""
    c2, s2 = c1 * c1 - s1 * s1, 2.0 * s1 * c1
    k = 4 * axis
    x, y, w = vx / SPEED_UNIT, vy / SPEED_UNIT, wz / TURN_UNIT
    a1 = plan.sway[k] + x * plan.sway[k + 8] + y * plan.sway[k + 16] + w * plan.sway[k + 24]
    b1 = plan.sway[k + 1] + x * plan.sway[k + 9] + y * plan.sway[k + 17] + w * plan.sway[k + 25]
    a2 = plan.sway[k + 2] + x * plan.sway[k + 10] + y * plan.sway[k + 18] + w * plan.sway[k + 26]
    b2 = plan.sway[k + 3] + x * plan.sway[k + 11] + y * plan.sway[k + 19] + w * plan.sway[k + 27]
    value = a1 * c1 + b1 * s1 + a2 * c2 + b2 * s2
    return value, TURN * (b1 * c1 - a1 * s1 + 2.0 * (b2 * c2 - a2 * s2))


def raised(plan, phase):
    """Return how far [m] a rowing body is off its belly, and its derivative by the phase; 0 for a walking one."""
    if plan.rows == 0.0:
        return 0.0, 0.0
    duty = plan.duty
    if phase < RISING:
        return plan.rise * leg_motion.minimum_jerk(phase / RISING), plan.rise * leg_motion.minimum_jerk_rate(
            phase / RISING
        ) / RISING
    if phase < duty - RISING:
        return plan.rise, 0.0
    if phase < duty:
        s = (duty - phase) / RISING
        return plan.rise * leg_motion.minimum_jerk(s), -plan.rise * leg_motion.minimum_jerk_rate(s) / RISING
    return 0.0, 0.0


def progress(plan, phase):
    """Return how far the nominal frame has come in this cycle, 0 to 1, and its derivative, at a phase 0 to 1."""
    if plan.rows == 0.0:
        return phase, 1.0
    begin = 0.6 * RISING
    span = plan.duty - 2.0 * begin
    return leg_motion.minimum_jerk((phase - begin) / span), leg_motion.minimum_jerk_rate((phase - begin) / span) / span


def stance_time(plan, p):
    """Return the time [s] at the mean twist since the middle of the stance of a leg at p; negative before the
    middle.
    """
    if plan.rows != 0.0:
        return (progress(plan, p)[0] - 0.5) * plan.period
    return (p - 0.5 * plan.duty) * plan.period


def cycle_foot(plan, legs, i, phase, vx, vy, wz):
    """Return the foot (x, y) [m] of leg i in the nominal frame, its lift [m] and whether it stands (1, else 0), in the
    steady gait.
    """
    p = leg_motion.fraction(phase + legs[i].phase)
    duty, fx, fy = plan.duty, legs[i].foothold[0], legs[i].foothold[1]
    if p < duty:
        x, y = leg_motion.carried(fx, fy, vx, vy, wz, stance_time(plan, p))
        return x, y, 0.0, 1
    s = (p - duty) / (1.0 - duty)
    rest = 0.0 if plan.rows != 0.0 else (1.0 - duty) * plan.period
    half = stance_time(plan, duty)
    lx, ly = leg_motion.carried(fx, fy, vx, vy, wz, half + s * rest)
    dx, dy = leg_motion.carried(fx, fy, vx, vy, wz, -half - (1.0 - s) * rest)
    h = over_ground(s)[0]
    return lx + h * (dx - lx), ly + h * (dy - ly), plan.lift * lifted(s)[0], 0
