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
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.interpolate import BSpline
from scipy.optimize import OptimizeResult, minimize

from hexapod_dynamics.dynamics.chain.chain import Chain
from hexapod_dynamics.dynamics.chain.sensitivities import Sensitivities, inverse_dynamics, sensitivities
from hexapod_dynamics.errors import DynamicsError

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
        n, put = len(self.chain), lambda name, value: object.__setattr__(self, name, value)
        for name in ("start", "end", "start_rate", "end_rate"):
            value = getattr(self, name)
            value = np.zeros(n) if value is None and name.endswith("rate") else np.asarray(value, float)
            if value.shape != (n,) or not np.isfinite(value).all():
                raise DynamicsError(f"{name} is {value}, needed: {n} finite values")
            put(name, value)
        for name in ("torque_bound", "speed_bound"):
            if getattr(self, name) is not None:
                bound = np.broadcast_to(np.asarray(getattr(self, name), float), (n,))
                if not (bound > 0).all():
                    raise DynamicsError(f"{name} is {bound}, allowed: above 0")
                if np.isinf(bound).all():
                    bound = None
                put(name, bound)
        if not 0 <= self.effort <= 1:
            raise DynamicsError(f"effort is {self.effort}, allowed: 0 (time alone) to 1 (effort alone)")
        if self.duration is None and self.effort == 1:
            raise DynamicsError("effort alone has no best time: give a duration or an effort below 1")
        if self.duration is not None and not 0 < self.duration < np.inf:
            raise DynamicsError(f"duration is {self.duration} s, allowed: above 0")
        if self.control_points < 2 * DEGREE + 1:
            raise DynamicsError(f"{self.control_points} control points, allowed: {2 * DEGREE + 1} or more")
        self._refuse_what_has_no_best_time()
        self._refuse_what_no_motion_keeps()

    def _refuse_what_has_no_best_time(self) -> None:
        """Raise DynamicsError if the time has no minimum: it needs a lower bound and two different postures."""
        if self.duration is not None:
            return
        if np.array_equal(self.start, self.end) and np.array_equal(self.start_rate, self.end_rate) and not self.paths:
            raise DynamicsError(
                f"start and end are the same posture {self.start.tolist()}: the best time is 0; give a duration, or "
                "two different postures"
            )
        if self.torque_bound is None and self.speed_bound is None and self.effort == 0:
            raise DynamicsError(
                "nothing bounds the time from below: give torque_bound, speed_bound, an effort above 0 or a duration"
            )

    def _refuse_what_no_motion_keeps(self) -> None:
        names = self.chain.names
        if self.position_bounds is not None:
            lower, upper = (np.broadcast_to(np.asarray(bound, float), (len(names),)) for bound in self.position_bounds)
            object.__setattr__(self, "position_bounds", (lower, upper))
            for where, q in (("start", self.start), ("end", self.end)):
                for i in np.flatnonzero((q < lower) | (q > upper)):
                    raise DynamicsError(f"{names[i]} {where}s at {q[i]:.4g}, allowed: {lower[i]:.4g} to {upper[i]:.4g}")
        if self.speed_bound is not None:
            for where, rate in (("start", self.start_rate), ("end", self.end_rate)):
                for i in np.flatnonzero(np.abs(rate) > self.speed_bound):
                    raise DynamicsError(
                        f"{names[i]} {where}s at {rate[i]:.4g} /s, its bound is {self.speed_bound[i]:.4g}"
                    )
            if self.duration is not None:
                needed = np.abs(self.end - self.start) / self.duration
                for i in np.flatnonzero(needed > self.speed_bound):
                    raise DynamicsError(
                        f"{names[i]} needs {needed[i]:.4g} /s on average to arrive in "
                        f"{self.duration:g} s, its bound is {self.speed_bound[i]:.4g}: "
                        "no motion keeps it"
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
    history: tuple[float, ...] = field(default=())

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
    gradients: str = "analytic",
    iterations: int = 300,
) -> Motion:
    """Return the motion of least cost; NotConvergedError (with the best point as `best`) if the solver finds no
    optimum.

    start: (points, duration), default `straight_start`; tolerance: largest relative violation of bounds between
    the points where they are imposed; gradients: 'analytic', or 'differences' for comparison.
    """
    if gradients not in ("analytic", "differences"):
        raise DynamicsError(f"gradients is {gradients!r}, allowed: 'analytic', 'differences'")
    points, duration = straight_start(problem) if start is None else start
    grid = _Grid(problem)
    x = grid.pack(np.asarray(points, float), duration)
    history: list[float] = []
    used, message = 0, ""
    fine = np.linspace(0, 1, 40 * (problem.control_points - DEGREE) + 1)
    for _ in range(8):
        outcome = _solve(grid, x, gradients, iterations, history)
        x, used, message = outcome.x, used + outcome.nit, outcome.message
        motion = grid.motion(x, used, history, fine)
        if not outcome.success:
            break
        if motion.crossing <= tolerance:
            return motion
        grid.ask_at(grid.crossings(x, fine, tolerance / 2))
    else:
        message = f"bounds are still crossed by {motion.crossing:.2g} (relative) between the points asked at"
    raise NotConvergedError(
        f"no optimum found after {used} iterations: {message}; T = {motion.duration:.5g} s is the "
        "best point, not a solution",
        motion,
    )


