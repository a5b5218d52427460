"""Evaluates a plan by geometry and masses, compiled: zero-moment point, reach, joint range and rates, distance of legs.

The zero-moment point of the body and all links (masses m, centres of mass p, ground at z = 0),

    x_zmp = (sum m (z" + g) x - sum m x" z) / sum m (z" + g)      (Vukobratovic; the links' own spin is left out)

must be inside the polygon of the standing feet. Its accelerations are central differences over the SAMPLES of a cycle.
A foot that has just touched down, or is about to lift off, is not counted as standing. On two legs (rowing): see
`two_feet_margin`.
"""

import math

import cython
import numpy as np

from hexapod_dynamics import kernel_layout, kernel_memory
from hexapod_dynamics.gait import cycle, gait_memory, leg_motion

SAMPLES = 48
# Findings: margin of the zero-moment point [m], remaining reach [m], remaining joint range [rad], largest joint rate
# [rad/s], least distance between legs [m].
FOUND = kernel_layout.struct(margin=1, reach=1, range=1, rate=1, apart=1)
MARGIN, REACH, RANGE, RATE, APART, FINDINGS = kernel_layout.columns(FOUND)
POINT, SPOT = kernel_layout.struct(x=1, y=1, z=1), kernel_layout.struct(x=1, y=1)
SEGMENT = kernel_layout.struct(knee=3, foot=3)
FAR = 1.0  # [m]
TURN = 2.0 * math.pi


class Scratch:
    """The memory of `evaluate`, for a number of legs and of samples in a cycle.

    angles: joint angles (samples, legs, 3) [rad]; course: see `zero_moment_course`; found (FINDINGS,).
    """

    def __init__(self, legs, samples=SAMPLES):
        self.legs_count, self.samples, self.bodies = legs, samples, 3 * legs + 1
        self.angles = np.zeros((samples, legs, 3))
        self.course = np.zeros((samples, 3))
        centres, feet = np.zeros((samples, self.bodies, 3)), np.zeros((samples, legs, 2))
        segments, points = np.zeros((legs, 6)), np.zeros((max(4, legs), 2))
        self.kept = centres, feet, segments, points
        self.q = kernel_memory.numbers(self.angles, 3 * samples * legs)
        self.margins = points_of(self.course, samples)
        self.centres, self.feet = points_of(centres, samples * self.bodies), spots_of(feet, samples * legs)
        self.segments, self.points = segments_of(segments, legs), spots_of(points, max(4, legs))

    def __reduce__(self):
        return type(self), (self.legs_count, self.samples)


def points_of(array, count):
    """Return an array as points (x, y, z)."""
    return cython.cast("Point *", kernel_memory.structs(array, POINT, count))


def spots_of(array, count):
    """Return an array as points (x, y)."""
    return cython.cast("Spot *", kernel_memory.structs(array, SPOT, count))


def segments_of(array, count):
    """Return an array as pairs of a knee and a foot."""
    return cython.cast("Segment *", kernel_memory.structs(array, SEGMENT, count))


def findings_of(array):
    """Return the findings (FINDINGS,) by their names."""
    return cython.cast("Findings *", kernel_memory.struct(array, FOUND))


def make_scratch(legs, samples=SAMPLES):
    """Return the Scratch for this number of legs and of samples in a cycle."""
    return Scratch(legs, samples)


def margin_in_hull(points, count, x, y):
    """Return the distance [m] of the point (x, y) from the edge of the convex hull of the first points, negative
    outside.

    points (count, 2). The result is the least distance of the point from the lines of the hull's edges.
    """
    least = FAR
    for i in range(count):
        for j in range(count):
            if i == j:
                continue
            ex, ey = points[j].x - points[i].x, points[j].y - points[i].y
            square = ex * ex + ey * ey
            if square < 1e-18:
                continue
            outer = True
            for k in range(count):
                if k != i and k != j:
                    if ex * (points[k].y - points[i].y) - ey * (points[k].x - points[i].x) < 0.0:
                        outer = False
                        break
            if outer:
                least = min(least, (ex * (y - points[i].y) - ey * (x - points[i].x)) / math.sqrt(square))
    if count < 3:
        return -math.fabs(least) if count == 2 else -FAR
    return least


