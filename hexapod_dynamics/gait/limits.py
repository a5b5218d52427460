"""Commands and settings of the adaptive gait, limited to what its plan allows on the present ground."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.gait.ground import AS_FELT, BACK, BACKS, CLIMB, DEAD_ZONE, STOP, Response
from hexapod_dynamics.gait.interface import finite_twist
from hexapod_dynamics.gait.modes import write_settings
from hexapod_dynamics.gait.planning.plan import LIFT, GaitPlan, PlanEvaluator
from hexapod_dynamics.gait.terrain import ROWING_RISE
from hexapod_dynamics.robot import Robot

if TYPE_CHECKING:
    from hexapod_dynamics.gait.adaptive import AdaptiveGait

# A commanded twist may need this multiple of the servos' speed.
KEEP_SPEED = 1.2
# On slopes: largest shift [m] of the body uphill; share of the command below which the margin is given up.
MOST_SHIFT, WORTH_IT = 0.035, 0.5
# Shares of a plan's period that are tried for a command, in this order: the longest first for fast commands; for feet
# that are lifted higher than planned, or onto obstacles, longer ones, whose swings the servos follow; for a rowing
# robot on rough ground, which rises higher from its belly.
PERIODS = {
    "planned": (1.0, 0.9, 0.8, 0.72, 0.65, 0.58),
    "high": (1.0, 1.1, 1.2, 1.35, 0.9, 0.8),
    "climb": (1.7, 2.0, 2.4, 2.8),
    "row": (1.0, 1.2, 1.4, 1.6),
}
# Settings that those of the plan replace, in this order, if the remaining legs cannot step on the spot with them.
GIVE_UP = ((), ("body_height",), ("period",), ("body_height", "period"), ("body_height", "period", "step_height"))
LIMIT_EVERY = 1.0  # [s] after which a command may be limited again for another slope
NO_WAY = (
    "stopped: the robot makes no progress, an obstacle is higher than it can step; command another direction, or zero "
    "and then a speed"
)


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
        return 1.0 if self.margin else 0.8


LEVEL_INCLINE = Incline((0.0, 0.0), 0.0, margin=True, high=True)


class Conditions(NamedTuple):
    """What a twist has to be possible with.

    periods [s]: of which one; with_margin: whether the zero-moment point must keep its margin; patterns without sway do
    not have one. lift [m] of the feet; None: as in the plan. rowing: rise and height [m] of the body in place of the
    plan's numbers, which still approach these values.
    """

    periods: list[float]
    with_margin: bool
    lift: float | None = None
    incline: Incline = LEVEL_INCLINE
    rowing: tuple[float, float] | None = None


class CommandLimits(PlanEvaluator):
    """Checks twists (3,) on copies of the legs and of the plan of a gait's memory."""

    def __init__(self, robot: Robot, walk: _core.Walk) -> None:
        super().__init__(robot)
        self._walk = walk

    def rate(self, twist: np.ndarray, period: float, given: Conditions) -> float:
        """Return the largest joint rate at a twist and a period [s] as a share of the servos' speed; infinite if
        margin, reach, joint ranges or the distance of the legs are violated.
        """
        robot, plan, incline, (x, y) = self.robot, self.numbers, given.incline, given.incline.drop
        self.table[:], self.box[3:5] = self._walk.legs, robot.body.com[:2]
        if x or y:
            feet, size = self.table["foothold"], math.hypot(x, y)
            for k, drop in enumerate((x, y)):
                self.box[3 + k] += robot.mass / robot.body.mass * drop
                feet[:, k] += incline.shift / size * drop
        plan.load(self._walk.plan)
        plan.period = period
        plan.lift = given.lift or plan.lift
        if given.rowing is not None:
            plan.rise, plan.height = given.rowing
        found = self.findings(twist)
        fits = (
            (found.margin >= 0.002 or not given.with_margin)  # [m]
            and found.reach >= 0.002  # [m]
            and found.range >= -0.05  # [rad]
            and found.apart >= 0.015  # [m]
        )
        return float(found.rate) / robot.servo.speed_limit if fits else np.inf

    def period(self, twist: np.ndarray, given: Conditions) -> float | None:
        """Return the first of the periods [s] at which the servos follow, else the period with the least joint rates at
        which they saturate for moments of a swing; None if none is possible.
        """
        # Planned rates up to 1.5 times the servos' speed: the set-points are no faster than the servos, which catch up
        # before the foot lands (core/adaptive_gait.h). Rowing and patterns may not saturate them, because they would
        # walk faster or slower than commanded.
        rows = self._walk.plan.crawls != 0.0
        least, best = 1.5 if given.with_margin and not rows else KEEP_SPEED, None
        for period in given.periods:
            rate = self.rate(twist, period, given)
            if rate <= KEEP_SPEED:
                return period
            if rate <= least:
                least, best = rate, period
        return best

    def search_inclines(
        self, wanted: np.ndarray, level: Conditions, lift: float | None, drop: tuple[float, float]
    ) -> Iterator[Incline | None]:
        """Find the Incline of a slope for a wanted twist, one candidate per step; yield the result last. The twist
        counts as at most what is possible under the Conditions of level ground.

        The lift [m] is tried first, then that of level ground. Of the shifts for which the margin holds, the best one
        follows the largest share of the twist; if that share is below WORTH_IT, the largest shift that reaches it
        without the margin is used.
        """
        twist = self.find_possible_twist(wanted, level)[0]
        yield None
        given, planned = level._replace(lift=lift), level.lift
        size, asked = float(np.hypot(*drop)), float(np.abs(twist).max())
        best, fastest = Incline(drop, 0.0, margin=False, high=False), 0.0
        for margin, high in ((True, True), (True, False), (False, False)):
            if (margin and not given.with_margin) or (margin and not high and given.lift == planned):
                continue
            enough = 0.97 if margin else WORTH_IT  # share of the command with which no more shifts are tried
            for share in (1.0, 0.8, 0.6, 0.4, 0.2, 0.0):
                incline = Incline(drop, share * min(size, MOST_SHIFT), margin, high)
                lift = given.lift if high else planned
                under = given._replace(incline=incline, lift=lift, with_margin=margin)
                speed = float(np.abs(self.find_possible_twist(incline.share * twist, under)[0]).max())
                if speed > fastest:
                    best, fastest = incline, speed
                if speed >= enough * asked:
                    break
                yield None
            if fastest > WORTH_IT * asked:
                break
        yield best

    def find_possible_twist(self, twist: np.ndarray, given: Conditions) -> tuple[np.ndarray, float]:
        """Return the largest possible share of a twist, as a twist, and its period, one of those of the Conditions.

        The share is found to 0.5 % of it; below a thousandth of the reach of the legs, it is 0.
        """
        share = min(1.0, self._share_in_reach(twist, min(given.periods)))
        if share == 1.0:
            period = self.period(twist, given)
            if period is not None:
                return twist, period
        low, high, best = 0.0, share, given.periods[0]
        while high - low > 0.005 * high and high > 1e-3 * share:
            middle = 0.5 * (low + high)
            period = self.period(middle * twist, given)
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
        stance = self._walk.plan.duty * period
        walks = self._walk.legs[self._walk.legs["used"] != 0.0]
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


