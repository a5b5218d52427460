"""Changes of the adaptive gait's plan while it walks: computed on a copy, then applied by copying numbers only.

set_morphology -> planned_change (on a copy; with a worker in parallel to the walk) -> PlanChange -> _take_over
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from hexapod_dynamics.errors import RobotWarning
from hexapod_dynamics.gait.adaptive_commands import NOMINAL_VELOCITY, AdaptiveCommands
from hexapod_dynamics.gait.adaptive_settings import AdaptiveSettings
from hexapod_dynamics.gait.command_limits import CommandLimits
from hexapod_dynamics.gait.modes import ON_FEET, Mode, write_plan, write_settings
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
from hexapod_dynamics.gait.plan_choice import PlanChoice, present_legs
from hexapod_dynamics.gait.plan_worker import PlanWorker
from hexapod_dynamics.gait.planning.background_planner import BackgroundPlanner
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.robot import Morphology

FEWEST_LEGS = 3
Twin = TypeVar("Twin", bound="AdaptivePlans")


class AdaptivePlans(AdaptiveCommands):
    """Part of AdaptiveGait: chooses the plan for the legs that are left, and changes to it."""

    morphology: Morphology | None
    _choice: PlanChoice

    def __init__(
        self, settings: AdaptiveSettings, ground: bool, planner: BackgroundPlanner | None, worker: PlanWorker | None
    ) -> None:
        super().__init__(settings, ground)
        self.planner, self.worker = planner, worker
        self._changing = False  # whether the worker computes a change
        self._failure = ""  # why the last change could not be computed, in words
        self._sits = False  # whether it was told to sit while a change is computed
        self._target: Morphology | None = None  # the morphology of the last change

    def _warn_of_no_plan(self) -> None:
        """Warn if the robot sits because there is no plan, and no planner to make one."""
        if self.plan is None and self.planner is None:
            warnings.warn(
                f"robot {self.robot.name}: {self._choice.why}; make plans with `ros2 run hexapod_dynamics plan`, or "
                "give AdaptiveGait a planner (BackgroundPlanner)",
                RobotWarning,
                stacklevel=4,
            )

    def _twin(self: Twin) -> Twin:
        """Return a copy that changes its plan independently and has the same measured joints."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.worker, twin._changing, twin._search = None, False, None
        twin.ground = None if self.ground is None else self.ground.copy()
        twin.obstacle = self.obstacle.copy()
        if self.robot is not None:
            twin.data = self.data.copy()
            twin._choice = copy.copy(self._choice)
            twin._limits = CommandLimits(self.robot, twin.data.legs, twin.data.plan)
        return twin

    # ---- a change, asked for and taken over --------------------------------------------------------------------------

    def set_morphology(self, morphology: Morphology | None) -> None:
        """Adopt a Morphology at any time; the plan for the remaining legs starts from the present places of the
        feet.

        The walk continues if the remaining feet support the body; else the robot sits down first, moves its feet
        to their new places while its belly carries it, stands up and walks on. With a worker the change is
        computed in parallel to the walk, and a `step` applies it.
        """
        whole = Morphology.whole(self.robot)
        if (self._target or whole) != (morphology or whole):
            self._sits = False
            self._change(morphology)

    def _change(self, morphology: Morphology | None, arrived: bool = False) -> None:
        """Choose the plan again and change to it; arrived: restored legs have reached the pose in which they are
        held up.
        """
        self._target = morphology
        self._plan_on(lambda twin: twin.planned_change(morphology, arrived))

    def _plan_on(self, planned: Callable[[AdaptivePlans], PlanChange]) -> None:
        """Apply the change that `planned` computes on a copy of this gait: at once, or when the worker has
        finished.
        """
        twin = self._twin()
        if self.worker is None:
            try:
                change = planned(twin)
            except BaseException:
                self._target = self.morphology
                raise
            self._take_over(change)
            return
        self._changing = True
        self.worker.ask(lambda: planned(twin))

    def adopt_plan(self) -> None:
        """Adopt a change that the worker has finished, as `step` does, while the gait is not stepped.

        If it failed, the gait goes on with the plan that it has, and `report` gives the reason.
        """
        if self.worker is not None and self._changing:
            self._adopt_result(self.worker.poll)

    def _adopt_result(self, result: Callable[[], PlanChange | None]) -> None:
        """Adopt the change that a function of the worker returns; report a failure that it raises."""
        try:
            change = result()
        except Exception as error:
            self._failure = f"no change of plan: {type(error).__name__}: {error}; the gait goes on with its plan"
            self._changing, self._target = False, self.morphology
            return
        if change is not None:
            self._failure = ""
            self._take_over_or_ask(change)

    def _take_over_or_ask(self, change: PlanChange) -> None:
        """Adopt a change; if the robot's action has changed meanwhile, request the change again."""
        self._changing = False
        if change.mode == self.data.state.mode and change.settings == self.settings:
            self._take_over(change)
        elif change.transition is not Transition.RESTART:
            self._change(change.morphology)

    def _finish_change(self) -> None:
        """Wait for a pending change and adopt it, because a copy has no worker; no tick calls this."""
        while self._changing and self.worker is not None and not self.worker.closed:
            self._adopt_result(self.worker.wait)

    # ---- a change, worked out on a copy ------------------------------------------------------------------------------

    def planned_restart(self) -> PlanChange:
        """Compute how to walk on after a contact probe; this gait is a copy."""
        mode = float(self.data.state.mode)
        self._goes_on(set(self.plan.legs) if self.plan else set())
        return self._worked_out(mode, Transition.RESTART)

    def planned_change(self, morphology: Morphology | None, arrived: bool = False) -> PlanChange:
        """Compute the change to a Morphology; this gait is a copy that is discarded afterwards."""
        data, state = self.data, self.data.state
        mode = float(state.mode)
        before, used = self.plan, set() if self.plan is None else set(self.plan.legs)
        carried = self._carried()
        sway, up = self.data.body_place
        table, held, awaited = self._adopt(morphology, None if arrived else carried)
        data.feet["returns"] = (data.legs["used"] != 0.0) & ~carried
        state.reflexes, state.stay_down, state.scaled_cycles = 0.0, 0.0, 0.0
        transition = Transition.KEEP
        if self.plan != before:
            shifted = mode == Mode.WALK and is_shifted(self.plan, before)
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
        """Return the change to the present state of this gait, which is a copy; mode: the previous mode of the
        gait.
        """
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
            float(self.data.settings.asked_period),
            float(state.phase),
            float(state.command_scale),
        )

    def _transition(self, used: set[str], up: float) -> Transition:
        """Decide how this gait changes to its new plan; used: legs of the previous plan; up [m]: height of the
        body above its height when standing.
        """
        on_its_feet = self.data.state.mode in ON_FEET
        self.data.state.probed = 0.0
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
        sway, up = self.data.body_place
        self.morphology, self.plan = change.morphology, change.plan
        self.arrival.expect(list(change.awaited))
        self._choice.why = change.why
        self._used, self._given_up = change.used, change.given_up
        write_plan(data, self.robot, change.plan, change.table, list(change.held))
        write_settings(data, change.used, change.plan)
        data.feet["returns"] = (data.legs["used"] != 0.0) & ~carried
        state.reflexes, state.stay_down, state.scaled_cycles = 0.0, float(self._sits), 0.0
        if change.transition is Transition.KEEP:
            return
        self._new_plan_on_ground()
        if change.transition is not Transition.SHIFT:
            continue_from(data, sway, up)
            state.probed = 0.0
        if change.wanted == (self._wanted or (0.0, 0.0, 0.0)):
            self._wanted, self._followed = change.wanted, change.followed
            data.settings.asked_period = change.asked_period
            data.command.twist = change.followed
        else:
            self._follow_again()
        if change.transition is Transition.SIT:
            self._warn_of_no_plan()
            state.stay_down = 1.0
            self.data.enter(Mode.LOWER)
        elif change.transition is Transition.LOWER:
            state.phase = 0.0
            self.data.enter(Mode.LOWER)
        elif change.transition is Transition.GO_ON:
            self._start_plan(change.phase, change.easy)

    def _carried(self) -> np.ndarray:
        """Return which legs (legs,) bool stand and step: those that are neither held up nor on their way back."""
        return (self.data.legs["used"] != 0.0) & (self.data.feet["returns"] == 0.0)

    def _goes_on(self, used: set[str]) -> bool:
        """Let the robot continue with its new plan, at the best phase and share of the command for the present
        places of its feet; return False if it would tip over or drag legs, and has lost some of the legs used
        before.
        """
        data, asked = self.data, self.data.command.twist.copy()
        if not asked.any():
            data.command.twist = self.scaled(NOMINAL_VELOCITY, 0.0, 0.0)
        phase, share, score = best_start(self.robot, data)
        data.command.twist = asked
        if score < SAFE and self.settings.pattern == "auto" and self.plan and not used <= set(self.plan.legs):
            return False
        self._start_plan(phase, share)
        return True

    def _start_plan(self, phase: float, share: float) -> None:
        """Start the plan at a phase, at first with a share of the command."""
        state = self.data.state
        state.phase, state.command_scale = phase, share
        state.scaled_cycles = EASY_CYCLES if share < 1.0 else 0.0
        self.data.enter(Mode.SETTLE)

    def _steady(self) -> bool:
        """Return whether the robot can stop now on the feet of its present plan, or does not have to stop."""
        plan = self.plan
        walks = plan is not None and plan.kind != "row" and self.data.state.mode == Mode.WALK
        return not walks or stance_holds(self.robot, self.data, plan.legs)

    def _holds(self, plan: GaitPlan, used: set[str]) -> bool:
        """Return whether the robot can continue with a plan without sitting down; used: legs of the previous plan.
        Restored legs join those that stand.
        """
        stay = tuple(name for name in plan.legs if name in used)
        if self.settings.pattern != "auto" and stay == plan.legs:
            return True
        return plan.kind != "row" and len(stay) > FEWEST_LEGS and stance_holds(self.robot, self.data, stay)

    def _adopt(self, morphology: Morphology | None, carried: Any = None) -> tuple[np.ndarray, list[str], list[int]]:
        """Choose the plan for a Morphology and write it to the arrays; return the leg table, the names of the legs that
        are held up, and the rows of the restored legs that are awaited.

        carried: legs (bools) that are used now; other legs join them only after their joints have arrived. None:
        legs join at once.
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
