"""What the adaptive gait learns about the ground, and what it changes there: lift of the feet, place of the body, tilt
limit.

On rough ground feet are lifted by HIGH_LIFT, with a longer period if the servos would otherwise not follow, and the
tilt limit is larger. Commands are limited for the slope: see `CommandLimits.search_inclines`.
"""

from __future__ import annotations

import cmath
import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.array_checks import as_array
from hexapod_dynamics.errors import HexapodError, require_finite
from hexapod_dynamics.gait.ground import (
    AS_FELT,
    BACK,
    CLIMB,
    RAISING,
    SLOW,
    STOP,
    GroundAdaptation,
    ObstacleResponse,
    Sample,
    SlopeReference,
    limit_length,
)
from hexapod_dynamics.gait.interface import THROWN_BACK
from hexapod_dynamics.gait.modes import SITTING, Mode
from hexapod_dynamics.gait_kinds import SWAY_PERIOD

if TYPE_CHECKING:
    from hexapod_dynamics.gait.adaptive import AdaptiveGait

HIGH_LIFT = 0.04  # [m] lift of the feet on rough ground
# How much higher [m] a rowing body rises while its feet are lifted higher, because its belly runs against edges, too.
ROWING_RISE = 0.01
# How far the body may be moved over its feet: x, y, z [m], roll, pitch, yaw [rad].
MOST_LEAN = (0.04, 0.04, 0.04, 0.25, 0.25, 0.35)
# Of the load: largest shift [m], its speed [m/s], heaviest load [kg].
MOST, SPEED, HEAVIEST = 0.02, 0.005, 20.0
# Of the sway while a load is weighed: shares of its size, and periods [s], along x, y and z.
SWAY = ((0.7, 3.54), (0.7, 2.24), (1.0, 2.7))
REACH = 2.0  # room [m] for a shift of the body that a sway of 1 m takes: upward it stretches the legs, too


class LoadShift:
    """Shift of the body because of its load: the common centre of mass of robot and load stays where the plan has that
    of the robot.

    A load of mass m at c moves the common centre of mass of robot and load by m c / (M + m) in base_link; the body is
    moved in the opposite direction over its feet, as far as the legs reach, and slowly, so that no step is disturbed.

    weight [kg]: mass M of the robot. shift [m]: present shift x + i y of the body in base_link; wanted: its aim.
    """

    def __init__(self, weight: float) -> None:
        self.weight, self.shift, self.wanted = weight, 0j, 0j

    def set_payload(self, mass: float, x_moment: float, y_moment: float) -> None:
        """Set what is carried: mass [kg], first moments m cx, m cy [kg m] in base_link.

        Raises HexapodError for numbers that are not finite or a mass that is negative or over HEAVIEST.
        """
        require_finite(mass=mass, x_moment=x_moment, y_moment=y_moment)
        if not 0.0 <= mass <= HEAVIEST:
            raise HexapodError(f"mass: {mass} kg given, 0 to {HEAVIEST} kg allowed")
        self.wanted = limit_length(complex(x_moment, y_moment) / -(self.weight + mass), MOST)

    def advance(self, dt: float, room: float) -> None:
        """Advance by dt [s]; room [m]: how far the body can be moved within the reach of the legs."""
        self.shift += limit_length(limit_length(self.wanted, room) - self.shift, SPEED * dt)

    def report(self) -> dict[str, float]:
        """Return diagnostics; empty if there is no load off the centre."""
        if not self.wanted and not self.shift:
            return {}
        return {
            "shift for the load, x [mm]": 1e3 * self.shift.real,
            "shift for the load, y [mm]": 1e3 * self.shift.imag,
            "shift for the load, wanted [mm]": 1e3 * abs(self.wanted),
        }


class WeighingSway:
    """Small sway of the body over its feet while a load is weighed.

    A walk on level ground repeats every joint angle in each cycle, and a servo measures it in counts: the rounding
    error of a reading is the same in each cycle, so that a mean over many cycles does not reduce it. A sway of some
    counts, with periods that do not agree with that of the steps, changes the rounding errors from cycle to cycle.

    offset (3,) [m]: present sway of the body along x, y, z of base_link; size [m]: of the present sway, 0: none.
    """

    def __init__(self) -> None:
        self.offset, self.size, self._time = [0.0, 0.0, 0.0], 0.0, 0.0

    def advance(self, dt: float, size: float, room: float) -> None:
        """Advance by dt [s]; size [m]: amplitude that is wanted, 0: none; room [m]: for a shift of the body within
        the reach of the legs, which limits the amplitude.
        """
        self._time += dt
        self.size = max(0.0, min(size, room / REACH))
        self.offset = [self.size * share * math.sin(math.tau * self._time / period) for share, period in SWAY]