class Limiter:
    """Limits the commands of an adaptive gait to what its plan allows on the present ground, and its settings to what
    the legs reach.

    wanted (3,): the last command, None at first; the gait's memory has the part of it that is followed. incline: the
    slope for which commands are limited; high: whether feet may be lifted higher than planned: not where that leaves no
    way to walk. given_up: names of the settings that are replaced by those of the plan.
    """

    def __init__(self, gait: AdaptiveGait) -> None:
        self._gait = gait
        self._limits = CommandLimits(gait.robot, gait.data)
        self.wanted: tuple[float, float, float] | None = None
        self.given_up, self.incline, self.high = "", LEVEL_INCLINE, True
        self._does = AS_FELT  # response to the obstacle for which the command is limited
        # Response to the obstacle, roughness and tilt of the slope for which the command is limited.
        self._limited_for: tuple[tuple[Response, bool], complex] | None = None
        self._since_limited = LIMIT_EVERY
        self._search: Iterator[Incline | None] | None = None

    def __getstate__(self) -> dict[str, object]:
        """Return what a copy has: all but the present search, which it begins again."""
        return vars(self) | {"_search": None, "_limited_for": None if self._search else self._limited_for}

    def restart(self) -> None:
        """Forget the command and the ground for which it was limited."""
        self.wanted, self._since_limited = None, LIMIT_EVERY
        self.change_plan()

    def change_plan(self) -> None:
        """Forget the ground for which commands were limited under the previous plan."""
        self._limited_for, self._search, self.incline, self.high = None, None, LEVEL_INCLINE, True
        self._does = self._gait.terrain.obstacle.does

    # ---- commands ----------------------------------------------------------------------------------------------------

    def find_possible_twist(self, vx: float, vy: float, wz: float) -> tuple[np.ndarray, float, float, bool]:
        """Return the largest share of a twist that the plan allows on this ground, as a twist (3,), its period [s], the
        room [m] for a shift of the body within the reach of the legs, and `high`; HexapodError for values that are not
        finite.
        """
        twist, plan, terrain, high = finite_twist(vx, vy, wz), self._gait.plan, self._gait.terrain, self.incline.high
        if plan is None or terrain.obstacle.does == STOP:
            return np.zeros(3), self._level_ground().periods[0], terrain.shift_room, high
        if terrain.obstacle.does == BACK:
            twist = np.array(terrain.obstacle.back_twist)
        found = self._limit(twist, plan, high and terrain.ground.rough)
        if terrain.ground.rough and twist.any() and not found[0].any():
            found, high = self._limit(twist, plan, False), False
        return *found, high

    def _limit(self, twist: np.ndarray, plan: GaitPlan, high: bool) -> tuple[np.ndarray, float, float]:
        """Return `find_possible_twist` of a plan for feet that are lifted higher than planned or not."""
        given, incline, terrain, limits = self._level_ground(), self.incline, self._gait.terrain, self._limits
        lift = terrain.highest_lift if high else given.lift
        if plan.kind == "row":
            more = ROWING_RISE if high else 0.0
            rowing = plan.rise + more, plan.height + more
            return *limits.find_possible_twist(twist, given._replace(lift=lift, rowing=rowing)), terrain.shift_room
        if incline != LEVEL_INCLINE:  # a command beyond what level ground allows counts as what it allows
            twist = limits.find_possible_twist(twist, given)[0]
        given = given._replace(with_margin=given.with_margin and incline.margin, lift=lift, incline=incline)
        possible, period = limits.find_possible_twist(incline.share * twist, given)
        if incline != LEVEL_INCLINE:
            return possible, period, incline.shift
        limits.rate(possible, period, given)
        return possible, period, min(MOST_SHIFT, max(0.0, limits.found.reach - 0.006))

    def _level_ground(self) -> Conditions:
        """Return the Conditions of smooth level ground, with the periods [s] that a command may have at present."""
        used, terrain, plan = self._gait.used, self._gait.terrain, self._gait.plan
        what, rough = "planned", terrain.ground.rough
        if terrain.obstacle.does in (CLIMB, BACK) and self._gait.walks_intact:
            what = "climb"
        elif rough and plan is not None and plan.kind == "row":
            what = "row"
        elif plan is not None and plan.kind == "walk" and (rough or used.step_height > plan.lift):
            what = "high"
        planned = 1.0 if plan is None else plan.period
        periods = [planned * share for share in PERIODS[what]] if used.period is None else [used.period]
        return Conditions(periods, self._gait.settings.pattern == "auto", used.step_height)

    def command(self, vx: float, vy: float, wz: float) -> np.ndarray:
        """Command a planar body twist [m/s, m/s, rad/s]; return what is followed, see `find_possible_twist`."""
        x, y, turn = finite_twist(vx, vy, wz).tolist()
        if (x, y, turn) != self.wanted:
            terrain, data = self._gait.terrain, self._gait.data
            terrain.obstacle.process_command(x, y)
            self._does = terrain.obstacle.does
            possible = self.find_possible_twist(x, y, turn)
            data.command.twist, data.settings.asked_period, terrain.shift_room, self.high = possible
            self.wanted = x, y, turn
        return self._gait.commanded_twist.copy()

    def follow_again(self) -> None:
        """Scale the last command again, for the present plan."""
        wanted, self.wanted = self.wanted, None
        self.command(*(wanted or (0.0, 0.0, 0.0)))

    def adapt(self, dt: float) -> None:
        """Limit the command again if the robot meets or passes an obstacle, or if the ground has become rough, smooth,
        steeper or flatter, in steps of some milliseconds; dt [s] have passed.
        """
        terrain, plan = self._gait.terrain, self._gait.plan
        ground, does = terrain.ground, terrain.obstacle.does
        if self._gait.data.state.sensed == 0.0:
            return
        if does != self._does:
            self._limited_for, self._since_limited = None, LIMIT_EVERY
            if does in (BACK, STOP) or self._does == BACK:
                self.follow_again()
            self._does = terrain.obstacle.does
        self._since_limited += dt
        if self._gait.changing or self.wanted is None or plan is None:
            self._limited_for = self._search = None
            return
        if self._search is not None:
            found = next(self._search)
            if found is not None:
                self._search, self.incline = None, found
                self.follow_again()
            return
        felt, now, known = (does, ground.rough), terrain.slope.standing, self._limited_for
        same = known is not None and known[0] == felt and abs(now - known[1]) <= math.radians(2.5)
        if same or self._since_limited < LIMIT_EVERY or not any(self.wanted):
            return
        self._limited_for, self._since_limited = (felt, now), 0.0
        if abs(now) > DEAD_ZONE and plan.kind == "walk":
            drop = ground.height * math.tan(now.real), -ground.height * math.tan(now.imag)
            level = self._level_ground()
            lift = terrain.highest_lift if ground.rough else level.lift
            self._search = self._limits.search_inclines(np.array(self.wanted), level, lift, drop)
        else:
            self.incline = LEVEL_INCLINE
            self.follow_again()

    @property
    def slow_reason(self) -> str:
        """Why, because of the ground, the robot follows only a part of the command; empty if it follows all."""
        terrain, plan = self._gait.terrain, self._gait.plan
        if terrain.obstacle.does == STOP:
            return NO_WAY
        if terrain.obstacle.does == BACK:
            return f"steps back from an obstacle, to approach it anew: {terrain.obstacle.backs} of {BACKS}"
        wanted, steep = self.wanted or (0.0, 0.0, 0.0), abs(terrain.slope.slope)
        if plan is not None and plan.kind == "row" and steep > math.radians(8.0) and any(wanted[1:]):
            return (
                f"a rowing body slides on a slope of {math.degrees(steep):.0f} degrees: sideways or in a turn, it "
                "deviates from its path by up to a third of the distance"
            )
        x, y, turn = self._gait.commanded_twist
        if max(abs(x), abs(y), abs(turn)) >= 0.97 * max(map(abs, wanted)):
            return ""
        if self.incline != LEVEL_INCLINE:
            cause = f"slope of {math.degrees(steep):.0f} degrees"
        elif terrain.ground.rough and self.high:
            cause = f"feet are lifted {1e3 * terrain.highest_lift:.0f} mm on rough ground"
        else:
            return ""
        return f"the command is scaled to {x:.3f} {y:.3f} m/s {turn:.3f} rad/s: {cause}"

    # ---- settings ----------------------------------------------------------------------------------------------------

    def describe_reach(self) -> str:
        """Return that the settings are out of reach of the legs, in words."""
        new, plan = self._gait.settings, self._gait.plan
        given = f"step_height {new.step_height}, body_height {new.body_height}, period {new.period}"
        return f"{given}: out of reach for {plan.kind}ing on {', '.join(plan.legs)}" if plan else given

    def apply_feasible_settings(self) -> None:
        """Apply the settings. If the legs cannot step on the spot with them, replace them, group by group (GIVE_UP), by
        those of the plan; `given_up` names them.
        """
        gait, plan = self._gait, self._gait.plan
        own: dict[str, Any] = {"body_height": None, "period": None, "step_height": plan.lift if plan else LIFT}
        for names in GIVE_UP:
            gait.used = replace(gait.settings, **{name: own[name] for name in names})
            self.given_up = ", ".join(names)
            write_settings(gait.data, gait.used, plan)
            if plan is None or self._fits_at_rest(plan):
                return

    def _fits_at_rest(self, plan: GaitPlan) -> bool:
        """Return whether the legs can step on the spot with the settings in use."""
        used, still, with_margin = self._gait.used, np.zeros(3), self._gait.settings.pattern == "auto"
        if used.period is None and plan.kind == "walk" and used.step_height > plan.lift:
            periods = [plan.period * share for share in PERIODS["high"]]
            return self._limits.period(still, Conditions(periods, with_margin)) is not None
        period = used.period or plan.period
        return self._limits.rate(still, period, Conditions([period], with_margin)) <= KEEP_SPEED
