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
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.gait.planning.background import BackgroundCall
from hexapod_dynamics.gait.planning.jobs import decode_swings, encode_swings_request
from hexapod_dynamics.gait.swing_planning import Swing, SwingPlan
from hexapod_dynamics.gait.tripod import TripodGait
from hexapod_dynamics.robot import Morphology, Robot

# A twist is steady while it differs by less than this [m/s, m/s, rad/s] from the twist of the plan.
NEAR = np.array([1e-4, 1e-4, 1e-3])
LEAVING = 0.1  # time [s] in which a plan that no longer fits is faded out


class OptimalGait(Gait):
    """Tripod gait whose swings are planned; used like TripodGait, whose arguments it takes.

    planner: `ImmediatePlanner()` (default) plans at once in this process, `BackgroundSwingPlanner()` in another process
    while the robot walks. `refused` lists the legs without a plan, with the reason.
    """

    def __init__(
        self, *arguments: Any, planner: ImmediatePlanner | BackgroundSwingPlanner | None = None, **options: Any
    ) -> None:
        self.plain = TripodGait(*arguments, **{**options, "swing": "minimum_jerk"})
        self._options = arguments, {**options, "swing": "minimum_jerk"}
        self.planner = planner or ImmediatePlanner()
        self.refused: list[str] = []
        self.plans: dict[int, swing_planning.PlannedSwing] = {}

    def bind(self, robot: Robot, morphology: Morphology | None = None) -> OptimalGait:
        """Prepare the gait for a robot, as `TripodGait.bind`; return self, standing."""
        self.plain.bind(robot, morphology)
        self._probe = TripodGait(*self._options[0], **self._options[1]).bind(robot, morphology)
        self.robot = robot
        n = robot.joint_count
        self._position, self._velocity = np.zeros(n), np.zeros(n)
        self._q, self._qd = np.zeros(n), np.zeros(n)
        self._legs = [np.array(robot.leg_joints(leg.name)) for leg in robot.legs]
        self._weights = np.zeros(len(robot.legs))
        self._moving = list(self._legs)
        self.set_morphology(morphology)
        self.reset()
        return self

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt a Morphology: the present plans are dropped, new ones are made for it."""
        self.morphology = morphology
        self.plain.set_morphology(morphology)
        self._probe.set_morphology(morphology)
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
        self.plain.reset(**options)
        self._weights[:] = 0.0
        self._swinging = np.zeros(len(self._legs), bool)
        self.step(0.0)

    def step(self, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Advance by dt [s]; return (position, velocity), each (18,), the arrays of this object."""
        q, qd = self.plain.step(dt)
        self._think()
        self._position[:], self._velocity[:] = q, qd
        steady = self._planned_for is not None and self._steady(self._planned_for)
        for i in range(len(self._legs)):
            p = (self.plain.data.state.phase + self.plain.data.legs["phase"][i]) % 1.0
            swinging = self.plain.walking and p >= 0.5
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
        plan.read(s, self._q, self._qd, 0.5 * self.plain.period)
        # A weight that falls adds its own rate: (1 - w) and w are a smooth step of the time left.
        smooth = w * w * (3.0 - 2.0 * w)
        self._position[moving] += smooth * (self._q[:count] - self._position[moving])
        self._velocity[moving] += smooth * (self._qd[:count] - self._velocity[moving])

    # ---- planning ----------------------------------------------------------------------------------------------------

    def _steady(self, twist: np.ndarray) -> bool:
        state = self.plain.data.state
        return bool((np.abs(state.twist[:3] - twist) < NEAR).all() and np.abs(state.rate[:3]).max() < 1e-2)

    def _think(self) -> None:
        """Adopt finished plans; request new ones if the commanded twist has none."""
        command = self.plain.data.command[:3]
        done = self.planner.poll()
        if done is not None:
            plans, self.refused = done
            self.plans = {self.robot.leg_names.index(plan.leg): swing_planning.PlannedSwing(plan) for plan in plans}
            self._planned_for = self._asked_for
        if self._asked_for is not None and (np.abs(self._asked_for - command) < NEAR).all():
            return
        if self.plain.walking and np.abs(command).max() > 0.0 and self._steady(command):
            self._asked_for = command.copy()
            probe, twist = self._probe.copy(), command.copy()
            moving, plannable = list(self._moving), list(self._plannable)
            self.planner.ask(self.robot, self._damage, lambda: self._swings(probe, twist, moving, plannable))

    def swings(self, command: np.ndarray) -> list[Swing]:
        """Return the boundary conditions of the swing of every plannable leg, for a steady walk at a twist (3,)."""
        return self._swings(self._probe, command, self._moving, self._plannable)

    def _swings(
        self, probe: TripodGait, command: np.ndarray, all_moving: list[np.ndarray], all_plannable: list[bool]
    ) -> list[Swing]:
        """Return `swings`, recorded on a gait that nothing else uses at the same time."""
        samples = 100
        probe.reset()
        probe.command(*command)
        dt = probe.period / samples
        for _ in range(int(np.ceil(30 * probe.response_time / probe.period)) * samples):
            probe.step(dt)
        paths: list[list[np.ndarray]] = [[] for _ in self._legs]
        rates: list[list[np.ndarray]] = [[] for _ in self._legs]
        for _ in range(2 * samples):
            q, qd = probe.step(dt)
            ticks = np.round((probe.data.state.phase + probe.data.legs["phase"]) % 1.0 * samples)
            for moving, path, rate, tick in zip(all_moving, paths, rates, ticks, strict=True):
                # Record one swing, from lift-off at half the cycle to touch-down at its end.
                if tick == samples // 2 and not path or path and len(path) <= samples // 2:
                    path.append(q[moving].copy())
                    rate.append(qd[moving].copy())
        return [
            swing_planning.Swing(leg.name, np.array(path), rate[0], rate[-1], 0.5 * probe.period)
            for leg, path, rate, plannable in zip(self.robot.legs, paths, rates, all_plannable, strict=True)
            if plannable
        ]

    def copy(self) -> OptimalGait:
        """Return a gait of the same settings in the same state; it makes its own plans, in this process."""
        twin = OptimalGait(*self._options[0], **self._options[1])
        if self.robot is not None:
            twin.bind(self.robot, self.morphology)
            twin.plain = self.plain.copy()
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

    # ---- as the plain gait -------------------------------------------------------------------------------------------

    def command(self, vx: float, vy: float, wz: float) -> np.ndarray:
        """Command a planar body twist [m/s, m/s, rad/s]; return the twist that will be followed."""
        return self.plain.command(vx, vy, wz)

    def limit_command(self, vx: float, vy: float, wz: float) -> np.ndarray:
        """Return the command (3,) as it will be followed."""
        return self.plain.limit_command(vx, vy, wz)

    def walk(self) -> np.ndarray:
        """Command the nominal walk."""
        return self.plain.walk()

    position = property(lambda self: self._position, doc="Joint set-points (n,) [rad] of the last step.")
    velocity = property(lambda self: self._velocity, doc="Their rates (n,) [rad/s].")
    period = property(lambda self: self.plain.period, doc="Time of a whole cycle [s].")
    limits = property(lambda self: self.plain.limits, doc="Limits of a command.")
    data = property(lambda self: self.plain.data, doc="The plain gait's arrays.")
    twist = property(lambda self: self.plain.twist, doc="The body twist that the feet follow now.")
    walking = property(lambda self: self.plain.walking, doc="Whether the legs are stepping.")
    commanded = property(lambda self: self.plain.commanded, doc="Whether the gait walks or has been commanded to.")


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