def _solve(grid: _Grid, x: np.ndarray, gradients: str, iterations: int, history: list[float]) -> OptimizeResult:
    analytic = gradients == "analytic"
    constraint = {"type": "ineq", "fun": lambda x: grid.constraints(x)[0]}
    if analytic:
        constraint["jac"] = lambda x: grid.constraints(x)[1]
    scale = 1 / max(abs(grid.cost(x)[0]), 1e-12)  # the solver's tolerances are absolute
    lower = np.full(len(x), -np.inf)
    if grid.free_time:
        lower[-1] = 1e-3
    return minimize(
        lambda x: scale * grid.cost(x)[0],
        x,
        jac=(lambda x: scale * grid.cost(x)[1]) if analytic else None,
        method="SLSQP",
        constraints=[constraint] if len(grid.constraints(x)[0]) else [],
        bounds=list(zip(lower, np.full(len(x), np.inf), strict=True)),
        callback=lambda x: history.append(float(grid.cost(x)[0])),
        options={"maxiter": iterations, "ftol": 1e-9},
    )


def _knots(control_points: int) -> np.ndarray:
    inner = np.linspace(0, 1, control_points - DEGREE + 1)
    return np.concatenate((np.zeros(DEGREE), inner, np.ones(DEGREE)))


# T, q and qdot (S, n), the derivatives of q, qdot and qddot by T, and the torques with their sensitivities.
_States = tuple[float, np.ndarray, np.ndarray, tuple[np.ndarray, ...], Sensitivities]


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
        s = np.concatenate((self.asked, self.gauss))
        self.B0, self.B1, self.B2 = self.basis(s), self.basis(s, 1), self.basis(s, 2)
        self.cached = None

    def pack(self, points: np.ndarray, duration: float) -> np.ndarray:
        if points.shape != (self.problem.control_points, len(self.problem.chain)) or not np.isfinite(points).all():
            raise DynamicsError(
                f"the start has points {points.shape}, needed: finite "
                f"({self.problem.control_points}, {len(self.problem.chain)})"
            )
        return np.append(points[2:-2].ravel(), duration if self.free_time else [])

    def points(self, x: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """Return all control points, T, and the derivative of the points by T (end rates are per second)."""
        p, n = self.problem, len(self.problem.chain)
        T = x[-1] if self.free_time else p.duration
        free = (x[:-1] if self.free_time else x).reshape(-1, n)
        ends = np.stack((p.start_rate, -p.end_rate)) * self.end_step
        points = np.concatenate(([p.start, p.start + ends[0] * T], free, [p.end + ends[1] * T, p.end]))
        by_T = np.zeros(points.shape)
        by_T[1], by_T[-2] = ends
        return points, T, by_T

    def evaluate(self, x: np.ndarray) -> _States:
        """Return states, torques and their sensitivities at all points of s; the result is cached for the last x."""
        if self.cached is None or not np.array_equal(self.cached[0], x):
            P, T, P_T = self.points(x)
            q, qdot, qddot = self.B0 @ P, self.B1 @ P / T, self.B2 @ P / T**2
            by_T = (self.B0 @ P_T, self.B1 @ P_T / T - qdot / T, self.B2 @ P_T / T**2 - 2 * qddot / T)
            torque = sensitivities(self.problem.chain, q, qdot, qddot, self.problem.loads)
            self.cached = x.copy(), (T, q, qdot, by_T, torque)
        return self.cached[1]

    def by_x(
        self,
        T: float,
        J_q: np.ndarray | None,
        J_qdot: np.ndarray | None,
        J_qddot: np.ndarray | None,
        by_T: tuple[np.ndarray, ...],
        rows: slice,
    ) -> np.ndarray:
        """Chain rule (41), (42): Jacobians (S, m, n) by q, qdot, qddot -> (S, m, variables)."""
        B0, B1, B2 = (B[rows, None, 2:-2, None] for B in (self.B0, self.B1, self.B2))
        through: np.ndarray = sum(
            J[:, :, None, :] * B / T**order
            for order, (J, B) in enumerate(((J_q, B0), (J_qdot, B1), (J_qddot, B2)))
            if J is not None
        )
        through = through.reshape(*through.shape[:2], -1)
        if not self.free_time:
            return through
        along = sum(
            (J @ dT[rows][..., None])[..., 0]
            for J, dT in zip((J_q, J_qdot, J_qddot), by_T, strict=True)
            if J is not None
        )
        return np.concatenate((through, along[..., None]), axis=-1)

    def cost(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """The integral (67) over s times T, and its gradient."""
        T, _, _, by_T, torque = self.evaluate(x)
        u, rows = self.problem.effort, slice(len(self.asked), None)
        tau = torque.torques[rows]
        square = self.weights @ (tau**2).sum(axis=1)
        value = T * ((1 - u) + u * square)
        tau_x = self.by_x(T, torque.by_q[rows], torque.by_qdot[rows], torque.by_qddot[rows], by_T, rows)
        gradient = 2 * T * u * np.einsum("s,si,six->x", self.weights, tau, tau_x)
        if self.free_time:
            gradient[-1] += (1 - u) + u * square
        return value, gradient

    def constraints(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All bounds as values that must not be negative, relative to the bound, and their Jacobian."""
        T, q, qdot, by_T, torque = self.evaluate(x)
        rows, p = slice(0, len(self.asked)), self.problem
        values, jacobians = [], []

        def stay_above(
            value: np.ndarray,
            J_q: np.ndarray | None = None,
            J_qdot: np.ndarray | None = None,
            J_qddot: np.ndarray | None = None,
        ) -> None:
            values.append(value.ravel())
            jacobian = self.by_x(T, J_q, J_qdot, J_qddot, by_T, rows)
            jacobians.append(jacobian.reshape(-1, jacobian.shape[-1]))

        one = np.broadcast_to(np.eye(q.shape[1]), (len(self.asked), q.shape[1], q.shape[1]))
        if p.torque_bound is not None:
            bound = p.torque_bound
            scaled = [J[rows] / bound[:, None] for J in (torque.by_q, torque.by_qdot, torque.by_qddot)]
            for sign in (1, -1):
                stay_above(1 - sign * torque.torques[rows] / bound, *(-sign * J for J in scaled))
        if p.speed_bound is not None:
            for sign in (1, -1):
                stay_above(1 - sign * qdot[rows] / p.speed_bound, J_qdot=-sign * one / p.speed_bound[:, None])
        if p.position_bounds is not None:
            stay_above(q[rows] - p.position_bounds[0], J_q=one)
            stay_above(p.position_bounds[1] - q[rows], J_q=-one)
        for path in p.paths:
            stay_above(path.value(self.asked, q[rows]), J_q=path.by_q(self.asked, q[rows]))
        if not values:
            return np.empty(0), np.empty((0, len(x)))
        return np.concatenate(values), np.concatenate(jacobians)

    def excess(self, x: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Largest violation (S,) of any bound at each path parameter s."""
        P, T, _ = self.points(x)
        spline, p = BSpline(self.basis.t, P, DEGREE), self.problem
        q, qdot, qddot = spline(s), spline(s, 1) / T, spline(s, 2) / T**2
        parts = [np.full((len(s), 1), -np.inf)]
        if p.torque_bound is not None:
            parts.append(np.abs(inverse_dynamics(p.chain, q, qdot, qddot, p.loads)) / p.torque_bound - 1)
        if p.speed_bound is not None:
            parts.append(np.abs(qdot) / p.speed_bound - 1)
        if p.position_bounds is not None:
            parts += [p.position_bounds[0] - q, q - p.position_bounds[1]]
        parts += [-path.value(s, q) for path in p.paths]
        return np.concatenate(parts, axis=1).max(axis=1)

    def crossings(self, x: np.ndarray, s: np.ndarray, tolerance: float) -> np.ndarray:
        """Return the s, between the points where bounds are imposed, at which the excess has a peak above the
        tolerance.
        """
        excess = self.excess(x, s)
        peak = (excess >= np.roll(excess, 1)) & (excess >= np.roll(excess, -1)) & (excess > tolerance)
        return s[peak]

    def motion(self, x: np.ndarray, iterations: int, history: list[float], fine: np.ndarray) -> Motion:
        points, T, _ = self.points(x)
        return Motion(
            self.problem,
            points,
            float(T),
            float(self.cost(x)[0]),
            iterations,
            max(0.0, float(self.excess(x, fine).max())),
            tuple(history),
        )
