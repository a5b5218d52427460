"""Change of plan while the robot walks: whether the feet support the body, and the phase at which the new plan
starts.

A change is computed on a copy of the gait (`PlanChange`), in another thread if the gait has a PlanWorker; the gait
itself applies it in a tick, by copying numbers only:

    change -> planned_change (on a copy; with a worker in parallel to the walk) -> PlanChange -> take over
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.errors import RobotWarning
from hexapod_dynamics.gait.arrival import Arrival
from hexapod_dynamics.gait.limits import Limiter
from hexapod_dynamics.gait.modes import ON_FEET, Mode, Present, write_legs, write_plan, write_settings
from hexapod_dynamics.gait.plan_choice import PlanChoice, present_legs
from hexapod_dynamics.gait.planning.background import PlanWorker
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.gait.terrain import Terrain
from hexapod_dynamics.robot import Morphology, Robot

# The robot need not sit down for a change of plan if the centre of mass is this far [m] inside the polygon of all
# remaining feet.
HOLDS = 0.015
# Phases at which a new plan may start, shares of the command that are tried, number of cycles with that share.
PHASES, SHARES, EASY_CYCLES = 24, (1.0, 0.85, 0.7, 0.55, 0.4, 0.2), 0.4
# Scores [m] above which a start is good, and below which the robot sits down.
GOOD, SAFE = 0.0, -0.002
FEWEST_LEGS = 3
NOMINAL_VELOCITY = 0.1 / 1.3  # [m/s]


class Transition(Enum):
    """How a robot changes to a new plan."""

    KEEP = "the plan is the one before"
    SHIFT = "the same steps, to other places"
    SIT = "sits down and stays: there is no plan"
    LOWER = "sits down, moves its feet and stands up"
    GO_ON = "goes on from where its feet are"
    RESTART = "walks on with the same plan, from where a foot was pressed down"


@dataclass(frozen=True)
class PlanChange:
    """A change of plan.

    result: the changer of a copy of the gait, for which the change is made already. mode: of the gait at the time of
    the request. awaited: rows of the legs that are restored and have not arrived.
    """

    result: PlanChanger
    mode: float
    transition: Transition
    awaited: Sequence[int] = ()


def stance_holds(robot: Robot, walk: _core.Walk, legs: tuple[str, ...]) -> bool:
    """Return whether the feet of these legs (names), set down at their present places, support the body."""
    names = robot.leg_names
    feet = np.array([walk.feet["place"][names.index(name), :2] for name in legs])
    points = feet - walk.state.from_sway
    return bool(_core.hull_margin(points, len(points), *center_of_mass(robot, walk)) >= HOLDS)


def center_of_mass(robot: Robot, walk: _core.Walk) -> np.ndarray:
    """Return the centre of mass (2,) [m] of the robot in base_link at the present set-points."""
    table = walk.legs
    total, moment = robot.body.mass, robot.body.mass * robot.body.com[:2]
    for i, masses in enumerate(table["mass"]):
        centres, _ = _core.link_points(table, i, walk.position[3 * i : 3 * i + 3])
        total += masses.sum()
        moment += masses @ centres[:, :2]
    return moment / total


def continue_from(walk: _core.Walk, sway: tuple[float, float], up: float) -> None:
    """Let sway (2,) and height `up` [m] of the body under the previous plan change smoothly to those of the new
    plan.
    """
    state = walk.state
    state.from_sway, state.weight = sway, 0.0
    state.height += up
    state.skip_pause = 1.0


def only_footholds_differ(plan: GaitPlan | None, before: GaitPlan | None) -> bool:
    """Return whether a plan to walk differs from the previous one only in its footholds, because the weight of the
    legs that are held up has changed: the feet then step there while they walk, and nothing else changes.
    """
    if plan is None or before is None or plan.kind == "row" or plan.legs != before.legs:
        return False
    return replace(plan, footholds=before.footholds) == before


def best_start(robot: Robot, walk: _core.Walk) -> tuple[float, float, float]:
    """Return how to continue with the plan from the present places of the feet: phase, share of the command, and
    its score [m].

    Each phase is simulated (see `Walk.rehearse`), first with the whole command, then with a smaller share if that is
    not stable: a foot that has not stepped yet then moves back less far. Below the score SAFE the robot should sit
    down.
    """
    twin, found = walk.copy(), _core.FirstCycle()
    body = robot.body.box_and_com, robot.body.mass, robot.gravity
    best = 0.0, 1.0, -np.inf
    for share in SHARES:
        for phase in np.arange(PHASES) / PHASES:
            twin.load(walk)
            state = twin.state
            state.phase, state.sensed, state.tilted = phase, 0.0, 0.0
            state.command_scale, state.scaled_cycles = share, EASY_CYCLES
            twin.enter(Mode.SETTLE)
            twin.rehearse(*body, best[2], found)
            if found.score > best[2]:
                best = float(phase), share, found.score
            if best[2] >= _core.PLENTY:
                return best
        if best[2] >= GOOD:
            break
    return best


class PlanChanger:
    """Chooses the plan of an adaptive gait for the legs that are left, and changes to it.

    changing: whether the worker computes a change; failure: why the last change could not be computed, in words; sits:
    whether the robot was told to sit while a change is computed; target: the morphology of the last change. arrival:
    restored legs that are awaited. worker: computes changes in parallel to the walk; None: they are computed at once.
    """

    def __init__(
        self, now: Present, terrain: Terrain, limiter: Limiter, choice: PlanChoice, worker: PlanWorker | None
    ) -> None:
        self._now, self._terrain, self._limiter, self.choice, self.worker = now, terrain, limiter, choice, worker
        self.arrival = Arrival(now.robot.joint_count)
        self.changing, self.failure, self.sits = False, "", False
        self.target: Morphology | None = None

    def copy(self) -> PlanChanger:
        """Return a changer of a copy of the gait, which changes its plan independently at once, with the same
        measured joints.
        """
        twin = copy.copy(self)
        now = self._now.copy()
        terrain = self._terrain.copy(now)
        vars(twin).update(_now=now, _terrain=terrain, _limiter=self._limiter.copy(now, terrain))
        twin.choice, twin.worker, twin.changing = copy.copy(self.choice), None, False
        return twin

    @property
    def parts(self) -> tuple[Present, Terrain, Limiter]:
        """What this changer works on."""
        return self._now, self._terrain, self._limiter

    def warn_of_no_plan(self) -> None:
        """Warn if the robot sits because there is no plan, and no planner to make one."""
        if self._now.plan is None and self.choice.planner is None:
            warnings.warn(
                f"robot {self._now.robot.name}: {self.choice.why}; make plans with `ros2 run hexapod_dynamics plan`, "
                "or give AdaptiveGait a planner (BackgroundPlanner)",
                RobotWarning,
                stacklevel=4,
            )

    # ---- a change, asked for and taken over --------------------------------------------------------------------------

    def change(self, morphology: Morphology | None, arrived: bool = False) -> None:
        """Choose the plan again and change to it; arrived: restored legs have reached the pose in which they are
        held up.
        """
        self.target = morphology
        self._plan_on(lambda twin: twin.planned_change(morphology, arrived))

    def restart(self) -> None:
        """Walk on with the same plan from the present places of the feet, after a contact probe."""
        self._plan_on(lambda twin: twin.planned_restart())

    def arrive(self, dt: float) -> None:
        """Use restored legs when their joints have arrived, and once the robot can stop on the others; dt [s] have
        passed.
        """
        if not self.arrival.legs or self.changing or not self.arrival.over(self._now.walk.legs, dt):
            return
        if self.steady() or self.arrival.overdue:
            self.change(self.target, arrived=True)

    def _new_plan_on_ground(self) -> None:
        """Forget the cycles and limits of the previous plan."""
        self._terrain.change_plan()
        self._limiter.change_plan()

    def _plan_on(self, planned: Callable[[PlanChanger], PlanChange]) -> None:
        """Apply the change that `planned` computes on a copy of this gait: at once, or when the worker has
        finished.
        """
        twin = self.copy()
        if self.worker is None:
            try:
                change = planned(twin)
            except BaseException:
                self.target = self._now.morphology
                raise
            self._adopt_plan(change)
            return
        self.changing = True
        self.worker.ask(lambda: planned(twin))

    def adopt(self) -> None:
        """Adopt a change that the worker has finished, as `step` does, while the gait is not stepped.

        If it failed, the gait goes on with the plan that it has, and `report` gives the reason.
        """
        if self.worker is not None and self.changing:
            self._adopt_result(self.worker.poll)

    def _adopt_result(self, result: Callable[[], PlanChange | None]) -> None:
        """Adopt the change that a function of the worker returns; report a failure that it raises."""
        try:
            change = result()
        except Exception as error:
            self.failure = f"no change of plan: {type(error).__name__}: {error}; the gait goes on with its plan"
            self.changing, self.target = False, self._now.morphology
            return
        if change is not None:
            self.failure = ""
            self._adopt_plan_or_ask(change)

    def _adopt_plan_or_ask(self, change: PlanChange) -> None:
        """Adopt a change; if the robot's action has changed meanwhile, request the change again."""
        self.changing = False
        made, _, _ = change.result.parts
        if change.mode == self._now.walk.state.mode and made.settings == self._now.settings:
            self._adopt_plan(change)
        elif change.transition is not Transition.RESTART:
            self.change(made.morphology)

    def finish(self) -> None:
        """Wait for a pending change and adopt it, because a copy has no worker; no tick calls this."""
        while self.changing and self.worker is not None and not self.worker.closed:
            self._adopt_result(self.worker.wait)

    # ---- a change, worked out on a copy ------------------------------------------------------------------------------

    def planned_restart(self) -> PlanChange:
        """Compute how to walk on after a contact probe; this gait is a copy."""
        mode = float(self._now.walk.state.mode)
        self._goes_on(set(self._now.plan.legs) if self._now.plan else set())
        return PlanChange(self, mode, Transition.RESTART)

    def planned_change(self, morphology: Morphology | None, arrived: bool = False) -> PlanChange:
        """Compute the change to a Morphology; this gait is a copy that is discarded afterwards."""
        data, state = self._now.walk, self._now.walk.state
        mode = float(state.mode)
        before, used = self._now.plan, set() if self._now.plan is None else set(self._now.plan.legs)
        carried = self._carried()
        sway, up = self._now.walk.body_place
        awaited = self.adopt_morphology(morphology, None if arrived else carried)
        data.feet["returns"] = (data.legs["used"] != 0.0) & ~carried
        state.reflexes, state.stay_down, state.scaled_cycles = 0.0, 0.0, 0.0
        transition = Transition.KEEP
        if self._now.plan != before:
            shifted = mode == Mode.WALK and only_footholds_differ(self._now.plan, before)
            if not shifted:
                continue_from(data, sway, up)
            self._new_plan_on_ground()
            self._limiter.follow_again()
            transition = Transition.SHIFT if shifted else self._transition(used, up)
        return PlanChange(self, mode, transition, awaited)

    def _transition(self, used: set[str], up: float) -> Transition:
        """Decide how this gait changes to its new plan; used: legs of the previous plan; up [m]: height of the
        body above its height when standing.
        """
        on_its_feet = self._now.walk.state.mode in ON_FEET
        self._now.walk.state.probed = 0.0
        if self._now.plan is None:
            return Transition.SIT
        goes_on = on_its_feet and up == 0.0 and self._holds(self._now.plan, used) and self._goes_on(used)
        return Transition.GO_ON if goes_on else Transition.LOWER

    def _adopt_plan(self, change: PlanChange) -> None:
        """Adopt a plan that was computed on a copy; only numbers are written."""
        made, _, limiter = change.result.parts
        begin = made.walk.state.phase, made.walk.state.command_scale
        if change.transition is Transition.RESTART:
            self._start_plan(*begin)
            return
        data, state = self._now.walk, self._now.walk.state
        carried = self._carried()
        sway, up = self._now.walk.body_place
        self._now.morphology, self._now.plan, self._now.used = made.morphology, made.plan, made.used
        self.arrival.expect(list(change.awaited))
        self.choice.why, self._limiter.given_up = change.result.choice.why, limiter.given_up
        data.legs[:] = made.walk.legs
        write_plan(data, made.plan)
        write_settings(data, made.used, made.plan)
        data.feet["returns"] = (data.legs["used"] != 0.0) & ~carried
        state.reflexes, state.stay_down, state.scaled_cycles = 0.0, float(self.sits), 0.0
        if change.transition is Transition.KEEP:
            return
        self._new_plan_on_ground()
        if change.transition is not Transition.SHIFT:
            continue_from(data, sway, up)
            state.probed = 0.0
        if limiter.wanted == (self._limiter.wanted or (0.0, 0.0, 0.0)):
            self._limiter.wanted, self._limiter.followed = limiter.wanted, limiter.followed
            data.settings.asked_period = made.walk.settings.asked_period
            data.command.twist = limiter.followed
        else:
            self._limiter.follow_again()
        if change.transition is Transition.SIT:
            self.warn_of_no_plan()
            state.stay_down = 1.0
            self._now.walk.enter(Mode.LOWER)
        elif change.transition is Transition.LOWER:
            state.phase = 0.0
            self._now.walk.enter(Mode.LOWER)
        elif change.transition is Transition.GO_ON:
            self._start_plan(*begin)

    def _carried(self) -> np.ndarray:
        """Return which legs (legs,) bool stand and step: those that are neither held up nor on their way back."""
        return (self._now.walk.legs["used"] != 0.0) & (self._now.walk.feet["returns"] == 0.0)

    def _goes_on(self, used: set[str]) -> bool:
        """Let the robot continue with its new plan, at the best phase and share of the command for the present
        places of its feet; return False if it would tip over or drag legs, and has lost some of the legs used
        before.
        """
        data, asked = self._now.walk, self._now.walk.command.twist.copy()
        if not asked.any():
            data.command.twist = self._limiter.limited(NOMINAL_VELOCITY, 0.0, 0.0)
        phase, share, score = best_start(self._now.robot, data)
        data.command.twist = asked
        if (
            score < SAFE
            and self._now.settings.pattern == "auto"
            and self._now.plan
            and not used <= set(self._now.plan.legs)
        ):
            return False
        self._start_plan(phase, share)
        return True

    def _start_plan(self, phase: float, share: float) -> None:
        """Start the plan at a phase, at first with a share of the command."""
        state = self._now.walk.state
        state.phase, state.command_scale = phase, share
        state.scaled_cycles = EASY_CYCLES if share < 1.0 else 0.0
        self._now.walk.enter(Mode.SETTLE)

    def steady(self) -> bool:
        """Return whether the robot can stop now on the feet of its present plan, or does not have to stop."""
        plan = self._now.plan
        walks = plan is not None and plan.kind != "row" and self._now.walk.state.mode == Mode.WALK
        return not walks or stance_holds(self._now.robot, self._now.walk, plan.legs)

    def _holds(self, plan: GaitPlan, used: set[str]) -> bool:
        """Return whether the robot can continue with a plan without sitting down; used: legs of the previous plan.
        Restored legs join those that stand.
        """
        stay = tuple(name for name in plan.legs if name in used)
        if self._now.settings.pattern != "auto" and stay == plan.legs:
            return True
        return plan.kind != "row" and len(stay) > FEWEST_LEGS and stance_holds(self._now.robot, self._now.walk, stay)

    def adopt_morphology(self, morphology: Morphology | None, carried: np.ndarray | None = None) -> list[int]:
        """Choose the plan for a Morphology and write it to the arrays; return the rows of the restored legs that are
        awaited.

        carried: legs (bools) that are used now; other legs join them only after their joints have arrived. None:
        legs join at once.
        """
        self._now.morphology = self.target = morphology
        table, held = present_legs(self._now.robot, morphology)
        names = self._now.robot.leg_names
        back = [] if carried is None else [i for i, name in enumerate(names) if name not in held and not carried[i]]
        awaited = self.arrival.awaited(back)
        held += [names[i] for i in awaited]
        self._now.plan = self.choice.choose(self._now.settings.pattern, held, morphology, table)
        write_legs(self._now.walk, self._now.robot, self._now.plan, table, held)
        write_plan(self._now.walk, self._now.plan)
        self._limiter.use_what_fits()
        return awaited
