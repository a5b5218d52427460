"""Tables I and II of Hollerbach 1980, rebuilt by counting the operations that `hollerbach` executes.

The formulations run on `CountingNumber`s, which only count additions and multiplications. The polynomials follow from
the counts by exact interpolation. If they differ from the printed ones, `explain_difference` names the operations that
the paper counts and the implementation does not execute (or the reverse); such an item's cost is counted, too.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.papers import hollerbach


class Operations(NamedTuple):
    """Numbers of multiplications and of additions (including subtractions)."""

    multiplications: int
    additions: int


class CountingNumber:
    """A number without a value that counts every product and every sum."""

    tally = [0, 0]

    def __mul__(self, other: object) -> CountingNumber:
        CountingNumber.tally[0] += 1
        return self

    def __add__(self, other: object) -> CountingNumber:
        CountingNumber.tally[1] += 1
        return self

    def __neg__(self) -> CountingNumber:
        return self

    __rmul__, __radd__, __sub__, __rsub__ = __mul__, __add__, __add__, __add__

    @classmethod
    def array(cls, *shape: int) -> np.ndarray:
        """Array of counting numbers."""
        values = np.empty(shape, object)
        values.fill(cls())
        return values

    @classmethod
    def zeros(cls, n: int) -> np.ndarray:
        """Sums that start from zero: every addition to them counts."""
        return cls.array(n)


def count(function: Callable[..., object], *arguments: object) -> Operations:
    """Operations that `function(*arguments)` executes on counting numbers."""
    before = tuple(CountingNumber.tally)
    function(*arguments)
    return Operations(*(after - start for after, start in zip(CountingNumber.tally, before, strict=True)))


def count_operations(method: str, n: int) -> Operations:
    """Return the operations of one evaluation for n rotational joints; A_j, its derivatives and constants are
    given.

    method: a name of `hollerbach.FORMULATIONS`. DynamicsError for an unknown method or for n below 1.
    """
    if method not in hollerbach.FORMULATIONS:
        raise DynamicsError(f"no formulation {method!r}, known: {', '.join(hollerbach.FORMULATIONS)}")
    if int(n) != n or n < 1:
        raise DynamicsError(f"{n!r} joints, allowed: 1, 2, ...")
    rates = CountingNumber.array(n), CountingNumber.array(n)
    if method == "configuration_space":
        tables = CountingNumber.array(n), CountingNumber.array(n, n), CountingNumber.array(n, n, n)
        return count(hollerbach.configuration_space_terms, *tables, *rates)
    matrices = {name: CountingNumber.array(n, 4, 4) for name in ("A", "dA", "d2A", "J")}
    vectors = {name: CountingNumber.array(n, 3) for name in ("p_star", "z")}
    masses = {name: CountingNumber.array(n) for name in ("m", "mass_outward")}
    points, g = {"r": CountingNumber.array(n, 4), "inertia": CountingNumber.array(n, 3, 3)}, CountingNumber.array(4)
    terms = hollerbach.LinkTerms(**matrices, **vectors, **masses, **points, g=g, slides=(False,) * n)
    return count(hollerbach.TERMS[method], terms, *rates)


def polynomial(values: dict[int, int]) -> tuple[Fraction, ...]:
    """Coefficients (constant first) of the polynomial through all the points {n: count}."""
    nodes = sorted(values)
    coefficients = [Fraction(0)] * len(nodes)
    for n in nodes:  # Lagrange, exact
        basis = [Fraction(1)]
        for other in nodes:
            if other != n:
                shifted = [Fraction(0), *basis]
                basis = [a - other * b for a, b in zip(shifted, [*basis, Fraction(0)], strict=True)]
                basis = [b / (n - other) for b in basis]
        coefficients = [a + values[n] * b for a, b in zip(coefficients, basis, strict=True)]
    while len(coefficients) > 1 and coefficients[-1] == 0:
        coefficients.pop()
    return tuple(coefficients)


# ---- the print -------------------------------------------------------------------------------------------------------

_F = Fraction
TABLE_I = {  # coefficients of 1, n, n^2, ...: (multiplications, additions)
    "uicker_kahn": (
        (-128, _F(107, 2), _F(343, 2), 86 + _F(5, 12), _F(65, 2)),
        (-96, _F(85, 2), _F(259, 2), _F(133, 2), 25),
    ),
    "waters": ((-512, _F(1241, 2), _F(213, 2)), (-384, 514, 82)),
    "recursive_4x4": ((-592, 830), (-464, 675)),
    "recursive_3x3": ((-277, 412), (-201, 320)),
    "newton_euler": ((-48, 150), (-48, 131)),
    "configuration_space": ((0, 0, 1, 2), (0, 2, 1, 1)),
}
TABLE_II = {
    "uicker_kahn": (66271, 51548),
    "waters": (7051, 5652),
    "recursive_4x4": (4388, 3586),
    "recursive_3x3": (2195, 1719),
    "newton_euler": (852, 738),
    "configuration_space": (468, 264),
}


class Difference(NamedTuple):
    """Operations that the paper counts in addition to the implementation (negative: fewer): {operation: how
    often}.
    """

    name: str
    multiplications: Fraction
    additions: Fraction


def printed_counts(method: str, n: int) -> tuple[Fraction, Fraction]:
    """Table I's polynomials at n: (multiplications, additions)."""
    return tuple(sum(Fraction(c) * n**power for power, c in enumerate(p)) for p in TABLE_I[method])


