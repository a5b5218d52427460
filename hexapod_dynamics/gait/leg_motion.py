"""Functions that the compiled gaits share: ground points in the frame of the moving body, joint angles for a foot
position.

Rows `legs[i]` are those of `leg_table`.
"""

from math import cos, sin

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.gait.leg_table import FREE, HELD, KNEE, LENGTHS, LOWER, MOUNT, UPPER
from hexapod_dynamics.kinematics.three_joint_leg import place_foot


@kernel
def carried(x, y, vx, vy, wz, dt):
    """Return where a point of the ground, (x, y) in base_link, is after dt at a constant twist: it moves on an arc."""
    if wz == 0.0:
        return x - vx * dt, y - vy * dt
    half = -0.5 * wz * dt
    c, s = cos(half), sin(half)
    sinc = dt * (s / half if abs(half) > 1e-8 else 1.0)
    cx, cy = c * x - s * y - sinc * vx, s * x + c * y - sinc * vy
    return c * cx - s * cy, s * cx + c * cy


@kernel
def minimum_jerk(s):
    """Return the quintic from 0 to 1 whose velocity and acceleration are zero at its ends."""
    s = min(1.0, max(0.0, s))
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


@kernel
def minimum_jerk_rate(s):
    """Return the derivative of `minimum_jerk`."""
    s = min(1.0, max(0.0, s))
    return 30.0 * (s * (1.0 - s)) ** 2


@kernel
def in_leg_axes(legs, i, x, y, z):
    """Return a vector given in base_link axes in the axes of leg i's mount frame."""
    return (
        legs[i, 0] * x + legs[i, 1] * y + legs[i, 2] * z,
        legs[i, 3] * x + legs[i, 4] * y + legs[i, 5] * z,
        legs[i, 6] * x + legs[i, 7] * y + legs[i, 8] * z,
    )


@kernel
def from_mount(legs, i, x, y, z):
    """Return a point given in base_link [m] in the mount frame of leg i [m]."""
    return in_leg_axes(legs, i, x - legs[i, MOUNT], y - legs[i, MOUNT + 1], z - legs[i, MOUNT + 2])


@kernel
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


@kernel
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


@kernel
def lead_from(start, elapsed, duration, q, qd):
    """Replace q [rad] and qd [rad/s] by a minimum-jerk transition from the joints `start` to them, `elapsed` s after
    its start.
    """
    s = elapsed / duration
    h, slope = minimum_jerk(s), minimum_jerk_rate(s) / duration
    for j in range(q.size):
        qd[j] = slope * (q[j] - start[j]) + h * qd[j]
        q[j] = start[j] + h * (q[j] - start[j])
