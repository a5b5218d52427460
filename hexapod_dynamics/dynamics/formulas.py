"""The model as one plain recursion over numbers, symbols of CasADi or sympy, or polynomials: for reading and export.

What core/leg.h and core/leg_kernels.h do with vector registers stands here with lists of scalars: vectors (3,) and
rotations as three rows, twists and wrenches (6,) linear first, inertias (m, h, I) with h = m com and
I = xx yy zz xy xz yz about the origin. Everything is in base_link axes. A scalar is anything with +, - and *; a float
0.0 stands for what is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hexapod_dynamics.core._core import joint_numbers
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Leg, Link, Morphology

Scalar = Any  # a number, an array, a casadi.SX, a symbol of sympy or a polynomial
Vector = list[Scalar]
Inertia = tuple[Scalar, Vector, Vector]
ROWS, COLUMNS = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)
PLACE = ((0, 3, 4), (3, 1, 5), (4, 5, 2))  # of an inertia's entries among its six


def times(a: Scalar, b: Scalar) -> Scalar:
    """Return a b, exactly 0.0 if either is: CasADi and polynomials would carry it along."""
    return 0.0 if isinstance(a, float) and a == 0.0 or isinstance(b, float) and b == 0.0 else a * b


def plus(a: Scalar, b: Scalar) -> Scalar:
    """Return a + b."""
    return b if isinstance(a, float) and a == 0.0 else a if isinstance(b, float) and b == 0.0 else a + b


def add(a: Vector, b: Vector) -> Vector:
    """Return the sum of two vectors."""
    return [plus(x, y) for x, y in zip(a, b, strict=True)]


def scale(s: Scalar, a: Vector) -> Vector:
    """Return s a."""
    return [times(s, x) for x in a]


def dot(a: Vector, b: Vector) -> Scalar:
    """Return a . b."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = plus(total, times(x, y))
    return total


def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return [plus(times(a[i], b[j]), times(-1.0, times(a[j], b[i]))) for i, j in ((1, 2), (2, 0), (0, 1))]


def rotate(R: list[Vector], a: Vector) -> Vector:
    """Return R a."""
    return [dot(row, a) for row in R]


def cross_motion(a: Vector, b: Vector) -> Vector:
    """Return ad_a b, of twists."""
    return [*add(cross(a[3:], b[:3]), cross(a[:3], b[3:])), *cross(a[3:], b[3:])]


def cross_force(a: Vector, f: Vector) -> Vector:
    """Return -ad_a^T f, of a twist and a wrench."""
    return [*cross(a[3:], f[:3]), *add(cross(a[:3], f[:3]), cross(a[3:], f[3:]))]


def momentum(inertia: Inertia, t: Vector) -> Vector:
    """Return the inertia times a twist."""
    m, h, I = inertia
    turned = [dot([I[k] for k in PLACE[r]], t[3:]) for r in range(3)]
    return [*add(scale(m, t[:3]), cross(t[3:], h)), *add(cross(h, t[:3]), turned)]


def add_inertia(a: Inertia, b: Inertia) -> Inertia:
    """Return the inertia of two bodies."""
    return plus(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2])


def transform_inertia(inertia: Inertia, R: list[Vector], p: Vector) -> Inertia:
    """Return an inertia in the axes in which its own have rotation R and origin p (34)."""
    m, h, I = inertia
    turned = rotate(R, h)
    moved = add(turned, scale(m, p))
    rows = [[dot([I[k] for k in PLACE[c]], R[r]) for c in range(3)] for r in range(3)]  # R I
    square = [times(p[i], plus(turned[i], moved[i])) for i in range(3)]
    result = []
    for r, c in zip(ROWS, COLUMNS, strict=True):
        shift = plus(square[(r + 1) % 3], square[(r + 2) % 3]) if r == c else times(
            -1.0, plus(times(p[r], moved[c]), times(p[c], turned[r]))
        )  # fmt: skip
        result.append(plus(dot(rows[r], R[c]), shift))
    return m, moved, result


def inertia_matrix(inertia: Inertia) -> list[Vector]:
    """Return an inertia as a matrix (6, 6)."""
    unit = [[1.0 if r == c else 0.0 for r in range(6)] for c in range(6)]
    columns = [momentum(inertia, t) for t in unit]
    return [[columns[c][r] for c in range(6)] for r in range(6)]


