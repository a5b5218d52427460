"""Evaluates a plan by geometry and masses, compiled: zero-moment point, reach, joint range and rates, distance of legs.

The zero-moment point of the body and all links (masses m, centres of mass p, ground at z = 0),

    x_zmp = (sum m (z" + g) x - sum m x" z) / sum m (z" + g)      (Vukobratovic; the links' own spin is left out)

must be inside the polygon of the standing feet. Its accelerations are central differences over the SAMPLES of a cycle.
A foot that has just touched down, or is about to lift off, is not counted as standing. On two legs (rowing): see
`two_feet_margin`.
"""

from __future__ import annotations

from math import cos, sin, sqrt
from typing import Any

import numpy as np

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.gait.cycle import (
    DUTY,
    HEIGHT,
    PERIOD,
    RISE,
    RISING,
    ROWS,
    cycle_foot,
    progress,
    raised,
    sway,
)
from hexapod_dynamics.gait.leg_motion import from_mount, leg_angles
from hexapod_dynamics.gait.leg_table import (
    CENTRE,
    FREE,
    LENGTHS,
    LOWER,
    MASS,
    MOUNT,
    PHASE,
    REST,
    UPPER,
    USED,
)

SAMPLES = 48
# Findings: margin of the zero-moment point [m], remaining reach [m], remaining joint range [rad], largest joint rate
# [rad/s], least distance between legs [m].
MARGIN, REACH, RANGE, RATE, APART, FINDINGS = 0, 1, 2, 3, 4, 5
FAR = 1.0


def make_scratch(legs: Any, samples: Any = SAMPLES) -> tuple[np.ndarray, ...]:
    """Return the memory that `evaluate` works in, for so many legs and samples a cycle."""
    return (
        np.zeros((samples, 3 * legs + 1, 3)),
        np.zeros((samples, legs, 3)),
        np.zeros((samples, legs, 2)),
        np.zeros((legs, 6)),
        np.zeros((samples, 3)),
        np.zeros((max(4, legs), 2)),
    )


@kernel
def hull_margin(points, count, x, y):
    """Return how far [m] the point (x, y) is inside the convex hull of the first points, negative outside.

    points (count, 2). For each edge of the hull, the distance of the point from its line; the least of them.
    """
    least = FAR
    for i in range(count):
        for j in range(count):
            if i == j:
                continue
            ex, ey = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1]
            length = sqrt(ex * ex + ey * ey)
            if length < 1e-9:
                continue
            outer = True
            for k in range(count):
                if k != i and k != j:
                    if ex * (points[k, 1] - points[i, 1]) - ey * (points[k, 0] - points[i, 0]) < 0.0:
                        outer = False
                        break
            if outer:
                least = min(least, (ex * (y - points[i, 1]) - ey * (x - points[i, 0])) / length)
    if count < 3:
        return -abs(least) if count == 2 else -FAR
    return least


@kernel
def two_feet_margin(points, box, x, y):
    """Return by how much [m] the belly of a robot that rows on two feet carries less than half of its weight at (x, y).

    points (2, 2): the feet. The body tips about the line between them until the edge of its belly (box (2,) and more)
    on the side of (x, y) touches the ground and drags. With (x, y) at the distance d from the line and the edge at D,
    the edge carries the share d / D; D / 2 - d is returned, or how far (x, y) is between the feet if that is less.
    """
    ex, ey = points[1, 0] - points[0, 0], points[1, 1] - points[0, 1]
    length = sqrt(ex * ex + ey * ey)
    if length < 1e-9:
        return -FAR
    ex, ey = ex / length, ey / length
    dx, dy = x - points[0, 0], y - points[0, 1]
    along, off = ex * dx + ey * dy, ex * dy - ey * dx
    side = 1.0 if off >= 0.0 else -1.0
    edge = 0.0
    for corner in range(4):
        cx = (0.5 * box[0] if corner & 1 else -0.5 * box[0]) - points[0, 0]
        cy = (0.5 * box[1] if corner & 2 else -0.5 * box[1]) - points[0, 1]
        edge = max(edge, side * (ex * cy - ey * cx))
    return min(0.5 * edge - side * off, min(along, length - along))


