"""Rehearses the first cycles after a change of plan, compiled: does the walk hold from where the feet are now?

A plan is stable with all its feet at their footholds. After a change while the robot walks they are centimetres off,
each until its first step: the body may tip over the feet that stand meanwhile, and a leg may be out of reach and drag.
So the gait itself is advanced, on copies of its arrays, and the zero-moment point of body and links (see
`planning.evaluation`) is followed until every foot has stepped and the walk is at its full speed.
"""

from math import sqrt

import numpy as np

from hexapod_dynamics.compiled import kernel
from hexapod_dynamics.gait.adaptive_kernel import advance, place_of_body
from hexapod_dynamics.gait.adaptive_state import (
    AIR,
    BACK,
    BODY_OFFSET,
    GOING,
    HEIGHT_NOW,
    MODE,
    SETTLE,
    SPEED,
    WALK,
    X,
    Y,
    Z,
)
from hexapod_dynamics.gait.cycle import PERIOD
from hexapod_dynamics.gait.leg_table import MASS, USED
from hexapod_dynamics.gait.planning.evaluation import FAR, hull_margin, link_points

# Findings: score [m]; least margin of the zero-moment point [m], largest distance of a standing foot from its place
# [m], largest rate of a joint [rad/s].
SCORE, MARGIN, MISS, RATE, FINDINGS = 0, 1, 2, 3, 4
# The score is the margin, at most PLENTY [m], less what feet miss their places by beyond MISSED [m]; set-points above
# FASTEST times the servos' speed cost SPEEDING [m] for each time more.
PLENTY, MISSED, FASTEST, SPEEDING = 0.02, 0.025, 2.0, 0.006
# Cycles that are rehearsed; samples until they must be over, one each STEP [s].
CYCLES, MOST, STEP = 1.5, 160, 0.03


def make_scratch(legs: int) -> tuple[np.ndarray, ...]:
    """Return the memory that `first_cycle` works in."""
    return (
        np.zeros((3, 3 * legs + 1, 3)),
        np.zeros((3, legs, 3)),
        np.zeros((max(4, legs), 2)),
        np.zeros(3 * legs),
        np.zeros(6),
    )


@kernel
def first_cycle(walk, box, body_mass, gravity, least, scratch, found):
    """Walk on from the present state for CYCLES; fill found (FINDINGS,) with the worst from when all feet stand.

    The arrays of `walk` are advanced: give it copies. box (6,) [m]: the body's box and its centre of mass. scratch:
    from `make_scratch`. Ends early when the score is not above `least` [m].
    """
    centres, feet, points, before, segment = scratch
    legs, state, q, n = walk.legs, walk.state, walk.position, walk.legs.shape[0]
    found[SCORE], found[MARGIN], found[MISS], found[RATE] = -FAR, FAR, 0.0, 0.0
    walked, wayx, wayy, settled = 0.0, 0.0, 0.0, 0
    for k in range(MOST):
        for j in range(3 * n):
            before[j] = q[j]
        advance(walk, STEP)
        if state[MODE] == WALK:
            walked += STEP / walk.plan[PERIOD]
        # Places in the frame of the ground: the nominal frame has moved by (wayx, wayy).
        wayx += state[GOING] * STEP
        wayy += state[GOING + 1] * STEP
        (swayx, swayy), _ = place_of_body(walk)
        place = swayx + state[BODY_OFFSET], swayy + state[BODY_OFFSET + 1], state[HEIGHT_NOW] + state[BODY_OFFSET + 2]
        now = k % 3
        for i in range(n):
            feet[now, i, 0], feet[now, i, 1], feet[now, i, 2] = wayx + walk.feet[i, X], wayy + walk.feet[i, Y], 0.0
            if legs[i, MASS] != 0.0:
                link_points(legs, i, q[3 * i], q[3 * i + 1], q[3 * i + 2], centres[now], 3 * i, segment)
            for j in range(3 * i, 3 * i + 3):
                centres[now, j, 0] += wayx + place[0]
                centres[now, j, 1] += wayy + place[1]
                centres[now, j, 2] += place[2]
            if legs[i, USED] == 0.0 or walk.feet[i, BACK] != 0.0:
                continue
            for j in range(3):
                found[RATE] = max(found[RATE], abs(q[3 * i + j] - before[3 * i + j]) / STEP)
            if walk.feet[i, AIR] == 0.0:
                feet[now, i, 2] = 1.0
                dx = segment[3] + place[0] - walk.feet[i, X]
                dy = segment[4] + place[1] - walk.feet[i, Y]
                dz = segment[5] + place[2] - walk.feet[i, Z]
                found[MISS] = max(found[MISS], sqrt(dx * dx + dy * dy + dz * dz))
        last = 3 * n
        centres[now, last, 0], centres[now, last, 1] = wayx + place[0] + box[3], wayy + place[1] + box[4]
        centres[now, last, 2] = place[2] + box[5]
        settled = settled + 1 if state[MODE] != SETTLE else 0
        if settled < 3:
            continue
        found[MARGIN] = min(found[MARGIN], _margin(legs, body_mass, gravity, k, centres, feet, points))
        found[SCORE] = min(found[MARGIN], PLENTY) - max(0.0, found[MISS] - MISSED)
        found[SCORE] -= SPEEDING * max(0.0, found[RATE] / walk.settings[SPEED] - FASTEST)
        if found[SCORE] <= least or walked >= CYCLES:
            break


@kernel
def _margin(legs, body_mass, gravity, k, centres, feet, points):
    """Return the margin [m] of the zero-moment point at the sample before k, from three samples."""
    now, middle, first, n = k % 3, (k - 1) % 3, (k - 2) % 3, legs.shape[0]
    weight, mx, my = 0.0, 0.0, 0.0
    for j in range(3 * n + 1):
        m = body_mass if j == 3 * n else legs[j // 3, MASS + j % 3]
        if m == 0.0:
            continue
        x, y, z = centres[middle, j, 0], centres[middle, j, 1], centres[middle, j, 2]
        ax = (centres[now, j, 0] - 2.0 * x + centres[first, j, 0]) / (STEP * STEP)
        ay = (centres[now, j, 1] - 2.0 * y + centres[first, j, 1]) / (STEP * STEP)
        weight += m * gravity
        mx += m * (gravity * x - ax * z)
        my += m * (gravity * y - ay * z)
    count = 0
    for i in range(n):
        if feet[middle, i, 2] != 0.0:
            points[count, 0], points[count, 1] = feet[middle, i, 0], feet[middle, i, 1]
            count += 1
    return hull_margin(points, count, mx / weight, my / weight)
