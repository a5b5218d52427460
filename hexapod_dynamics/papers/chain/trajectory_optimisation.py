"""Motion prediction: the motion between two postures that costs least (Xiang, Arora, Abdel-Malek 2008, sections 5, 6).

Joint profiles are cubic B-splines (39) on clamped uniform knots over s = t / T; the variables are their control points
and, unless it is given, the total time T. The cost (67) is the integral of (1 - u) + u sum tau_i^2; torques come from
the recursion of `sensitivities`, and their gradients go through to control points (41) and to T (42). The two
control points at either end follow from the end postures and end rates, so the boundary conditions hold exactly.

Bounds are imposed at the knots and at Gauss points between them, then also where the solution violates them
between these points, until it violates no bound by more than `tolerance`. Solver: scipy's SLSQP.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.interpolate import BSpline
from scipy.optimize import OptimizeResult, minimize

from hexapod_dynamics.array_checks import as_array
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.papers.chain.chain import Chain, refuse
from hexapod_dynamics.papers.chain.sensitivities import inverse_dynamics, sensitivities

DEGREE = 3
_GAUSS_NODES, _GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(4)  # exact for the squares of piecewise cubics


class NotConvergedError(DynamicsError):
    """The solver stopped without an optimum; `best` is its last `Motion`, which is no solution."""

    def __init__(self, message: str, best: Motion) -> None:
        super().__init__(message)
        self.best = best


@dataclass(frozen=True)
class PathConstraint:
    """A constraint that must not become negative along the motion: value(s, q) -> (S, m), its derivative by_q(s,
    q) -> (S, m, n).
    """

    value: Callable
    by_q: Callable


@dataclass(frozen=True, eq=False)
class MotionProblem:
    """Two postures (n,) of a chain, and bounds and cost of the motion between them.

    torque_bound, speed_bound: (n,) or one number [N m, rad/s], None for no bound; position_bounds: (lower, upper), each
    (n,); effort u in [0, 1] of (67); duration [s], None to leave it to the optimisation; start_rate, end_rate (n,);
    loads as in `sensitivities`; sparse: impose bounds only at the knots at first, which is faster if few of them
    are active. Raises DynamicsError for a bound that no motion can satisfy because of the end postures alone;
    whether a torque bound is too low shows only during the search (an arm may swing up a load that it cannot
    hold).
    """

    chain: Chain
    start: np.ndarray
    end: np.ndarray
    torque_bound: float | np.ndarray | None = None
    speed_bound: float | np.ndarray | None = None
    position_bounds: tuple | None = None
    effort: float = 0.0
    duration: float | None = None
    start_rate: np.ndarray | None = None
    end_rate: np.ndarray | None = None
    loads: tuple = ()
    paths: tuple[PathConstraint, ...] = ()
    control_points: int = 22
    sparse: bool = False

    def __post_init__(self) -> None:
        n = len(self.chain)
        given = {name: getattr(self, name) for name in ("start", "end", "start_rate", "end_rate")}
        for name, value in given.items():
            at_rest = value is None and name.endswith("rate")
            object.__setattr__(self, name, np.zeros(n) if at_rest else as_array(name, value, (n,)))
        for name in ("torque_bound", "speed_bound"):
            if getattr(self, name) is not None:
                bound = np.broadcast_to(np.asarray(getattr(self, name), float), (n,))
                refuse(not (bound > 0).all(), f"{name} is {bound}, allowed: above 0")
                object.__setattr__(self, name, None if np.isinf(bound).all() else bound)
        if self.position_bounds is not None:
            bounds = tuple(np.broadcast_to(np.asarray(bound, float), (n,)) for bound in self.position_bounds)
            object.__setattr__(self, "position_bounds", bounds)
        u, least = self.effort, 2 * DEGREE + 1
        refuse(not 0 <= u <= 1, f"effort is {u}, allowed: 0 (time alone) to 1 (effort alone)")
        refuse(self.control_points < least, f"{self.control_points} control points, allowed: {least} or more")
        if self.duration is None:
            self._refuse_what_has_no_best_time()
        else:
            refuse(not 0 < self.duration < np.inf, f"duration is {self.duration} s, allowed: above 0")
        self._refuse_what_no_motion_keeps()

    @property
    def rates(self) -> np.ndarray:
        """Rates (2, n) at start and end."""
        return np.array((self.start_rate, self.end_rate))

    def _refuse_what_has_no_best_time(self) -> None:
        """Raise DynamicsError if the time has no minimum: it needs a lower bound and two different postures."""
        refuse(self.effort == 1, "effort alone has no best time: give a duration or an effort below 1")
        same = np.array_equal(self.start, self.end) and np.array_equal(*self.rates)
        refuse(
            same and not self.paths,
            f"start and end are the same posture {self.start.tolist()}: the best time is 0; give a duration, or two "
            "different postures",
        )
        refuse(
            self.torque_bound is None and self.speed_bound is None and self.effort == 0,
            "nothing bounds the time from below: give torque_bound, speed_bound, an effort above 0 or a duration",
        )

    def _refuse_what_no_motion_keeps(self) -> None:
        for i, name in enumerate(self.chain.names):
            for where, q, rate in (("start", self.start, self.start_rate), ("end", self.end, self.end_rate)):
                if self.position_bounds is not None:
                    lower, upper = (bound[i] for bound in self.position_bounds)
                    wrong = not lower <= q[i] <= upper
                    refuse(wrong, f"{name} {where}s at {q[i]:.4g}, allowed: {lower:.4g} to {upper:.4g}")
                if self.speed_bound is not None:
                    bound = self.speed_bound[i]
                    refuse(abs(rate[i]) > bound, f"{name} {where}s at {rate[i]:.4g} /s, its bound is {bound:.4g}")
            if self.speed_bound is not None and self.duration is not None:
                needed = abs(self.end[i] - self.start[i]) / self.duration
                refuse(
                    needed > self.speed_bound[i],
                    f"{name} needs {needed:.4g} /s on average to arrive in {self.duration:g} s, its bound is "
                    f"{self.speed_bound[i]:.4g}: no motion keeps it",
                )


@dataclass(frozen=True, eq=False)
class Motion:
    """A predicted motion: q(t) = spline(t / duration), with its cost and its largest violation of the bounds."""

    problem: MotionProblem
    points: np.ndarray  # (control_points, n)
    duration: float
    cost: float
    iterations: int
    crossing: float  # largest excess over a bound on a fine grid, relative to the bound
    history: tuple[float, ...] = ()  # cost after each iteration

    def spline(self) -> BSpline:
        """The profile over s in [0, 1]."""
        return BSpline(_knots(len(self.points)), self.points, DEGREE)

    def state(self, t: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, qdot, qddot (..., n) at times t (...) [s], which are clipped to [0, duration]."""
        s, spline = np.clip(np.asarray(t, float) / self.duration, 0, 1), self.spline()
        return spline(s), spline(s, 1) / self.duration, spline(s, 2) / self.duration**2

    def torques(self, t: npt.ArrayLike) -> np.ndarray:
        """Joint torques (..., n) at times t (...)."""
        q, qdot, qddot = self.state(t)
        return inverse_dynamics(self.problem.chain, q, qdot, qddot, self.problem.loads)