@kernel
def segment_distance(a, b):
    """Return the distance [m] between two segments, each (6,): its two ends."""
    ux, uy, uz = a[3] - a[0], a[4] - a[1], a[5] - a[2]
    vx, vy, vz = b[3] - b[0], b[4] - b[1], b[5] - b[2]
    wx, wy, wz = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    uu, uv, vv = ux * ux + uy * uy + uz * uz, ux * vx + uy * vy + uz * vz, vx * vx + vy * vy + vz * vz
    uw, vw = ux * wx + uy * wy + uz * wz, vx * wx + vy * wy + vz * wz
    det = uu * vv - uv * uv
    s = min(1.0, max(0.0, (uv * vw - vv * uw) / det)) if det > 1e-12 else 0.0
    t = (uv * s + vw) / vv if vv > 1e-12 else 0.0
    if t < 0.0 or t > 1.0:
        t = min(1.0, max(0.0, t))
        s = min(1.0, max(0.0, (uv * t - uw) / uu)) if uu > 1e-12 else 0.0
    x, y, z = wx + s * ux - t * vx, wy + s * uy - t * vy, wz + s * uz - t * vz
    return sqrt(x * x + y * y + z * z)


@kernel
def least_distance(some, others):
    """Return the least distance [m] between segments (N, 6) and others (M, 6); FAR if there are none."""
    least = FAR
    for i in range(some.shape[0]):
        for j in range(others.shape[0]):
            least = min(least, segment_distance(some[i], others[j]))
    return least


@kernel
def link_points(legs, i, q1, q2, q3, out, first, segment):
    """Write the centres of mass of leg i's links to out[first : first + 3], knee and foot to segment (6,)."""
    c1, s1, c2, s2 = cos(q1), sin(q1), cos(q2), sin(q2)
    ct, st = cos(q2 + q3), sin(q2 + q3)
    l1, l2, l3 = legs[i, LENGTHS], legs[i, LENGTHS + 1], legs[i, LENGTHS + 2]
    for k in range(5):
        along1 = legs[i, CENTRE] * l1 if k == 0 else l1
        along2 = 0.0 if k == 0 else legs[i, CENTRE + 1] * l2 if k == 1 else l2
        along3 = legs[i, CENTRE + 2] * l3 if k == 2 else l3 if k == 4 else 0.0
        r, z = along1 + along2 * c2 + along3 * st, along2 * s2 - along3 * ct
        x, y = r * c1, r * s1
        for a in range(3):
            value = legs[i, a] * x + legs[i, 3 + a] * y + legs[i, 6 + a] * z + legs[i, MOUNT + a]
            if k < 3:
                out[first + k, a] = value
            else:
                segment[3 * (k - 3) + a] = value


@kernel
def leg_joints(legs, i, x, y, z):
    """Return the joint angles of leg i with its foot at (x, y, z) [m] in base_link, and how far it is within reach."""
    lx, ly, lz = from_mount(legs, i, x, y, z)
    q1, q2, q3, _, _, _ = leg_angles(legs, i, lx, ly, lz, 0.0, 0.0, 0.0)
    l1, l2, l3 = legs[i, LENGTHS], legs[i, LENGTHS + 1], legs[i, LENGTHS + 2]
    radius = sqrt(lx * lx + ly * ly) - l1
    distance = sqrt(radius * radius + lz * lz)
    # A foot near the axis of the coxa would need high coxa rates.
    return q1, q2, q3, min(min(l2 + l3 - distance, distance - abs(l2 - l3)), radius + l1 - 0.035)


@kernel
def evaluate(plan, legs, box, body_mass, gravity, vx, vy, wz, guard, scratch, found):
    """Evaluate the steady gait at a twist (vx, vy, wz); fill found (FINDINGS,) with the worst over the cycle.

    box (6,) [m]: the body's box and its centre of mass. guard: share of the cycle in which a foot at the ends of its
    stance does not count as standing. scratch: from `make_scratch`.
    """
    centres, angles, feet, segments, course, points = scratch
    samples, n = centres.shape[0], legs.shape[0]
    found[MARGIN], found[REACH], found[RANGE], found[RATE], found[APART] = FAR, FAR, FAR, 0.0, FAR
    belly = plan[HEIGHT] - plan[RISE] if plan[ROWS] != 0.0 else plan[HEIGHT]
    for k in range(samples):
        phase = k / samples
        sx = sway(plan, phase, 0, vx, vy, wz)[0]
        sy = sway(plan, phase, 1, vx, vy, wz)[0]
        height = belly + raised(plan, phase)[0]
        for i in range(n):
            if legs[i, USED] != 0.0:
                x, y, lift, _ = cycle_foot(plan, legs, i, phase, vx, vy, wz)
                feet[k, i, 0], feet[k, i, 1] = x, y
                q1, q2, q3, reach = leg_joints(legs, i, x - sx, y - sy, lift - height)
                found[REACH] = min(found[REACH], reach)
                angles[k, i, 0], angles[k, i, 1], angles[k, i, 2] = q1, q2, q3
                for j in range(3):
                    if legs[i, FREE + j] != 0.0:
                        slack = min(angles[k, i, j] - legs[i, LOWER + j], legs[i, UPPER + j] - angles[k, i, j])
                        found[RANGE] = min(found[RANGE], slack)
            else:
                for j in range(3):
                    angles[k, i, j] = legs[i, REST + j]
            if legs[i, MASS] == 0.0:
                continue
            q1, q2, q3 = angles[k, i, 0], angles[k, i, 1], angles[k, i, 2]
            link_points(legs, i, q1, q2, q3, centres[k], 3 * i, segments[i])
            for j in range(3 * i, 3 * i + 3):
                centres[k, j, 0] += sx
                centres[k, j, 1] += sy
                centres[k, j, 2] += height
        centres[k, 3 * n, 0], centres[k, 3 * n, 1], centres[k, 3 * n, 2] = sx + box[3], sy + box[4], height + box[5]
        if k % 2 == 0:
            # Only neighbouring legs can touch; missing legs are skipped.
            for i in range(n):
                if legs[i, MASS + 2] == 0.0:
                    continue
                for step in range(1, n):
                    j = (i + step) % n
                    if legs[j, MASS + 2] > 0.0:
                        if legs[i, USED] != 0.0 or legs[j, USED] != 0.0:
                            found[APART] = min(found[APART], segment_distance(segments[i], segments[j]))
                        break
    _rates(plan, legs, angles, found)
    zero_moment_course(plan, legs, box, body_mass, gravity, vx, vy, guard, centres, feet, points, course)
    for k in range(samples):
        found[MARGIN] = min(found[MARGIN], course[k, 2])