def explain_difference(method: str, n: int) -> tuple[tuple[Difference, ...], Difference]:
    """Return printed minus counted operations at n joints, item by item, and the rest that no item explains.

    An item's size is the counted cost of its operation, times the number of its occurrences.
    """
    counted = count_operations(method, n)
    rest = [p - c for p, c in zip(printed_counts(method, n), counted, strict=True)]
    items = []
    for name, times, operation in _items(method, n):
        cost = count(operation)
        item = Difference(name, *(Fraction(times) * c for c in cost))
        items.append(item)
        rest = [rest[0] - item.multiplications, rest[1] - item.additions]
    return tuple(items), Difference("in no step that the text names", *rest)


def _items(method: str, n: int) -> list[tuple[str, Fraction | int, Callable[[], object]]]:
    size = 4 if method in ("uicker_kahn", "waters", "recursive_4x4") else 3
    M, v, s = CountingNumber.array(size, size), CountingNumber.array(size), CountingNumber()
    product, apply, scale, add, add_vector = (
        (lambda: M @ M),
        (lambda: M @ v),
        (lambda: M * s),
        (lambda: M + M),
        (lambda: v + v),
    )
    base = [
        ("2 qdot_1 Wdot_0 dA_1 in (10), though Wdot_0 = 0: the matrix scaled", 1, scale),
        ("the same: its number", 1, lambda: s * s),
        ("matrix additions of zero at the base in (9) and (10)", 3, add),
        ("matrix additions a link beyond the four of (9) and (10)", 2 * n, add),
    ]
    if method == "uicker_kahn":
        triples, pairs = _F(n * (n + 1) * (2 * n + 1), 6), n * n
        return [
            (
                "sum over qddot_k in (4): traces of products, of which the print charges only the sum",
                -triples,
                lambda: np.trace(M @ M @ M),
            ),
            ("one more product for every i <= j and every i < j", pairs, product),
        ]
    if method == "waters":
        return base + [
            (
                "iW_j formed on its own and then dW_i/dq_i iW_j; here dW_j/dq_i = dW_{j-1}/dq_i A_j",
                _F(n * (n - 1), 2),
                product,
            )
        ]
    if method == "recursive_4x4":
        return base + [
            ("a matrix scaled by a number, once a link", n, scale),
            ("a vector scaled by a number, once more a link than m_i r_i", n, lambda: v * s),
        ]
    if method == "recursive_3x3":
        return base + [
            (
                "c_i without the way from origin i-1 to i: the print keeps (13), meant for 4x4: scaling",
                -n,
                lambda: v * s,
            ),
            ("the same: addition", -n, add_vector),
            ("(18) needs no vector at the tip, taken from origin i: outer product", -1, lambda: np.outer(v, v)),
            ("the same: addition", -1, add),
            ("(16) with Wddot_{j-1} as printed is zero at the base", -1, apply),
            ("a matrix scaled by a number, once a link, as with 4x4", n, scale),
            ("a vector scaled by a number, once a link, as with 4x4", n, lambda: v * s),
        ]
    if method == "newton_euler":
        return [
            ("z_{i-1} carried into link i by A_i^T; here it is a row of A_i", n, apply),
            ("a cross product a link beyond the equations listed", n, lambda: hollerbach.cross(v, v)),
            ("three vector additions a link beyond the equations listed", 3 * n, add_vector),
        ]
    return []
