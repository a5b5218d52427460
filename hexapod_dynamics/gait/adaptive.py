"""A gait for whatever legs are left: planned footholds, phases and body sway, changed while the robot walks."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait import adaptive_kernel as kernel
from hexapod_dynamics.gait import cycle, leg_table
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.gait.planning.evaluation import (
    APART,
    FINDINGS,
    MARGIN,
    RANGE,
    RATE,
    REACH,
    hull_margin,
    judge,
    link_points,
    make_scratch,
)
from hexapod_dynamics.gait.planning.library import PlanLibrary
from hexapod_dynamics.gait.planning.patterns import pattern_plan, tripod_plan
from hexapod_dynamics.gait.rest_pose import rest_pose
from hexapod_dynamics.robot import Morphology

# What a commanded twist must leave: margin of the zero-moment point [m], reach [m], joint range [rad], share of the
# servos' speed, distance between legs [m]. A foot at the ends of its stance is not relied on for GUARD_TIME [s].
KEEP_MARGIN, KEEP_REACH, KEEP_RANGE, KEEP_SPEED, KEEP_APART, GUARD_TIME = 0.002, 0.002, -0.05, 1.2, 0.015, 0.02
# Shares of a plan's period that are tried for fast commands, the longest first.
PERIODS = (1.0, 0.9, 0.8, 0.72, 0.65, 0.58)
# The stance holds for a change of plan without sitting down if the centre of mass is this far [m] inside the polygon of
# all feet that are left.
HOLDS = 0.015
# Tilt reflexes after which the robot stays down.
MOST_REFLEXES = 3
NOMINAL_VELOCITY = 0.1 / 1.3
# A body tilted further [rad] sits down.
TILT_LIMIT = math.radians(8.0)


class AdaptiveGait(Gait):
    """Walks with whatever legs there are.

    step_height [m]: lift of a swinging foot. body_height [m]: base_link over the ground, by default that of the plan.
    period [s]: of the cycle; by default the plan's, shorter for fast commands. acceleration [m/s^2] and turning
    [rad/s^2] limit how the twist follows a command. yaw_hold: corrects the heading by the yaw fed to `sense`.
    tilt_limit [rad]: a body tilted further sits down without waiting for a diagnosis; 0: never.
    pattern: "auto", or "wave" or "ripple" for these of the legs that are left, without a plan and its sway.
    planner: makes a plan that is missing (a BackgroundPlanner) while the robot sits; None: it stays down.
    plans: a PlanLibrary or the path of one; by default the file next to the robot's that comes with the package.

    Which gait: a whole robot walks a tripod; with legs lost, the library's plan for the legs that are left; a leg with
    a locked or limp joint, or a shortened link that makes it too short, is held up and counted as lost. With fewer legs
    than can walk, or without a plan, the robot sits and `report` says so.
    """

    def __init__(
        self,
        *,
        step_height=0.02,
        body_height=None,
        period=None,
        acceleration=0.25,
        turning=1.0,
        yaw_hold=True,
        tilt_limit=TILT_LIMIT,
        plans=None,
        pattern="auto",
        planner=None,
    ):
        self.step_height = _checked("step_height", step_height, 0.0, 0.06, "m")
        self.body_height = None if body_height is None else _checked("body_height", body_height, 0.03, 0.3, "m")
        self.asked_period = None if period is None else _checked("period", period, 0.3, 10.0, "s")
        self.acceleration = _checked("acceleration", acceleration, 0.01, 10.0, "m/s^2")
        self.turning = _checked("turning", turning, 0.05, 50.0, "rad/s^2")
        self.tilt_limit = _checked("tilt_limit", tilt_limit, 0.0, 1.0, "rad")
        self.yaw_hold = bool(yaw_hold)
        if pattern not in PATTERNS:
            raise HexapodError(f"pattern: given {pattern!r}, allowed are {', '.join(PATTERNS)}")
        self.pattern = pattern
        self.planner = planner
        self._plans = plans
        self.plan = None
        self._wanted, self._followed = None, np.zeros(3)
        self._why = ""

    # ---- set up ------------------------------------------------------------------------------------------------------

    def bind(self, robot, morphology=None):
        """Lay the gait out for a robot whose legs all have a coxa, femur and tibia; return self, standing."""
        self.robot = robot
        n = len(robot.legs)
        self.data = kernel.Walk(
            plan=np.zeros(cycle.NUMBERS),
            legs=leg_table.leg_table(robot),
            settings=np.zeros(kernel.SETTINGS),
            command=np.zeros(kernel.COMMAND),
            state=np.zeros(kernel.STATE),
            feet=np.zeros((n, kernel.FEET)),
            start=np.zeros(3 * n),
            position=np.zeros(3 * n),
            velocity=np.zeros(3 * n),
        )
        self.library = self._find_library(robot)
        self._judged = self.data.legs.copy(), self.data.plan.copy(), make_scratch(n), np.zeros(FINDINGS)
        self._box = np.asarray(robot.body.box, float)
        settings = self.data.settings
        settings[kernel.ACCELERATION], settings[kernel.TURNING] = self.acceleration, self.turning
        settings[kernel.SPEED], settings[kernel.FOLDING] = robot.servo.speed_limit, 0.4 * robot.servo.speed_limit
        settings[kernel.YAW_GAIN] = 2.0 if self.yaw_hold else 0.0
        settings[kernel.YAW_LIMIT], settings[kernel.TILT] = 0.3, self.tilt_limit
        settings[kernel.BELLY] = 0.5 * robot.body.box[2] + 0.001
        self.morphology = None
        self._adopt(morphology)
        self.reset()
        return self

    def _find_library(self, robot):
        if isinstance(self._plans, PlanLibrary):
            return self._plans
        if self._plans is not None:
            return PlanLibrary.load(robot, self._plans)
        path = plans_path(robot)
        return PlanLibrary(robot) if path is None else PlanLibrary.load(robot, path)

    def copy(self):
        """Return a gait of the same settings in the same state that goes its own way from here."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        if self.robot is not None:
            twin.data = kernel.Walk(*(array.copy() for array in self.data))
            legs, plan, _, _ = self._judged
            twin._judged = legs.copy(), plan.copy(), make_scratch(len(legs)), np.zeros(FINDINGS)
        return twin

    def close(self):
        """End the planning in the background."""
        if self.planner is not None:
            self.planner.cancel()

    def set_morphology(self, morphology):
        """Adopt a Morphology at any time: the plan for what is left follows, from where the feet are.

        The walk goes on if the feet that are left hold the body; else the robot sits down first, moves its feet to
        their new places while its belly carries it, stands up and goes on.
        """
        if not self._same(morphology):
            self._change(morphology)

    def _change(self, morphology):
        """Choose the plan anew and change to it."""
        data, state = self.data, self.data.state
        before, used = self.plan, set() if self.plan is None else set(self.plan.legs)
        sway, up = kernel.place_of_body(data)
        self._adopt(morphology)
        state[kernel.REFLEXES], state[kernel.STAY] = 0.0, 0.0
        if self.plan == before:
            return
        # What the old plan had the body do goes on from where it is.
        state[kernel.FROM_SWAY : kernel.FROM_SWAY + 2], state[kernel.WEIGHT] = sway, 0.0
        state[kernel.HEIGHT_NOW] += up
        state[kernel.FAST] = 1.0
        on_its_feet = state[kernel.MODE] in (kernel.STAND, kernel.START, kernel.WALK, kernel.SETTLE)
        if self.plan is None:
            state[kernel.STAY] = 1.0
            kernel.enter(data, kernel.LOWER, 0)
        elif on_its_feet and up == 0.0 and self._holds(used):
            state[kernel.PHASE] = self._best_phase()
            kernel.enter(data, kernel.SETTLE, 0)
        else:
            state[kernel.PHASE] = 0.0
            kernel.enter(data, kernel.LOWER, 0)
        self._follow_again()

    def _same(self, morphology):
        whole = Morphology.whole(self.robot)
        return (self.morphology or whole) == (morphology or whole)

    def _adopt(self, morphology):
        """Choose the plan for a Morphology and write it to the arrays."""
        self.morphology = morphology
        data, names = self.data, self.robot.leg_names
        rows = leg_table.leg_table(self.robot, morphology)
        held = self._held_up(morphology, rows)
        table = rows.copy()
        for i, leg in enumerate(self.robot.legs):
            limp = [morphology is not None and morphology.is_limp(leg.name, link.name) for link in leg.links]
            table[i, leg_table.REST : leg_table.COLUMNS] = rest_pose(rows[i], limp)
        plan, self._why = self._choose(held)
        if plan is not None and held:
            plan = plan.shifted(*self._weight_shift(table, [names.index(n) for n in held]))
        self.plan = plan
        data.legs[:] = table
        if plan is None:
            # Legs that can carry do so while the robot sits down.
            for row, leg in zip(data.legs, self.robot.legs, strict=True):
                row[leg_table.USED] = leg.name not in held
                row[leg_table.FOOTHOLD : leg_table.REST] = leg_table.neutral_foothold(row)
        else:
            plan.fill(data.legs, names)
            period = data.plan[cycle.PERIOD] or plan.period
            data.plan[:] = plan.numbers()
            data.plan[cycle.PERIOD] = period if self.data.state[kernel.MODE] == kernel.WALK else plan.period
            data.settings[kernel.ASKED_PERIOD] = self.asked_period or plan.period
            data.plan[cycle.LIFT] = self.step_height
            if plan.kind == "walk":
                data.settings[kernel.BODY] = self.body_height or plan.height
                data.plan[cycle.HEIGHT] = data.settings[kernel.BODY]
        self._judged[0][:], self._judged[1][:] = data.legs, data.plan

    def _take_plan(self):
        """Take over a plan that was made in the background."""
        made = self.planner.poll()
        if made is None:
            return
        if isinstance(made, str):
            self._why = made
            return
        self.library.add(made)
        morphology, self.morphology = self.morphology, None
        self._change(morphology)

    def _held_up(self, morphology, rows):
        """Return the names of the legs that do not walk."""
        if morphology is None:
            return []
        out = []
        for leg, row in zip(self.robot.legs, rows, strict=True):
            broken = any(
                not morphology.has_link(leg.name, link.name)
                or morphology.locked_angle(leg.name, link.name) is not None
                or morphology.is_limp(leg.name, link.name)
                for link in leg.links
            )
            whole = sum(link.length for link in leg.links[1:])
            if broken or row[leg_table.LENGTHS + 1 : leg_table.LOWER].sum() < USABLE * whole:
                out.append(leg.name)
        return out

    def _choose(self, lost):
        """Return the plan for the robot without these legs and "", or None and why there is none."""
        left = len(self.robot.legs) - len(lost)
        if self.pattern != "auto":
            plan = pattern_plan(self.robot, self.pattern, lost)
            return plan, "" if plan is not None else f"{left} legs left: a {self.pattern} needs four; sitting"
        if not lost:
            plan = tripod_plan(self.robot)
            if plan is not None:
                return plan, ""
        if left < 3:
            return None, f"{left} legs left: fewer than 3 cannot walk; sitting"
        plan = self.library.find(lost)
        if plan is not None:
            return plan, ""
        why = f"no plan for the robot without {', '.join(lost) or 'a tripod'}; sitting"
        if self.planner is not None:
            self.planner.ask(self.robot, lost, self.morphology or Morphology.whole(self.robot))
            why += " while it is made in the background"
        return None, why

    def _weight_shift(self, table, held):
        """Return by how much (x, y) [m] legs that are held up move the centre of mass."""
        total = self.robot.body.mass + table[:, leg_table.MASS : leg_table.CENTRE].sum()
        moment, centres = np.zeros(2), np.zeros((3, 3))
        for i in held:
            link_points(table, i, *table[i, leg_table.REST : leg_table.COLUMNS], centres, 0, np.zeros(6))
            moment += table[i, leg_table.MASS : leg_table.CENTRE] @ centres[:, :2]
        return moment / total

    def _holds(self, used):
        """Tell whether all feet of the new plan, set down where they are, carry the body."""
        data, names = self.data, list(self.robot.leg_names)
        if self.pattern != "auto":
            return True
        if self.plan.kind == "row" or not set(self.plan.legs) <= used:
            return False
        feet = np.array([data.feet[names.index(name), :2] for name in self.plan.legs])
        points = feet - data.state[kernel.FROM_SWAY : kernel.FROM_SWAY + 2]
        return bool(hull_margin(points, len(points), *self._centre_of_mass()) >= HOLDS)

    def _centre_of_mass(self):
        """Return the centre of mass (x, y) [m] of the robot in base_link at the present set-points."""
        table = self.data.legs
        total, moment, centres = self.robot.body.mass, np.zeros(2), np.zeros((3, 3))
        for i, row in enumerate(table):
            link_points(table, i, *self.data.position[3 * i : 3 * i + 3], centres, 0, np.zeros(6))
            masses = row[leg_table.MASS : leg_table.CENTRE]
            total += masses.sum()
            moment += masses @ centres[:, :2]
        return moment / total

    def _best_phase(self):
        """Return the phase of the plan at which its feet are nearest to where the feet are now."""
        data, twist = self.data, self.data.state[kernel.GOING : kernel.GOING + 3]
        sway = data.state[kernel.FROM_SWAY : kernel.FROM_SWAY + 2]
        best, least = 0.0, np.inf
        for phase in np.arange(48) / 48.0:
            there = np.array([cycle.sway(data.plan, phase, axis, *twist)[0] for axis in range(2)])
            miss = 4.0 * np.square(there - sway).sum()
            for i in np.flatnonzero(data.legs[:, leg_table.USED]):
                x, y, _, _ = cycle.cycle_foot(data.plan, data.legs, i, phase, *twist)
                miss += (x - data.feet[i, kernel.X]) ** 2 + (y - data.feet[i, kernel.Y]) ** 2
            if miss < least:
                best, least = phase, miss
        return best

    # ---- commands ----------------------------------------------------------------------------------------------------

    def scaled(self, vx, vy, wz):
        """Return the command (3,) [m/s, m/s, rad/s] as it will be followed: scaled down as a whole to what is possible.

        Raises HexapodError for what is not finite.
        """
        return self._possible(vx, vy, wz)[0]

    def _possible(self, vx, vy, wz):
        """Return the largest share of a twist that the plan allows, as a twist, and the period for it [s]."""
        command = np.array([vx, vy, wz], float)
        if not np.isfinite(command).all():
            raise HexapodError(f"velocity command ({vx}, {vy}, {wz}): finite numbers needed; the last command stays")
        if self.plan is None:
            return np.zeros(3), 1.0
        periods = [self.plan.period * share for share in PERIODS] if self.asked_period is None else [self.asked_period]
        best = 0.0, periods[0]
        for period in periods:
            if self._fits(command, period):
                return command, period
        for period in periods:
            low, high = best[0], 1.0
            if low > 0.0 and not self._fits(low * command, period):
                continue
            while high - low > 0.01:
                middle = 0.5 * (low + high)
                low, high = (middle, high) if self._fits(middle * command, period) else (low, middle)
            if low > best[0]:
                best = low, period
        return best[0] * command, best[1]

    def _fits(self, twist, period):
        """Tell whether the plan walks a twist (3,) at a period [s]: margin, reach, joint range and rates, distances."""
        legs, plan, scratch, found = self._judged
        legs[:], plan[:] = self.data.legs, self.data.plan
        plan[cycle.PERIOD] = period
        guard = min(GUARD_TIME / period, (plan[cycle.DUTY] - 0.5) / 2.2)
        body, gravity = self.robot.body.mass, self.robot.gravity
        judge(plan, legs, self._box, body, gravity, *twist, guard, scratch, found)
        return bool(
            (found[MARGIN] >= KEEP_MARGIN or self.pattern != "auto")
            and found[REACH] >= KEEP_REACH
            and found[RANGE] >= KEEP_RANGE
            and found[RATE] <= KEEP_SPEED * self.robot.servo.speed_limit
            and found[APART] >= KEEP_APART
        )

    def command(self, vx, vy, wz):
        """Ask for a planar body twist [m/s, m/s, rad/s] in base_link; return what will be followed (see `scaled`)."""
        wanted = (float(vx), float(vy), float(wz))
        if wanted != self._wanted:
            followed, period = self._possible(*wanted)
            self._wanted, self._followed = wanted, followed
            self.data.settings[kernel.ASKED_PERIOD] = period
        self.data.command[:3] = self._followed
        return self._followed.copy()

    def _follow_again(self):
        """Ask the plan anew what it allows of the last command."""
        wanted, self._wanted = self._wanted, None
        self.command(*(wanted or (0.0, 0.0, 0.0)))

    def walk(self):
        """Ask for the nominal walk, forward at 7.7 cm/s."""
        return self.command(NOMINAL_VELOCITY, 0.0, 0.0)

    def sense(self, roll, pitch, yaw):
        """Take the measured attitude of the body [rad]: for the yaw hold and the tilt reflex."""
        state = self.data.state
        if state[kernel.SENSED] == 0.0:
            state[kernel.YAW_REFERENCE] = yaw
        state[kernel.YAW], state[kernel.SENSED] = yaw, 1.0
        state[kernel.TILTED] = math.hypot(
            *(measured - leant for measured, leant in zip((roll, pitch), state[LEANT], strict=True))
        )

    def lean(self, offset):
        """Move the body over its feet: offset (6,) x, y, z [m], roll, pitch, yaw [rad] from where the gait has it."""
        offset = np.asarray(offset, float)
        if offset.shape != (6,) or not np.isfinite(offset).all():
            raise HexapodError(f"body pose {offset.tolist()}: six finite numbers (x, y, z, roll, pitch, yaw) needed")
        most = np.array([0.04, 0.04, 0.04, 0.25, 0.25, 0.35])
        if (np.abs(offset) > most).any():
            raise HexapodError(f"body pose {offset.tolist()}: allowed are +-{most.tolist()} [m, rad]")
        self.data.command[kernel.OFFSET :] = offset

    def sit(self):
        """Sit down and stay until `stand`."""
        self.data.state[kernel.STAY] = 1.0
        if self.data.state[kernel.MODE] not in (kernel.LOWER, kernel.SAT):
            self.data.state[kernel.HEIGHT_NOW] += kernel.place_of_body(self.data)[1]
            kernel.enter(self.data, kernel.LOWER, 0)

    def stand(self):
        """Stand up again; HexapodError where there is no gait for the legs that are left."""
        if self.plan is None:
            raise HexapodError(f"cannot stand: {self._why}")
        state = self.data.state
        state[kernel.STAY], state[kernel.REFLEXES], state[kernel.FAST] = 0.0, 0.0, 1.0

    def set_pattern(self, pattern):
        """Change between the adaptive gait ("auto") and the plain "wave" and "ripple" while it walks."""
        if pattern not in PATTERNS:
            raise HexapodError(f"pattern: given {pattern!r}, allowed are {', '.join(PATTERNS)}")
        if pattern != self.pattern:
            self.pattern = pattern
            self._change(self.morphology)

    def adjust(self, *, step_height=None, body_height=None, period=None, yaw_hold=None):
        """Change settings while it walks; None leaves one as it is, period 0 is as the gait chooses. HexapodError."""
        kept = self.step_height, self.body_height, self.asked_period, self.yaw_hold
        if step_height is not None:
            self.step_height = _checked("step_height", step_height, 0.0, 0.06, "m")
        if body_height is not None:
            self.body_height = _checked("body_height", body_height, 0.03, 0.3, "m")
        if period is not None:
            self.asked_period = None if period == 0.0 else _checked("period", period, 0.3, 10.0, "s")
        if yaw_hold is not None:
            self.yaw_hold = bool(yaw_hold)
        self._apply()
        if self.plan is not None and not self._fits(np.zeros(3), self.asked_period or self.plan.period):
            given = f"step_height {self.step_height}, body_height {self.body_height}, period {self.asked_period}"
            self.step_height, self.body_height, self.asked_period, self.yaw_hold = kept
            self._apply()
            raise HexapodError(f"{given}: out of reach for {self.plan.kind}ing on {', '.join(self.plan.legs)}")
        self._follow_again()

    def _apply(self):
        """Write the settings that can change to the arrays."""
        data = self.data
        data.settings[kernel.YAW_GAIN] = 2.0 if self.yaw_hold else 0.0
        data.plan[cycle.LIFT] = self.step_height
        if self.plan is not None:
            data.settings[kernel.ASKED_PERIOD] = self.asked_period or self.plan.period
            if self.plan.kind == "walk":
                data.settings[kernel.BODY] = data.plan[cycle.HEIGHT] = self.body_height or self.plan.height

    # ---- every tick --------------------------------------------------------------------------------------------------

    def reset(self, *, walking=False, phase=0.0, joints=None):
        """Start over: standing, or in the steady nominal walk at a phase, or led there from measured joints (n,) [rad].

        The first steps lead from measured joints at minimum jerk, no joint faster than a tenth of its speed limit on
        average.
        """
        data, state = self.data, self.data.state
        state[:] = 0.0
        data.command[:] = 0.0
        self._wanted, self._followed = None, np.zeros(3)
        if self.plan is None:
            state[kernel.MODE], state[kernel.STAY] = kernel.SAT, 1.0
            state[kernel.HEIGHT_NOW] = data.settings[kernel.BELLY]
        else:
            state[kernel.HEIGHT_NOW] = kernel.stand_height(data)
            self.command(0.0, 0.0, 0.0)
            data.plan[cycle.PERIOD] = data.settings[kernel.ASKED_PERIOD]
            data.feet[:] = 0.0
            if walking:
                state[kernel.TWIST : kernel.TWIST + 3] = state[kernel.GOING : kernel.GOING + 3] = self.walk()
                data.plan[cycle.PERIOD] = data.settings[kernel.ASKED_PERIOD]
                state[kernel.MODE], state[kernel.WEIGHT], state[kernel.PHASE] = kernel.WALK, 1.0, phase % 1.0
            kernel.place_feet(data)
        rests = data.legs[:, leg_table.REST : leg_table.COLUMNS]
        data.position[:] = rests.ravel()
        self.step(0.0)
        if joints is not None:
            joints = np.asarray(joints, float)
            if joints.shape != self.position.shape or not np.isfinite(joints).all():
                raise HexapodError(f"joints: {self.position.size} finite angles [rad] needed, given {joints.tolist()}")
            furthest = float(np.abs(self.position - joints).max())
            data.start[:] = joints
            state[kernel.BLEND_TIME] = furthest / (0.1 * self.robot.servo.speed_limit)
            self.step(0.0)

    def step(self, dt):
        """Advance by dt [s], at most a quarter period; return (position, velocity), each (n,), the gait's arrays."""
        if not 0.0 <= dt <= 0.25 * self.period:
            raise HexapodError(f"dt: given {dt} s, allowed are 0 to a quarter period, {0.25 * self.period} s")
        if self.planner is not None and self.planner.busy:
            self._take_plan()
        kernel.advance(self.data, dt)
        if self.data.state[kernel.REFLEXES] > MOST_REFLEXES:
            self.data.state[kernel.STAY] = 1.0
        return self.data.position, self.data.velocity

    # ---- what it does ------------------------------------------------------------------------------------------------

    @property
    def position(self):
        """Joint set-points (n,) [rad] of the last step."""
        return self.data.position

    @property
    def velocity(self):
        """Rates (n,) [rad/s] of the joint set-points of the last step."""
        return self.data.velocity

    @property
    def period(self):
        """Time of a whole cycle [s]."""
        return float(self.data.plan[cycle.PERIOD]) or 1.0

    @property
    def phase(self):
        """Phase of the cycle, 0 to 1."""
        return float(self.data.state[kernel.PHASE])

    @property
    def twist(self):
        """The body twist (vx, vy, wz) (3,) [m/s, m/s, rad/s] that the gait follows now, without the yaw hold."""
        return self.data.state[kernel.TWIST : kernel.TWIST + 3].copy()

    @property
    def walking(self):
        """Whether the legs are stepping, or about to."""
        return self.data.state[kernel.MODE] in (kernel.WALK, kernel.START, kernel.SETTLE)

    @property
    def commanded(self):
        """Whether the gait walks, or has been asked to."""
        return self.walking or bool(self.data.command[:3].any())

    @property
    def doing(self):
        """What the gait does, in a word."""
        return DOING[int(self.data.state[kernel.MODE])]

    def report(self):
        """Return what the gait does, with which legs, at which speed of which asked, and why."""
        vx, vy, wz = self._wanted or (0.0, 0.0, 0.0)
        fx, fy, fz = self._followed
        out = {
            "doing": self.doing,
            "legs": "none" if self.plan is None else " ".join(self.plan.legs),
            "kind": "none" if self.plan is None else self.plan.kind,
            "asked": f"{vx:.3f} {vy:.3f} m/s {wz:.3f} rad/s",
            "followed": f"{fx:.3f} {fy:.3f} m/s {fz:.3f} rad/s",
            "period [s]": self.period,
        }
        if self.plan is not None:
            out["margin of the plan [mm]"] = 1e3 * self.plan.margin
        if self._why:
            out["why"] = self._why
        elif self.data.state[kernel.REFLEXES] > MOST_REFLEXES:
            out["why"] = "tilted again and again: stays down until the service stand or a change of the morphology"
        return out


# Roll and pitch that the body has been asked for.
LEANT = slice(kernel.BODY_OFFSET + 3, kernel.BODY_OFFSET + 5)
PATTERNS = ("auto", "wave", "ripple")
# A leg whose femur and tibia are shorter than this share of what they were does not reach the ground well enough.
USABLE = 0.88
DOING = ("standing", "shifting", "walking", "settling", "sitting down", "moving feet", "sitting", "standing up")


def plans_path(robot):
    """Return the path of the library of plans that comes with the package for a Robot; None if there is none."""
    folders = [Path(__file__).resolve().parents[2] / "config"]
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    folders += [Path(prefix, "share", "hexapod_dynamics", "config") for prefix in prefixes if prefix]
    for folder in folders:
        path = folder / f"plans_{robot.name}.yaml"
        if path.is_file():
            return path
    return None


def _checked(name, value, low, high, unit):
    if not (isinstance(value, (int, float)) and math.isfinite(value) and low <= value <= high):
        raise HexapodError(f"{name}: given {value!r}, allowed are {low} to {high} {unit}")
    return float(value)
