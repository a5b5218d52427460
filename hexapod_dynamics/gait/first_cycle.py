"""Rehearses the first cycles after a change of plan, compiled: is the walk stable from the present places of the
feet?

A plan is stable with all its feet at their footholds. After a change while the robot walks, each foot is
centimetres away from its foothold until its first step: meanwhile the body may tip over the standing feet, and a
leg may be out of reach and drag. So the gait itself is advanced, on copies of its arrays, and the zero-moment
point of body and links (see `planning.evaluation`) is followed until every foot has stepped and the walk is at its
full speed.
"""

import math

import cython
import numpy as np

from hexapod_dynamics import kernel_layout, kernel_memory
from hexapod_dynamics.gait import adaptive_kernel
from hexapod_dynamics.gait import adaptive_state as layout
from hexapod_dynamics.gait.planning import evaluation

# Findings: score [m]; least margin of the zero-moment point [m], largest distance of a standing foot from its place
# [m], largest rate of a joint [rad/s].
FOUND = kernel_layout.struct(score=1, margin=1, miss=1, rate=1)
SCORE, MARGIN, MISS, RATE, FINDINGS = kernel_layout.columns(FOUND)
# The score is the margin, at most PLENTY [m], less the part of the feet's distance from their places that exceeds
# MISSED [m]; set-points faster than FASTEST times the servos' speed cost SPEEDING [m] for each further multiple of that
# speed.
PLENTY, MISSED, FASTEST, SPEEDING = 0.02, 0.025, 2.0, 0.006
ENOUGH = PLENTY
# Number of simulated cycles; largest number of samples for them, one each STEP [s].
CYCLES, MOST, STEP = 1.5, 160, 0.03


class Scratch:
    """The memory that `first_cycle` works in, for a number of legs."""

    def __init__(self, legs):
        self.legs_count, self.bodies = legs, 3 * legs + 1
        centres, feet, points = np.zeros((3, self.bodies, 3)), np.zeros((3, legs, 3)), np.zeros((max(4, legs), 2))
        before, segment = np.zeros(3 * legs), np.zeros(6)
        self.kept = centres, feet, points, before, segment
        self.centres, self.feet = evaluation.points_of(centres, 3 * self.bodies), evaluation.points_of(feet, 3 * legs)
        self.points, self.segment = evaluation.spots_of(points, max(4, legs)), evaluation.segments_of(segment, 1)
        self.before = kernel_memory.numbers(before, 3 * legs)


def make_scratch(legs):
    """Return the Scratch for this number of legs."""
    return Scratch(legs)


def found_of(array):
    """Return the findings (FINDINGS,) with their names."""
    return cython.cast("Found *", kernel_memory.struct(array, FOUND))


def rehearse(walk, box, body_mass, gravity, least, scratch, found):
    """Simulate the gait from its present state for CYCLES; write the worst values to `found`.

    The evaluation begins when all feet stand.

    The arrays of `walk` are advanced: give it copies. box (6,) [m]: the body's box and its centre of mass. Ends early
    when the score is not above `least` [m].
    """
    centres, feet, before, segment = scratch.centres, scratch.feet, scratch.before, scratch.segment
    legs, state, q, n = walk.legs, walk.state, walk.position, walk.legs_count
    found.score, found.margin, found.miss, found.rate = -evaluation.FAR, evaluation.FAR, 0.0, 0.0
    walked, wayx, wayy, settled = 0.0, 0.0, 0.0, 0
    for k in range(MOST):
        for j in range(3 * n):
            before[j] = q[j]
        adaptive_kernel.tick(walk, STEP, 0)
        if state.mode == layout.WALK:
            walked += STEP / walk.plan.period
        # Positions in the frame of the ground: the nominal frame has moved by (wayx, wayy).
        wayx += state.going[0] * STEP
        wayy += state.going[1] * STEP
        swayx, swayy, _ = adaptive_kernel.body_place(walk)
        bx, by = swayx + state.body_offset[0], swayy + state.body_offset[1]
        bz = state.height + state.body_offset[2]
        row, now = k % 3 * scratch.bodies, k % 3 * n
        for i in range(n):
            foot = walk.feet[i].place
            # The third number of a foot tells whether it stands.
            feet[now + i].x, feet[now + i].y, feet[now + i].z = wayx + foot[0], wayy + foot[1], 0.0
            if legs[i].mass[0] != 0.0:
                evaluation.place_links(legs, i, q[3 * i], q[3 * i + 1], q[3 * i + 2], centres, row + 3 * i, segment, 0)
            for j in range(row + 3 * i, row + 3 * i + 3):
                centres[j].x += wayx + bx
                centres[j].y += wayy + by
                centres[j].z += bz
            if legs[i].used == 0.0 or walk.feet[i].back != 0.0:
                continue
            for j in range(3):
                found.rate = max(found.rate, math.fabs(q[3 * i + j] - before[3 * i + j]) / STEP)
            if walk.feet[i].in_air == 0.0:
                feet[now + i].z = 1.0
                dx = segment[0].foot[0] + bx - foot[0]
                dy = segment[0].foot[1] + by - foot[1]
                dz = segment[0].foot[2] + bz - foot[2]
                found.miss = max(found.miss, math.sqrt(dx * dx + dy * dy + dz * dz))
        last = row + 3 * n
        centres[last].x, centres[last].y, centres[last].z = wayx + bx + box[3], wayy + by + box[4], bz + box[5]
        settled = settled + 1 if state.mode != layout.SETTLE else 0
        if settled < 3:
            continue
        found.margin = min(found.margin, _margin(legs, body_mass, gravity, k, scratch))
        found.score = min(found.margin, ENOUGH) - max(0.0, found.miss - MISSED)
        found.score -= SPEEDING * max(0.0, found.rate / walk.settings.speed - FASTEST)
        if found.score <= least or walked >= CYCLES:
            break


def _margin(legs, body_mass, gravity, k, scratch):
    """Return the margin [m] of the zero-moment point at the sample before k (at least 2), from three samples."""
    centres, feet, points, n = scratch.centres, scratch.feet, scratch.points, scratch.legs_count
    now, middle, first = k % 3 * scratch.bodies, (k - 1) % 3 * scratch.bodies, (k - 2) % 3 * scratch.bodies
    weight, mx, my = 0.0, 0.0, 0.0
    for j in range(3 * n + 1):
        m = body_mass if j == 3 * n else legs[j // 3].mass[j % 3]
        if m == 0.0:
            continue
        x, y, z = centres[middle + j].x, centres[middle + j].y, centres[middle + j].z
        ax = (centres[now + j].x - 2.0 * x + centres[first + j].x) / (STEP * STEP)
        ay = (centres[now + j].y - 2.0 * y + centres[first + j].y) / (STEP * STEP)
        weight += m * gravity
        mx += m * (gravity * x - ax * z)
        my += m * (gravity * y - ay * z)
    count, row = 0, (k - 1) % 3 * n
    for i in range(n):
        if feet[row + i].z != 0.0:
            points[count].x, points[count].y = feet[row + i].x, feet[row + i].y
            count += 1
    return evaluation.margin_in_hull(points, count, mx / weight, my / weight)


def first_cycle(walk, box, body_mass, gravity, least, scratch, found):
    """Simulate the walk of a WalkMemory, from Python; found (FINDINGS,): see `rehearse`."""
    size, findings = kernel_memory.numbers(box, 6), found_of(found)
    with cython.nogil:  # a worker may be rehearsing while another thread walks
        rehearse(walk, size, body_mass, gravity, least, scratch, findings)