@kernel
def _rates(plan, legs, angles, found):
    """Find the largest joint rate of the legs that walk."""
    samples = angles.shape[0]
    per_second = samples / plan[PERIOD]
    for k in range(samples):
        after = (k + 1) % samples
        for i in range(legs.shape[0]):
            if legs[i, USED] != 0.0:
                for j in range(3):
                    found[RATE] = max(found[RATE], abs(angles[after, i, j] - angles[k, i, j]) * per_second)


@kernel
def zero_moment_course(plan, legs, box, body_mass, gravity, vx, vy, guard, centres, feet, points, course):
    """Fill course (samples, 3) with the zero-moment point (x, y) in the nominal frame and its margin [m].

    centres, feet: as written by `evaluate` to its scratch memory; points: (max(4, legs), 2) of that memory.
    """
    samples, n = centres.shape[0], legs.shape[0]
    duty, rows = plan[DUTY], plan[ROWS] != 0.0
    per_square = (samples / plan[PERIOD]) ** 2
    for k in range(samples):
        phase = k / samples
        before, after = (k - 1) % samples, (k + 1) % samples
        weight, mx, my = 0.0, 0.0, 0.0
        surge = 0.0
        if rows:
            # The nominal frame of a rowing gait stops and goes: its acceleration in units of the mean velocity.
            last = progress(plan, before / samples)[0] - (1.0 if k == 0 else 0.0)
            next_one = progress(plan, after / samples)[0] + (1.0 if k == samples - 1 else 0.0)
            surge = (next_one - 2.0 * progress(plan, phase)[0] + last) * per_square * plan[PERIOD]
        for j in range(3 * n + 1):
            m = body_mass if j == 3 * n else legs[j // 3, MASS + j % 3]
            if m == 0.0:
                continue
            x, y, z = centres[k, j, 0], centres[k, j, 1], centres[k, j, 2]
            ax = (centres[after, j, 0] - 2.0 * x + centres[before, j, 0]) * per_square
            ay = (centres[after, j, 1] - 2.0 * y + centres[before, j, 1]) * per_square
            az = (centres[after, j, 2] - 2.0 * z + centres[before, j, 2]) * per_square
            ax, ay = ax + vx * surge, ay + vy * surge
            weight += m * (gravity + az)
            mx += m * ((gravity + az) * x - ax * z)
            my += m * ((gravity + az) * y - ay * z)
        count = 0
        if rows and (phase >= duty - 0.3 * RISING or phase < 0.3 * RISING):
            # On its belly.
            for corner in range(4):
                points[corner, 0] = 0.5 * box[0] if corner & 1 else -0.5 * box[0]
                points[corner, 1] = 0.5 * box[1] if corner & 2 else -0.5 * box[1]
            count = 4
        else:
            for i in range(n):
                if legs[i, USED] != 0.0:
                    p = (phase + legs[i, PHASE]) % 1.0
                    if rows or guard <= p <= duty - guard:
                        points[count, 0], points[count, 1] = feet[k, i, 0], feet[k, i, 1]
                        count += 1
        course[k, 0], course[k, 1] = mx / weight, my / weight
        if rows and count == 2:
            course[k, 2] = two_feet_margin(points, box, course[k, 0], course[k, 1])
        else:
            course[k, 2] = hull_margin(points, count, course[k, 0], course[k, 1])