def straight_start(
    problem: MotionProblem, duration: float | None = None, *, wobble: float = 0.0, seed: int = 0
) -> tuple[np.ndarray, float]:
    """Return a starting point for `predict_motion`: points on the line from start to end with random deviations of
    `wobble` [rad], and a time.
    """
    m = problem.control_points
    points = problem.start + np.linspace(0, 1, m)[:, None] * (problem.end - problem.start)
    points = points + wobble * np.random.default_rng(seed).normal(size=points.shape)
    return points, problem.duration or duration or 1.0


def predict_motion(
    problem: MotionProblem,
    start: tuple[npt.ArrayLike, float] | None = None,
    *,
    tolerance: float = 1e-4,
    iterations: int = 300,
) -> Motion:
    """Return the motion of least cost; NotConvergedError (with the best point as `best`) if the solver finds no
    optimum.

    start: (points, duration), default `straight_start`; tolerance: largest relative violation of bounds between
    the points where they are imposed.
    """
    points, duration = straight_start(problem) if start is None else start
    grid = _Grid(problem)
    x = grid.pack(np.asarray(points, float), duration)
    history: list[float] = []
    used = 0
    fine = np.linspace(0, 1, 40 * (problem.control_points - DEGREE) + 1)
    for _ in range(8):
        outcome = _solve(grid, x, iterations, history)
        x, used, message = outcome.x, used + outcome.nit, outcome.message
        excess = grid.excess(x, fine)
        points, T, _ = grid.points(x)
        crossing = max(0.0, float(excess.max()))
        motion = Motion(problem, points, float(T), float(grid.cost(x)[0]), used, crossing, tuple(history))
        if not outcome.success:
            break
        if crossing <= tolerance:
            return motion
        peak = (excess >= np.roll(excess, 1)) & (excess >= np.roll(excess, -1)) & (excess > tolerance / 2)
        grid.ask_at(fine[peak])
    else:
        message = f"bounds are still crossed by {crossing:.2g} (relative) between the points asked at"
    raise NotConvergedError(
        f"no optimum found after {used} iterations: {message}; T = {motion.duration:.5g} s is the "
        "best point, not a solution",
        motion,
    )