def margin_on_two_feet(points, box, x, y):
    """Return the margin [m] by which the belly of a robot that rows on two feet carries less than half of its
    weight at (x, y).

    points (2, 2): the feet. The body tips about the line between them until the edge of its belly (box (2,) and more)
    on the side of (x, y) touches the ground and drags. With (x, y) at the distance d from the line and the edge at D,
    the edge carries the share d / D; D / 2 - d is returned, or the distance of (x, y) from the nearer end of the
    line between the feet if that is less.
    """
    ex, ey = points[1].x - points[0].x, points[1].y - points[0].y
    length = math.sqrt(ex * ex + ey * ey)
    if length < 1e-9:
        return -FAR
    ex, ey = ex / length, ey / length
    dx, dy = x - points[0].x, y - points[0].y
    along, off = ex * dx + ey * dy, ex * dy - ey * dx
    side = 1.0 if off >= 0.0 else -1.0
    edge = 0.0
    for corner in range(4):
        cx = (0.5 * box[0] if corner & 1 else -0.5 * box[0]) - points[0].x
        cy = (0.5 * box[1] if corner & 2 else -0.5 * box[1]) - points[0].y
        edge = max(edge, side * (ex * cy - ey * cx))
    return min(0.5 * edge - side * off, min(along, length - along))


def segment_distance(segments, i, others, j):
    """Return the distance [m] between the segment i of some and the segment j of others."""
    a, b, c, d = segments[i].knee, segments[i].foot, others[j].knee, others[j].foot
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = d[0] - c[0], d[1] - c[1], d[2] - c[2]
    wx, wy, wz = a[0] - c[0], a[1] - c[1], a[2] - c[2]
    uu, uv, vv = ux * ux + uy * uy + uz * uz, ux * vx + uy * vy + uz * vz, vx * vx + vy * vy + vz * vz
    uw, vw = ux * wx + uy * wy + uz * wz, vx * wx + vy * wy + vz * wz
    det = uu * vv - uv * uv
    s = min(1.0, max(0.0, (uv * vw - vv * uw) / det)) if det > 1e-12 else 0.0
    t = (uv * s + vw) / vv if vv > 1e-12 else 0.0
    if t < 0.0 or t > 1.0:
        t = min(1.0, max(0.0, t))
        s = min(1.0, max(0.0, (uv * t - uw) / uu)) if uu > 1e-12 else 0.0
    x, y, z = wx + s * ux - t * vx, wy + s * uy - t * vy, wz + s * uz - t * vz
    return math.sqrt(x * x + y * y + z * z)


def place_links(legs, i, q1, q2, q3, out, first, segments, at):
    """Write the centres of mass of leg i's links to out[first : first + 3], and knee and foot to segments[at]."""
    c1, s1, c2, s2 = math.cos(q1), math.sin(q1), math.cos(q2), math.sin(q2)
    ct, st = math.cos(q2 + q3), math.sin(q2 + q3)
    l1, l2, l3 = legs[i].lengths[0], legs[i].lengths[1], legs[i].lengths[2]
    to_leg, mount, centre = legs[i].to_leg, legs[i].mount, legs[i].centre
    for k in range(5):
        along1 = centre[0] * l1 if k == 0 else l1
        along2 = 0.0 if k == 0 else centre[1] * l2 if k == 1 else l2
        along3 = centre[2] * l3 if k == 2 else l3 if k == 4 else 0.0
        r, z = along1 + along2 * c2 + along3 * st, along2 * s2 - along3 * ct
        x, y = r * c1, r * s1
        px = to_leg[0] * x + to_leg[3] * y + to_leg[6] * z + mount[0]
        py = to_leg[1] * x + to_leg[4] * y + to_leg[7] * z + mount[1]
        pz = to_leg[2] * x + to_leg[5] * y + to_leg[8] * z + mount[2]
        if k < 3:
            out[first + k].x, out[first + k].y, out[first + k].z = px, py, pz
        elif k == 3:
            segments[at].knee[0], segments[at].knee[1], segments[at].knee[2] = px, py, pz
        else:
            segments[at].foot[0], segments[at].foot[1], segments[at].foot[2] = px, py, pz


def leg_joints(legs, i, x, y, z):
    """Return the joint angles of leg i with its foot at (x, y, z) [m] in base_link, and the remaining reach [m]."""
    lx, ly, lz = leg_motion.from_mount(legs, i, x, y, z)
    q1, q2, q3, _, _, _ = leg_motion.leg_angles(legs, i, lx, ly, lz, 0.0, 0.0, 0.0)
    l1, l2, l3 = legs[i].lengths[0], legs[i].lengths[1], legs[i].lengths[2]
    radius = math.sqrt(lx * lx + ly * ly) - l1
    distance = math.sqrt(radius * radius + lz * lz)
    # A foot near the axis of the coxa would need high coxa rates.
    return q1, q2, q3, min(min(l2 + l3 - distance, distance - math.fabs(l2 - l3)), radius + l1 - 0.035)


