"""The dynamics of one leg as readable formulas: WholeBodyModel.symbolic.

The program of the leg (leg_program.py) is run on polynomials in its parameters and the sines and cosines of its joints,
in the leg's mount frame: the paper leaves the attachment symbolic (Farghdani & Chhabra 2025, section V). With g
the pose of the mount in base_link, M_00 in base_link is Ad_g^-T M_00 Ad_g^-1, M_0i is Ad_g^-T M_0i, and J^k is
Ad_g J^k.

Quantities of link k, counted from 1, all in axes parallel to the mount frame's at zero: m mass; hx, hy, hz mass times
centre of mass from joint k; Ixx .. Iyz inertia about joint k; px, py, pz joint k from joint k - 1; a rotor inertia.
s, c, q: sine, cosine, and the joint's position itself. `m3` is the mass of link 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hexapod_dynamics.dynamics.leg_program import LegProgram, LegType, link_parameters
from hexapod_dynamics.dynamics.model.polynomial import Polynomial
from hexapod_dynamics.dynamics.rigid_body import spatial_lower
from hexapod_dynamics.dynamics.workspace import LINK_SIZE, Rows
from hexapod_dynamics.robot import Leg, Morphology

NAMES = ("px", "py", "pz", "ex", "ey", "ez", "m", "hx", "hy", "hz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz", "a")


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

    def evaluate(self, matrix: np.ndarray, q: Any) -> np.ndarray:
        """Evaluate one of the arrays for joint positions q (n,) of this leg [rad or m] and the leg's parameters,
        as floats.
        """
        numbers: dict[str, Any] = dict(self.values)
        for k, angle in enumerate(np.asarray(q, float)):
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
        used = set().union(*(e.atoms for name in ("M_00", "M_ii", "J") for e in getattr(self, name).ravel()))
        lines += [f"{name} = {value:g}" for name, value in self.values.items() if name in used]
        return "\n".join(lines)


def leg_expressions(morphology: Morphology, leg: Leg) -> LegExpressions:
    """Return the formulas of a leg in a morphology."""
    links = morphology.links(leg.name)
    n = len(links)
    left = Leg(leg.name, np.eye(3), np.zeros(3), leg.joints[:n], links, leg.tripod_group, leg.module)
    program = _AtMount(LegType.of(left), Rows.of(n))
    composite, arms, block = program.arrow()
    screws, _ = program.geometry()
    values: dict[int, Polynomial] = {}

    def formula(node: Any) -> Polynomial:
        return _formula(program.trace.lift(node), values, program.rows)

    lower = [formula(node) for node in spatial_lower(composite, program.trace.zero)]
    M_00 = np.array([[lower[max(r, c) * (max(r, c) + 1) // 2 + min(r, c)] for c in range(6)] for r in range(6)])
    M_0i = np.array([[formula(arm[r]) for arm in arms] for r in range(6)])
    M_ii = np.array([[formula(block[max(k, l), min(k, l)]) for l in range(n)] for k in range(n)])
    J = np.array([[formula(screw[r]) for screw in screws] for r in range(6)])
    # An upward acceleration of the body: M times (g, 0).
    gravity = np.concatenate([M_00[:, :3], M_0i[:3].T])
    rows = link_parameters(left)
    numbers = {f"{NAMES[i]}{k + 1}": float(rows[k, i]) for k in range(n) for i in range(LINK_SIZE) if rows[k, i]}
    names = tuple(joint.name for joint in left.joints)
    return LegExpressions(leg.name, names, M_00, M_0i, M_ii, J, gravity, numbers)


class _AtMount(LegProgram):
    """A leg's program in its mount frame, with all joints moving."""

    def __init__(self, leg_type: LegType, rows: Rows) -> None:
        super().__init__(leg_type, rows)
        zero, one = self.trace.zero, self.trace.one
        self.mount_rotation = ((one, zero, zero), (zero, one, zero), (zero, zero, one))
        self.mount_position = (zero, zero, zero)
        self.mask = [one] * self.n


def _formula(node: Any, known: dict[int, Polynomial], rows: Rows) -> Polynomial:
    """Return a node of the trace as a polynomial; `known` holds the polynomials of nodes that were processed."""
    if node.index not in known:
        if node.operation == "constant":
            value = Polynomial.constant(node.value)
        elif node.operation == "read":
            value = Polynomial.atom(_name(node.value[1], rows))
        elif node.operation in ("sin", "cos"):
            value = Polynomial.atom(node.operation[0] + _name(node.arguments[0].value[1], rows)[1:])
        else:
            parts = [_formula(argument, known, rows) for argument in node.arguments]
            if node.operation == "neg":
                value = -parts[0]
            else:
                a, b = parts
                value = {"add": a.__add__, "sub": a.__sub__, "mul": a.__mul__}[node.operation](b)
        known[node.index] = value
    return known[node.index]


def _name(row: int, rows: Rows) -> str:
    """Return the name of a number in a leg's memory: a parameter of a link, or a joint's position."""
    if rows.q <= row < rows.rate:
        return f"q{row - rows.q + 1}"
    k, place = divmod(row - rows.links, LINK_SIZE)
    return f"{NAMES[place]}{k + 1}"
