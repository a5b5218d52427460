"""The dynamics of one leg as readable formulas: WholeBodyModel.symbolic.

The recursion of formulas.py is run on polynomials in its parameters and the sines and cosines of its joints,
in the leg's mount frame: the paper leaves the attachment symbolic (Farghdani & Chhabra 2025, section V). With g
the pose of the mount in base_link, M_00 in base_link is Ad_g^-T M_00 Ad_g^-1, M_0i is Ad_g^-T M_0i, and J^k is
Ad_g J^k.

Quantities of link k, counted from 1, all in axes parallel to the mount frame's at zero: m mass; hx, hy, hz mass times
centre of mass from joint k; Ixx .. Iyz inertia about joint k; px, py, pz joint k from joint k - 1; a rotor inertia.
s, c, q: sine, cosine, and the joint's position itself. `m3` is the mass of link 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.array_checks import as_array
from hexapod_dynamics.dynamics.formulas import Chain, as_objects, compute_arrow, inertia_matrix, leg_numbers
from hexapod_dynamics.robot import Leg, Morphology

NAMES = ("px", "py", "pz", "ex", "ey", "ez", "m", "hx", "hy", "hz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz", "a")
Atom = Any  # the value of an atom: a number, or a symbol of CasADi or sympy
Monomial = tuple[tuple[str, int], ...]  # (atom, power) in the order of the atoms' names


class Polynomial:
    """Sum of coefficients times monomials; `str` writes it in Python's notation, which sympy and CasADi take, too.

    An atom `s3` (sine of joint 3's angle) never appears squared: s3**2 is 1 - c3**2, so that equal formulas are equal
    polynomials. Coefficients are floats; in formulas of robots whose axes are along x, y or z they are small whole
    numbers.
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, float]) -> None:
        self.terms = {monomial: value for monomial, value in terms.items() if value != 0.0}

    @classmethod
    def from_name(cls, name: str) -> Polynomial:
        """Return the quantity of that name."""
        return cls({((name, 1),): 1.0})

    @classmethod
    def constant(cls, value: float) -> Polynomial:
        """Return a constant."""
        return cls({(): float(value)})

    @classmethod
    def from_value(cls, value: Polynomial | float) -> Polynomial:
        """Return a number as a polynomial; a polynomial itself."""
        return value if isinstance(value, Polynomial) else cls.constant(value)

    def __add__(self, other: Polynomial | float) -> Polynomial:
        other = self.from_value(other)
        terms = dict(self.terms)
        for monomial, value in other.terms.items():
            terms[monomial] = terms.get(monomial, 0.0) + value
        return Polynomial(terms)

    def __neg__(self) -> Polynomial:
        return Polynomial({monomial: -value for monomial, value in self.terms.items()})

    def __sub__(self, other: Polynomial | float) -> Polynomial:
        return self + -self.from_value(other)

    def __mul__(self, other: Polynomial | float) -> Polynomial:
        other = self.from_value(other)
        terms: dict[Monomial, float] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                for monomial, value in _product(a, b).items():
                    terms[monomial] = terms.get(monomial, 0.0) + value * x * y
        return Polynomial(terms)

    def __rsub__(self, other: float) -> Polynomial:
        return self.from_value(other) + -self

    __radd__, __rmul__ = __add__, __mul__

    def evaluate(self, values: Mapping[str, Atom]) -> Atom:
        """Return the value with numbers, or with symbols of CasADi or sympy, in place of the atoms."""
        total: Atom = 0.0
        for monomial, coefficient in self.terms.items():
            term: Atom = coefficient
            for name, power in monomial:
                term = term * values[name] ** power
            total = total + term
        return total

    @property
    def names(self) -> set[str]:
        """Return the names of all quantities in the polynomial."""
        return {name for monomial in self.terms for name, _ in monomial}

    def __str__(self) -> str:
        text = ""
        for monomial, value in sorted(self.terms.items(), key=lambda term: (len(term[0]), term[0])):
            factors = [name if power == 1 else f"{name}**{power}" for name, power in monomial]
            size = abs(value)
            if size != 1.0 or not factors:
                factors.insert(0, f"{size:g}")
            sign = "-" if value < 0 else "+"
            text += f" {sign} {'*'.join(factors)}" if text else ("-" if value < 0 else "") + "*".join(factors)
        return text or "0"

    def __repr__(self) -> str:
        return f"Polynomial({self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))


def _product(a: Monomial, b: Monomial) -> dict[Monomial, float]:
    """Return the product of two monomials: one monomial, or two if a sine's square is replaced."""
    powers = dict(a)
    for name, power in b:
        powers[name] = powers.get(name, 0) + power
    result = [(powers, 1.0)]
    for name, power in powers.items():
        if name[0] == "s" and power >= 2:  # the power is at most 2, because each factor has at most 1
            replaced = []
            for each, value in result:
                rest = {key: n for key, n in each.items() if key != name}
                cosine = "c" + name[1:]
                replaced += [(rest, value), (rest | {cosine: rest.get(cosine, 0) + 2}, -value)]
            result = replaced
    products: dict[Monomial, float] = {}
    for each, value in result:
        monomial = tuple(sorted(each.items()))
        products[monomial] = products.get(monomial, 0.0) + value
    return products


