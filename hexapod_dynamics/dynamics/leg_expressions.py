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

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.dynamics.formulas import Chain, Vector, arrow, inertia_matrix, leg_numbers
from hexapod_dynamics.dynamics.polynomial import Polynomial
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

    def evaluate(self, matrix: np.ndarray, q: npt.ArrayLike) -> np.ndarray:
        """Evaluate one of the arrays for joint positions q (n,) of this leg [rad or m] and the leg's parameters,
        as floats.
        """
        numbers: dict[str, float] = dict(self.values)
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
    n, values = len(links), dict[str, float]()
    joints = leg_numbers(leg, links)
    for k, joint in enumerate(joints):
        numbers = [*joint["offset"], *joint["end"], joint["mass"], *joint["h"], *joint["inertia"], joint["rotor"]]
        names = [f"{name}{k + 1}" for name in NAMES]
        values |= {name: number for name, number in zip(names, numbers, strict=True) if number}
        symbols = [Polynomial.atom(name) if number else 0.0 for name, number in zip(names, numbers, strict=True)]
        joint |= {"offset": symbols[:3], "end": symbols[3:6], "mass": symbols[6], "h": symbols[7:10]}
        joint |= {"inertia": symbols[10:16], "rotor": symbols[16]}
    mount = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0.0, 0.0, 0.0]
    q = [Polynomial.atom(f"q{k + 1}") for k in range(n)]
    chain = Chain(
        joints,
        mount,
        q,
        [True] * n,
        lambda x: Polynomial.atom(f"s{_index(x)}"),
        lambda x: Polynomial.atom(f"c{_index(x)}"),
    )
    composite, arms, block, _, _, screws = arrow(chain, [0.0] * 6, [0.0] * 6)
    M_00 = _array(inertia_matrix(composite), (6, 6))
    M_0i = _array([[arm[r] for arm in arms] for r in range(6)], (6, n))
    M_ii = _array([[block[max(k, l)][min(k, l)] for l in range(n)] for k in range(n)], (n, n))
    J = _array([[screw[r] for screw in screws] for r in range(6)], (6, n))
    # An upward acceleration of the body: M times (g, 0).
    gravity = np.concatenate([M_00[:, :3], M_0i[:3].T])
    return LegExpressions(leg.name, tuple(joint.name for joint in leg.joints[:n]), M_00, M_0i, M_ii, J, gravity, values)


def _index(atom: Polynomial) -> str:
    """Return the number of the joint whose position an atom is."""
    return str(atom)[1:]


def _array(rows: list[Vector], shape: tuple[int, int]) -> np.ndarray:
    """Return entries as an array of Polynomial."""
    out = np.empty(shape, object)
    for r, row in enumerate(rows):
        for c, entry in enumerate(row):
            out[r, c] = entry if isinstance(entry, Polynomial) else Polynomial.constant(entry)
    return out
