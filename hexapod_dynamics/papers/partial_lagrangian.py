"""Partial Lagrangian by automatic differentiation (Kusaka & Tanaka 2022): the dynamics follow from the positions
of the masses.

L = sum L_i, L_i = K_i - P_i of link i alone, and tau_ki = D_k L_i with D_k = d/dt d/dqdot_k - d/dq_k. Link i moves with
q_1 .. q_i only, so tau_ki is zero for k > i and the equations of motion are the triangle of table 1: column i needs
link i alone. An additional link adds a column; for a replaced link, its column and those beyond it are derived
again.

CasADi computes the derivatives (docs/python.md tells why). The columns are CasADi expressions:
they can be printed, evaluated, compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hexapod_dynamics.array_checks import as_array
from hexapod_dynamics.dynamics.formulas import import_casadi
from hexapod_dynamics.errors import DynamicsError

if TYPE_CHECKING:
    import casadi as ca
else:
    ca = import_casadi("the partial Lagrangian")


class Place(NamedTuple):
    """The place of a link: position of its mass, of its end (default: the mass), and what the next link needs of
    it.
    """

    mass: tuple
    end: tuple = ()
    direction: ca.SX | float = 0.0


@dataclass(frozen=True)
class Link:
    """A mass on the chain; `place(q, before)` -> Place from its joint variable q and the Place of the previous
    link.

    mass [kg]; stiffness k [N/m] of a spring to the origin, 1/2 k p.p; damping d [N s/m] against the mass' velocity,
    1/2 d pdot.pdot (sections 3.1 and appendix A).
    """

    mass: float
    place: Callable
    stiffness: float = 0.0
    damping: float = 0.0

    def __post_init__(self) -> None:
        for name in ("mass", "stiffness", "damping"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise DynamicsError(f"the {name} of a link is {value}, allowed: 0 or more")


def revolute_link(length: float, mass: float, *, stiffness: float = 0.0, damping: float = 0.0) -> Link:
    """A pendulum link in the plane: it is turned by q relative to the previous link, its mass is at its end,
    e_theta of (7).
    """

    def place(q: ca.SX, before: Place) -> Place:
        angle = before.direction + q
        end = (before.end[0] + length * ca.cos(angle), before.end[1] + length * ca.sin(angle))
        return Place(end, end, angle)

    return Link(mass, place, stiffness, damping)


def sliding_link(mass: float, *, stiffness: float = 0.0, damping: float = 0.0) -> Link:
    """A slider in the plane: q is its length, in the direction of the previous link."""

    def place(q: ca.SX, before: Place) -> Place:
        end = (before.end[0] + q * ca.cos(before.direction), before.end[1] + q * ca.sin(before.direction))
        return Place(end, end, before.direction)

    return Link(mass, place, stiffness, damping)


class _Column(NamedTuple):
    """Column i of table 1: the link, where it is, and tau_ki for k = 1 .. i."""

    link: Link
    place: Place
    forces: ca.SX


class PartialLagrangian:
    """A chain of links and the triangle of their partial generalized forces."""

    def __init__(
        self, links: Iterable[Link] = (), *, gravity: Sequence[float] = (0.0, -9.8), base: Place | None = None
    ) -> None:
        """Chain of `links` under gravity (2,) or (3,) [m/s^2] from the place `base` (default: the origin, along x)."""
        self.gravity = tuple(map(float, gravity))
        if len(self.gravity) not in (2, 3) or not np.isfinite(self.gravity).all():
            raise DynamicsError(f"gravity is {gravity}, needed: 2 or 3 finite values")
        self._start = base or Place((0.0,) * len(self.gravity), (0.0,) * len(self.gravity))
        self._columns: tuple[_Column, ...] = ()
        self.computed = 0  # number of columns differentiated for this chain; the others were reused
        self._grow(links)

    def _grow(self, links: Iterable[Link]) -> None:
        for link in links:
            self._columns += (self._column(len(self._columns), link),)
            self.computed += 1

    def _column(self, i: int, link: Link) -> _Column:
        before = self._columns[i - 1].place if i else self._start
        q, qd, qdd = (ca.vertcat(*_symbols(name, i + 1)) for name in ("q", "qd", "qdd"))
        place = link.place(q[i], before)
        if len(place.mass) != len(self.gravity):
            raise DynamicsError(
                f"link {i + 1} is placed at {len(place.mass)} coordinates, gravity has {len(self.gravity)}"
            )
        own = _lagrangian(link, ca.vertcat(*place.mass), ca.DM(self.gravity), q, qd)
        return _Column(link, place._replace(end=place.end or place.mass), _forces(*own, q, qd, qdd))

    @property
    def links(self) -> tuple[Link, ...]:
        """The links, from the base outward."""
        return tuple(column.link for column in self._columns)

    @property
    def places(self) -> tuple[Place, ...]:
        """The place of each link, as a function of the joint variables."""
        return tuple(column.place for column in self._columns)

    # ---- changing the chain: only what changes is differentiated again ----

    def extend(self, link: Link) -> PartialLagrangian:
        """The chain with one more link: one more column."""
        return self._rebuild(self._columns, (link,))

    def replace(self, index: int, link: Link) -> PartialLagrangian:
        """The chain with link `index` (0, 1, ...) replaced: its column and those beyond it are derived again."""
        if not 0 <= index < len(self):
            raise DynamicsError(f"no link {index}, this chain has 0 to {len(self) - 1}")
        return self._rebuild(self._columns[:index], (link, *(column.link for column in self._columns[index + 1 :])))

    def _rebuild(self, kept: Sequence[_Column], links: Iterable[Link]) -> PartialLagrangian:
        chain = PartialLagrangian(gravity=self.gravity, base=self._start)
        chain._columns = tuple(kept)
        chain._grow(links)
        return chain

    # ---- reading it ----

    def __len__(self) -> int:
        return len(self._columns)

    def entry(self, k: int, i: int) -> ca.SX:
        """tau_ki of table 1 (from 0) as an expression in q_0.., qd_0.., qdd_0..; zero for k > i."""
        return self._columns[i].forces[k] if k <= i else ca.SX(0)

    def column_function(self, i: int) -> ca.Function:
        """Column i as a function of q, qdot, qddot (i + 1,)."""
        return ca.Function(
            f"column_{i}",
            [ca.vertcat(*_symbols(name, i + 1)) for name in ("q", "qd", "qdd")],
            [self._columns[i].forces],
        )

    def torques(self) -> ca.SX:
        """tau_k = sum of row k: (n, 1) expression."""
        n = len(self)
        if n == 0:
            raise DynamicsError("a chain needs at least one link, none was given")
        total = ca.SX.zeros(n)
        for i, column in enumerate(self._columns):
            total[: i + 1] += column.forces
        return total

    def dynamics(self) -> Dynamics:
        """Mass matrix and bias from the table: what simulation needs."""
        tau, (q, qd, qdd) = self.torques(), (ca.vertcat(*_symbols(name, len(self))) for name in ("q", "qd", "qdd"))
        mass_matrix = ca.jacobian(tau, qdd)
        bias = ca.substitute(tau, qdd, ca.SX.zeros(len(self)))
        return Dynamics(ca.Function("torques", [q, qd, qdd], [tau]), ca.Function("terms", [q, qd], [mass_matrix, bias]))


@dataclass(frozen=True)
class Dynamics:
    """The equations of motion as numeric functions: tau = M(q) qddot + bias(q, qdot), friction included."""

    torque_function: ca.Function
    term_function: ca.Function

    def torques(self, q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray) -> np.ndarray:
        """Generalized forces (n,) [N m or N] of a motion."""
        return np.asarray(self.torque_function(*self._check(q, qdot, qddot))).ravel()

    def terms(self, q: np.ndarray, qdot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mass matrix (n, n) and bias (n,)."""
        mass_matrix, bias = self.term_function(*self._check(q, qdot))
        return np.asarray(mass_matrix), np.asarray(bias).ravel()

    def accelerations(self, q: np.ndarray, qdot: np.ndarray, forces: np.ndarray) -> np.ndarray:
        """Accelerations (n,) under the generalized forces (n,)."""
        mass_matrix, bias = self.terms(q, qdot)
        return np.linalg.solve(mass_matrix, as_array("forces", forces, bias.shape) - bias)

    def _check(self, *vectors: np.ndarray) -> tuple[np.ndarray, ...]:
        n = self.term_function.size1_in(0)
        for name, vector in zip(("q", "qdot", "qddot"), vectors, strict=False):
            as_array(name, vector, (n,))
        return vectors