def judge(plan, legs, box, body_mass, gravity, vx, vy, wz, guard, scratch, found):
    """Evaluate the steady gait at a twist (vx, vy, wz); fill found (FINDINGS,) with the worst over the cycle.

    box (6,) [m]: the body's box and its centre of mass. guard: share of the cycle in which a foot at the ends of its
    stance does not count as standing. scratch: from `make_scratch`.
    """
    centres, angles, feet, segments = scratch.centres, scratch.q, scratch.feet, scratch.segments
    samples, n = scratch.samples, scratch.legs_count
    found.margin, found.reach, found.range, found.rate, found.apart = FAR, FAR, FAR, 0.0, FAR
    belly = plan.height - plan.rise if plan.rows != 0.0 else plan.height
    for k in range(samples):
        phase = float(k) / samples
        row = k * scratch.bodies
        c1, s1 = math.cos(TURN * phase), math.sin(TURN * phase)
        sx = cycle.sway_at(plan, c1, s1, 0, vx, vy, wz)[0]
        sy = cycle.sway_at(plan, c1, s1, 1, vx, vy, wz)[0]
        height = belly + cycle.raised(plan, phase)[0]
        for i in range(n):
            at = k * n + i
            if legs[i].used != 0.0:
                x, y, lift, _ = cycle.cycle_foot(plan, legs, i, phase, vx, vy, wz)
                feet[at].x, feet[at].y = x, y
                q1, q2, q3, reach = leg_joints(legs, i, x - sx, y - sy, lift - height)
                found.reach = min(found.reach, reach)
                angles[3 * at], angles[3 * at + 1], angles[3 * at + 2] = q1, q2, q3
                for j in range(3):
                    if legs[i].free[j] != 0.0:
                        angle = angles[3 * at + j]
                        found.range = min(found.range, min(angle - legs[i].lower[j], legs[i].upper[j] - angle))
            else:
                for j in range(3):
                    angles[3 * at + j] = legs[i].rest[j]
            if legs[i].mass[0] == 0.0:
                continue
            q1, q2, q3 = angles[3 * at], angles[3 * at + 1], angles[3 * at + 2]
            place_links(legs, i, q1, q2, q3, centres, row + 3 * i, segments, i)
            for j in range(row + 3 * i, row + 3 * i + 3):
                centres[j].x += sx
                centres[j].y += sy
                centres[j].z += height
        last = row + 3 * n
        centres[last].x, centres[last].y, centres[last].z = sx + box[3], sy + box[4], height + box[5]
        if k % 2 == 0:
            # Only neighbouring legs can touch; missing legs are skipped.
            for i in range(n):
                if legs[i].mass[2] == 0.0:
                    continue
                for step in range(1, n):
                    j = (i + step) % n
                    if legs[j].mass[2] > 0.0:
                        if legs[i].used != 0.0 or legs[j].used != 0.0:
                            found.apart = min(found.apart, segment_distance(segments, i, segments, j))
                        break
    _find_rates(plan, legs, scratch, found)
    zero_moment_course(plan, legs, box, body_mass, gravity, vx, vy, guard, scratch)
    for k in range(samples):
        found.margin = min(found.margin, scratch.margins[k].z)


def _find_rates(plan, legs, scratch, found):
    """Find the largest joint rate of the legs that walk."""
    samples, n, angles = scratch.samples, scratch.legs_count, scratch.q
    per_second = samples / plan.period
    for k in range(samples):
        after = (k + 1) % samples
        for i in range(n):
            if legs[i].used != 0.0:
                for j in range(3):
                    change = math.fabs(angles[3 * (after * n + i) + j] - angles[3 * (k * n + i) + j])
                    found.rate = max(found.rate, change * per_second)


