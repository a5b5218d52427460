"""Largest share of a commanded twist that a plan can follow, and its period."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.robot import Robot

# Required at a commanded twist: margin of the zero-moment point [m], reach [m], joint range [rad], share of the servos'
# speed, distance between legs [m]. During GUARD_TIME [s] after touch-down and before lift-off a foot does not count as
# standing.
KEEP_MARGIN, KEEP_REACH, KEEP_RANGE, KEEP_SPEED, KEEP_APART, GUARD_TIME = 0.002, 0.002, -0.05, 1.2, 0.015, 0.02
# The fastest commands may saturate the servos for moments of a swing: planned joint rates up to this multiple of their
# speed. The set-points are no faster than the servos (core/adaptive_gait.h), which catch up before the foot lands.
# Rowing and patterns may not, because they would then walk faster or slower than commanded.
SATURATED = 1.5
# On slopes: largest shift [m] of the body uphill, shares of it that are tried; reach [m] that is left unused.
MOST_SHIFT, SHIFT_SHARES, SPARE = 0.035, (1.0, 0.8, 0.6, 0.4, 0.2, 0.0), 0.006
# Share of the command that is enough to try no more shifts; share below which the margin is given up; share that is
# left then.
FAST_ENOUGH, WORTH_IT, STEEP_SHARE = 0.97, 0.5, 0.8
# The largest share of a command is found to this part of it; below this part of the reach of the legs, it is 0.
PRECISION, SMALLEST = 0.005, 1e-3
# Shares of a plan's period that are tried for fast commands, the longest first.
PERIODS = (1.0, 0.9, 0.8, 0.72, 0.65, 0.58)
# The same for feet that are lifted higher than planned: a longer swing lets the servos follow.
HIGH_PERIODS = (1.0, 1.1, 1.2, 1.35, 0.9, 0.8)
# The same for feet that are lifted onto obstacles.
CLIMB_PERIODS = (1.7, 2.0, 2.4, 2.8)
# The same for a rowing robot on rough ground, which rises higher from its belly.
ROWING_PERIODS = (1.0, 1.2, 1.4, 1.6)


@dataclass(frozen=True)
class Incline:
    """How a slope limits commands.

    Gravity moves the centre of mass by drop (x, y) [m] in the polygon of the feet, the body is shifted uphill by
    shift [m]. margin: whether the margin of the zero-moment point must hold nevertheless; else at most `share` of
    a command is followed. high: whether the feet may be lifted higher than planned.
    """

    drop: tuple[float, float]
    shift: float
    margin: bool
    high: bool

    @property
    def share(self) -> float:
        """Largest share of a command that is followed."""
        return 1.0 if self.margin else STEEP_SHARE


LEVEL = Incline((0.0, 0.0), 0.0, margin=True, high=True)


class CommandLimits:
    """Checks twists on copies of a gait's leg table (legs,) and plan numbers.

    with_margin: whether the zero-moment point must keep its margin; patterns without sway do not have one.
    """

    def __init__(self, robot: Robot, legs: np.ndarray, plan: _core.PlanNumbers) -> None:
        self._robot, self._source = robot, (legs, plan)
        self._legs, self._plan = legs.copy(), plan.copy()
        self._cycle, self._found = _core.PlanCycle(len(legs)), _core.Findings()
        self._box, self._level_box = robot.body.box_and_com, robot.body.box_and_com
        self._weight = robot.mass / robot.body.mass
        self._shift, self._lift = np.zeros(2), 0.0
        self._rowing: tuple[float, float] | None = None  # rise, height [m] in place of the plan's numbers

    def fits(self, twist: np.ndarray, period: float, with_margin: bool) -> bool:
        """Return whether the plan can follow a twist (3,) at a period [s]: margin, reach, joint ranges, rates,
        distances.
        """
        return self._rate(twist, period, with_margin) <= KEEP_SPEED

    def _rate(self, twist: np.ndarray, period: float, with_margin: bool) -> float:
        """Return the largest joint rate at a twist (3,) and a period [s] as a share of the servos' speed; infinite
        if another condition than the rates is violated.
        """
        robot, plan, found = self._robot, self._plan, self._found
        self._legs[:] = self._source[0]
        plan.load(self._source[1])
        self._legs["foothold"] -= self._shift
        plan.period = period
        plan.lift = self._lift or plan.lift
        if self._rowing is not None:
            plan.rise, plan.height = self._rowing
        guard = min(GUARD_TIME / period, (plan.duty - 0.5) / 2.2)
        self._cycle.evaluate(plan, self._legs, self._box, robot.body.mass, robot.gravity, twist, guard, found)
        fits = (
            (found.margin >= KEEP_MARGIN or not with_margin)
            and found.reach >= KEEP_REACH
            and found.range >= KEEP_RANGE
            and found.apart >= KEEP_APART
        )
        return float(found.rate) / robot.servo.speed_limit if fits else np.inf

    def follows(self, twist: np.ndarray, periods: list[float], with_margin: bool) -> bool:
        """Return whether the plan can follow a twist (3,) at one of the periods [s], as defined by `possible`: the
        servos may saturate for moments.
        """
        return self._period(twist, periods, with_margin) is not None

    def _period(self, twist: np.ndarray, periods: list[float], with_margin: bool) -> float | None:
        """Return the first of the periods [s] at which the servos follow, else the period with the least joint
        rates; None if none is possible.
        """
        rows = self._source[1].crawls != 0.0
        least, best = SATURATED if with_margin and not rows else KEEP_SPEED, None
        for period in periods:
            rate = self._rate(twist, period, with_margin)
            if rate <= KEEP_SPEED:
                return period
            if rate <= least:
                least, best = rate, period
        return best

    def incline(self, incline: Incline, lift: float = 0.0) -> None:
        """From now on assume inclined ground and feet that are lifted by `lift` [m]; 0: as in the plan."""
        drop = np.array(incline.drop)
        size = float(np.linalg.norm(drop))
        self._shift = -incline.shift / size * drop if size > 0.0 else np.zeros(2)
        self._box = self._level_box.copy()
        self._box[3:5] += self._weight * drop if incline.margin else 0.0
        self._lift, self._rowing = lift, None

    def rowing(self, lift: float, rise: float, height: float) -> None:
        """Assume that the feet of a rowing robot are lifted by `lift` [m] and its body is raised by `rise` to
        `height` [m]; the plan's own numbers are still approaching these values.
        """
        self.incline(LEVEL, lift)
        self._rowing = rise, height

    def inclines(
        self,
        twist: np.ndarray,
        periods: list[float],
        with_margin: bool,
        drop: tuple[float, float],
        lifts: tuple[float, float],
    ) -> Iterator[Incline | None]:
        """Find the Incline of a slope for a twist, one candidate per step; yield the result last. lifts [m]:
        (wanted, planned).

        The wanted lift is tried first, then the planned one. Of the shifts for which the margin holds, the best
        one follows the largest share of the twist; if that share is below WORTH_IT, the largest shift that reaches
        it without the margin is used.
        """
        size, asked = float(np.hypot(*drop)), float(np.abs(twist).max())
        shifts = [share * min(size, MOST_SHIFT) for share in SHIFT_SHARES]
        best, fastest = Incline(drop, 0.0, margin=False, high=False), 0.0
        for margin, high in ((True, True), (True, False), (False, False)):
            if (margin and not with_margin) or (margin and not high and lifts[0] == lifts[1]):
                continue
            enough = FAST_ENOUGH if margin else WORTH_IT
            for shift in shifts:
                candidate = Incline(drop, shift, margin, high)
                self.incline(candidate, lifts[0] if high else lifts[1])
                speed = float(np.abs(self.possible(candidate.share * twist, periods, margin)[0]).max())
                self.incline(LEVEL)
                if speed > fastest:
                    best, fastest = candidate, speed
                if speed >= enough * asked:
                    break
                yield None
            if fastest > WORTH_IT * asked:
                break
        yield best

    def spare_reach(self, twist: np.ndarray, period: float) -> float:
        """Return how far [m] the body may be shifted at a twist (3,) and a period [s] before a leg is out of reach."""
        self._rate(twist, period, with_margin=False)
        return max(0.0, float(self._found.reach) - SPARE)

    def possible(self, twist: np.ndarray, periods: list[float], with_margin: bool) -> tuple[np.ndarray, float]:
        """Return the largest possible share of a twist (3,), as a twist, and its period, one of `periods` [s]."""
        share = min(1.0, self._share_in_reach(twist, min(periods)))
        if share == 1.0:
            period = self._period(twist, periods, with_margin)
            if period is not None:
                return twist, period
        low, high, best = 0.0, share, periods[0]
        while high - low > PRECISION * high and high > SMALLEST * share:
            middle = 0.5 * (low + high)
            period = self._period(middle * twist, periods, with_margin)
            if period is None:
                high = middle
            else:
                low, best = middle, period
        return low * twist, best

    def _share_in_reach(self, twist: np.ndarray, period: float) -> float:
        """Return a share of a twist (3,) above which no plan can follow it at a period [s] or a longer one.

        In its stance, duty * period long, a foot moves by at most twice the reach of its leg, and it does not turn by
        more than half a turn about its body.
        """
        legs, plan = self._source
        stance = plan.duty * period
        walks = legs[legs["used"] != 0.0]
        x, y = walks["foothold"].T
        size = float(np.abs(twist).max())
        if size == 0.0:
            return 1.0
        vx, vy, wz = twist / size  # finite for the largest numbers, too
        stroke = np.hypot(vx - wz * y, vy + wz * x) * stance
        reach = walks["lengths"].sum(axis=1)
        # A foot on an arc of at most half a turn has come from its start by at least 2 / pi of its way.
        shares = [np.inf, *(np.pi * reach / np.maximum(stroke, 1e-12)), np.pi / max(abs(wz) * stance, 1e-12)]
        return float(min(shares)) / size