class Terrain:
    """The ground under the adaptive gait: roughness, slope, obstacle, and the place of the body over its feet.

    ground: roughness and shift uphill; slope, obstacle: see their classes; load, sway: of a load that is carried, and
    while it is weighed; leaning (6,): the offset of the body that was asked for; shift_room [m]: for a shift of the
    body within the reach of the legs, which the limiter finds.
    """

    __slots__ = (
        "slope ground obstacle load sway leaning shift_room _gait _measured _leant _force _forces _high _lifted _tilt "
        "_tilting _reflexes _tilted_on_rough"
    ).split()

    def __init__(self, gait: AdaptiveGait) -> None:
        self._gait, self.slope, self.load = gait, SlopeReference(), LoadShift(gait.robot.mass)
        self.shift_room = 0.0
        self._measured = self._leant = 0j  # tilt of the body, and its commanded lean at present, pitch + i roll [rad]
        self._force, self._forces = 0j, 0  # specific force along and across the heading, summed since the last step
        self._high = HIGH_LIFT  # [m] lift of feet that are lifted higher than planned
        self._tilt, self._tilting = 0.0, 0.0  # [rad] against the slope, [rad/s]
        self.restart()

    def restart(self) -> None:
        """Discard what was learnt about roughness and obstacles."""
        self.ground, self.obstacle = GroundAdaptation(), ObstacleResponse()
        self.sway, self.leaning = WeighingSway(), [0.0] * 6
        self._lifted = 0.0  # share of the way from the planned lift to HIGH_LIFT
        self._reflexes = 0.0  # number of reflexes after which the ground was assumed to be rough
        self._tilted_on_rough = False  # whether the ground was rough before the first reflex

    def change_plan(self) -> None:
        """Discard the previous cycle."""
        self.ground.change_plan()
        self.obstacle.change_plan()

    # ---- measurements ------------------------------------------------------------------------------------------------

    def sense(self, roll: float, pitch: float, yaw: float) -> None:
        """Process the measured attitude of the body [rad]: for the yaw hold, and for the tilt reflex, which is
        relative to the slope of the ground as learnt. A robot that stands at the first measurement is assumed to
        stand parallel to the slope.
        """
        state = self._gait.data.state
        *_, leant_roll, leant_pitch, _ = state.body_offset.tolist()
        lean, self._measured = complex(leant_pitch, leant_roll), complex(pitch, roll)
        if lean != self._leant:
            self._leant = lean
            self.ground.compare_anew()
        self.slope.sense(roll - lean.imag, pitch - lean.real, yaw)
        turned = math.remainder(yaw - state.yaw, math.tau)
        if state.sensed != 0.0 and abs(turned) > 0.3:  # [rad]: the IMU has restarted, and its yaw has another origin
            state.yaw_reference += turned
            self.slope.slope *= cmath.rect(1.0, -turned)
        if state.sensed == 0.0:
            state.yaw_reference = yaw
            if state.mode == Mode.STAND and not self._gait.commanded:
                self.slope.adopt()
        state.yaw, state.sensed, state.tilted = yaw, 1.0, self.slope.tilt

    def sense_force(self, x: float, y: float, z: float) -> None:
        """Process the specific force of the body [m/s^2], by which the gait detects whether it makes progress."""
        state = self._gait.data.state
        if state.sensed == 0.0:
            return
        if math.isnan(x):  # servos hold, or the IMU is silent: a heading that is missed then is not made up for
            state.yaw_reference = state.yaw
        pitch, roll = self._measured.real, self._measured.imag
        down = math.sin(roll) * y + math.cos(roll) * z
        self._force += complex(math.cos(pitch) * x + math.sin(pitch) * down, math.cos(roll) * y - math.sin(roll) * z)
        self._forces += 1

    # ---- place of the body -------------------------------------------------------------------------------------------

    def lean(self, offset: npt.ArrayLike) -> None:
        """Move the body over its feet by an offset (6,) from the gait's own pose: x, y, z [m], roll, pitch, yaw
        [rad].

        Raises HexapodError unless these are six finite numbers of at most MOST_LEAN.
        """
        offset = as_array("body pose", offset, (6,), ": x, y, z, roll, pitch, yaw")
        if (np.abs(offset) > MOST_LEAN).any():
            raise HexapodError(f"body pose {offset.tolist()}: allowed are +-{list(MOST_LEAN)} [m, rad]")
        self.leaning = offset.tolist()
        self._gait.data.command.offset = offset
        self._move_body()

    def _move_body(self, uphill: complex = 0j) -> None:
        """Move the body over its feet by x + i y [m] more than for `lean`, the load and the sway for weighing it."""
        (x, y, z, *_), (along, across, up), shift = self.leaning, self.sway.offset, self.load.shift + uphill
        offset, most = self._gait.data.command.offset, MOST_LEAN[0]
        for k, value in enumerate((x + along + shift.real, y + across + shift.imag, z + up)):
            offset[k] = value if abs(value) <= most else math.copysign(most, value)

    # ---- every tick --------------------------------------------------------------------------------------------------

    def adapt(self, dt: float) -> None:
        """Advance the adaptation to the ground by dt [s], and apply it."""
        ground, data, now, plan = self.ground, self._gait.data, self._gait.data.state, self._gait.plan
        settings, lift = self._gait.settings, self._gait.used.step_height
        walks, rises, rows = now.mode == Mode.WALK, now.mode == Mode.RISE, plan is not None and plan.kind == "row"
        sways = settings.weighing_sway if walks else 0.0
        if sways or self.sway.size:
            self.sway.advance(dt, sways, self.shift_room)
        self.load.advance(dt, self.shift_room - REACH * self.sway.size)
        if now.sensed == 0.0:
            self._move_body()
            return
        self.slope.learn(dt, now.mode in SITTING)
        reflexes, tilt = now.reflexes, now.tilted
        if rises and reflexes > self._reflexes:
            ground.assume_rough()
        if rises or reflexes == 0.0:
            self._reflexes = reflexes
        if reflexes == 0.0:
            self._tilted_on_rough = ground.rough
        ground.height = 0.9 * now.height  # of base_link: the legs' masses are lower
        ground.most_shift = max(0.0, self.shift_room - abs(self.load.shift) - REACH * self.sway.size)
        ground.settles, tilted = rows, tilt > settings.tilt_limit
        heading = math.remainder(now.yaw - now.yaw_reference, math.tau) if data.settings.yaw_gain > 0.0 else 0.0
        slope, twist = self.slope, now.twist.tolist()
        ground.update(dt, now.phase, slope.measured, slope.standing, heading, walks, tilted, twist)
        if ground.rough and ground.walked_for > 10.0:
            now.reflexes = 0.0  # they do not count any more
        self._make_way(dt, ground, twist)
        self._high += limit_length(self.highest_lift - self._high, 0.02 * dt)  # [m/s]
        self._lifted += limit_length(self._gait.limiter.high * ground.share - self._lifted, dt / RAISING)
        data.plan.lift = lift + self._lifted * max(0.0, self._high - lift)
        if rows and plan is not None:
            more = self._lifted * ROWING_RISE
            data.plan.rise, data.plan.height = plan.rise + more, plan.height + more
        most = settings.tilt_limit * (1.0 + ground.leeway)  # feet that stand on obstacles tilt the body
        falls = self._is_falling(dt, tilt) and ground.rough and plan is not None and not rows
        # half of the tilt: the reflex then comes at once
        data.settings.tilt = min(most, 0.5 * tilt) if falls else most
        self._move_body(ground.shift)

    def _make_way(self, dt: float, ground: GroundAdaptation, twist: list[float]) -> None:
        """Detect whether the robot makes progress with a twist (3,), and respond to an obstacle."""
        count, force, self._force, self._forces = self._forces, self._force, 0j, 0
        now, obstacle, did = self._gait.data.state, self.obstacle, self.obstacle.does
        if self._gait.plan is None or (count == 0 and did != BACK):  # stepping back ends even if the IMU is silent
            return
        vx, vy, turn = twist
        wanted, planned = self._gait.limiter.wanted, complex(*self._gait.data.body_speed)
        slow, walks = wanted is not None and math.hypot(*wanted[:2]) < SLOW, now.mode == Mode.WALK
        force /= max(count, 1)
        sample = Sample(dt, force, planned, complex(vx, vy), self._gait.period, now.phase, walks, slow)
        obstacle.update(sample, raised=ground.rough, whole=self._gait.walks_intact)
        if obstacle.does != AS_FELT and obstacle.does != STOP:
            ground.assume_rough()
        if did == BACK:
            obstacle.turned += turn * dt
        elif obstacle.does == AS_FELT != did:  # it has passed the obstacle: walk on as before
            now.yaw_reference -= obstacle.turned
            obstacle.turned = 0.0

    def _is_falling(self, dt: float, tilt: float) -> bool:
        """Whether a body with this tilt [rad] is falling."""
        self._tilting += min(1.0, dt / 0.04) * ((tilt - self._tilt) / dt - self._tilting)
        self._tilt = tilt
        return tilt > math.radians(14.0) and tilt + 0.2 * self._tilting > math.radians(30.0)  # in 0.2 s

    @property
    def highest_lift(self) -> float:
        """Lift [m] of the feet while they are lifted higher than planned."""
        lift = HIGH_LIFT
        if self.obstacle.does in (CLIMB, BACK) and self._gait.plan is not None:
            lift = 0.08 if self._gait.walks_intact else 0.05  # on fewer legs the body tips over on higher obstacles
        return max(lift, self._gait.used.step_height)

    @property
    def most_reflexes(self) -> int:
        """Number of consecutive tilt reflexes after which the robot stays down: more on ground that was rough before
        the first one, because there each attempt places the feet differently.
        """
        return 6 if self._tilted_on_rough else 3

    def report(self) -> dict[str, float | bool]:
        """Return what is known about the ground."""
        return {
            "lift of the feet [mm]": 1e3 * float(self._gait.data.plan.lift),
            "slope of the ground [deg]": math.degrees(abs(self.slope.slope)),
            "set back [share of the speed]": self.obstacle.progress.setback,
            THROWN_BACK: self.obstacle.progress.is_set_back,
            "roughness that is felt [deg]": math.degrees(self.ground.roughness),
            **({SWAY_PERIOD: self._gait.period} if self.sway.size else {}),
            **self.load.report(),
        }
