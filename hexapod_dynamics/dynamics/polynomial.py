"""Polynomials in named quantities and in sines and cosines of joint angles, for readable formulas.

An atom `s3` (sine of joint 3's angle) never appears squared: s3**2 is 1 - c3**2, so that equal formulas are equal
polynomials. Coefficients are floats; in formulas of robots whose axes are along x, y or z they are small whole
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Atom = Any  # the value of an atom: a number, or a symbol of CasADi or sympy
Monomial = tuple[tuple[str, int], ...]  # (atom, power) in the order of the atoms' names


class Polynomial:
    """Sum of coefficients times monomials; `str` writes it in Python's notation, which sympy and CasADi take, too."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, float]) -> None:
        self.terms = {monomial: value for monomial, value in terms.items() if value != 0.0}

    @classmethod
    def atom(cls, name: str) -> Polynomial:
        """Return the quantity of that name."""
        return cls({((name, 1),): 1.0})

    @classmethod
    def constant(cls, value: float) -> Polynomial:
        """Return a constant."""
        return cls({(): float(value)})

    @classmethod
    def of(cls, value: Polynomial | float) -> Polynomial:
        """Return a number as a polynomial; a polynomial itself."""
        return value if isinstance(value, Polynomial) else cls.constant(value)

    def __add__(self, other: Polynomial | float) -> Polynomial:
        other = self.of(other)
        terms = dict(self.terms)
        for monomial, value in other.terms.items():
            terms[monomial] = terms.get(monomial, 0.0) + value
        return Polynomial(terms)

    def __neg__(self) -> Polynomial:
        return Polynomial({monomial: -value for monomial, value in self.terms.items()})

    def __sub__(self, other: Polynomial | float) -> Polynomial:
        return self + -self.of(other)

    def __mul__(self, other: Polynomial | float) -> Polynomial:
        other = self.of(other)
        terms: dict[Monomial, float] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                for monomial, value in _product(a, b).items():
                    terms[monomial] = terms.get(monomial, 0.0) + value * x * y
        return Polynomial(terms)

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
    def atoms(self) -> set[str]:
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