@dataclass
class Chain:
    """A leg: numbers of its joints (struct hd_joint of core/robot.h), mount, positions, and which joints move."""

    joints: Sequence[dict[str, Scalar]]
    mount: tuple[list[Vector], Vector]
    q: Vector
    moves: Sequence[bool]
    sin: Callable[[Scalar], Scalar] = np.sin
    cos: Callable[[Scalar], Scalar] = np.cos

    def links(self) -> list[tuple[Vector, Inertia, Vector]]:
        """Screw of each joint (14), inertia of its link (34), and the link's end, in base_link axes."""
        R, p = self.mount
        found = []
        for joint, q in zip(self.joints, self.q, strict=True):
            axis = rotate(R, joint["axis"])
            p = add(p, rotate(R, joint["offset"]))
            w = scale(joint["turn"], axis)
            v = add(cross(p, w), scale(joint["slide"], axis))
            p = add(p, scale(times(joint["slide"], q), axis))
            if joint["turn"]:
                R = self._turned(R, joint["axis"], self.sin(q), self.cos(q))
            inertia = joint["mass"], joint["h"], joint["inertia"]
            found.append(([*v, *w], transform_inertia(inertia, R, p), add(p, rotate(R, joint["end"]))))
        return found

    @staticmethod
    def _turned(R: list[Vector], u: Vector, s: Scalar, c: Scalar) -> list[Vector]:
        """R times the rotation about u: Rodrigues."""
        one_less = plus(1.0, times(-1.0, c))
        skew = [[0.0, -u[2], u[1]], [u[2], 0.0, -u[0]], [-u[1], u[0], 0.0]]
        turn = [
            [
                plus(plus(c if r == k else 0.0, times(s, skew[r][k])), times(u[r] * u[k], one_less))
                if u[r] * u[k] != 1.0
                else 1.0
                for k in range(3)
            ]
            for r in range(3)
        ]
        return [[dot(row, [turn[i][k] for i in range(3)]) for k in range(3)] for row in R]


def arrow(
    chain: Chain, V: Vector, A: Vector
) -> tuple[Inertia, list[Vector], list[Vector], Vector, Vector, list[Vector]]:
    """Return composite inertia, arms M_0i (columns), block M_ii (lower triangle), wrench, torques and screws of a leg.

    Wrench and torques are what it needs under the body's twist V and acceleration A (gravity included), joints at rest.
    """
    return _arrow(chain, V, A, [0.0] * len(chain.joints))


def _arrow(
    chain: Chain, V: Vector, A: Vector, rates: Vector
) -> tuple[Inertia, list[Vector], list[Vector], Vector, Vector, list[Vector]]:
    links, wrenches = chain.links(), []
    for (J, inertia, _), rate in zip(links, rates, strict=True):
        own = scale(rate, J)
        A = add(A, cross_motion(V, own))
        V = add(V, own)
        wrenches.append(add(momentum(inertia, A), cross_force(V, momentum(inertia, V))))
    composite: Inertia = (0.0, [0.0] * 3, [0.0] * 6)
    force = [0.0] * 6
    arms: list[Vector] = []
    block: list[Vector] = []
    torques: Vector = []
    for k in reversed(range(len(links))):
        composite, force = add_inertia(composite, links[k][1]), add(force, wrenches[k])
        arm = momentum(composite, links[k][0])
        row = [dot(links[l][0], arm) for l in range(k + 1)]
        row[k] = plus(row[k], chain.joints[k]["rotor"])
        arms.insert(0, arm)
        block.insert(0, row)
        torques.insert(0, dot(links[k][0], force))
    return composite, arms, block, force, torques, [link[0] for link in links]


def solve_symmetric(M: list[Vector], b: Vector) -> Vector:
    """Return M^-1 b by M = L D L^T, M by its lower triangle."""
    n = len(M)
    L: list[Vector] = [[0.0] * n for _ in range(n)]
    D: Vector = []
    x = list(b)
    for r in range(n):
        for c in range(r):
            value = M[r][c] - sum(L[r][k] * L[c][k] * D[k] for k in range(c))
            L[r][c] = value / D[c]
            x[r] = x[r] - L[r][c] * x[c]
        D.append(M[r][r] - sum(L[r][k] * L[r][k] * D[k] for k in range(r)))
    for r in reversed(range(n)):
        x[r] = x[r] / D[r] - sum(L[k][r] * x[k] for k in range(r + 1, n))
    return x


def leg_numbers(leg: Leg, links: Sequence[Link]) -> list[dict[str, Scalar]]:
    """Return the numbers of the joints of a leg with these links, as core/robot.h has them."""
    inner, found = np.zeros(3), []
    for joint, link in zip(leg.joints, links, strict=False):
        found.append(joint_numbers(joint, link, joint.origin - inner))
        inner = joint.origin
    return found


