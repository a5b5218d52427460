"""Closed forms of the leg with a coxa about z and a femur and a tibia about -y, compiled, for use inside loops.

Leg frame: origin in the coxa's axis, x outward, z up. At zero the femur is horizontal and the tibia points straight
down. `knee` below is the angle between the femur's and the tibia's directions, 0 when the leg is stretched.
"""

from math import acos, atan2, cos, hypot, pi, sin

from hexapod_dynamics.dynamics.kernel_cache import kernel

# Below this product of the lengths and sin(knee), as a fraction, the rates of a stretched leg are damped instead of
# growing.
STRETCHED = 1e-3


@kernel
def wrap(angle):
    """Return the angle in [-pi, pi) that points the same way."""
    return (angle + pi) % (2.0 * pi) - pi


@kernel
def foot_position(q1, q2, q3, l1, l2, l3):
    """Return the foot (x, y, z) [m] in the leg frame, from joint angles [rad] and link lengths [m]."""
    radius = l1 + l2 * cos(q2) + l3 * sin(q2 + q3)
    return radius * cos(q1), radius * sin(q1), l2 * sin(q2) - l3 * cos(q2 + q3)


@kernel
def joint_angles(x, y, z, l1, l2, l3, free, held):
    """Return the coxa, femur and tibia angles [rad] that bring the foot nearest to (x, y, z) [m], knee up, foot
    outward.

    free: (3,) bool, false for a joint locked at the angle in held (3,). The foot is at the target if the target can be
    reached with the joints that are free; otherwise it is as near as they allow.
    """
    if free[0]:
        q1 = atan2(y, x)
        radius = hypot(x, y) - l1
    else:
        q1 = held[0]
        radius = x * cos(q1) + y * sin(q1) - l1
    q2, q3 = held[1], held[2]
    if free[1] and free[2]:
        cosine = (radius * radius + z * z - l2 * l2 - l3 * l3) / (2.0 * l2 * l3)
        knee = acos(min(1.0, max(-1.0, cosine)))
        q2 = atan2(z, radius) + atan2(l3 * sin(knee), l2 + l3 * cos(knee))
        q3 = 0.5 * pi - knee
    elif free[2]:
        q3 = wrap(atan2(z - l2 * sin(q2), radius - l2 * cos(q2)) - q2 + 0.5 * pi)
    elif free[1]:
        q2 = wrap(atan2(z, radius) - atan2(-l3 * cos(q3), l2 + l3 * sin(q3)))
    return q1, wrap(q2), q3


@kernel
def joint_rates(x, y, z, xd, yd, zd, q1, q2, q3, l1, l2, l3, free):
    """Return the time derivatives [rad/s] of `joint_angles` for a target at (x, y, z) [m] moving at (xd, yd, zd) [m/s].

    Rates of a leg that is nearly stretched, where they would grow without bound, are damped.
    """
    c1, s1 = cos(q1), sin(q1)
    radius = x * c1 + y * s1
    q1d = 0.0
    if free[0]:
        q1d = (c1 * yd - s1 * xd) / max(radius, STRETCHED * (l1 + l2))
    radius -= l1
    rd = c1 * xd + s1 * yd
    q2d, q3d = 0.0, 0.0
    if free[1] and free[2]:
        direction = q2 + q3 - 0.5 * pi
        cd, sd = cos(direction), sin(direction)
        c2, s2 = cos(q2), sin(q2)
        determinant = l2 * l3 * sin(direction - q2)
        inverse = determinant / (determinant * determinant + (STRETCHED * l2 * l3) ** 2)
        q2d = l3 * (cd * rd + sd * zd) * inverse
        q3d = -l2 * (c2 * rd + s2 * zd) * inverse - q2d
    elif free[2]:
        dx, dz = radius - l2 * cos(q2), z - l2 * sin(q2)
        q3d = (dx * zd - dz * rd) / max(dx * dx + dz * dz, (STRETCHED * l3) ** 2)
    elif free[1]:
        q2d = (radius * zd - z * rd) / max(radius * radius + z * z, (STRETCHED * l2) ** 2)
    return q1d, q2d, q3d
