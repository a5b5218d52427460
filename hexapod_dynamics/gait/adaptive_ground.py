"""The adaptive gait on ground that is rough or slopes: it applies the changes that GroundAdaptation demands.

On rough ground feet are lifted by HIGH_LIFT, with a longer period if the servos would otherwise not follow, and
the tilt limit is ROUGH_TILT times as large. Commands are limited for the slope: see `CommandLimits.inclines`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.core import _core
from hexapod_dynamics.gait.adaptive_settings import MOST_LEAN, AdaptiveSettings, checked_lean
from hexapod_dynamics.gait.adaptive_walk import AdaptiveWalk
from hexapod_dynamics.gait.command_limits import (
    CLIMB_PERIODS,
    HIGH_PERIODS,
    LEVEL,
    MOST_SHIFT,
    PERIODS,
    ROWING_PERIODS,
    CommandLimits,
    Incline,
)
from hexapod_dynamics.gait.ground_adaptation import DEAD_ZONE, RAISING, GroundAdaptation
from hexapod_dynamics.gait.interface import THROWN_BACK
from hexapod_dynamics.gait.load_shift import LoadShift
from hexapod_dynamics.gait.modes import Mode
from hexapod_dynamics.gait.obstacle_response import AS_FELT, BACK, BACKS, CLIMB, STOP, ObstacleResponse
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.gait.progress import SLOW
from hexapod_dynamics.gait.weighing_sway import REACH, WeighingSway
from hexapod_dynamics.gait_kinds import SWAYS

# Lift [m] of the feet on rough ground, and factor of the tilt limit there, because feet that stand on obstacles tilt
# the body.
HIGH_LIFT, ROUGH_TILT = 0.04, 2.0
# Lift onto an obstacle [m], for an intact robot and for one with lost legs (on fewer legs the body tips over on higher
# obstacles); speed at which the lift changes [m/s].
CLIMB_LIFT, LOST_CLIMB_LIFT, CLIMB_RATE = 0.08, 0.05, 0.02
# How much higher [m] a rowing body rises while its feet are lifted higher, because its belly runs against edges, too.
ROWING_RISE = 0.01
# Number of tilt reflexes after which the robot stays down: on level ground, and on ground that was rough before the
# first reflex, because there each attempt places the feet differently.
MOST_REFLEXES, MOST_ROUGH_REFLEXES = 3, 6
# On rough ground a body falls, and sits down at once, if its tilt exceeds FALLING_FROM [rad] and will exceed FALLEN
# [rad] after AHEAD [s] at its mean rate of the last RATE_OVER [s].
FALLING_FROM, FALLEN, AHEAD, RATE_OVER = math.radians(14.0), math.radians(30.0), 0.2, 0.04
FORGIVEN = 10.0  # [s] of walking on rough ground after which a tilt reflex no longer counts
LOADED = 0.9  # height of the centre of mass over the feet as a share of that of base_link
# The command is limited again when the slope has changed by this angle [rad], at most once in this time [s].
SLOPE_STEP, LIMIT_EVERY = math.radians(2.5), 1.0
UNLIMITED = (AS_FELT, False), math.inf, 0.0
NO_WAY = (
    "stopped: the robot makes no way, an obstacle is higher than it can step; command another direction, or zero and "
    "then a speed"
)
SLIDES_FROM = math.radians(8.0)  # slope on which a body that lies on its belly between its strokes slides
FARTHEST_LEAN = MOST_LEAN[:3].tolist()  # [m]
SLOWER = 0.97  # share of the command below which the reason is reported


class AdaptiveOnGround(AdaptiveWalk):
    """Part of AdaptiveGait, which has the plan and its limits; ground: None if nothing adapts."""

    plan: GaitPlan | None
    settings: AdaptiveSettings
    _used: AdaptiveSettings
    _limits: CommandLimits
    _wanted: tuple[float, float, float] | None
    _followed: np.ndarray
    _changing: bool

    def __init__(self, ground: bool) -> None:
        self.ground = GroundAdaptation() if ground else None
        self.obstacle = ObstacleResponse()
        self._high = HIGH_LIFT  # [m] lift of feet that are lifted higher than planned
        self._forces = 0.0, 0.0, 0  # specific force along and across the heading, summed since the last step; count
        self.leaning = np.zeros(6)  # the offset that `lean` has set
        self.load = LoadShift(0.0)  # `bind` sets the robot's weight
        self.sway = WeighingSway()
        self._lifted = 0.0  # share of the way from the planned lift to HIGH_LIFT
        self._reflexes = 0.0  # number of reflexes after which the ground was assumed to be rough
        self._tilted_on_rough = False  # whether the ground was rough before the first reflex
        self._limited_for = UNLIMITED  # response to the obstacle and roughness; roll, pitch of the slope
        self._since_limited, self._shift_room = LIMIT_EVERY, 0.0
        self._incline = LEVEL
        self._tilt, self._tilting = 0.0, 0.0  # [rad] against the slope, [rad/s]
        self._turned = 0.0  # [rad] by which the robot has turned on its way back from an obstacle
        self._search: Iterator[Incline | None] | None = None

    @abstractmethod
    def _follow_again(self) -> None:
        """Scale the last command again."""

    def lean(self, offset: npt.ArrayLike) -> None:
        """Move the body over its feet by an offset (6,) from the gait's own pose: x, y, z [m], roll, pitch, yaw
        [rad].
        """
        self.leaning[:] = checked_lean(offset)
        self.data.command.offset = self.leaning
        self._move_body(0.0, 0.0)

    def carry(self, mass: float, x_moment: float, y_moment: float) -> None:
        """Adapt to a load on the body; see `Gait.carry`."""
        self.load.carry(mass, x_moment, y_moment)

    def _move_body(self, x: float, y: float) -> None:
        """Move the body over its feet by (x, y) [m], in addition to the offset of `lean`, the shift for the load
        and the sway for weighing it.
        """
        lean_x, lean_y, lean_z = self.leaning[:3].tolist()
        load_x, load_y = self.load.shift.tolist()
        sway_x, sway_y, sway_z = self.sway.offset.tolist()
        (most_x, most_y, most_z), offset = FARTHEST_LEAN, self.data.command.offset
        offset[0] = min(most_x, max(-most_x, lean_x + load_x + sway_x + x))
        offset[1] = min(most_y, max(-most_y, lean_y + load_y + sway_y + y))
        offset[2] = min(most_z, max(-most_z, lean_z + sway_z))

    def sense_force(self, x: float, y: float, z: float) -> None:
        """Process the specific force of the body [m/s^2], from which the gait detects whether the robot makes
        progress.
        """
        if self.data.state.sensed == 0.0:
            return
        roll, pitch = self._measured
        down = math.sin(roll) * y + math.cos(roll) * z
        along, across, count = self._forces
        along += math.cos(pitch) * x + math.sin(pitch) * down
        self._forces = along, across + math.cos(roll) * y - math.sin(roll) * z, count + 1

    def _make_way(self, dt: float, ground: GroundAdaptation, now: _core.GaitState) -> None:
        """Detect whether the robot makes progress, and respond to an obstacle; now: the state."""
        x, y, count = self._forces
        self._forces = 0.0, 0.0, 0
        plan, obstacle, did = self.plan, self.obstacle, self.obstacle.does
        if plan is None or (count == 0 and did != BACK):  # stepping back ends even if the IMU is silent
            return
        vx, vy, turn = now.twist.tolist()
        count = max(count, 1)
        obstacle.update(
            dt,
            (x / count, y / count),
            self.data.body_speed,
            (vx, vy),
            self.period,
            now.phase,
            walks=now.mode == Mode.WALK,
            raised=ground.rough,
            whole=self._walks_whole(plan),
            slow=self._wanted is not None and math.hypot(*self._wanted[:2]) < SLOW,
        )
        if obstacle.does != AS_FELT and obstacle.does != STOP:
            ground.expect_rough()
        if obstacle.does != did:
            self._limited_for, self._since_limited = UNLIMITED, LIMIT_EVERY
            if obstacle.does in (BACK, STOP) or did == BACK:
                self._follow_again()
        if did == BACK:
            self._turned += turn * dt
        elif obstacle.does == AS_FELT != did:  # it has passed the obstacle: walk on as before
            self.data.state.yaw_reference -= self._turned
            self._turned = 0.0

    def _walks_whole(self, plan: GaitPlan) -> bool:
        """Whether all legs walk, by a plan made for them."""
        return len(plan.legs) == len(self.data.legs) and self.settings.pattern == "auto"

    def _new_ground(self) -> None:
        """Discard what was learnt about the ground."""
        self.leaning[:], self.sway = 0.0, WeighingSway()
        self._lifted, self._reflexes, self._since_limited = 0.0, 0.0, LIMIT_EVERY
        self._tilted_on_rough, self._turned = False, 0.0
        self._limited_for, self._incline, self._search = UNLIMITED, LEVEL, None
        self.ground = None if self.ground is None else GroundAdaptation()
        self.obstacle = ObstacleResponse()

    def _new_plan_on_ground(self) -> None:
        """Discard the previous cycle and the limits of the previous plan."""
        self._limited_for, self._incline, self._search = UNLIMITED, LEVEL, None
        if self.ground is not None:
            self.ground.change_plan()
        self.obstacle.change_plan()
        self._turned = 0.0

    def _adapt(self, dt: float) -> None:
        """Advance the adaptation to the ground by dt [s], and apply it."""
        ground, data = self.ground, self.data
        sways = self.settings.weighing_sway if data.state.mode == Mode.WALK else 0.0
        if sways or self.sway.active:
            self.sway.advance(dt, sways, self._shift_room)
            self._move_body(0.0, 0.0)
        if self.load.active:
            self.load.advance(dt, self._shift_room - REACH * self.sway.size)
            self._move_body(0.0, 0.0)
        now = data.state
        if ground is None or now.sensed == 0.0:
            return
        lift, tilt_limit = self._used.step_height, self.settings.tilt_limit
        mode, reflexes, tilt, plan = now.mode, now.reflexes, now.tilted, self.plan
        if mode == Mode.RISE and reflexes > self._reflexes:
            ground.expect_rough()
        if mode == Mode.RISE or reflexes == 0.0:
            self._reflexes = reflexes
        if reflexes == 0.0:
            self._tilted_on_rough = ground.rough
        ground.height = LOADED * now.height
        ground.most_shift = max(0.0, self._shift_room - self.load.size - REACH * self.sway.size)
        heading = 0.0
        if data.settings.yaw_gain > 0.0:
            heading = math.remainder(now.yaw - now.yaw_reference, math.tau)
        tilted = tilt > tilt_limit
        ground.settles = plan is not None and plan.kind == "row"
        walks, twist = mode == Mode.WALK, now.twist.tolist()
        ground.update(dt, now.phase, *self._attitude, self.slope.attitude, heading, walks, tilted, twist)
        if ground.rough and ground.walked_for > FORGIVEN:
            data.state.reflexes = 0.0
        self._make_way(dt, ground, now)
        most = CLIMB_RATE * dt
        self._high += min(most, max(-most, self._highest - self._high))
        high = ground.share if self._incline.high else 0.0
        most = dt / RAISING
        self._lifted += min(most, max(-most, high - self._lifted))
        data.plan.lift = lift + self._lifted * max(0.0, self._high - lift)
        if plan is not None and plan.kind == "row":
            more = self._lifted * ROWING_RISE
            data.plan.rise, data.plan.height = plan.rise + more, plan.height + more
        most = tilt_limit * (1.0 + ground.leeway * (ROUGH_TILT - 1.0))
        falls = self._falls(dt, tilt) and ground.rough and plan is not None and plan.kind == "walk"
        # half of the tilt: the reflex then comes at once
        data.settings.tilt = min(most, 0.5 * tilt) if falls else most
        self._move_body(ground.shift_x, ground.shift_y)
        self._limit_again(ground, dt)

    def _falls(self, dt: float, tilt: float) -> bool:
        """Whether a body with this tilt [rad] is falling."""
        self._tilting += min(1.0, dt / RATE_OVER) * ((tilt - self._tilt) / dt - self._tilting)
        self._tilt = tilt
        return tilt > FALLING_FROM and tilt + AHEAD * self._tilting > FALLEN

    def _limit_again(self, ground: GroundAdaptation, dt: float) -> None:
        """Limit the command again if the ground has become rough, smooth, steeper or flatter, in steps of some
        milliseconds.
        """
        self._since_limited += dt
        if self._changing or self._wanted is None or self.plan is None:
            self._limited_for, self._search = UNLIMITED, None
            return
        if self._search is not None:
            found = next(self._search)
            if found is not None:
                self._search, self._incline = None, found
                self._follow_again()
            return
        before, roll, pitch = self._limited_for
        felt = self.obstacle.does, ground.rough
        now = self.slope.attitude
        turned = math.hypot(now[0] - roll, now[1] - pitch) > SLOPE_STEP
        if (before == felt and not turned) or self._since_limited < LIMIT_EVERY or not any(self._wanted):
            return
        self._limited_for, self._since_limited = (felt, *now), 0.0
        if math.hypot(*now) > DEAD_ZONE and self.plan.kind == "walk":
            drop = ground.height * math.tan(now[1]), -ground.height * math.tan(now[0])
            periods, with_margin = self._periods(self.plan), self.settings.pattern == "auto"
            planned = self._used.step_height
            lifts = self._highest if ground.rough else planned, planned
            self._search = self._limits.inclines(np.array(self._wanted), periods, with_margin, drop, lifts)
        else:
            self._incline = LEVEL
            self._follow_again()

    @property
    def _highest(self) -> float:
        """Lift [m] of the feet while they are lifted higher than planned."""
        lift = HIGH_LIFT
        if self.obstacle.does in (CLIMB, BACK) and self.plan is not None:
            lift = CLIMB_LIFT if self._walks_whole(self.plan) else LOST_CLIMB_LIFT
        return max(lift, self._used.step_height)

    @property
    def _most_reflexes(self) -> int:
        """Number of consecutive tilt reflexes after which the robot stays down."""
        return MOST_ROUGH_REFLEXES if self._tilted_on_rough else MOST_REFLEXES

    def _periods(self, plan: GaitPlan) -> list[float]:
        """Return the periods [s] that a command may have."""
        if self._used.period is not None:
            return [self._used.period]
        rough = self.ground is not None and self.ground.rough
        if self.obstacle.does in (CLIMB, BACK) and self._walks_whole(plan):
            return [plan.period * share for share in CLIMB_PERIODS]
        if rough and plan.kind == "row":
            return [plan.period * share for share in ROWING_PERIODS]
        high = plan.kind == "walk" and (rough or self._used.step_height > plan.lift)
        return [plan.period * share for share in (HIGH_PERIODS if high else PERIODS)]

    def _possible_here(self, plan: GaitPlan, twist: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the largest share of a twist (3,) that a plan allows on this ground, and its period [s]."""
        if self.obstacle.does == STOP:
            return np.zeros(3), self._periods(plan)[0]
        if self.obstacle.does == BACK:
            twist = np.array(self.obstacle.way_back)
        periods, with_margin = self._periods(plan), self.settings.pattern == "auto"
        if self.ground is None:
            return self._limits.possible(twist, periods, with_margin)
        if plan.kind == "row":
            more = ROWING_RISE if self.ground.rough else 0.0
            self._limits.rowing(self._highest if more else self._used.step_height, plan.rise + more, plan.height + more)
            found = self._limits.possible(twist, periods, with_margin)
            self._limits.incline(LEVEL)
            return found
        incline, lift = self._incline, self._used.step_height
        self._limits.incline(incline, self._highest if self.ground.rough and incline.high else lift)
        possible, period = self._limits.possible(incline.share * twist, periods, with_margin and incline.margin)
        spare = self._limits.spare_reach(possible, period) if incline is LEVEL else incline.shift
        self._shift_room = min(MOST_SHIFT, spare)
        self._limits.incline(LEVEL)
        return possible, period

    @property
    def _slowed(self) -> str:
        """Why, because of the ground, the robot follows only a part of the command; empty if it follows all."""
        if self.obstacle.does == STOP:
            return NO_WAY
        if self.obstacle.does == BACK:
            return f"steps back from an obstacle, to approach it anew: {self.obstacle.backs} of {BACKS}"
        ahead, left, turn = self._wanted or (0.0, 0.0, 0.0)
        steep, rows = math.hypot(*self.slope.attitude), self.plan is not None and self.plan.kind == "row"
        if self.ground is not None and rows and steep > SLIDES_FROM and (left or turn):
            return (
                f"a rowing body slides on a slope of {math.degrees(steep):.0f} degrees: sideways or turning it ends as "
                "far as a third of its way beside the commanded one"
            )
        if self.ground is None or np.abs(self._followed).max() >= SLOWER * max(abs(ahead), abs(left), abs(turn)):
            return ""
        if self._incline is not LEVEL:
            cause = f"slope of {math.degrees(steep):.0f} degrees"
        elif self.ground.rough:
            cause = f"feet are lifted {1e3 * self._highest:.0f} mm on rough ground"
        else:
            return ""
        x, y, turn = self._followed
        return f"the command is scaled to {x:.3f} {y:.3f} m/s {turn:.3f} rad/s: {cause}"

    def _ground_report(self) -> dict[str, float | bool]:
        """Return what is known about the ground."""
        if self.ground is None:
            return {}
        return {
            "lift of the feet [mm]": 1e3 * float(self.data.plan.lift),
            "slope of the ground [deg]": math.degrees(math.hypot(*self.slope.attitude)),
            "set back [share of the speed]": self.obstacle.progress.setback,
            THROWN_BACK: self.obstacle.progress.is_set_back,
            "roughness that is felt [deg]": math.degrees(self.ground.roughness),
            **({SWAYS: self.period} if self.sway.active else {}),
            **self.load.report(),
        }
