"""A gait for any remaining legs: planned footholds, phases and body sway, changed while the robot walks."""

from __future__ import annotations

import copy
import os
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.adaptive_plans import FEWEST_LEGS, AdaptivePlans
from hexapod_dynamics.gait.adaptive_settings import LIVE, TILT_LIMIT, AdaptiveSettings
from hexapod_dynamics.gait.arrival import Arrival
from hexapod_dynamics.gait.command_limits import CommandLimits
from hexapod_dynamics.gait.interface import PRESSED_FOOT
from hexapod_dynamics.gait.load_shift import LoadShift
from hexapod_dynamics.gait.modes import ON_FEET, SITTING, Mode, new_walk
from hexapod_dynamics.gait.out_of_the_way import turn_away
from hexapod_dynamics.gait.plan_change import (
    best_start,
    continue_from,
    stance_holds,
)
from hexapod_dynamics.gait.plan_choice import PlanChoice, find_library
from hexapod_dynamics.gait.plan_worker import PlanWorker
from hexapod_dynamics.gait.planning.background_planner import BackgroundPlanner
from hexapod_dynamics.gait.planning.plan_library import PlanLibrary
from hexapod_dynamics.gait.slope_reference import SlopeReference
from hexapod_dynamics.robot import Morphology, Robot


