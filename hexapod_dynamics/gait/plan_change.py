"""Change of plan while the robot walks: whether the feet support the body, and the phase at which the new plan
starts.

A change is made on a copy of the gait, in another thread if the gait has a LatestCall; the gait itself adopts it in a
tick, by copying numbers only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.array_checks import as_numbers
from hexapod_dynamics.core import _core
from hexapod_dynamics.errors import RobotWarning
from hexapod_dynamics.gait.legs import leg_moments, neutral_foothold, prepare_legs
from hexapod_dynamics.gait.modes import ON_FEET, Mode, write_plan, write_settings
from hexapod_dynamics.gait.planning.library import PlanChoice, PlanLibrary
from hexapod_dynamics.robot import Morphology, Robot

if TYPE_CHECKING:
    from hexapod_dynamics.gait.adaptive import AdaptiveGait

EASY_CYCLES = 0.4  # number of cycles with a share of the command
FEWEST_LEGS = 3
NOMINAL_VELOCITY = 0.1 / 1.3  # [m/s]


class Transition(Enum):
    """How a robot changes to a new plan."""

    KEEP = "the plan is the one before"
    SHIFT = "the same steps, to other places"
    LOWER = "sits down, and if there is a plan, moves its feet and stands up"
    GO_ON = "goes on from where its feet are"
    RESTART = "walks on with the same plan, from where a foot was pressed down"


def is_stance_stable(robot: Robot, walk: _core.Walk, legs: tuple[str, ...]) -> bool:
    """Return whether the feet of these legs (names), set down at their present places, support the body: its centre of
    mass, at the present set-points, is 15 mm inside of their polygon.
    """
    rows = [robot.leg_names.index(name) for name in legs]
    points = walk.feet["place"][rows, :2] - walk.state.from_sway
    body, moments = robot.body, leg_moments(walk.legs, walk.position.reshape(-1, 3)).sum(axis=0)
    x, y = (body.mass * body.com[:2] + moments) / (body.mass + walk.legs["mass"].sum())
    return bool(_core.hull_margin(points, x, y) >= 0.015)


def blend_from(walk: _core.Walk, sway: tuple[float, float], up: float) -> None:
    """Let sway (2,) and height `up` [m] of the body change smoothly from the previous plan to the new one."""
    state = walk.state
    state.from_sway, state.weight = sway, 0.0
    state.height += up
    state.skip_pause = 1.0


def find_best_start(robot: Robot, walk: _core.Walk) -> tuple[float, float, float]:
    """Return how to continue with the plan from the present places of the feet: phase, share of the command, and
    its score [m].

    Each phase is simulated (see `Walk.rehearse`), first with the whole command, then with a smaller share if that is
    not stable: a foot that has not stepped yet then moves back less far. A negative score is not good.
    """
    twin = walk.copy()
    body = robot.body.box_and_com, robot.body.mass, robot.gravity
    best = 0.0, 1.0, -np.inf
    for share in (1.0, 0.85, 0.7, 0.55, 0.4, 0.2):
        for phase in np.arange(24) / 24:
            twin.load(walk)
            state = twin.state
            state.phase, state.sensed, state.tilted = phase, 0.0, 0.0
            state.command_scale, state.scaled_cycles = share, EASY_CYCLES
            twin.enter(Mode.SETTLE)
            score = twin.rehearse(*body, best[2])["score"]
            if score > best[2]:
                best = float(phase), share, score
            if best[2] >= _core.PLENTY:
                return best
        if best[2] >= 0.0:
            break
    return best


class Arrival:
    """Decides whether the restored legs have arrived at the pose in which they are held up; `legs`: their indices,
    none at first; angles (n,) [rad]: the last ones, None until joints are measured.

    The servos approach a new set-point slowly, and a body tips if it stands on a leg that has not arrived yet. So the
    robot walks on without these legs until measurements show that their joints have arrived; then it stops on the
    other legs, sets the restored legs down and walks on. It sits down for that only if the other legs cannot carry it.
    Without measurements (`measure` never called) there is nothing to wait for.
    """

    def __init__(self, joints: int, legs: Sequence[int] = ()) -> None:
        self.angles: np.ndarray | None = None
        self._joints = joints
        self.expect(legs)

    def measure(self, angles: npt.ArrayLike) -> None:
        """Add measured joint angles (n,) [rad], NaN where unknown."""
        self.angles = as_numbers("angles", angles, (self._joints,), copy=True)

    def expect(self, legs: Sequence[int]) -> None:
        """Wait for these legs from now on."""
        self.legs = list(legs)
        self._waited = self._near_for = self._over_for = 0.0
        if self.angles is not None:
            self.angles[:] = np.nan

    def advance(self, table: np.ndarray, dt: float) -> float:
        """Advance by dt [s]; return for how long [s] the wait for legs has been over. table: rows of `leg_table`."""
        self._waited += dt
        off = np.inf if self.angles is None else np.abs(self.angles.reshape(-1, 3) - table["rest"])[self.legs]  # [rad]
        near = bool(np.all(off < 0.06))
        self._near_for = self._near_for + dt if near else 0.0
        # After 6 s in any pose: the servos approach at 0.8 rad/s and have at most 3.5 rad to go.
        over = self._near_for >= 0.2 or self._waited >= 6.0
        self._over_for = self._over_for + dt if over else 0.0
        return self._over_for


class PlanChanger:
    """Chooses the plan of an adaptive gait for the legs that are left, and changes to it.

    failure: why the last change could not be computed, in words; sits: whether the robot was told to sit, and not to
    stand since; target: the morphology of the last change. arrival: restored legs that are awaited. Of a copy on which
    a change was made: its transition, the mode of the gait when it was requested, the restored legs that have not
    arrived (rows).
    """

    transition: Transition
    requested_in: float
    not_arrived: Sequence[int] = ()

    def __init__(self, gait: AdaptiveGait, library: PlanLibrary) -> None:
        self._gait, self.choice = gait, PlanChoice(gait.robot, library, gait.planner)
        self.arrival = Arrival(gait.robot.joint_count)
        self.failure, self.sits = "", False
        self.target: Morphology | None = None

    def warn_of_no_plan(self) -> None:
        """Warn if the robot sits because there is no plan, and no planner to make one."""
        if self._gait.plan is None and self.choice.planner is None:
            warnings.warn(
                f"robot {self._gait.robot.name}: {self.choice.why}; make plans with `ros2 run hexapod_dynamics plan`, "
                "or give AdaptiveGait a planner (BackgroundPlanner)",
                RobotWarning,
                stacklevel=4,
            )

    # ---- a change, asked for and taken over --------------------------------------------------------------------------

    def change(self, morphology: Morphology | None, arrived: bool = False) -> None:
        """Choose the plan again and change to it; arrived: restored legs are where they are held up."""
        self.target = morphology
        self._make(lambda twin: twin.make_change(morphology, arrived))

    def restart(self) -> None:
        """Walk on with the same plan from the present places of the feet, after a contact probe."""
        self._make(PlanChanger.make_restart)

    def arrive(self, dt: float) -> None:
        """Use restored legs when they have arrived and the robot can stop on the others; dt [s] have passed."""
        gait, plan = self._gait, self._gait.plan
        if not self.arrival.legs or gait.changing:
            return
        over_for = self.arrival.advance(gait.data.legs, dt)
        walks = plan if plan is not None and plan.kind != "row" and gait.data.state.mode == Mode.WALK else None
        late = over_for >= 3.0  # [s]: it may stop even on unstable feet
        if over_for > 0.0 and (walks is None or late or is_stance_stable(gait.robot, gait.data, walks.legs)):
            self.change(self.target, arrived=True)

    def _make(self, make: Callable[[PlanChanger], None]) -> None:
        """Make a change on a copy of this gait, and adopt it: at once, or when the worker has made it."""
        twin, mode = self._gait.copy_without_worker(), float(self._gait.data.state.mode)

        def changed() -> AdaptiveGait:
            twin.changes.requested_in = mode
            make(twin.changes)
            return twin

        if self._gait.worker is not None:
            self._gait.worker.request(changed)
            return
        try:
            self._adopt(changed())
        except BaseException:
            self.target = self._gait.morphology
            raise

    def adopt(self, wait: bool = False) -> None:
        """Adopt a change that the worker has finished, as `step` does, while the gait is not stepped; wait: for it.

        If it failed, the gait goes on with the plan that it has, and `report` gives the reason. If the robot's action
        has changed meanwhile, the change is requested again.
        """
        worker = self._gait.worker
        if worker is None or not worker.busy:
            return
        try:
            made = worker.wait() if wait else worker.poll()
        except Exception as error:
            self.failure = f"no change of plan: {type(error).__name__}: {error}; the gait goes on with its plan"
            self.target = self._gait.morphology
            self._gait.settings = replace(self._gait.settings, pattern=self._gait.used.pattern)
            return
        if made is None:
            return
        self.failure, changes = "", made.changes
        if changes.requested_in == self._gait.data.state.mode and made.settings == self._gait.settings:
            self._adopt(made)
        elif changes.transition is not Transition.RESTART:
            self.change(made.morphology)

    def finish(self) -> None:
        """Wait for a pending change and adopt it, because a copy has no worker; no tick calls this."""
        while (worker := self._gait.worker) is not None and worker.busy and not worker.closed:
            self.adopt(wait=True)

    # ---- a change, made on a copy that is discarded afterwards -------------------------------------------------------

    def make_restart(self) -> None:
        """Find how the walk restarts after a contact probe."""
        self._continue_walking(set(self._gait.plan.legs if self._gait.plan else ()))
        self.transition = Transition.RESTART

    def make_change(self, morphology: Morphology | None, arrived: bool = False) -> None:
        """Make the change to a Morphology."""
        gait, before, walks = self._gait, self._gait.plan, self._gait.data.state.mode == Mode.WALK
        carried, place = self._find_carrying(), gait.data.body_place
        self.not_arrived = self.adopt_morphology(morphology, None if arrived else carried)
        same = Transition.KEEP if gait.plan == before else None
        if not same and walks and gait.plan and before and before.kind == "walk":
            # Other footholds alone, because the weight of the legs that are held up has changed: the feet step there.
            same = Transition.SHIFT if replace(gait.plan, footholds=before.footholds) == before else None
        self._use_plan(carried, place, same)
        if same is not Transition.KEEP:
            gait.limiter.follow_again()
        self.transition = same or self._find_transition(set(before.legs if before else ()), place[1])

    def _find_transition(self, used: set[str], up: float) -> Transition:
        """Decide how this gait changes to its new plan; used: legs of the previous plan; up [m]: height of the
        body above its height when standing.
        """
        gait, plan = self._gait, self._gait.plan
        if plan is None:
            return Transition.LOWER
        stay = tuple(name for name in plan.legs if name in used)  # restored legs join those that stand
        same = gait.settings.pattern != "auto" and stay == plan.legs
        enough = plan.kind != "row" and len(stay) > FEWEST_LEGS
        if gait.data.state.mode not in ON_FEET or up != 0.0 or not (same or enough):
            return Transition.LOWER
        holds = same or is_stance_stable(gait.robot, gait.data, stay)
        return Transition.GO_ON if holds and self._continue_walking(used) else Transition.LOWER

    def _use_plan(
        self, carried: np.ndarray, place: tuple[tuple[float, float], float], transition: Transition | None
    ) -> None:
        """Use the legs of the present plan; those that are not `carried` (legs,) return from where they are held up.
        Forget the cycles and limits of the previous plan, under which the body was at a place (`Walk.body_place`).
        """
        data, state = self._gait.data, self._gait.data.state
        data.feet["returns"] = (data.legs["used"] != 0.0) & ~carried
        state.reflexes, state.scaled_cycles = 0.0, 0.0
        state.stay_down = float(self.sits or self._gait.plan is None)
        if transition is Transition.KEEP:
            return
        self._gait.terrain.change_plan()
        self._gait.limiter.change_plan()
        if transition is not Transition.SHIFT:
            blend_from(data, *place)
            state.probed = 0.0

    def _adopt(self, made: AdaptiveGait) -> None:
        """Adopt a change that was made on a copy; only numbers are written."""
        gait, data, transition = self._gait, self._gait.data, made.changes.transition
        begin, limiter, theirs = (made.data.state.phase, made.data.state.command_scale), gait.limiter, made.limiter
        if transition is Transition.RESTART:
            self._start_plan(*begin)
            return
        carried, place = self._find_carrying(), data.body_place
        gait.morphology, gait.plan, gait.used = made.morphology, made.plan, made.used
        self.arrival.expect(made.changes.not_arrived)
        self.choice.why, limiter.given_up = made.changes.choice.why, theirs.given_up
        data.legs[:] = made.data.legs
        write_plan(data, made.plan)
        write_settings(data, made.used, made.plan)
        self._use_plan(carried, place, transition)
        if transition is Transition.KEEP:
            return
        if theirs.wanted == (limiter.wanted or (0.0, 0.0, 0.0)):
            limiter.wanted, data.command.twist = theirs.wanted, made.commanded_twist
            data.settings.asked_period = made.data.settings.asked_period
        else:
            limiter.follow_again()
        self.warn_of_no_plan()
        if transition is Transition.LOWER:
            data.state.phase = 0.0
            data.enter(Mode.LOWER)
        elif transition is Transition.GO_ON:
            self._start_plan(*begin)

    def _find_carrying(self) -> np.ndarray:
        """Return which legs (legs,) bool stand and step: those that are neither held up nor on their way back."""
        return (self._gait.data.legs["used"] != 0.0) & (self._gait.data.feet["returns"] == 0.0)

    def _continue_walking(self, used: set[str]) -> bool:
        """Let the robot continue with its new plan, at the best phase and share of the command for the present
        places of its feet; return False if it would tip over or drag legs, and has lost some of the legs used
        before.
        """
        gait, data, asked = self._gait, self._gait.data, self._gait.data.command.twist.copy()
        if not asked.any():
            data.command.twist = gait.limiter.find_possible_twist(NOMINAL_VELOCITY, 0.0, 0.0)[0]
        phase, share, score = find_best_start(gait.robot, data)
        data.command.twist = asked
        if score < -0.002 and gait.settings.pattern == "auto" and gait.plan and not used <= set(gait.plan.legs):
            return False
        self._start_plan(phase, share)
        return True

    def _start_plan(self, phase: float, share: float) -> None:
        """Start the plan at a phase, at first with a share of the command."""
        state = self._gait.data.state
        state.phase, state.command_scale = phase, share
        state.scaled_cycles = EASY_CYCLES if share < 1.0 else 0.0
        self._gait.data.enter(Mode.SETTLE)

    def adopt_morphology(self, morphology: Morphology | None, carried: np.ndarray | None = None) -> list[int]:
        """Choose the plan for a Morphology and write it to the arrays; return the rows of the restored legs that are
        awaited.

        carried: legs (bools) that are used now; other legs join them only after their joints have arrived. None:
        legs join at once.
        """
        gait, names = self._gait, self._gait.robot.leg_names
        gait.morphology = self.target = morphology
        table, held = prepare_legs(gait.robot, morphology)
        back = [] if carried is None else [i for i, name in enumerate(names) if name not in held and not carried[i]]
        awaited = back if self.arrival.angles is not None else []
        held += [names[i] for i in awaited]
        gait.plan = self.choice.choose(gait.settings.pattern, held, morphology, table)
        gait.data.legs[:] = table
        if gait.plan is not None:
            gait.plan.fill(gait.data.legs, names)
        else:  # all legs that can carry the body do so while the robot sits down
            gait.data.legs["used"] = [name not in held for name in names]
            gait.data.legs["foothold"] = [neutral_foothold(row) for row in table]
        write_plan(gait.data, gait.plan)
        gait.limiter.apply_feasible_settings()
        return awaited
