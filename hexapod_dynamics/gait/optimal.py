"""The tripod gait with optimal swings: the stance is that of the plain tripod gait; the swing takes least effort.

While the body's twist is steady, every leg swings along a plan (`swing_planning`) for this twist and this damage;
until the plan exists, and while the twist changes, the leg swings at minimum jerk. Both start and end in the same
state, so a leg changes between them at lift-off without a jump; a plan that no longer fits is faded out within 0.1
s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hexapod_dynamics.gait import swing_planning
from hexapod_dynamics.gait.planning.background import BackgroundCall
from hexapod_dynamics.gait.planning.jobs import decode_swings, encode_swings_request
from hexapod_dynamics.gait.swing_planning import Swing, SwingPlan
from hexapod_dynamics.gait.tripod import TripodGait
from hexapod_dynamics.robot import Morphology, Robot

# A twist is steady while it differs by less than this [m/s, m/s, rad/s] from the twist of the plan.
NEAR = np.array([1e-4, 1e-4, 1e-3])
LEAVING = 0.1  # time [s] in which a plan that no longer fits is faded out


class OptimalGait(TripodGait):
    """Tripod gait whose swings are planned; used like TripodGait, whose arguments it takes.

    planner: `ImmediatePlanner()` (default) plans at once in this process, `BackgroundSwingPlanner()` in another process
    while the robot walks. `refused` lists the legs without a plan, with the reason.
    """

    def __init__(
        self, *arguments: Any, planner: ImmediatePlanner | BackgroundSwingPlanner | None = None, **options: Any
    ) -> None:
        super().__init__(*arguments, **{**options, "swing": "minimum_jerk"})
        self.planner = planner or ImmediatePlanner()
        self.refused: list[str] = []
        self.plans: dict[int, swing_planning.PlannedSwing] = {}

    def bind(self, robot: Robot, morphology: Morphology | None = None) -> OptimalGait:
        """Prepare the gait for a robot, as `TripodGait.bind`; return self, standing."""
        self._legs = [np.array(robot.leg_joints(leg.name)) for leg in robot.legs]
        self.begin_planning(robot)
        super().bind(robot, morphology)
        return self

    def begin_planning(self, robot: Robot) -> None:
        """Begin with arrays of this gait's own and without plans."""
        n = robot.joint_count
        self._position, self._velocity = np.zeros(n), np.zeros(n)
        self._q, self._qd = np.zeros(n), np.zeros(n)
        self._weights, self._swinging = np.zeros(len(robot.legs)), np.zeros(len(robot.legs), bool)
        self._forget()

    def set_morphology(self, morphology: Morphology | None) -> None:
        """Adopt a Morphology: the present plans are dropped, new ones are made for it."""
        super().set_morphology(morphology)
        self._forget()
        self._damage = Morphology.whole(self.robot) if morphology is None else morphology
        mask = self._damage.moving_mask
        self._moving = [joints[mask[joints]] for joints in self._legs]
        self._plannable = [
            self._damage.has_leg(leg.name) and len(self._damage.links(leg.name)) == len(leg.links) and len(moving) > 0
            for leg, moving in zip(self.robot.legs, self._moving, strict=True)
        ]

    def _forget(self) -> None:
        self.plans, self._planned_for, self._asked_for = {}, None, None
        self.planner.cancel()

    def reset(self, **options: Any) -> None:
        """Reset the gait as `TripodGait.reset` does."""
        super().reset(**options)
        self._weights[:] = self._swinging[:] = 0
        self.step(0.0)

    def step(self, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Advance by dt [s]; return (position, velocity), each (18,), the arrays of this object."""
        self._position[:], self._velocity[:] = super().step(dt)
        self._think()
        steady = self._planned_for is not None and self._steady(self._planned_for)
        for i in range(len(self._legs)):
            p = (self.data.state.phase + self.data.legs["phase"][i]) % 1.0
            swinging = self.walking and p >= 0.5
            plan = self.plans.get(i)
            if plan is None or not swinging:
                self._weights[i] = 0.0
            elif steady and not self._swinging[i]:
                self._weights[i] = 1.0  # at lift-off both swings have the same position and rate
            elif not steady and self._weights[i] > 0.0:
                self._weights[i] = max(0.0, self._weights[i] - dt / LEAVING)
            self._swinging[i] = swinging
            if self._weights[i] > 0.0:
                self._follow(i, plan, 2.0 * p - 1.0)
        return self._position, self._velocity

    def _follow(self, i: int, plan: swing_planning.PlannedSwing, s: float) -> None:
        moving, w = self._moving[i], self._weights[i]
        count = len(moving)
        plan.read(s, self._q, self._qd, 0.5 * self.period)
        # A weight that falls adds its own rate: (1 - w) and w are a smooth step of the time left.
        smooth = w * w * (3.0 - 2.0 * w)
        self._position[moving] += smooth * (self._q[:count] - self._position[moving])
        self._velocity[moving] += smooth * (self._qd[:count] - self._velocity[moving])

    # ---- planning ----------------------------------------------------------------------------------------------------

    def _steady(self, twist: np.ndarray) -> bool:
        state = self.data.state
        return bool((np.abs(state.twist[:3] - twist) < NEAR).all() and np.abs(state.rate[:3]).max() < 1e-2)

    def _think(self) -> None:
        """Adopt finished plans; request new ones if the commanded twist has none."""
        command = self.asked
        done = self.planner.poll()
        if done is not None:
            plans, self.refused = done
            self.plans = {self.robot.leg_names.index(plan.leg): swing_planning.PlannedSwing(plan) for plan in plans}
            self._planned_for = self._asked_for
        if self._asked_for is not None and (np.abs(self._asked_for - command) < NEAR).all():
            return
        if self.walking and np.abs(command).max() > 0.0 and self._steady(command):
            self._asked_for = command.copy()
            self.planner.ask(self.robot, self._damage, self._recorder(self._asked_for))

    def swings(self, command: np.ndarray) -> list[Swing]:
        """Return the boundary conditions of the swing of every plannable leg, for a steady walk at a twist (3,)."""
        return self._recorder(command)()

    def _recorder(self, command: np.ndarray) -> Callable[[], list[Swing]]:
        """Return a function that returns `swings` for the present damage, and which a thread may call."""
        plain = object.__new__(TripodGait)
        vars(plain).update(vars(self), data=self.data.copy())
        moving, plannable = self._moving, self._plannable
        return lambda: plain_swings(plain, command, moving, plannable)

    def copy(self) -> OptimalGait:
        """Return a gait of the same settings in the same state; it makes its own plans, in this process."""
        twin = super().copy()
        twin.planner, twin.refused = ImmediatePlanner(), []
        if self.robot is not None:
            twin.begin_planning(self.robot)
            twin.step(0.0)
        return twin

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"planner": ImmediatePlanner()}  # a background process cannot be copied

    def close(self) -> None:
        """End the planning in the background."""
        self.planner.cancel()

    def report(self) -> dict[str, object]:
        """Return the legs for which there is no plan."""
        return {"swings without a plan": "; ".join(self.refused)} if self.refused else {}

    compiled = property(lambda self: None, doc="None: the Simulator has to call `step`.")
    position = property(lambda self: self._position, doc="Joint set-points (n,) [rad] of the last step.")
    velocity = property(lambda self: self._velocity, doc="Their rates (n,) [rad/s].")


def plain_swings(
    gait: TripodGait, command: np.ndarray, all_moving: list[np.ndarray], all_plannable: list[bool]
) -> list[Swing]:
    """Return the swings of a gait, which nothing else uses at the same time, in a steady walk at a twist (3,).

    all_moving: joints of each leg that move; all_plannable: whether each leg can swing along a plan.
    """
    samples = 100
    gait.reset()
    gait.command(*command)
    dt = gait.period / samples
    for _ in range(int(np.ceil(30 * gait.response_time / gait.period)) * samples):
        gait.step(dt)
    paths: list[list[np.ndarray]] = [[] for _ in gait.robot.legs]
    rates: list[list[np.ndarray]] = [[] for _ in gait.robot.legs]
    for _ in range(2 * samples):
        q, qd = gait.step(dt)
        ticks = np.round((gait.data.state.phase + gait.data.legs["phase"]) % 1.0 * samples)
        for moving, path, rate, tick in zip(all_moving, paths, rates, ticks, strict=True):
            # Record one swing, from lift-off at half the cycle to touch-down at its end.
            if tick == samples // 2 and not path or path and len(path) <= samples // 2:
                path.append(q[moving].copy())
                rate.append(qd[moving].copy())
    return [
        Swing(leg.name, np.array(path), rate[0], rate[-1], 0.5 * gait.period)
        for leg, path, rate, plannable in zip(gait.robot.legs, paths, rates, all_plannable, strict=True)
        if plannable
    ]


class ImmediatePlanner:
    """Makes plans at once, in this process: for simulation and tests."""

    _done = None

    def ask(self, robot: Robot, morphology: Morphology, swings: list[Swing] | Callable[[], list[Swing]]) -> None:
        """Make the plans of the swings."""
        self._done = swing_planning.plan_all(robot, morphology, swings() if callable(swings) else swings)

    def poll(self) -> tuple[list[SwingPlan], list[str]] | None:
        """Return plans and reasons once after `ask`, else None."""
        done, self._done = self._done, None
        return done

    def cancel(self) -> None:
        """Drop the plans."""
        self._done = None


class BackgroundSwingPlanner:
    """Makes plans in a separate process at low priority, so that the control loop is never blocked."""

    def __init__(self) -> None:
        self._call = BackgroundCall("swings", encode_swings_request, decode_swings)

    def ask(self, robot: Robot, morphology: Morphology, swings: list[Swing] | Callable[[], list[Swing]]) -> None:
        """Start planning; a new request replaces the previous one. swings: the swings, or a function that returns
        them and runs in a thread.
        """
        self._call.ask(robot, morphology, swings)

    def poll(self) -> tuple[list[SwingPlan], list[str]] | None:
        """Return plans and reasons once they are ready, else None; if the process failed, that is the reason."""
        done = self._call.poll()
        if done is None:
            return None
        answer, failure = done
        return ([], [failure]) if failure else answer

    def cancel(self) -> None:
        """End the planning, if there is any."""
        self._call.cancel()
