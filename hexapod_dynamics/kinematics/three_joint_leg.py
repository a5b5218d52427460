"""Closed forms of the leg with a coxa about z and a femur and a tibia about -y, compiled, for use inside loops.

Leg frame: origin on the coxa's axis, x outward, z up. At zero the femur is horizontal and the tibia points
straight down. `knee` below is the angle between the femur's and the tibia's directions, 0 when the leg is
stretched.
"""

import math

PI = math.pi
# Rates of a leg that is nearer to stretched or folded than this (in sin(knee)) are damped instead of growing.
STRETCHED = 1e-3


def knee_cosines(lower: float, upper: float):
    """Return the cosines of the smallest and the largest knee angle for a tibia's limits [rad]; see `place_foot`."""
    return math.cos(max(0.0, 0.5 * math.pi - upper)), math.cos(min(math.pi, 0.5 * math.pi - lower))


def wrapped(angle):
    """Return the equivalent angle in [-PI, PI)."""
    rest = math.fmod(angle + PI, 2.0 * PI)
    return (rest + 2.0 * PI if rest < 0.0 else rest) - PI


def foot_at(q1, q2, q3, l1, l2, l3):
    """Return the foot (x, y, z) [m] in the leg frame, from joint angles [rad] and link lengths [m]."""
    radius = l1 + l2 * math.cos(q2) + l3 * math.sin(q2 + q3)
    return radius * math.cos(q1), radius * math.sin(q1), l2 * math.sin(q2) - l3 * math.cos(q2 + q3)


def solve_leg(x, y, z, xd, yd, zd, l1, l2, l3, free1, free2, free3, held1, held2, held3, straight, folded):
    """Return the angles [rad] that bring the foot nearest to (x, y, z) [m], and their rates [rad/s] for a target moving
    at (xd, yd, zd) [m/s]: six numbers, coxa, femur, tibia. Foot outward, knee up.

    free: false (or 0) for a joint locked at the angle held [rad]. The foot is at the target if the free joints can
    reach it, else as near as possible. straight, folded: cosines of the smallest and the largest knee angle that
    the tibia's limits allow (1 and -1 without limits). Rates of a leg nearly stretched are damped.
    """
    if free1:
        distance = math.sqrt(x * x + y * y)
        q1 = math.atan2(y, x)
        c1, s1 = 1.0, 0.0
        if distance > 0.0:
            c1, s1 = x / distance, y / distance
        radius = distance - l1
        r1 = (c1 * yd - s1 * xd) / max(distance, STRETCHED * (l1 + l2))
    else:
        q1, c1, s1 = held1, math.cos(held1), math.sin(held1)
        radius = c1 * x + s1 * y - l1
        r1 = 0.0
    rd = c1 * xd + s1 * yd
    q2, q3, r2, r3 = held2, held3, 0.0, 0.0
    square = radius * radius + z * z
    if free2 and free3:
        c = min(straight, max(folded, (square - l2 * l2 - l3 * l3) / (2.0 * l2 * l3)))
        s = math.sqrt(1.0 - c * c)
        # The foot in the femur's frame is (along, -below); turn that to the target's direction.
        along, below = l2 + l3 * c, l3 * s
        cosine, sine = radius * along - z * below, z * along + radius * below
        q2, q3 = math.atan2(sine, cosine), 0.5 * PI - math.acos(c)
        size = math.sqrt(cosine * cosine + sine * sine)
        c2, s2 = 1.0, 0.0
        if size > 0.0:
            c2, s2 = cosine / size, sine / size
        ct, st = c2 * c + s2 * s, s2 * c - c2 * s
        damped = -s / (s * s + STRETCHED * STRETCHED)
        r2 = (ct * rd + st * zd) * damped / l2
        r3 = -(c2 * rd + s2 * zd) * damped / l3 - r2
    elif free3:
        dx, dz = radius - l2 * math.cos(q2), z - l2 * math.sin(q2)
        q3 = wrapped(math.atan2(dz, dx) - q2 + 0.5 * PI)
        r3 = (dx * zd - dz * rd) / max(dx * dx + dz * dz, (STRETCHED * l3) ** 2)
    elif free2:
        q2 = wrapped(math.atan2(z, radius) - math.atan2(-l3 * math.cos(q3), l2 + l3 * math.sin(q3)))
        r2 = (radius * zd - z * rd) / max(square, (STRETCHED * l2) ** 2)
    return q1, q2, q3, r1, r2, r3


# ---- for Python ------------------------------------------------------------------------------------------------------


def wrap(angle: float) -> float:
    """Return the equivalent angle in [-pi, pi)."""
    return wrapped(angle)


def foot_position(q1: float, q2: float, q3: float, l1: float, l2: float, l3: float):
    """Return the foot (x, y, z) [m] in the leg frame, from joint angles [rad] and link lengths [m]."""
    return foot_at(q1, q2, q3, l1, l2, l3)


def place_foot(
    x: float,
    y: float,
    z: float,
    xd: float,
    yd: float,
    zd: float,
    l1: float,
    l2: float,
    l3: float,
    free1: bool,
    free2: bool,
    free3: bool,
    held1: float,
    held2: float,
    held3: float,
    straight: float,
    folded: float,
):
    """Return angles [rad] and rates [rad/s] of a leg whose foot is at (x, y, z) [m]; see `solve_leg`."""
    return solve_leg(x, y, z, xd, yd, zd, l1, l2, l3, free1, free2, free3, held1, held2, held3, straight, folded)
