"""Functions that the compiled gaits share: ground points in the frame of the moving body, joint angles for a foot
position.

`legs[i]` is a `Leg` of `leg_table`.
"""

import math

from hexapod_dynamics.kinematics import three_joint_leg


def carried(x, y, vx, vy, wz, dt):
    """Return the position, after dt at a constant twist, of a point of the ground (x, y) in base_link; it moves on
    an arc.
    """
    if wz == 0.0:
        return x - vx * dt, y - vy * dt
    half = -0.5 * wz * dt
    c, s = math.cos(half), math.sin(half)
    sinc = dt * (s / half if math.fabs(half) > 1e-8 else 1.0)
    cx, cy = c * x - s * y - sinc * vx, s * x + c * y - sinc * vy
    return c * cx - s * cy, s * cx + c * cy


def fraction(value):
    """Return the fractional part of a number, 0 to 1: `value % 1.0`."""
    return value - math.floor(value)


def minimum_jerk(s):
    """Return the quintic from 0 to 1 whose velocity and acceleration are zero at its ends."""
    s = min(1.0, max(0.0, s))
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


def minimum_jerk_rate(s):
    """Return the derivative of `minimum_jerk`."""
    s = min(1.0, max(0.0, s))
    return 30.0 * (s * (1.0 - s)) ** 2


def run_up(s):
    """Return the quintic from 0 to 0 with velocity 1 at its end, where all else is zero: see `minimum_jerk`."""
    s = min(1.0, max(0.0, s))
    return s * s * s * (s * (7.0 - 3.0 * s) - 4.0)


def run_up_rate(s):
    """Return the derivative of `run_up`."""
    s = min(1.0, max(0.0, s))
    return s * s * (s * (28.0 - 15.0 * s) - 12.0)


def in_leg_axes(legs, i, x, y, z):
    """Return a vector given in base_link axes in the axes of leg i's mount frame."""
    return (
        legs[i].to_leg[0] * x + legs[i].to_leg[1] * y + legs[i].to_leg[2] * z,
        legs[i].to_leg[3] * x + legs[i].to_leg[4] * y + legs[i].to_leg[5] * z,
        legs[i].to_leg[6] * x + legs[i].to_leg[7] * y + legs[i].to_leg[8] * z,
    )


def from_mount(legs, i, x, y, z):
    """Return a point given in base_link [m] in the mount frame of leg i [m]."""
    return in_leg_axes(legs, i, x - legs[i].mount[0], y - legs[i].mount[1], z - legs[i].mount[2])


def leg_angles(legs, i, x, y, z, xd, yd, zd):
    """Return the angles [rad] of leg i and their rates [rad/s] for a foot at (x, y, z) [m] that moves at (xd, yd, zd).

    In the leg's mount frame; see `three_joint_leg`.
    """
    return three_joint_leg.solve_leg(
        x,
        y,
        z,
        xd,
        yd,
        zd,
        legs[i].lengths[0],
        legs[i].lengths[1],
        legs[i].lengths[2],
        legs[i].free[0] != 0.0,
        legs[i].free[1] != 0.0,
        legs[i].free[2] != 0.0,
        legs[i].held[0],
        legs[i].held[1],
        legs[i].held[2],
        legs[i].knee[0],
        legs[i].knee[1],
    )


def set_leg(legs, i, x, y, z, xd, yd, zd, speed_limit, q, qd):
    """Write the set-points of leg i into q (3 a leg) [rad] and qd [rad/s], within its joints' ranges and their speed.

    (x, y, z), (xd, yd, zd): place [m] and velocity [m/s] of the foot in base_link axes.
    """
    lx, ly, lz = from_mount(legs, i, x, y, z)
    lxd, lyd, lzd = in_leg_axes(legs, i, xd, yd, zd)
    q1, q2, q3, r1, r2, r3 = leg_angles(legs, i, lx, ly, lz, lxd, lyd, lzd)
    set_joint(legs, i, 0, q1, r1, speed_limit, q, qd)
    set_joint(legs, i, 1, q2, r2, speed_limit, q, qd)
    set_joint(legs, i, 2, q3, r3, speed_limit, q, qd)


def set_joint(legs, i, k, angle, rate, speed_limit, q, qd):
    """Write the set-point of joint k of leg i: angle [rad] and rate [rad/s] within its range and its speed."""
    j = 3 * i + k
    lower, upper = legs[i].lower[k], legs[i].upper[k]
    if legs[i].free[k] != 0.0 and (angle < lower or angle > upper):
        # Stay at the limit at which the joint was: an angle beyond the limit that passes pi would jump to the other
        # limit.
        angle = upper if upper - q[j] < q[j] - lower else lower
        rate = 0.0
    q[j] = angle
    qd[j] = min(speed_limit, max(-speed_limit, rate))


def limit_speed(j, before, speed_limit, dt, q, qd):
    """Bound the motion of joint j from its set-point `before` [rad], dt [s] ago, to its speed limit [rad/s]."""
    change, most = q[j] - before, speed_limit * dt
    if math.fabs(change) > most:
        q[j] = before + math.copysign(most, change)
        qd[j] = math.copysign(speed_limit, change)


def lead_from(start, elapsed, duration, q, qd, count):
    """Replace q (count,) [rad] and qd [rad/s] by a minimum-jerk transition from the joints `start` to them, which
    began `elapsed` seconds ago.
    """
    s = elapsed / duration
    h, slope = minimum_jerk(s), minimum_jerk_rate(s) / duration
    for j in range(count):
        qd[j] = slope * (q[j] - start[j]) + h * qd[j]
        q[j] = start[j] + h * (q[j] - start[j])