class Body:
    """A robot in a morphology, with symbols for its state: R (rows), q (all joints), nu; up: R^T (0, 0, g)."""

    def __init__(
        self, morphology: Morphology, R: list[Vector], q: Vector, nu: Vector, sin: Scalar, cos: Scalar
    ) -> None:
        robot = self.robot = morphology.robot
        body, about = robot.body, robot.body.spatial_inertia[3:, 3:]
        entries = [float(about[r, c]) for r, c in zip(ROWS, COLUMNS, strict=True)]
        self.inertia: Inertia = (body.mass, [float(x) for x in body.mass * body.com], entries)
        self.R, self.nu, self.driven = R, nu, morphology.driven_mask[morphology.moving_mask]
        self.up = [times(x, robot.gravity) for x in R[2]] + [0.0] * 3
        self.chains = []
        for leg in robot.legs:
            links = morphology.links(leg.name)
            joints = range(robot.leg_joints(leg.name)[0], robot.leg_joints(leg.name)[0] + len(links))
            moves = [bool(morphology.moving_mask[j]) for j in joints]
            own = [q[j] if free else float(morphology.table[2][j]) for j, free in zip(joints, moves, strict=True)]
            mount = [[float(x) for x in row] for row in leg.mount_rotation], [float(x) for x in leg.mount_position]
            self.chains.append(Chain(leg_numbers(leg, links), mount, own, moves, sin, cos))

    def spread(self, values: Vector) -> list[Vector]:
        """Distribute values of the moving joints to the legs; 0.0 for joints that do not move."""
        rest = iter(values)
        return [[next(rest) if moves else 0.0 for moves in chain.moves] for chain in self.chains]

    def inverse_dynamics(self, nudot: Vector) -> Vector:
        """Wrench on the body and torques of the moving joints (6 + n) for accelerations (6 + n)."""
        V, A = self.nu[:6], add(nudot[:6], self.up)
        total = add(momentum(self.inertia, A), cross_force(V, momentum(self.inertia, V)))
        torques = []
        both = zip(self.chains, self.spread(self.nu[6:]), self.spread(nudot[6:]), strict=True)
        for chain, rates, accelerations in both:
            composite, arms, block, force, needs, _ = _arrow(chain, V, A, rates)
            for k, moves in enumerate(chain.moves):
                total = add(total, scale(accelerations[k], arms[k]))
                if moves:
                    row = [block[max(k, l)][min(k, l)] for l in range(len(arms))]
                    torques.append(plus(needs[k], dot(row, accelerations)))
            total = add(total, force)
        return [*total, *torques]

    def forward_dynamics(self, tau: Vector) -> Vector:
        """Accelerations (6 + n) under torques (n): the arrow, solved leg by leg (6)."""
        V, A = self.nu[:6], self.up
        head = inertia_matrix(self.inertia)
        right = scale(-1.0, add(momentum(self.inertia, A), cross_force(V, momentum(self.inertia, V))))
        solved = []
        given = self.spread([times(t, float(on)) for t, on in zip(tau, self.driven, strict=True)])
        for chain, rates, torques in zip(self.chains, self.spread(self.nu[6:]), given, strict=True):
            composite, arms, block, force, needs, _ = _arrow(chain, V, A, rates)
            own = [k for k, moves in enumerate(chain.moves) if moves]
            B = [[block[k][l] for l in own[: i + 1]] for i, k in enumerate(own)]
            rest = [plus(torques[k], times(-1.0, needs[k])) for k in own]
            Y = [solve_symmetric(B, [arms[k][r] for k in own]) for r in range(6)]  # Y[r]: B^-1 times row r of the arms
            z = solve_symmetric(B, rest)
            share = inertia_matrix(composite)
            right = add(right, scale(-1.0, force))
            for r in range(6):
                right[r] = plus(right[r], times(-1.0, dot([arms[k][r] for k in own], z)))
                for c in range(r + 1):
                    less = dot([arms[k][r] for k in own], Y[c])
                    head[r][c] = plus(head[r][c], plus(share[r][c], times(-1.0, less)))
            solved.append((own, Y, z))
        a = solve_symmetric(head, right)
        joints = [
            plus(z[i], times(-1.0, dot([Y[r][i] for r in range(6)], a)))
            for own, Y, z in solved
            for i in range(len(own))
        ]
        return [*a, *joints]

    def tips(self, p: Vector) -> list[Vector]:
        """Ends of the existing legs in the world, with the body at p."""
        return [add(p, rotate(self.R, chain.links()[-1][2])) for chain in self.chains if chain.joints]


def casadi_function(name: str, morphology: Morphology) -> Scalar:
    """Return a casadi.Function of a quantity for one morphology; see WholeBodyModel.casadi_function."""
    import casadi as ca

    known = ("forward_dynamics", "inverse_dynamics", "tip_positions")
    if name not in known:
        raise DynamicsError(f"casadi_function: {name!r} given, one of {', '.join(known)} needed")
    n = int(morphology.moving_mask.sum())
    R, q, nu = ca.SX.sym("R", 3, 3), ca.SX.sym("q", morphology.robot.joint_count), ca.SX.sym("nu", 6 + n)
    rows = [[R[r, c] for c in range(3)] for r in range(3)]
    body = Body(morphology, rows, ca.vertsplit(q), ca.vertsplit(nu), ca.sin, ca.cos)
    if name == "tip_positions":
        p = ca.SX.sym("p", 3)
        tips = [ca.vertcat(*tip) for tip in body.tips(ca.vertsplit(p))]
        return ca.Function(name, [R, p, q], [ca.horzcat(*tips) if tips else ca.SX(3, 0)], ["R", "p", "q"], ["tips"])
    if name == "forward_dynamics":
        given = ca.SX.sym("tau", n)
        out, names = body.forward_dynamics(ca.vertsplit(given) if n else []), ("tau", "nudot")
    else:
        given = ca.SX.sym("nudot", 6 + n)
        out, names = body.inverse_dynamics(ca.vertsplit(given)), ("nudot", "tau")
    return ca.Function(name, [R, q, nu, given], [ca.vertcat(*out)], ["R", "q", "nu", names[0]], [names[1]])
