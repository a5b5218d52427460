"""The cost function of the search for plans, compiled: one call computes a whole generation."""

import math

import cython
import numpy as np

from hexapod_dynamics import kernel_memory
from hexapod_dynamics.gait import gait_memory, leg_motion
from hexapod_dynamics.gait.planning import evaluation

# Requirements on a plan: reach [m], joint range [rad], share of the servos' speed, distance between legs [m].
REACH_LEFT, RANGE_LEFT, SPEED_SHARE, LEGS_APART = 0.006, 0.06, 1.05, 0.03
# A foot at the ends of its stance does not count as standing for this time [s].
STANDING_AFTER = 0.02
# Margins above this [m] give no further reward.
ENOUGH = 0.035
# The fast walk of a plan: share of its period, share of the servos' speed (they saturate a little), margin [m] below
# which it is penalised.
FAST_PERIOD, FAST_SPEED_SHARE, FAST_MARGIN = 0.72, 1.35, 0.006
# Two feet that row are at least this far [m] beside the body.
BESIDE = 0.05


class Problem:
    """The problem of a search; the arrays plan (NUMBERS,) and legs (n, COLUMNS) hold the plan that was evaluated
    last.

    rows: 1 for rowing, without sway. spread: largest difference of a leg's phase from the evenly spaced phase of
    its order. phases (K,) and neutral footholds (K, 2) [m] of the legs used (K,), rows of the leg table. periods,
    duties: middle and half width of the allowed range. body: its box and centre of mass (6,), mass, gravity.
    speed_limit [rad/s]. twists (N, 3) and fast [m/s]: see `Demands`.
    """

    def __init__(
        self,
        rows,
        spread,
        phases,
        plan,
        legs,
        used,
        neutral,
        body,
        speed_limit,
        twists,
        fast,
        scratch,
        periods,
        duties,
    ):
        box, self.mass, self.gravity = body
        self.rows, self.spread, self.speed_limit, self.fast = rows, spread, speed_limit, fast
        self.period, self.period_width = periods
        self.duty, self.duty_width = duties
        self.used_count, self.twist_count, self.scratch = len(used), len(twists), scratch
        found = np.zeros(evaluation.FINDINGS)
        phases, twists = np.array(phases, float), np.array(twists, float)
        used, neutral = np.array(used, np.int64), np.array(neutral, float)
        self.kept = phases, plan, legs, used, neutral, box, twists, found
        self.plan, self.legs = gait_memory.plan_of(plan), gait_memory.legs_of(legs)
        self.phases, self.used = kernel_memory.numbers(phases, len(used)), kernel_memory.integers(used, len(used))
        self.neutral, self.box = evaluation.spots_of(neutral, len(used)), kernel_memory.numbers(box, 6)
        self.twists, self.found = evaluation.points_of(twists, len(twists)), evaluation.findings_of(found)


def _broken(found, speed):
    """Return the penalty for violated limits of reach, joint range, joint rates (speed [rad/s]), distance of legs."""
    broken = max(0.0, REACH_LEFT - found.reach) / 0.01
    broken += max(0.0, RANGE_LEFT - found.range) / 0.1
    broken += max(0.0, found.rate / speed - 1.0) / 0.03
    return broken + max(0.0, LEGS_APART - found.apart) / 0.01


def _judge(problem, vx, vy, wz):
    """Evaluate the plan at a twist."""
    plan = problem.plan
    evaluation.judge(
        plan,
        problem.legs,
        problem.box,
        problem.mass,
        problem.gravity,
        vx,
        vy,
        wz,
        STANDING_AFTER / plan.period,
        problem.scratch,
        problem.found,
    )


def _cost(problem, x, at, count):
    """Return the cost of a plan given as numbers x[at : at + count] in units of 10 mm (see `_fill`); lower is
    better.

    It consists of the least margin, a share of the mean margin, and penalties for violated constraints.
    """
    _fill(problem, x, at, count)
    plan, legs, used, found = problem.plan, problem.legs, problem.used, problem.found
    twists, neutral, n = problem.twists, problem.neutral, problem.used_count
    least, mean, broken = 1.0, 0.0, 0.0
    for t in range(problem.twist_count):
        _judge(problem, twists[t].x, twists[t].y, twists[t].z)
        margin = min(found.margin, ENOUGH)
        least = min(least, margin)
        mean += margin / problem.twist_count
        broken += _broken(found, SPEED_SHARE * problem.speed_limit)
    if problem.fast > 0.0:
        plan.period *= FAST_PERIOD
        _judge(problem, problem.fast, 0.0, 0.0)
        broken += _broken(found, FAST_SPEED_SHARE * problem.speed_limit)
        broken += max(0.0, FAST_MARGIN - found.margin) / 0.004
    if n == 2:
        for i in range(2):
            side = 1.0 if legs[used[i]].mount[1] >= 0.0 else -1.0
            broken += max(0.0, 0.5 * problem.box[1] + BESIDE - side * legs[used[i]].foothold[1]) / 0.01
    effort = 0.0
    for k in range(32):
        effort += plan.sway[k] * plan.sway[k]
    far = 0.0
    for i in range(n):
        dx, dy = legs[used[i]].foothold[0] - neutral[i].x, legs[used[i]].foothold[1] - neutral[i].y
        far += dx * dx + dy * dy
    return -least / 0.01 - 0.2 * mean / 0.01 + broken + 20.0 * effort + 3.0 * far


def _fill(problem, x, at, count):
    """Write the numbers x[at : at + count] into plan and legs.

    They are: footholds less the neutral ones (2 a leg), sway (8 or 32) [10 mm]; period and duty factor as
    differences from their middles in units of their half widths; with spread, the difference of each leg's phase
    from that of its order.
    """
    plan, legs, used, n = problem.plan, problem.legs, problem.used, problem.used_count
    for i in range(n):
        legs[used[i]].foothold[0] = problem.neutral[i].x + 0.01 * x[at + 2 * i]
        legs[used[i]].foothold[1] = problem.neutral[i].y + 0.01 * x[at + 2 * i + 1]
        legs[used[i]].phase = problem.phases[i]
    at += 2 * n
    if problem.rows == 0:
        sways = 32 if count > 2 * n + 2 + 8 + n else 8
        for k in range(sways):
            plan.sway[k] = 0.01 * x[at + k]
        at += sways
    plan.period = problem.period + problem.period_width * math.tanh(x[at])
    plan.duty = problem.duty + problem.duty_width * math.tanh(x[at + 1])
    if problem.rows == 0 and problem.spread != 0.0:
        for i in range(n):
            phase = problem.phases[i] + problem.spread * math.tanh(x[at + 2 + i])
            legs[used[i]].phase = leg_motion.fraction(phase)


def costs(problem, points, out):
    """Fill out (K,) with the cost of each of the points (K, numbers)."""
    count, size = points.shape
    x, values = kernel_memory.numbers(points, count * size), kernel_memory.numbers(out, count)
    with cython.nogil:
        for k in range(count):
            values[k] = _cost(problem, x, k * size, size)


def fill(problem, x):
    """Write the numbers x into the plan and the legs of the problem."""
    _fill(problem, kernel_memory.numbers(x, len(x)), 0, len(x))