def usual_lagrangian_forces(chain: PartialLagrangian) -> ca.SX:
    """The usual Lagrangian method, D_k L of the sum (3), for comparison: the same forces, but nothing can be
    reused.
    """
    q, qd, qdd = (ca.vertcat(*_symbols(name, len(chain))) for name in ("q", "qd", "qdd"))
    L, R = ca.SX(0), ca.SX(0)
    for link, place in zip(chain.links, chain.places, strict=True):
        own = _lagrangian(link, ca.vertcat(*place.mass), ca.DM(chain.gravity), q, qd)
        L, R = L + own[0], R + own[1]
    return _forces(L, R, q, qd, qdd)


def _lagrangian(link: Link, position: ca.SX, gravity: ca.DM, q: ca.SX, qd: ca.SX) -> tuple[ca.SX, ca.SX]:
    """L_i = K_i - P_i (2) of a link, and its dissipation R_i."""
    velocity = ca.jtimes(position, q, qd)  # pdot
    K = link.mass / 2 * ca.dot(velocity, velocity)
    P = link.stiffness / 2 * ca.dot(position, position) - link.mass * ca.dot(gravity, position)
    return K - P, link.damping / 2 * ca.dot(velocity, velocity)


def _forces(L: ca.SX, R: ca.SX, q: ca.SX, qd: ca.SX, qdd: ca.SX) -> ca.SX:
    """D_k L + dR/dqdot_k for all k (4)."""
    momentum = ca.gradient(L, qd)
    rate = ca.jtimes(momentum, q, qd) + ca.jtimes(momentum, qd, qdd)  # d/dt dL/dqdot
    return rate - ca.gradient(L, q) + ca.gradient(R, qd)


_SYMBOLS: dict[str, list] = {"q": [], "qd": [], "qdd": []}


def _symbols(name: str, count: int) -> list[ca.SX]:
    """The first `count` joint variables, rates or accelerations: the same in every chain, so columns are shared."""
    symbols = _SYMBOLS[name]
    while len(symbols) < count:
        symbols.append(ca.SX.sym(f"{name}_{len(symbols)}"))
    return symbols[:count]