def _solve(grid: _Grid, x: np.ndarray, iterations: int, history: list[float]) -> OptimizeResult:
    constraint = {"type": "ineq", "fun": lambda x: grid.constraints(x)[0], "jac": lambda x: grid.constraints(x)[1]}
    scale = 1 / max(abs(grid.cost(x)[0]), 1e-12)  # the solver's tolerances are absolute
    lower = np.full(len(x), -np.inf)
    if grid.free_time:
        lower[-1] = 1e-3
    return minimize(
        lambda x: tuple(scale * part for part in grid.cost(x)),
        x,
        jac=True,
        method="SLSQP",
        constraints=[constraint] if len(grid.constraints(x)[0]) else [],
        bounds=list(zip(lower, np.full(len(x), np.inf), strict=True)),
        callback=lambda x: history.append(float(grid.cost(x)[0])),
        options={"maxiter": iterations, "ftol": 1e-9},
    )


def _knots(control_points: int) -> np.ndarray:
    inner = np.linspace(0, 1, control_points - DEGREE + 1)
    return np.concatenate((np.zeros(DEGREE), inner, np.ones(DEGREE)))


class _States(NamedTuple):
    """States at S points of the path, and their derivatives by the solver's variables (..., V)."""

    duration: float
    state: np.ndarray  # q, qdot, qddot (3, S, n)
    state_x: np.ndarray  # (3, S, n, V)
    torques: np.ndarray  # (S, n)
    torques_x: np.ndarray  # (S, n, V)