class AdaptiveGait(AdaptivePlans):
    """Walks with the legs that remain.

    step_height [m]: lift of a swinging foot. body_height [m]: height of base_link over the ground, by default that
    of the plan. period [s]: of the cycle; by default the plan's, shorter for fast commands. acceleration [m/s^2]
    and turning [rad/s^2] limit how the twist follows a command. yaw_hold: corrects the heading by the yaw given to
    `sense`. tilt_limit [rad]: a body tilted further sits down without waiting for a diagnosis; 0: never. pattern:
    "auto", or "wave" or "ripple": these gaits on the legs that are left, without a plan and its sway. planner: a
    BackgroundPlanner that makes a missing plan while the robot sits; None: the robot stays down. worker: a
    PlanWorker, which computes changes of plan in parallel to the walk; None: they are computed at once. plans: a
    PlanLibrary or the path of its file; by default the file of the package for this robot. ground: whether lift,
    position of the body, tilt limit and commands adapt to the ground (adaptive_ground). weighing_sway [m]: sway of the
    walking body while a load is weighed (weighing_sway.py); none without `ground`.

    Choice of the gait: an intact robot walks a tripod; with lost legs, it uses the library's plan for the
    remaining legs. A leg with a locked or limp joint, or with a shortened link that makes the leg too short, is
    held up and counts as lost. With fewer legs than can walk, or without a plan, the robot sits and `report` gives
    the reason (without a planner a RobotWarning, too).
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
        weighing_sway: float = 0.0,
    ) -> None:
        settings = AdaptiveSettings(
            step_height, body_height, period, acceleration, turning, yaw_hold, tilt_limit, pattern, weighing_sway
        )
        super().__init__(settings, ground, planner, worker)
        self._plans = plans

    # ---- set up ------------------------------------------------------------------------------------------------------

    def bind(self, robot: Robot, morphology: Morphology | None = None) -> AdaptiveGait:
        """Prepare the gait for a robot whose legs all have a coxa, femur and tibia; return self, standing.

        Raises HexapodError for a robot with fewer than three legs, and for a body height or step height out of reach.
        """
        if len(robot.legs) < FEWEST_LEGS:
            raise HexapodError(f"robot {robot.name}: {len(robot.legs)} legs; at least {FEWEST_LEGS} are needed to walk")
        self.robot = robot
        self.data = new_walk(robot, self.settings)
        self._choice = PlanChoice(robot, find_library(robot, self._plans), self.planner)
        self._limits = CommandLimits(robot, self.data.legs, self.data.plan)
        self.arrival = Arrival(robot.joint_count)
        self.slope = SlopeReference()
        self.load = LoadShift(robot.mass)
        self._adopt(morphology)
        if self._given_up and morphology is None:
            raise HexapodError(self._out_of_reach(self.settings))
        self.reset()
        self._rehearse()
        if self.worker is not None:
            self.worker.start()
        self._warn_of_no_plan()
        return self

    def _rehearse(self) -> None:
        """Call every function of a change of plan once, so that none is compiled or loaded later, while the robot
        walks.
        """
        self.data.enter(int(self.data.state.mode))
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
            twin.sway = copy.deepcopy(self.sway)
        return twin

    def close(self) -> None:
        """End the planning in the background."""
        if self.planner is not None:
            self.planner.cancel()
        if self.worker is not None:
            self.worker.close()

    # ---- commands ----------------------------------------------------------------------------------------------------

    def sit(self) -> None:
        """Sit down and stay down until `stand`."""
        self._sits = self._changing  # a change that was asked for before does not make it stand up
        self.data.state.stay_down = 1.0
        if self.data.state.mode not in (Mode.LOWER, Mode.SAT):
            self.data.state.height += self.data.body_place[1]
            self.data.enter(Mode.LOWER)

    def press(self, leg: str) -> bool:
        """Stop on all feet, press the foot of a leg down and walk on; this takes 2 s. Return False, and do
        nothing, if the robot cannot: while it sits, rows or presses already, or if the other feet do not support
        the body.
        """
        if leg not in self.robot.leg_names:
            raise HexapodError(f"leg {leg!r}: this robot has {', '.join(self.robot.leg_names)}")
        state, plan = self.data.state, self.plan
        if self._changing or plan is None or plan.kind == "row" or leg not in plan.legs or state.probed != 0.0:
            return False
        others = tuple(name for name in plan.legs if name != leg)
        if state.mode not in ON_FEET or len(others) < FEWEST_LEGS:
            return False
        sway, up = self.data.body_place
        if not stance_holds(self.robot, self.data, others):
            return False
        state.probed = self.robot.leg_names.index(leg) + 1.0
        continue_from(self.data, sway, up)
        state.skip_pause = 0.0
        self.data.enter(Mode.SETTLE)
        return True

    def stand(self) -> None:
        """Stand up again. Raises HexapodError if there is no gait for the remaining legs."""
        self._sits = False
        if self.plan is None and not self._changing:
            raise HexapodError(f"cannot stand: {self._choice.why}")
        state = self.data.state
        state.stay_down, state.reflexes, state.skip_pause = 0.0, 0.0, 1.0

    def set_pattern(self, pattern: str) -> None:
        """Change between the adaptive gait ("auto") and the plain "wave" and "ripple" while it walks."""
        if pattern != self.settings.pattern:
            self.settings = replace(self.settings, pattern=pattern)
            self._change(self._target)

    def adjust(self, **settings: Any) -> None:
        """Change the settings LIVE (step_height, body_height, period ...) while it walks; None: unchanged; period 0:
        automatic.

        HexapodError names a setting that is unknown, out of its range or out of reach; then nothing has changed.
        """
        unknown = settings.keys() - set(LIVE)
        if unknown:
            raise HexapodError(f"{min(unknown)}: cannot change while the gait is bound")
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

    # ---- every tick --------------------------------------------------------------------------------------------------

    def reset(self, *, walking: bool = False, phase: float = 0.0, joints: npt.ArrayLike | None = None) -> None:
        """Restart: standing, or in the steady nominal walk at a phase; with a transition from measured joints (n,)
        [rad] if given.

        The transition has minimum jerk; the average speed of each joint in it is at most a tenth of its speed
        limit.
        """
        data, state = self.data, self.data.state
        state.values[:] = data.command.values[:] = 0.0
        data.feet["returns"] = 0.0
        self._new_ground()
        self._wanted, self._followed = None, np.zeros(3)
        if self.plan is None:
            state.mode, state.stay_down = Mode.SAT, 1.0
            state.height = data.settings.belly
        else:
            state.height = data.standing_height
            self.command(0.0, 0.0, 0.0)
            data.plan.period = data.settings.asked_period
            data.feet[:] = 0.0
            if walking:
                state.twist = state.corrected = self.walk()
                data.plan.period = data.settings.asked_period
                state.mode, state.weight, state.phase = Mode.WALK, 1.0, phase % 1.0
            data.place_feet()
        data.position[:] = data.legs["rest"].ravel()
        self.step(0.0)
        if joints is not None:
            state.blend_time = self.start_at(joints)
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
            self.slope.learn(dt, self.data.state.mode in SITTING)
            self._adapt(dt)
        pressed = self.data.state.probed
        self.data.advance(dt)
        if pressed and self.data.state.mode == Mode.START:
            self._plan_on(lambda twin: twin.planned_restart())  # from the present places of the feet
        if self.data.state.reflexes > self._most_reflexes:
            self.data.state.stay_down = 1.0
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
            out[PRESSED_FOOT] = self.robot.leg_names[int(self.data.state.probed) - 1]
        if self._failure:
            out["why"] = self._failure
        elif self._choice.why:
            out["why"] = self._choice.why
        elif self.arrival.legs:
            names = ", ".join(self.robot.leg_names[i] for i in self.arrival.legs)
            out["why"] = f"{names} came back: used when all joints have arrived where the leg is held up"
        elif self.data.state.reflexes > self._most_reflexes:
            out["why"] = "tilted repeatedly: sits until the service stand or a change of the morphology"
        elif self._slowed:
            out["why"] = self._slowed
        elif self._given_up:
            out["why"] = f"{self._out_of_reach(self.settings)}; {self._given_up} of the plan instead"
        return out