def zero_moment_course(plan, legs, box, body_mass, gravity, vx, vy, guard, scratch):
    """Fill the scratch memory's course with the zero-moment point (x, y) in the nominal frame and its margin [m].

    It reads centres and feet as written by `judge`.
    """
    samples, n, bodies = scratch.samples, scratch.legs_count, scratch.bodies
    centres, feet, points, course = scratch.centres, scratch.feet, scratch.points, scratch.margins
    duty, rows = plan.duty, plan.rows != 0.0
    per_square = (samples / plan.period) * (samples / plan.period)
    for k in range(samples):
        phase = float(k) / samples
        before, after = (k + samples - 1) % samples, (k + 1) % samples
        weight, mx, my = 0.0, 0.0, 0.0
        surge = 0.0
        if rows:
            # The nominal frame of a rowing gait does not move uniformly: its acceleration in units of the mean
            # velocity.
            last = cycle.progress(plan, float(before) / samples)[0] - (1.0 if k == 0 else 0.0)
            next_one = cycle.progress(plan, float(after) / samples)[0] + (1.0 if k == samples - 1 else 0.0)
            surge = (next_one - 2.0 * cycle.progress(plan, phase)[0] + last) * per_square * plan.period
        for j in range(3 * n + 1):
            m = body_mass if j == 3 * n else legs[j // 3].mass[j % 3]
            if m == 0.0:
                continue
            x, y, z = centres[k * bodies + j].x, centres[k * bodies + j].y, centres[k * bodies + j].z
            ax = (centres[after * bodies + j].x - 2.0 * x + centres[before * bodies + j].x) * per_square
            ay = (centres[after * bodies + j].y - 2.0 * y + centres[before * bodies + j].y) * per_square
            az = (centres[after * bodies + j].z - 2.0 * z + centres[before * bodies + j].z) * per_square
            ax, ay = ax + vx * surge, ay + vy * surge
            weight += m * (gravity + az)
            mx += m * ((gravity + az) * x - ax * z)
            my += m * ((gravity + az) * y - ay * z)
        count = 0
        if rows and (phase >= duty - 0.3 * cycle.RISING or phase < 0.3 * cycle.RISING):
            # The robot is on its belly.
            for corner in range(4):
                points[corner].x = 0.5 * box[0] if corner & 1 else -0.5 * box[0]
                points[corner].y = 0.5 * box[1] if corner & 2 else -0.5 * box[1]
            count = 4
        else:
            for i in range(n):
                if legs[i].used != 0.0:
                    p = leg_motion.fraction(phase + legs[i].phase)
                    if rows or guard <= p <= duty - guard:
                        points[count].x, points[count].y = feet[k * n + i].x, feet[k * n + i].y
                        count += 1
        course[k].x, course[k].y = mx / weight, my / weight
        if rows and count == 2:
            course[k].z = margin_on_two_feet(points, box, course[k].x, course[k].y)
        else:
            course[k].z = margin_in_hull(points, count, course[k].x, course[k].y)


# ---- for Python ------------------------------------------------------------------------------------------------------


def hull_margin(points, count, x, y):
    """Return the distance [m] of the point (x, y) from the edge of the convex hull of the first points (count, 2);
    see `margin_in_hull`.
    """
    points = np.ascontiguousarray(points, float)
    return margin_in_hull(spots_of(points, len(points)), count, x, y)


def two_feet_margin(points, box, x, y):
    """Return the margin [m] of a robot that rows on two feet (2, 2); see `margin_on_two_feet`."""
    points, box = np.ascontiguousarray(points, float), np.array(box, float)
    return margin_on_two_feet(spots_of(points, 2), kernel_memory.numbers(box, box.size), x, y)


def least_distance(some, others):
    """Return the least distance [m] between segments (N, 6) and others (M, 6); FAR if there are none."""
    some, others = np.ascontiguousarray(some, float), np.ascontiguousarray(others, float)
    ours, theirs = segments_of(some, len(some)), segments_of(others, len(others))
    least = FAR
    for i in range(len(some)):
        for j in range(len(others)):
            least = min(least, segment_distance(ours, i, theirs, j))
    return least


def link_points(table, i, angles, out, first, segment):
    """Write the centres of mass of the links of leg i of a leg table at its joint angles (3,) [rad] to
    out[first : first + 3] (N, 3), knee and foot to segment (6,).
    """
    q1, q2, q3 = angles
    points, ends = points_of(out, len(out)), segments_of(segment, 1)
    place_links(gait_memory.legs_of(table), i, q1, q2, q3, points, first, ends, 0)


def cycle_foot(numbers, table, i, phase, vx, vy, wz):
    """Return the foot (x, y) [m], its lift [m] and whether it stands, of leg i of a leg table in the steady gait of a
    plan (NUMBERS,); see `cycle.cycle_foot`.
    """
    return cycle.cycle_foot(gait_memory.plan_of(numbers), gait_memory.legs_of(table), i, phase, vx, vy, wz)


def evaluate(numbers, table, box, body_mass, gravity, twist, guard, scratch, found):
    """Evaluate the steady gait of a plan (NUMBERS,) with a leg table at a twist (3,); fill found (FINDINGS,); see
    `judge`.
    """
    vx, vy, wz = twist
    plan, legs, body = gait_memory.plan_of(numbers), gait_memory.legs_of(table), kernel_memory.numbers(box, 6)
    findings = findings_of(found)
    with cython.nogil:
        judge(plan, legs, body, body_mass, gravity, vx, vy, wz, guard, scratch, findings)
