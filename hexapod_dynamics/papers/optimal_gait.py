"""The tripod gait with optimal swings: the stance is that of the plain tripod gait; the swing takes least effort.

While the body's twist is steady, every leg swings along a plan for this twist and this damage; until the plan exists,
and while the twist changes, the leg swings at minimum jerk. Both start and end in the same state, so a leg changes
between them at lift-off without a jump; a plan that no longer fits is faded out within 0.1 s.

A planned swing has least effort, or least time, within the limits of the servos (Xiang et al. 2008). It leads from the
joints and rates at lift-off to those at touch-down; both follow from the stance. In between the joint torques, speeds
and ranges are bounded and the foot stays in a corridor; the remaining freedom minimises the cost. The body is assumed
to move uniformly, so that the leg has the same dynamics as on a mount at rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import BSpline, CubicHermiteSpline

from hexapod_dynamics.background import BackgroundCall
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.tripod import TripodGait, arguments
from hexapod_dynamics.gait_kinds import GaitValue
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.papers.chain.chain import Chain
from hexapod_dynamics.papers.chain.sensitivities import point_sensitivity
from hexapod_dynamics.papers.chain.trajectory_optimisation import DEGREE, MotionProblem, PathConstraint, predict_motion
from hexapod_dynamics.robot import Morphology, Robot

CONTROL_POINTS = 12
# The corridor of the foot about the plain gait's swing: its height is 1 to 1.3 times the plain one's, its place over
# the ground within this distance [m] at mid-swing, and equal to the plain swing's near the ends, where the foot may
# still touch the ground because servos and ground are compliant, and must not be dragged. Tuned in simulation: a wider
# corridor reduces the planned effort, but increases the effort of ground contact.
WIDTH = 0.003
# A twist is steady while it differs by less than this [m/s, m/s, rad/s] from the twist of the plan.
NEAR = 1e-4, 1e-4, 1e-3


class Swing(NamedTuple):
    """Boundary conditions of the swing of a leg (name), for its moving joints.

    joints (K, n): samples of the plain gait's swing at equal intervals of time; start_rate, end_rate (n,): its rates at
    both ends; duration [s].
    """

    leg: str
    joints: np.ndarray
    start_rate: np.ndarray
    end_rate: np.ndarray
    duration: float


class SwingPlan(NamedTuple):
    """Control points (m, n) of the moving joints over the swing, its time [s] and effort."""

    leg: str
    points: np.ndarray
    duration: float
    effort: float


Plans = tuple[list[SwingPlan], list[str]]  # and the reasons for swings without a plan


def plan_swing(robot: Robot, morphology: Morphology, swing: Swing, *, least: str = "effort") -> SwingPlan:
    """Return the swing of least effort with the duration swing.duration, or of least time with `least='time'`.

    Raises NotConvergedError if no optimum is found, HexapodError for ends outside the joints' ranges.
    """
    if least not in ("effort", "time"):
        raise HexapodError(f"least is {least!r}, allowed: 'effort', 'time'")
    chain = Chain.from_leg(robot, swing.leg, morphology=morphology)
    joints = [joint for joint in robot.leg(swing.leg).joints if joint.name in chain.names]
    leg, pose = LegKinematics.from_robot(robot, swing.leg, morphology), chain.poses(np.zeros(len(chain)))[-1]
    # The foot: its body in the chain, and its position in that body's frame.
    foot = len(chain) - 1, pose[:3, :3].T @ (leg.to_base(leg.forward(np.zeros(3))) - pose[:3, 3])

    steps = np.linspace(0, 1, len(swing.joints))
    plain = point_sensitivity(chain, swing.joints, *foot)[0]
    ground = plain[[0, -1], 2].min()
    rows = np.array([[0, 0, 1], [0, 0, -1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])

    def within(s: np.ndarray, q: np.ndarray) -> np.ndarray:
        middle = np.stack([np.interp(s, steps, column) for column in plain.T], axis=1)
        height, width = middle[:, 2] - ground, WIDTH * np.sin(np.pi * s) ** 4
        room = 1e-4 + np.stack((0.0 * height, 0.3 * height, *[width] * 4), axis=1)  # fixed ends are inside, too
        return ((point_sensitivity(chain, q, *foot)[0] - middle) @ rows.T + room) / WIDTH

    def within_by_q(s: np.ndarray, q: np.ndarray) -> np.ndarray:
        return rows @ point_sensitivity(chain, q, *foot)[1] / WIDTH

    problem = MotionProblem(
        chain,
        swing.joints[0],
        swing.joints[-1],
        start_rate=swing.start_rate,
        end_rate=swing.end_rate,
        torque_bound=0.8 * robot.servo.torque_limit,  # the rest is reserved for tracking
        speed_bound=0.8 * robot.servo.speed_limit,
        position_bounds=tuple(zip(*(joint.planned_range for joint in joints), strict=True)),
        effort=1.0 if least == "effort" else 0.0,
        duration=swing.duration if least == "effort" else None,
        paths=(PathConstraint(within, within_by_q),),
        control_points=CONTROL_POINTS,
        sparse=True,
    )
    start = np.stack([np.interp(np.linspace(0, 1, CONTROL_POINTS), steps, column) for column in swing.joints.T], axis=1)
    motion = predict_motion(problem, (start, swing.duration), tolerance=1e-3)
    torques = motion.torques(np.linspace(0, motion.duration, 101))
    effort = float((torques**2).sum(axis=1).mean() * motion.duration)
    return SwingPlan(swing.leg, motion.points, motion.duration, effort)


class PlannedSwing:
    """A plan in a form for control loops: position and rate at a fraction of the swing, in the same memory."""

    def __init__(self, plan: SwingPlan) -> None:
        m, self.joints = plan.points.shape
        knots = np.concatenate((np.zeros(DEGREE), np.linspace(0, 1, m - DEGREE + 1), np.ones(DEGREE)))
        fine = np.linspace(0, 1, 257)
        spline = BSpline(knots, plan.points, DEGREE)
        cubics = CubicHermiteSpline(fine, spline(fine), spline(fine, 1)).c
        self._cubics = np.ascontiguousarray(cubics.swapaxes(0, 1))  # (steps, 4, n), the highest power first
        self._powers, self._out = np.zeros((2, 4)), np.zeros((2, self.joints))

    def at(self, s: float, duration: float) -> np.ndarray:
        """Return joints and rates (2, n) at the fraction s of a swing of `duration` [s], overwritten by the next call:
        cubics between samples.
        """
        steps = len(self._cubics)
        inside = min(max(s, 0.0), 1.0)
        k = min(int(inside * steps), steps - 1)
        x = inside - k / steps
        self._powers[0] = x**3, x**2, x, 1.0
        self._powers[1] = 3 * x**2 / duration, 2 * x / duration, 1.0 / duration, 0.0
        return np.matmul(self._powers, self._cubics[k], out=self._out)


def plan_all(robot: Robot, morphology: Morphology, swings: Sequence[Swing]) -> tuple[list[SwingPlan], list[str]]:
    """Return the plans of all swings, and the reasons for those without a plan."""
    plans, reasons = [], []
    for swing in swings:
        try:
            plans.append(plan_swing(robot, morphology, swing))
        except HexapodError as error:  # NotConvergedError among them
            reasons.append(f"{swing.leg}: {error}")
    return plans, reasons


def is_near(twist: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two twists (3,) differ by less than NEAR."""
    return all(abs(one - two) < near for one, two, near in zip(twist, other, NEAR, strict=True))


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
        self._legs: list[np.ndarray] = []
        self.forget_plans()

    def bind(self, robot: Robot, morphology: Morphology | None = None) -> OptimalGait:
        """Prepare the gait for a robot, as `TripodGait.bind`; return self, standing."""
        self._legs = [np.array(robot.leg_joints(leg.name)) for leg in robot.legs]
        super().bind(robot, morphology)
        return self

    def forget_plans(self) -> None:
        """Discard all plans."""
        self.plans: dict[int, PlannedSwing] = {}
        self.refused: list[str] = []
        self._weights, self._swinging = np.zeros(len(self._legs)), np.zeros(len(self._legs), bool)
        self._planned_for: np.ndarray | None = None  # twists (3,) of the plans, and of those that were requested
        self._asked_for: np.ndarray | None = None

    def set_morphology(self, morphology: Morphology | None) -> None:
        """Adopt a Morphology: the present plans are dropped, new ones are made for it."""
        super().set_morphology(morphology)
        self.forget_plans()
        self.planner.cancel()
        self._damage = Morphology.whole(self.robot) if morphology is None else morphology
        mask = self._damage.moving_mask
        self._moving = [joints[mask[joints]] for joints in self._legs]
        self._plannable = [
            self._damage.has_leg(leg.name) and len(self._damage.links(leg.name)) == len(leg.links) and len(moving) > 0
            for leg, moving in zip(self.robot.legs, self._moving, strict=True)
        ]

    def restart(self, walking: bool, phase: float) -> None:
        """Set the state for `reset` as `TripodGait.restart` does."""
        self._weights[:], self._swinging[:] = 0.0, False
        super().restart(walking, phase)

    def step(self, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Advance by dt [s]; return (position, velocity), each (18,): arrays that the next call overwrites."""
        super().step(dt)
        self._update_plans()
        steady = self._planned_for is not None and self._steady(self._planned_for)
        for i in range(len(self._legs)):
            p = (self.data.state.phase + self.data.legs["phase"][i]) % 1.0
            swinging = self.walking and p >= 0.5
            plan = self.plans.get(i)
            self._swinging[i], lifted_off = swinging, not self._swinging[i]
            if plan is None or not swinging:
                self._weights[i] = 0.0
                continue
            if steady and lifted_off:
                self._weights[i] = 1.0  # at lift-off both swings have the same position and rate
            elif not steady and self._weights[i] > 0.0:
                self._weights[i] = max(0.0, self._weights[i] - dt / 0.1)  # a plan that no longer fits is faded out
            if self._weights[i] > 0.0:
                self._follow(i, plan, 2.0 * p - 1.0)
        return self.position, self.velocity

    def _follow(self, i: int, plan: PlannedSwing, s: float) -> None:
        """Let the set-points of a leg follow its plan by a share."""
        w = self._weights[i]
        smooth = w * w * (3.0 - 2.0 * w)  # its own rate is left out
        for values, planned in zip((self.position, self.velocity), plan.at(s, 0.5 * self.period), strict=True):
            for joint, value in zip(self._moving[i], planned, strict=True):  # an index of all would copy them
                values[joint] += smooth * (value - values[joint])

    # ---- planning ----------------------------------------------------------------------------------------------------

    def _steady(self, twist: np.ndarray) -> bool:
        state = self.data.state
        return is_near(state.twist[:3], twist) and all(abs(rate) < 1e-2 for rate in state.rate[:3])

    def _update_plans(self) -> None:
        """Adopt finished plans; request new ones if the commanded twist has none."""
        done = self.planner.poll()
        if done is not None:
            found, failure = done
            plans, self.refused = ([], [failure]) if found is None else found
            self.plans = {self.robot.leg_names.index(plan.leg): PlannedSwing(plan) for plan in plans}
            self._planned_for = self._asked_for
        if self._asked_for is not None and is_near(self.commanded_twist, self._asked_for):
            return
        if self.walking and self.commanded_twist.any() and self._steady(self.commanded_twist):
            self._asked_for = command = self.commanded_twist.copy()
            twin = self.copy_as(OptimalGait)
            self.planner.ask(self.robot, self._damage, lambda: twin.swings(command))

    def swings(self, command: np.ndarray) -> list[Swing]:
        """Return the boundary conditions of the swing of every plannable leg, for a steady walk at a twist (3,)."""
        probe = self.copy_as(TripodGait)
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
            for moving, path, rate, tick in zip(self._moving, paths, rates, ticks, strict=True):
                # Record one swing, from lift-off at half the cycle to touch-down at its end.
                if tick == samples // 2 and not path or path and len(path) <= samples // 2:
                    path.append(q[moving].copy())
                    rate.append(qd[moving].copy())
        return [
            Swing(leg.name, np.array(path), rate[0], rate[-1], 0.5 * probe.period)
            for leg, path, rate, plannable in zip(self.robot.legs, paths, rates, self._plannable, strict=True)
            if plannable
        ]

    def copy(self) -> OptimalGait:
        """Return a gait of the same settings in the same state; it makes its own plans, in this process."""
        twin = self.copy_as(OptimalGait)
        twin.planner = ImmediatePlanner()
        if self.is_bound:
            twin.forget_plans()
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

    @property
    def compiled(self) -> None:
        """None: the Simulator has to call `step`."""
        return


class ImmediatePlanner:
    """Makes plans at once, in this process: for simulation and tests."""

    _done = None

    def ask(self, robot: Robot, morphology: Morphology, swings: Callable[[], list[Swing]]) -> None:
        """Make the plans of the swings."""
        self._done = plan_all(robot, morphology, swings()), ""

    def poll(self) -> tuple[Plans | None, str] | None:
        """Return plans and reasons once after `ask`, as `BackgroundCall.poll`, else None."""
        done, self._done = self._done, None
        return done

    def cancel(self) -> None:
        """Drop the plans."""
        self._done = None


class BackgroundSwingPlanner(BackgroundCall[Plans]):
    """Makes plans in a separate process at low priority, so that the control loop is never blocked."""

    def __init__(self) -> None:
        super().__init__("hexapod_dynamics.papers.optimal_gait:plan_all", check_swings)

    def ask(self, robot: Robot, morphology: Morphology, swings: Callable[[], list[Swing]]) -> None:
        """Start to make the plans of the swings that a function returns, which is called in a thread."""
        self.start(robot, morphology, swings)


def check_swings(answer: object, robot: Robot, morphology: Morphology, _swings: object) -> Plans:
    """Return the plans of the swings, and why others have none; HexapodError for a wrong answer."""
    if not (isinstance(answer, list) and [type(part) for part in answer] == [list, list]):
        raise HexapodError(f"the job plan_all answered {repr(answer)[:80]}: plans and refused are needed")
    moving, plans = morphology.moving_mask, []
    for row in answer[0]:
        leg, points, duration, effort = row
        points = np.array(points, float)
        good = leg in robot.leg_names and points.ndim == 2
        good = good and points.shape[1] == moving[list(robot.leg_joints(leg))].sum()
        good = good and bool(np.isfinite(points).all() and np.isfinite([duration, effort]).all())
        if not (good and duration > 0.0):
            raise HexapodError(f"the job plan_all answered {repr(row)[:80]}, which is no swing of this robot")
        plans.append(SwingPlan(leg, points, duration, effort))
    return plans, [str(one) for one in answer[1]]


def make_gait(kind: str, values: Mapping[str, GaitValue]) -> OptimalGait:
    """Return the OptimalGait for the parameters of the node `gait`; its swings are planned in a background process."""
    return OptimalGait(planner=BackgroundSwingPlanner(), **arguments(values))
