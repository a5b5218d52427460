"""A gait for any remaining legs: planned footholds, phases and body sway, changed while the robot walks."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.background import LatestCall
from hexapod_dynamics.core import _core
from hexapod_dynamics.errors import HexapodError, require_finite, require_instance
from hexapod_dynamics.gait.interface import PRESSED_FOOT, Gait, refuse_unbound
from hexapod_dynamics.gait.legs import leg_table
from hexapod_dynamics.gait.limits import Limiter
from hexapod_dynamics.gait.modes import DOING, ON_FEET, Mode
from hexapod_dynamics.gait.plan_change import (
    FEWEST_LEGS,
    NOMINAL_VELOCITY,
    Arrival,
    PlanChanger,
    blend_from,
    is_stance_stable,
)
from hexapod_dynamics.gait.planning.library import BackgroundPlanner, PlanLibrary
from hexapod_dynamics.gait.planning.plan import GaitPlan
from hexapod_dynamics.gait.terrain import Terrain
from hexapod_dynamics.gait_kinds import LIVE, AdaptiveSettings, GaitValue, SettingValues
from hexapod_dynamics.robot import Morphology, Robot

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AdaptiveGait(Gait):
    """Walks with the legs that remain.

    plans: a PlanLibrary or the path of its file; by default the file of the package for this robot. planner: a
    BackgroundPlanner that makes a missing plan while the robot sits; None: the robot stays down. worker: a
    LatestCall, which computes changes of plan in parallel to the walk; None: they are computed at once. settings:
    those of AdaptiveSettings, by name.

    Choice of the gait: an intact robot walks a tripod; with lost legs, it uses the library's plan for the
    remaining legs. A leg with a locked or limp joint, or with a shortened link that makes the leg too short, is
    held up and counts as lost. With fewer legs than can walk, or without a plan, the robot sits and `report` gives
    the reason (without a planner a RobotWarning, too).

    It is composed of: `terrain`, what it learns about the ground and changes there; `limiter`, which limits commands
    and settings; `changes`, which chooses the plan and changes to it; and `data`, the memory of the tick in the core.
    Its actions and their transitions: `modes.Mode`. used: the settings, with those of the plan in the place of settings
    that the legs cannot reach; plan: None if there is none for the legs that are left.
    """

    nominal_velocity = NOMINAL_VELOCITY
    data: _core.Walk
    used: AdaptiveSettings
    plan: GaitPlan | None = None
    terrain: Terrain
    limiter: Limiter
    changes: PlanChanger
    if not TYPE_CHECKING:
        used, terrain, limiter, changes = (cached_property(refuse_unbound) for _ in range(4))

    def __init__(
        self,
        *,
        plans: PlanLibrary | str | os.PathLike[str] | None = None,
        planner: BackgroundPlanner | None = None,
        worker: LatestCall[AdaptiveGait] | None = None,
        **settings: Unpack[SettingValues],
    ) -> None:
        self.settings, self._plans, self.planner, self.worker = AdaptiveSettings(**settings), plans, planner, worker

    # ---- set up ------------------------------------------------------------------------------------------------------

    def bind(self, robot: Robot, morphology: Morphology | None = None) -> AdaptiveGait:
        """Prepare the gait for a robot whose legs all have a coxa, femur and tibia; return self, standing.

        Raises HexapodError for a robot with fewer than three legs, and for a body height or step height out of reach.
        """
        require_instance("robot", robot, Robot)
        if len(robot.legs) < FEWEST_LEGS:
            raise HexapodError(f"robot {robot.name}: {len(robot.legs)} legs; at least {FEWEST_LEGS} are needed to walk")
        self.robot = robot
        self.used, self.data, self.plan = self.settings, _core.Walk(leg_table(robot)), None
        fixed, speed = self.data.settings, robot.servo.speed_limit
        fixed.speed, fixed.folding, fixed.yaw_limit = speed, 0.4 * speed, 0.3  # [rad/s]
        fixed.tilt, fixed.belly = self.settings.tilt_limit, 0.5 * robot.body.box[2] + 0.001  # [rad], [m]
        self.terrain, self.limiter = Terrain(self), Limiter(self)
        self.changes = PlanChanger(self, PlanLibrary.load_for_robot(robot, self._plans, stacklevel=3))
        self.changes.adopt_morphology(morphology)
        if self.limiter.given_up and morphology is None:
            raise HexapodError(self.limiter.describe_reach())
        self.reset()
        self.changes.warn_of_no_plan()
        return self

    def copy(self) -> AdaptiveGait:
        """Return an independent gait of the same settings in the same state; it has no worker."""
        if not self.is_bound:
            return self.copy_without_worker()
        self.changes.finish()
        twin = self.copy_without_worker()
        twin.changes.arrival = Arrival(self.robot.joint_count, self.changes.arrival.legs)  # it gets no measurements
        return twin

    def copy_without_worker(self) -> AdaptiveGait:
        """Return a copy as it is, which changes its plan independently and at once."""
        twin = object.__new__(type(self))
        shared: list[object] = [self.settings, self._plans, self.planner]
        if self.is_bound:
            shared += [self.robot, self.used, self.plan, self.morphology]
            shared += [self.changes.target, self.changes.choice.library]
        memo = {id(self): twin, **{id(one): one for one in shared}, id(self.worker): None}
        vars(twin).update(copy.deepcopy(vars(self), memo))
        return twin

    def close(self) -> None:
        """End the planning in the background."""
        if self.planner is not None:
            self.planner.cancel()
        if self.worker is not None:
            self.worker.close()

    def set_morphology(self, morphology: Morphology | None) -> None:
        """Adopt a Morphology at any time; the plan for the remaining legs starts from the present places of the
        feet.

        The walk continues if the remaining feet support the body; else the robot sits down first, moves its feet
        to their new places while its belly carries it, stands up and walks on. With a worker the change is
        computed in parallel to the walk, and a `step` applies it.
        """
        whole = Morphology.whole(self.robot)
        Morphology.check(self.robot, morphology or whole)
        if (self.changes.target or whole) != (morphology or whole):
            self.changes.change(morphology)

    # ---- commands ----------------------------------------------------------------------------------------------------

    def limit_command(self, vx: float, vy: float, wz: float) -> np.ndarray:
        """Return the command (3,) as it will be followed: scaled down as a whole to what is possible."""
        return self.limiter.find_possible_twist(vx, vy, wz)[0]

    def command(self, vx: float, vy: float, wz: float) -> np.ndarray:
        """Command a planar body twist; return the twist that will be followed, see `limit_command`."""
        return self.limiter.command(vx, vy, wz)

    def lean(self, offset: npt.ArrayLike) -> None:
        """Move the body over its feet by an offset (6,) from the gait's own pose."""
        self.terrain.lean(offset)

    def set_payload(self, mass: float, x_moment: float, y_moment: float) -> None:
        """Adapt to a load on the body; see `Gait.set_payload`."""
        self.terrain.load.set_payload(mass, x_moment, y_moment)

    def sit(self) -> None:
        """Sit down and stay down until `stand`."""
        self.changes.sits = True
        self.data.state.stay_down = 1.0
        if self.data.state.mode not in (Mode.LOWER, Mode.SAT):
            self.data.state.height += self.data.body_place[1]
            self.data.enter(Mode.LOWER)

    def contact_probe(self, leg: str) -> bool:
        """Stop on all feet, press the foot of a leg down and walk on; this takes 2 s. Return False, and do
        nothing, if the robot cannot: while it sits, rows or presses already, or if the other feet do not support
        the body. HexapodError for an unknown leg.
        """
        state, plan = self.data.state, self.plan
        if leg not in self.robot.leg_names:
            raise HexapodError(f"leg {leg!r}: this robot has {', '.join(self.robot.leg_names)}")
        if self.changing or plan is None or plan.kind == "row" or leg not in plan.legs or state.probed != 0.0:
            return False
        others = tuple(name for name in plan.legs if name != leg)
        enough = state.mode in ON_FEET and len(others) >= FEWEST_LEGS
        if not enough or not is_stance_stable(self.robot, self.data, others):
            return False
        state.probed = self.robot.leg_names.index(leg) + 1.0
        blend_from(self.data, *self.data.body_place)
        state.skip_pause = 0.0
        self.data.enter(Mode.SETTLE)
        return True

    def stand(self) -> None:
        """Stand up again. Raises HexapodError if there is no gait for the remaining legs."""
        if self.plan is None and not (self.changing or self.awaits_joints):
            raise HexapodError(f"cannot stand: {self.changes.choice.why}")
        state, self.changes.sits = self.data.state, False
        state.stay_down, state.reflexes, state.skip_pause = 0.0, 0.0, 1.0

    def set_pattern(self, pattern: str) -> None:
        """Change between "auto", "wave" and "ripple" while it walks; a change that failed is tried again."""
        before = self.settings
        if pattern == before.pattern and not self.changes.failure:
            return
        self.settings = replace(before, pattern=pattern)
        try:
            self.changes.change(self.changes.target)
        except BaseException:
            self.settings = before
            raise

    def adjust(self, **settings: Any) -> None:
        """Change the settings LIVE (step_height, body_height, period ...) while it walks; None: unchanged; period 0:
        automatic.

        HexapodError names a setting that is unknown, out of its range or out of reach; then nothing has changed.
        """
        unknown = settings.keys() - set(LIVE)
        if unknown:
            raise HexapodError(f"{min(unknown)}: cannot change while the gait is bound")
        before, limiter = self.settings, self.limiter
        given = {name: value for name, value in settings.items() if value is not None}
        if given.get("period") == 0.0:
            given["period"] = None
        self.settings = replace(before, **given)
        limiter.apply_feasible_settings()
        if limiter.given_up:
            reason = limiter.describe_reach()
            self.settings = before
            limiter.apply_feasible_settings()
            raise HexapodError(reason)
        limiter.follow_again()

    # ---- every tick --------------------------------------------------------------------------------------------------

    def sense(self, roll: float, pitch: float, yaw: float) -> None:
        """Process the measured attitude of the body: for the yaw hold and the tilt reflex."""
        if not (type(roll) is type(pitch) is type(yaw) is float and 0.0 * (roll + pitch + yaw) == 0.0):  # in each tick
            require_finite(roll=roll, pitch=pitch, yaw=yaw)
        self.terrain.sense(roll, pitch, yaw)

    def sense_force(self, x: float, y: float, z: float) -> None:
        """Process the specific force of the body, from which the gait detects whether the robot makes progress."""
        self.terrain.sense_force(x, y, z)

    def measure_joints(self, angles: npt.ArrayLike) -> None:
        """Process measured joints: after the first call, restored legs are used only when their joints have reached the
        pose in which they are held up.
        """
        self.changes.arrival.measure(angles)

    def adopt_plan(self) -> None:
        """Adopt a change of plan that the worker has finished, as `step` does, while the gait is not stepped."""
        self.changes.adopt()

    def restart(self, walking: bool, phase: float) -> None:
        """Set the state for `reset`: standing, or in the steady nominal walk at a phase."""
        data, state = self.data, self.data.state
        state.values[:] = data.command.values[:] = 0.0
        data.feet["returns"] = 0.0
        self.changes.sits = False
        self.terrain.restart()
        self.limiter.restart()
        if self.plan is None:
            state.mode, state.stay_down = Mode.SAT, 1.0
            state.height = data.settings.belly
        else:
            state.height = data.standing_height
            state.twist = state.corrected = self.walk() if walking else self.command(0.0, 0.0, 0.0)
            data.plan.period = data.settings.asked_period
            data.feet[:] = 0.0
            if walking:
                state.mode, state.weight, state.phase = Mode.WALK, 1.0, phase
            data.place_feet()
        data.position[:] = data.legs["rest"].ravel()

    def step(self, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Advance by dt [s]; return (position, velocity)."""
        self.check_step(dt)
        changes, state = self.changes, self.data.state
        changes.adopt()
        if changes.choice.add_new_plan():
            changes.change(changes.target)
        changes.arrive(dt)
        if dt > 0.0:
            self.terrain.adapt(dt)
            self.limiter.adapt(dt)
        probed = state.probed
        self.data.advance(dt)
        if probed and state.mode == Mode.START:
            changes.restart()  # from the present places of the feet
        if state.reflexes > self.terrain.most_reflexes:
            state.stay_down = 1.0
        return self.data.position, self.data.velocity

    # ---- what it does ------------------------------------------------------------------------------------------------

    @property
    def walks_intact(self) -> bool:
        """Whether all legs walk, by a plan made for them."""
        return self.plan is not None and len(self.plan.legs) == len(self.data.legs) and self.settings.pattern == "auto"

    @property
    def changing(self) -> bool:
        """Whether a change of plan is being computed."""
        return self.worker is not None and self.worker.busy

    @property
    def ground_normal(self) -> tuple[float, float, float]:
        """Upward direction (3,), in base_link axes, of a body that stands on the learnt slope."""
        return self.terrain.slope.ground_normal

    @property
    def awaits_joints(self) -> bool:
        """Whether restored legs have not arrived yet: then `measure_joints` is needed."""
        return bool(self.changes.arrival.legs)

    @property
    def period(self) -> float:
        """Time of a whole cycle [s]."""
        return self.data.plan.period or 1.0

    @property
    def commanded_twist(self) -> np.ndarray:
        """The commanded twist (3,) [m/s, m/s, rad/s]; a view."""
        return self.data.command.twist

    @property
    def walking(self) -> bool:
        """Whether the legs are stepping, or about to."""
        return self.data.state.mode in (Mode.WALK, Mode.START, Mode.SETTLE, Mode.PROBE)

    @property
    def doing(self) -> str:
        """The action of the gait in one word."""
        return DOING[int(self.data.state.mode)]

    def report(self) -> dict[str, object]:
        """Return diagnostics: action, legs, commanded and followed twist, period, reason."""
        vx, vy, wz = self.limiter.wanted or (0.0, 0.0, 0.0)
        fx, fy, fz = self.commanded_twist
        out = {
            "doing": self.doing,
            "legs": "none" if self.plan is None else " ".join(self.plan.legs),
            "kind": "none" if self.plan is None else self.plan.kind,
            "asked": f"{vx:.3f} {vy:.3f} m/s {wz:.3f} rad/s",
            "followed": f"{fx:.3f} {fy:.3f} m/s {fz:.3f} rad/s",
            "period [s]": self.period,
        }
        if self.plan is not None and self.settings.pattern == "auto":
            out["margin of the plan [mm]"] = 1e3 * self.plan.margin
        out.update(self.terrain.report())
        if self.doing == "pressing":
            out[PRESSED_FOOT] = self.robot.leg_names[int(self.data.state.probed) - 1]
        why = self._reason()
        return out | {"why": why} if why else out

    def _reason(self) -> str:
        """Return why the gait does not do all that was asked for; empty if it does."""
        changes, limiter = self.changes, self.limiter
        if changes.failure or changes.choice.why:
            return changes.failure or changes.choice.why
        if changes.arrival.legs:
            names = ", ".join(self.robot.leg_names[i] for i in changes.arrival.legs)
            return f"{names} came back: used when all joints have arrived where the leg is held up"
        if self.data.state.reflexes > self.terrain.most_reflexes:
            return "tilted repeatedly: sits until the service stand or a change of the morphology"
        if limiter.given_up and not limiter.slow_reason:
            return f"{limiter.describe_reach()}; {limiter.given_up} of the plan instead"
        return limiter.slow_reason


def make_gait(kind: str, values: Mapping[str, GaitValue]) -> AdaptiveGait:
    """Return the AdaptiveGait for the parameters of the node `gait`, whose period 0 is automatic; kind: its pattern."""
    live: dict[str, Any] = {name: values[name] for name in LIVE} | {"period": values["period"] or None}
    plans = str(values["plans"]) or None
    return AdaptiveGait(plans=plans, planner=BackgroundPlanner(), worker=LatestCall(), pattern=kind, **live)
