"""A gait for any remaining legs: planned footholds, phases and body sway, changed while the robot walks."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import HexapodError, RobotWarning
from hexapod_dynamics.gait import adaptive_kernel as kernel
from hexapod_dynamics.gait import adaptive_state as layout
from hexapod_dynamics.gait import leg_table, plan_numbers
from hexapod_dynamics.gait.adaptive_arrays import new_walk, write_plan, write_settings
from hexapod_dynamics.gait.adaptive_feet import place_feet
from hexapod_dynamics.gait.adaptive_ground import AdaptiveOnGround
from hexapod_dynamics.gait.adaptive_settings import LIVE, TILT_LIMIT, AdaptiveSettings
from hexapod_dynamics.gait.array_gait import finite_twist
from hexapod_dynamics.gait.arrival import Arrival
from hexapod_dynamics.gait.command_limits import HIGH_PERIODS, CommandLimits
from hexapod_dynamics.gait.gait_memory import WalkMemory
from hexapod_dynamics.gait.interface import PRESSED_FOOT
from hexapod_dynamics.gait.load_shift import LoadShift
from hexapod_dynamics.gait.out_of_the_way import turn_away
from hexapod_dynamics.gait.plan_change import (
    EASY_CYCLES,
    SAFE,
    PlanChange,
    Transition,
    best_start,
    continue_from,
    is_shifted,
    stance_holds,
)
from hexapod_dynamics.gait.plan_choice import PlanChoice, find_library, present_legs
from hexapod_dynamics.gait.plan_worker import PlanWorker
from hexapod_dynamics.gait.planning.background_planner import BackgroundPlanner
from hexapod_dynamics.gait.planning.patterns import LIFT
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.gait.planning.plan_library import PlanLibrary
from hexapod_dynamics.gait.slope_reference import SlopeReference
from hexapod_dynamics.robot import Morphology, Robot

FEWEST_LEGS = 3
# Settings that the plan's own replace, in this order, where the legs that are left cannot step on the spot with them.
GIVE_UP = ((), ("body_height",), ("period",), ("body_height", "period"), ("body_height", "period", "step_height"))
# Modes in which the body rests on its belly or is on its way there or up.
SITTING = (layout.LOWER, layout.SAT, layout.MOVE, layout.RISE)
NOMINAL_VELOCITY = 0.1 / 1.3  # [m/s]


class AdaptiveGait(AdaptiveOnGround):
    """Walks with the legs that remain.

    step_height [m]: lift of a swinging foot. body_height [m]: base_link over the ground, by default
    that of the plan. period [s]: of the cycle; by default the plan's, shorter for fast commands. acceleration [m/s^2]
    and turning [rad/s^2] limit how the twist follows a command. yaw_hold: corrects the heading by the yaw given to
    `sense`. tilt_limit [rad]: a body tilted further sits down without waiting for a diagnosis; 0: never.
    pattern: "auto", or "wave" or "ripple" for these of the legs that are left, without a plan and its sway.
    planner: makes a plan that is missing (a BackgroundPlanner) while the robot sits; None: it stays down.
    worker: a PlanWorker, which works changes of plan out beside the walk; None: they are worked out at once.
    plans: a PlanLibrary or the path of one; by default the file next to the robot's that comes with the package.
    ground: whether lift, place of the body, tilt limit and commands follow the ground that is felt (adaptive_ground).

    Which gait: a whole robot walks a tripod; with legs lost, the library's plan for the legs that are left; a leg with
    a locked or limp joint, or a shortened link that makes it too short, is held up and counted as lost. With fewer legs
    than can walk, or without a plan, the robot sits and `report` gives the reason (without a planner a RobotWarning,
    too).
    """

    def __init__(
        self,
        *,
        step_height: float = 0.02,
        body_height: float | None = None,
        period: float | None = None,
        acceleration: float = 0.25,
        turning: float = 1.0,
        yaw_hold: bool = True,
        tilt_limit: float = TILT_LIMIT,
        pattern: str = "auto",
        plans: PlanLibrary | str | os.PathLike[str] | None = None,
        planner: BackgroundPlanner | None = None,
        worker: PlanWorker | None = None,
        ground: bool = True,
    ) -> None:
        super().__init__(ground)
        self.settings = AdaptiveSettings(
            step_height, body_height, period, acceleration, turning, yaw_hold, tilt_limit, pattern
        )
        self.planner, self.worker = planner, worker
        self._changing = False  # the worker computes a change
        self._target: Morphology | None = None  # the morphology that the last change is for
        self._plans = plans
        self.plan: GaitPlan | None = None
        self._wanted: tuple[float, float, float] | None = None
        self._followed = np.zeros(3)
        self._used = self.settings  # in force
        self._given_up = ""  # names of the settings that the plan's own replace

    # ---- set up ------------------------------------------------------------------------------------------------------

    def bind(self, robot: Robot, morphology: Morphology | None = None) -> AdaptiveGait:
        """Set the gait up for a robot whose legs all have a coxa, femur and tibia; return self, standing.

        Raises HexapodError for a robot with fewer than three legs, and for a body height or step height out of reach.
        """
        if len(robot.legs) < FEWEST_LEGS:
            raise HexapodError(f"robot {robot.name}: {len(robot.legs)} legs; at least {FEWEST_LEGS} are needed to walk")
        self.robot = robot
        self.data = new_walk(robot, self.settings)
        self._memory = WalkMemory(self.data)
        self._choice = PlanChoice(robot, find_library(robot, self._plans), self.planner)
        self._limits = CommandLimits(robot, self.data.legs, self.data.plan)
        self.arrival = Arrival(robot.joint_count)
        self.slope = SlopeReference()
        self.load = LoadShift(robot.body.mass + sum(link.mass for leg in robot.legs for link in leg.links))
        self._adopt(morphology)
        if self._given_up and morphology is None:
            raise HexapodError(self._out_of_reach(self.settings))
        self.reset()
        self._rehearse()
        if self.worker is not None:
            self.worker.start()
        self._warn_of_no_plan()
        return self

    def _warn_of_no_plan(self) -> None:
        """Warn where the robot sits because there is no plan, and no planner makes one."""
        if self.plan is None and self.planner is None:
            warnings.warn(
                f"robot {self.robot.name}: {self._choice.why}; make plans with `ros2 run hexapod_dynamics plan`, or "
                "give AdaptiveGait a planner (BackgroundPlanner)",
                RobotWarning,
                stacklevel=4,
            )

    def _rehearse(self) -> None:
        """Call every function of a change of plan, so that none is compiled or loaded later, while the robot walks."""
        kernel.enter(self._memory, int(self.data.state[layout.MODE]), 0)
        kernel.place_of_body(self._memory)
        if self.plan is not None:
            stance_holds(self.robot, self.data, self.plan.legs)
            best_start(self.robot, self.data)
            turn_away(self.robot, self.plan, self.data.legs.copy(), [0])
        self.reset()

    def copy(self) -> AdaptiveGait:
        """Return a gait of the same settings in the same state, independent of this one."""
        self._finish_change()
        twin = self._twin()
        if self.robot is not None:
            twin.arrival = self.arrival.copy()
            twin.slope = self.slope.copy()
            twin.leaning, twin.load = self.leaning.copy(), copy.deepcopy(self.load)
        return twin

    def _twin(self) -> AdaptiveGait:
        """Return a copy that changes its plan by itself and has the same measured joints."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.worker, twin._changing, twin._search = None, False, None
        twin.ground = None if self.ground is None else self.ground.copy()
        twin.obstacle = self.obstacle.copy()
        if self.robot is not None:
            twin.data = layout.Walk(*(array.copy() for array in self.data))
            twin._memory = WalkMemory(twin.data)
            twin._choice = copy.copy(self._choice)
            twin._limits = CommandLimits(self.robot, twin.data.legs, twin.data.plan)
        return twin

    def close(self) -> None:
        """End the planning in the background."""
        if self.planner is not None:
            self.planner.cancel()
        if self.worker is not None:
            self.worker.close()

    def set_morphology(self, morphology: Morphology | None) -> None:
        """Adopt a Morphology at any time: the plan for what is left follows, from where the feet are.

        The walk goes on if the feet that are left hold the body; else the robot sits down first, moves its feet to
        their new places while its belly carries it, stands up and goes on. With a worker the change is worked out
        beside the walk, and a `step` takes it over.
        """
        whole = Morphology.whole(self.robot)
        if (self._target or whole) != (morphology or whole):
            self._change(morphology)

    def _change(self, morphology: Morphology | None, arrived: bool = False) -> None:
        """Choose the plan again and change to it; arrived: legs that came back are where they are held up."""
        self._target = morphology
        self._plan_on(lambda twin: twin.planned_change(morphology, arrived))

    def _plan_on(self, planned: Callable[[AdaptiveGait], PlanChange]) -> None:
        """Take over the change that `planned` works out on a copy of this gait, at once or when the worker has it."""
        twin = self._twin()
        if self.worker is None:
            self._take_over(planned(twin))
            return
        self._changing = True
        self.worker.ask(lambda: planned(twin))

    def adopt_plan(self) -> None:
        """Adopt a change that the worker has finished, as `step` does, while the gait is not stepped."""
        change = None if self.worker is None or not self._changing else self.worker.poll()
        if change is not None:
            self._take_over_or_ask(change)

    def _take_over_or_ask(self, change: PlanChange) -> None:
        """Adopt a change; if the robot's action has changed meanwhile, request the change again."""
        self._changing = False
        if change.mode == self.data.state[layout.MODE] and change.settings == self.settings:
            self._take_over(change)
        elif change.transition is not Transition.RESTART:
            self._change(change.morphology)

    def _finish_change(self) -> None:
        """Wait for a pending change and adopt it, because the caller needs the new plan."""
        while self._changing and self.worker is not None:
            change = self.worker.wait()
            if change is None:
                return
            self._take_over_or_ask(change)

    def planned_restart(self) -> PlanChange:
        """Compute how to walk on after a contact probe, on this gait, which is a copy."""
        mode = float(self.data.state[layout.MODE])
        self._goes_on(set(self.plan.legs) if self.plan else set())
        return self._worked_out(mode, Transition.RESTART)

    def planned_change(self, morphology: Morphology | None, arrived: bool = False) -> PlanChange:
        """Compute the change to a Morphology on this gait, a copy that is discarded afterwards."""
        data, state = self.data, self.data.state
        mode = float(state[layout.MODE])
        before, used = self.plan, set() if self.plan is None else set(self.plan.legs)
        carried = self._carried()
        sway, up = kernel.place_of_body(self._memory)
        table, held, awaited = self._adopt(morphology, None if arrived else carried)
        data.feet[:, layout.BACK] = (data.legs[:, leg_table.USED] != 0.0) & ~carried
        state[layout.REFLEXES], state[layout.STAY], state[layout.EASY_FOR] = 0.0, 0.0, 0.0
        transition = Transition.KEEP
        if self.plan != before:
            shifted = mode == layout.WALK and is_shifted(self.plan, before)
            if not shifted:
                continue_from(data, sway, up)
            self._new_plan_on_ground()
            self._follow_again()
            transition = Transition.SHIFT if shifted else self._transition(used, up)
        return self._worked_out(mode, transition, table, held, awaited)

    def _worked_out(
        self,
        mode: float,
        transition: Transition,
        table: np.ndarray | None = None,
        held: Sequence[str] = (),
        awaited: Sequence[int] = (),
    ) -> PlanChange:
        """Return the change to the present state of this gait, which is a copy; mode: that of the gait before."""
        state = self.data.state
        return PlanChange(
            self.morphology,
            self.settings,
            mode,
            self.plan,
            self.data.legs if table is None else table,
            tuple(held),
            tuple(awaited),
            self._used,
            self._given_up,
            self._choice.why,
            transition,
            self._wanted,
            self._followed,
            float(self.data.settings[layout.ASKED_PERIOD]),
            float(state[layout.PHASE]),
            float(state[layout.EASY]),
        )

    def _transition(self, used: set[str], up: float) -> Transition:
        """Decide how this gait changes to its new plan; used: legs of the one before; up [m]: height of its body over
        that of a standing one.
        """
        on_its_feet = self.data.state[layout.MODE] in layout.ON_FEET
        self.data.state[layout.PRESSED] = 0.0
        if self.plan is None:
            return Transition.SIT
        goes_on = on_its_feet and up == 0.0 and self._holds(self.plan, used) and self._goes_on(used)
        return Transition.GO_ON if goes_on else Transition.LOWER

    def _take_over(self, change: PlanChange) -> None:
        """Adopt a plan that was computed on a copy; only numbers are written."""
        if change.transition is Transition.RESTART:
            self._start_plan(change.phase, change.easy)
            return
        data, state = self.data, self.data.state
        carried = self._carried()
        sway, up = kernel.place_of_body(self._memory)
        self.morphology, self.plan = change.morphology, change.plan
        self.arrival.expect(list(change.awaited))
        self._choice.why = change.why
        self._used, self._given_up = change.used, change.given_up
        write_plan(data, self.robot, change.plan, change.table, list(change.held))
        write_settings(data, change.used, change.plan)
        data.feet[:, layout.BACK] = (data.legs[:, leg_table.USED] != 0.0) & ~carried
        state[layout.REFLEXES], state[layout.STAY], state[layout.EASY_FOR] = 0.0, 0.0, 0.0
        if change.transition is Transition.KEEP:
            return
        self._new_plan_on_ground()
        if change.transition is not Transition.SHIFT:
            continue_from(data, sway, up)
            state[layout.PRESSED] = 0.0
        if change.wanted == (self._wanted or (0.0, 0.0, 0.0)):
            self._wanted, self._followed = change.wanted, change.followed
            data.settings[layout.ASKED_PERIOD] = change.asked_period
            data.command[:3] = change.followed
        else:
            self._follow_again()
        if change.transition is Transition.SIT:
            self._warn_of_no_plan()
            state[layout.STAY] = 1.0
            kernel.enter(self._memory, layout.LOWER, 0)
        elif change.transition is Transition.LOWER:
            state[layout.PHASE] = 0.0
            kernel.enter(self._memory, layout.LOWER, 0)
        elif change.transition is Transition.GO_ON:
            self._start_plan(change.phase, change.easy)

    def _carried(self) -> np.ndarray:
        """Return which legs (legs,) bool stand and step: neither held up nor on their way back."""
        return (self.data.legs[:, leg_table.USED] != 0.0) & (self.data.feet[:, layout.BACK] == 0.0)

    def _goes_on(self, used: set[str]) -> bool:
        """Let the robot go on with its new plan, at the phase and the share of the command that suit where its feet
        are; False if it would tip over or drag legs on the way, and has lost some of the legs used before.
        """
        data, asked = self.data, self.data.command[:3].copy()
        if not asked.any():
            data.command[:3] = self.scaled(NOMINAL_VELOCITY, 0.0, 0.0)
        phase, share, score = best_start(self.robot, data)
        data.command[:3] = asked
        if score < SAFE and self.settings.pattern == "auto" and self.plan and not used <= set(self.plan.legs):
            return False
        self._start_plan(phase, share)
        return True

    def _start_plan(self, phase: float, share: float) -> None:
        """Start the plan at a phase, with a share of the command at first."""
        state = self.data.state
        state[layout.PHASE], state[layout.EASY] = phase, share
        state[layout.EASY_FOR] = EASY_CYCLES if share < 1.0 else 0.0
        kernel.enter(self._memory, layout.SETTLE, 0)

    def _steady(self) -> bool:
        """Tell whether the robot can stop now, on the feet of its present plan, or need not."""
        plan = self.plan
        walks = plan is not None and plan.kind != "row" and self.data.state[layout.MODE] == layout.WALK
        return not walks or stance_holds(self.robot, self.data, plan.legs)

    def _holds(self, plan: GaitPlan, used: set[str]) -> bool:
        """Tell whether the robot can go on with a plan without sitting down; used: legs of the plan before. Legs that
        come back join those that stand.
        """
        stay = tuple(name for name in plan.legs if name in used)
        if self.settings.pattern != "auto" and stay == plan.legs:
            return True
        return plan.kind != "row" and len(stay) > FEWEST_LEGS and stance_holds(self.robot, self.data, stay)

    def _adopt(self, morphology: Morphology | None, carried: Any = None) -> tuple[np.ndarray, list[str], list[int]]:
        """Choose the plan for a Morphology and write it to the arrays; return the leg table, the names of the legs that
        are held up, and the rows of those that came back and are waited for.

        carried: legs (bools) that are used now, which others join only when their joints have arrived; None: whether
        they have does not matter.
        """
        self.morphology = self._target = morphology
        table, held = present_legs(self.robot, morphology)
        names = self.robot.leg_names
        back = [] if carried is None else [i for i, name in enumerate(names) if name not in held and not carried[i]]
        awaited = self.arrival.awaited(back)
        held += [names[i] for i in awaited]
        self.plan = self._choice.choose(self.settings.pattern, held, morphology, table)
        write_plan(self.data, self.robot, self.plan, table, held)
        self._use_what_fits()
        return table, held, awaited

    # ---- commands ----------------------------------------------------------------------------------------------------

    def scaled(self, vx: float, vy: float, wz: float) -> np.ndarray:
        """Return the command (3,) [m/s, m/s, rad/s] as it will be followed: scaled down as a whole to what is possible.

        Raises HexapodError for what is not finite.
        """
        return self._possible(vx, vy, wz)[0]

    def _possible(self, vx: float, vy: float, wz: float) -> tuple[np.ndarray, float]:
        """Return the largest share of a twist that the plan allows, as a twist, and the period for it [s]."""
        command = finite_twist(vx, vy, wz)
        return (np.zeros(3), 1.0) if self.plan is None else self._possible_here(self.plan, command)

    def command(self, vx: float, vy: float, wz: float) -> np.ndarray:
        """Ask for a planar body twist [m/s, m/s, rad/s] in base_link; return what will be followed (see `scaled`)."""
        wanted = (float(vx), float(vy), float(wz))
        if wanted != self._wanted:
            if self.obstacle.commanded(*wanted[:2]):
                self._turned = 0.0
            followed, period = self._possible(*wanted)
            self._wanted, self._followed = wanted, followed
            self.data.settings[layout.ASKED_PERIOD] = period
        self.data.command[:3] = self._followed
        return self._followed.copy()

    def _follow_again(self) -> None:
        """Scale the last command again, for the present plan."""
        wanted, self._wanted = self._wanted, None
        self.command(*(wanted or (0.0, 0.0, 0.0)))

    def walk(self) -> np.ndarray:
        """Command the nominal walk, forward at 7.7 cm/s."""
        return self.command(NOMINAL_VELOCITY, 0.0, 0.0)

    def sit(self) -> None:
        """Sit down and stay down until `stand`."""
        self._finish_change()
        self.data.state[layout.STAY] = 1.0
        if self.data.state[layout.MODE] not in (layout.LOWER, layout.SAT):
            self.data.state[layout.HEIGHT_NOW] += kernel.place_of_body(self._memory)[1]
            kernel.enter(self._memory, layout.LOWER, 0)

    def press(self, leg: str) -> bool:
        """Stop on all feet, press that of a leg down and go on: 2 s. Return False, and do nothing, where the robot
        cannot: while it sits, rows or presses already, or where the other feet do not hold the body.
        """
        if leg not in self.robot.leg_names:
            raise HexapodError(f"leg {leg!r}: this robot has {', '.join(self.robot.leg_names)}")
        state, plan = self.data.state, self.plan
        if self._changing or plan is None or plan.kind == "row" or leg not in plan.legs or state[layout.PRESSED] != 0.0:
            return False
        others = tuple(name for name in plan.legs if name != leg)
        if state[layout.MODE] not in layout.ON_FEET or len(others) < FEWEST_LEGS:
            return False
        sway, up = kernel.place_of_body(self._memory)
        if not stance_holds(self.robot, self.data, others):
            return False
        state[layout.PRESSED] = self.robot.leg_names.index(leg) + 1.0
        continue_from(self.data, sway, up)
        state[layout.FAST] = 0.0
        kernel.enter(self._memory, layout.SETTLE, 0)
        return True

    def stand(self) -> None:
        """Stand up again. Raises HexapodError if there is no gait for the remaining legs."""
        self._finish_change()
        if self.plan is None:
            raise HexapodError(f"cannot stand: {self._choice.why}")
        state = self.data.state
        state[layout.STAY], state[layout.REFLEXES], state[layout.FAST] = 0.0, 0.0, 1.0

    def set_pattern(self, pattern: str) -> None:
        """Change between the adaptive gait ("auto") and the plain "wave" and "ripple" while it walks."""
        if pattern != self.settings.pattern:
            self._finish_change()
            self.settings = replace(self.settings, pattern=pattern)
            self._change(self._target)

    def adjust(self, **settings: Any) -> None:
        """Change the settings LIVE (step_height, body_height, period ...) while it walks; None: unchanged; period 0:
        automatic.

        HexapodError names a setting that is unknown, out of its range or out of reach; nothing has changed then.
        """
        unknown = settings.keys() - set(LIVE)
        if unknown:
            raise HexapodError(f"{min(unknown)}: cannot change while the gait is bound")
        self._finish_change()
        before = self.settings
        settings = {name: value for name, value in settings.items() if value is not None}
        if settings.get("period") == 0.0:
            settings["period"] = None
        self.settings = replace(before, **settings)
        self._use_what_fits()
        if self._given_up:
            reason = self._out_of_reach(self.settings)
            self.settings = before
            self._use_what_fits()
            raise HexapodError(reason)
        self._follow_again()

    def _out_of_reach(self, new: AdaptiveSettings) -> str:
        given = f"step_height {new.step_height}, body_height {new.body_height}, period {new.period}"
        return f"{given}: out of reach for {self.plan.kind}ing on {', '.join(self.plan.legs)}" if self.plan else given

    def _use_what_fits(self) -> None:
        """Put the settings in force; where the legs that are left cannot step on the spot with them, the plan's own."""
        plans_own: dict[str, Any] = {
            "body_height": None,
            "period": None,
            "step_height": self.plan.lift if self.plan else LIFT,
        }
        for names in GIVE_UP:
            self._used = replace(self.settings, **{name: plans_own[name] for name in names})
            self._given_up = ", ".join(names)
            write_settings(self.data, self._used, self.plan)
            if self.plan is None or self._fits_at_rest(self.plan):
                return

    def _fits_at_rest(self, plan: GaitPlan) -> bool:
        still, with_margin = np.zeros(3), self.settings.pattern == "auto"
        if self._used.period is None and plan.kind == "walk" and self._used.step_height > plan.lift:
            return self._limits.follows(still, [plan.period * share for share in HIGH_PERIODS], with_margin)
        return self._limits.fits(still, self._used.period or plan.period, with_margin)

    # ---- every tick --------------------------------------------------------------------------------------------------

    def reset(self, *, walking: bool = False, phase: float = 0.0, joints: npt.ArrayLike | None = None) -> None:
        """Start over: standing, or in the steady nominal walk at a phase, or led there from measured joints (n,) [rad].

        The first steps lead from measured joints at minimum jerk, no joint faster than a tenth of its speed limit on
        average.
        """
        data, state = self.data, self.data.state
        state[:] = 0.0
        data.command[:] = 0.0
        data.feet[:, layout.BACK] = 0.0
        self._new_ground()
        self._wanted, self._followed = None, np.zeros(3)
        if self.plan is None:
            state[layout.MODE], state[layout.STAY] = layout.SAT, 1.0
            state[layout.HEIGHT_NOW] = data.settings[layout.BELLY]
        else:
            state[layout.HEIGHT_NOW] = kernel.stand_height(self._memory)
            self.command(0.0, 0.0, 0.0)
            data.plan[plan_numbers.PERIOD] = data.settings[layout.ASKED_PERIOD]
            data.feet[:] = 0.0
            if walking:
                state[layout.TWIST : layout.TWIST + 3] = state[layout.GOING : layout.GOING + 3] = self.walk()
                data.plan[plan_numbers.PERIOD] = data.settings[layout.ASKED_PERIOD]
                state[layout.MODE], state[layout.WEIGHT], state[layout.PHASE] = layout.WALK, 1.0, phase % 1.0
            place_feet(self._memory)
        data.position[:] = data.legs[:, leg_table.REST : leg_table.COLUMNS].ravel()
        self.step(0.0)
        if joints is not None:
            state[layout.BLEND_TIME] = self.start_at(joints)
            self.step(0.0)

    def step(self, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Advance by dt [s], at most a quarter period; return (position, velocity), each (n,), the gait's arrays."""
        self.check_step(dt)
        self.adopt_plan()
        if self._choice.new_plan():
            self._change(self._target)
        if (
            self.arrival.legs
            and not self._changing
            and self.arrival.over(self.data.legs, dt)
            and (self._steady() or self.arrival.overdue)
        ):
            self._change(self._target, arrived=True)
        if dt > 0.0:
            self.slope.learn(dt, self.data.state[layout.MODE] in SITTING)
            self._adapt(dt)
        pressed = self.data.state[layout.PRESSED]
        kernel.advance(self._memory, dt)
        if pressed and self.data.state[layout.MODE] == layout.START:
            self._plan_on(lambda twin: twin.planned_restart())  # from where the feet were set down
        if self.data.state[layout.REFLEXES] > self._most_reflexes:
            self.data.state[layout.STAY] = 1.0
        return self.data.position, self.data.velocity

    # ---- diagnostics -------------------------------------------------------------------------------------------------

    def report(self) -> dict[str, Any]:
        """Return diagnostics: action, legs, commanded and followed twist, period, reason."""
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
        out.update(self._ground_report())
        if self.doing == "pressing":
            out[PRESSED_FOOT] = self.robot.leg_names[int(self.data.state[layout.PRESSED]) - 1]
        if self._choice.why:
            out["why"] = self._choice.why
        elif self.arrival.legs:
            names = ", ".join(self.robot.leg_names[i] for i in self.arrival.legs)
            out["why"] = f"{names} came back: used when all joints have arrived where the leg is held up"
        elif self.data.state[layout.REFLEXES] > self._most_reflexes:
            out["why"] = "tilted repeatedly: sits until the service stand or a change of the morphology"
        elif self._slowed:
            out["why"] = self._slowed
        elif self._given_up:
            out["why"] = f"{self._out_of_reach(self.settings)}; {self._given_up} of the plan instead"
        return out