class _Grid:
    """The problem in the solver's form: from a vector of free control points (and T) to cost and constraints."""

    def __init__(self, problem: MotionProblem) -> None:
        self.problem = problem
        self.free_time = problem.duration is None
        m = problem.control_points
        breaks = np.linspace(0, 1, m - DEGREE + 1)
        middle, half = (breaks[1:] + breaks[:-1]) / 2, np.diff(breaks) / 2
        self.gauss = (middle[:, None] + half[:, None] * _GAUSS_NODES).ravel()
        self.weights = (half[:, None] * _GAUSS_WEIGHTS).ravel()
        self.basis = BSpline(_knots(m), np.eye(m), DEGREE)
        self.end_step = 1 / (DEGREE * (m - DEGREE))  # p_1 - p_0 of a unit end rate over s
        self.asked = np.empty(0)
        self.cached: tuple[np.ndarray, _States] | None = None  # x, and what was computed for it
        self.ask_at(breaks if problem.sparse else np.concatenate((breaks, self.gauss)))

    def ask_at(self, more: np.ndarray) -> None:
        """Impose the bounds at these s, too."""
        self.asked = np.unique(np.concatenate((self.asked, more)))
        self.cached = None

    def pack(self, points: np.ndarray, duration: float) -> np.ndarray:
        """Return the solver's variables for control points and a duration."""
        shape = self.problem.control_points, len(self.problem.chain)
        inner = as_array("start's points", points, shape)[2:-2]
        return np.append(inner.ravel(), duration if self.free_time else [])

    def points(self, x: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """Return all control points, T, and the derivative of the points by T (end rates are per second)."""
        p, n = self.problem, len(self.problem.chain)
        T = p.duration or x[-1]
        free = (x[:-1] if self.free_time else x).reshape(-1, n)
        ends = p.rates * [[1.0], [-1.0]] * self.end_step
        points = np.concatenate(([p.start, p.start + ends[0] * T], free, [p.end + ends[1] * T, p.end]))
        by_T = np.zeros(points.shape)
        by_T[1], by_T[-2] = ends
        return points, T, by_T

    def states(self, x: np.ndarray, s: np.ndarray) -> _States:
        """Return states and torques at s, with the chain rule (41), (42)."""
        points, T, points_T = self.points(x)
        n, state, state_x = points.shape[1], [], []
        for order in range(3):
            B = self.basis(s, order) / T**order
            state.append(B @ points)
            by_points = np.einsum("sj,ik->sijk", B[:, 2:-2], np.eye(n)).reshape(len(s), n, -1)
            by_T = (B @ points_T - order / T * state[-1])[..., None]
            state_x.append(np.concatenate((by_points, by_T), axis=2) if self.free_time else by_points)
        q, qdot, qddot = state
        torques, *by_state = sensitivities(self.problem.chain, q, qdot, qddot, self.problem.loads)
        torques_x = sum(by @ each for by, each in zip(by_state, state_x, strict=True))
        return _States(T, np.array(state), np.array(state_x), torques, torques_x)

    def evaluate(self, x: np.ndarray) -> _States:
        """Return the states where bounds are imposed, then at the Gauss points; the result is kept for the last x."""
        if self.cached is None or not np.array_equal(self.cached[0], x):
            self.cached = x.copy(), self.states(x, np.concatenate((self.asked, self.gauss)))
        return self.cached[1]

    def cost(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """The integral (67) over s times T, and its gradient."""
        at, u, rows = self.evaluate(x), self.problem.effort, slice(len(self.asked), None)
        T, tau = at.duration, at.torques[rows]
        square = self.weights @ (tau**2).sum(axis=1)
        gradient = 2 * T * u * np.einsum("s,si,six->x", self.weights, tau, at.torques_x[rows])
        if self.free_time:
            gradient[-1] += (1 - u) + u * square
        return T * ((1 - u) + u * square), gradient

    def constraints(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All bounds as values that must not be negative, relative to the bound, and their Jacobian."""
        values, by_x = self._bounds(self.evaluate(x), self.asked)
        return values.ravel(), by_x.reshape(-1, len(x))

    def excess(self, x: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Largest violation (S,) of any bound at each path parameter s."""
        return -self._bounds(self.states(x, s), s)[0].min(axis=1, initial=np.inf)

    def _bounds(self, at: _States, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (S, m) that must not be negative at the first points of `at`, which are s, and Jacobians (S, m, V)."""
        p, S = self.problem, len(s)
        q, q_x = at.state[0, :S], at.state_x[0, :S]
        values, by_x = [np.empty((S, 0))], [np.empty((S, 0, q_x.shape[2]))]
        for bound, value, value_x in (
            (p.torque_bound, at.torques[:S], at.torques_x[:S]),
            (p.speed_bound, at.state[1, :S], at.state_x[1, :S]),
        ):
            if bound is not None:
                values += [1 - value / bound, 1 + value / bound]
                by_x += [-value_x / bound[:, None], value_x / bound[:, None]]
        if p.position_bounds is not None:
            for sign, bound in zip((1.0, -1.0), p.position_bounds, strict=True):
                limited = np.isfinite(bound)
                values.append(sign * (q - bound)[:, limited])
                by_x.append(sign * q_x[:, limited])
        for path in p.paths:
            values.append(path.value(s, q))
            by_x.append(path.by_q(s, q) @ q_x)
        return np.concatenate(values, axis=1), np.concatenate(by_x, axis=1)