@dataclass(frozen=True, eq=False)
class LegExpressions:
    """Formulas of a leg, in its mount frame, for the joints that exist: arrays of Polynomial.

    M_00 (6, 6), M_0i (6, n), M_ii (n, n): the leg's share of the mass matrix, (18)-(21). J (6, n): the joints' screws
    J^k, (14)-(17). gravity (6 + n, 3): multiplied by the upward acceleration g in mount axes, it is the leg's
    share of the gravity force. values: those of this leg's parameters. A locked joint still counts as a joint
    here; its rows are removed from the mass matrix of the robot. `print` shows everything that is not zero.
    """

    leg: str
    joints: tuple[str, ...]
    M_00: np.ndarray
    M_0i: np.ndarray
    M_ii: np.ndarray
    J: np.ndarray
    gravity: np.ndarray
    values: dict[str, float]

    def evaluate(self, matrix: np.ndarray, q: npt.ArrayLike) -> np.ndarray:
        """Evaluate one of the arrays for joint positions q (n,) of this leg [rad or m] and the leg's parameters,
        as floats.
        """
        numbers: dict[str, float] = dict(self.values)
        for k, angle in enumerate(as_array("q", q, (len(self.joints),))):
            numbers |= {f"q{k + 1}": angle, f"s{k + 1}": np.sin(angle), f"c{k + 1}": np.cos(angle)}
        return np.array([entry.evaluate(numbers) for entry in matrix.ravel()], float).reshape(matrix.shape)

    def __str__(self) -> str:
        lines = [f"leg {self.leg}, joints {', '.join(self.joints)}; mount frame, s1 = sin q1, c1 = cos q1"]
        symmetric = {"M_00", "M_ii"}
        for name in ("M_00", "M_0i", "M_ii", "J", "gravity"):
            matrix: np.ndarray = getattr(self, name)
            for (r, c), entry in np.ndenumerate(matrix):
                if entry.terms and not (name in symmetric and c < r):
                    lines.append(f"{name}[{r + 1},{c + 1}] = {entry}")
        used = set().union(*(e.names for name in ("M_00", "M_ii", "J") for e in getattr(self, name).ravel()))
        lines += [f"{name} = {value:g}" for name, value in self.values.items() if name in used]
        return "\n".join(lines)


def leg_expressions(morphology: Morphology, leg: Leg) -> LegExpressions:
    """Return the formulas of a leg in a morphology."""
    links = morphology.links(leg.name)
    n, values = len(links), dict[str, float]()
    joints = leg_numbers(leg, links)
    for k, joint in enumerate(joints):
        numbers = [*joint["offset"], *joint["end"], joint["mass"], *joint["h"], *joint["inertia"], joint["rotor"]]
        names = [f"{name}{k + 1}" for name in NAMES]
        values |= {name: number for name, number in zip(names, numbers, strict=True) if number}
        symbols = [Polynomial.from_name(name) if number else 0.0 for name, number in zip(names, numbers, strict=True)]
        joint |= {"offset": symbols[:3], "end": symbols[3:6], "mass": symbols[6], "h": symbols[7:10]}
        joint |= {"inertia": symbols[10:16], "rotor": symbols[16]}
    mount = np.eye(3), np.zeros(3)
    q = [Polynomial.from_name(f"q{k + 1}") for k in range(n)]
    chain = Chain(
        joints,
        mount,
        q,
        [True] * n,
        lambda x: Polynomial.from_name(f"s{_index(x)}"),
        lambda x: Polynomial.from_name(f"c{_index(x)}"),
    )
    composite, arms, block, _, _, screws = compute_arrow(chain, np.zeros(6), np.zeros(6), np.zeros(n))
    of = np.frompyfunc(Polynomial.from_value, 1, 1)
    M_00, M_0i, J = of(inertia_matrix(composite)), of(np.stack(arms, axis=1)), of(np.stack(screws, axis=1))
    M_ii = of(as_objects((block[max(k, l)][min(k, l)] for k in range(n) for l in range(n)), n, n))
    # An upward acceleration of the body: M times (g, 0).
    gravity = np.concatenate([M_00[:, :3], M_0i[:3].T])
    return LegExpressions(leg.name, tuple(joint.name for joint in leg.joints[:n]), M_00, M_0i, M_ii, J, gravity, values)


def _index(atom: Polynomial) -> str:
    """Return the number of the joint whose position an atom is."""
    return str(atom)[1:]
