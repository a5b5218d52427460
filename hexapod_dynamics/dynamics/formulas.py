"""The model as one plain recursion over numbers, symbols of CasADi or sympy, or polynomials: for reading and export.

What core/leg.h and core/leg_kernels.h do with vector registers stands here with numpy's arrays of objects: vectors
(3,), rotations (3, 3), twists and wrenches (6,) linear first, inertias (m, h, I) with m (1,), h = m com and I (3, 3)
about the origin. Everything is in base_link axes. An object is anything with +, - and *. A scalar that multiplies an
array is an array (1,): symbols of CasADi would take the other array for a matrix of their own.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from hexapod_dynamics.core._core import joint_numbers
from hexapod_dynamics.errors import DynamicsError, HexapodError
from hexapod_dynamics.robot import Leg, Link, Morphology

Scalar = Any  # a number, a casadi.SX, a symbol of sympy or a polynomial
Vector = list[Scalar]
Array = np.ndarray  # of scalars
Inertia = tuple[Array, Array, Array]
ONE = np.eye(3).astype(object)
INSTALL_CASADI = "python3 -m pip install 'casadi>=3.6,<4' (or the extra: pip install 'hexapod_dynamics[casadi]')"


def as_objects(values: Iterable[Scalar], *shape: int) -> Array:
    """Return scalars, row by row, as an array of objects of this shape."""
    flat = np.empty(int(np.prod(shape)), object)
    for i, value in enumerate(values):
        flat[i] = value
    return flat.reshape(shape)


def cross_motion(a: Array, b: Array) -> Array:
    """Return ad_a b, the Lie bracket [a, b] of twists (v, w)."""
    return np.concatenate([np.cross(a[3:], b[:3]) + np.cross(a[:3], b[3:]), np.cross(a[3:], b[3:])])


def cross_force(a: Array, f: Array) -> Array:
    """Return -ad_a^T f, of a twist and a wrench."""
    return np.concatenate([np.cross(a[3:], f[:3]), np.cross(a[:3], f[:3]) + np.cross(a[3:], f[3:])])


def momentum(inertia: Inertia, t: Array) -> Array:
    """Return the inertia times a twist."""
    m, h, I = inertia
    return np.concatenate([m * t[:3] + np.cross(t[3:], h), np.cross(h, t[:3]) + I @ t[3:]])


def moving_wrench(inertia: Inertia, V: Array, A: Array) -> Array:
    """Return the wrench that an inertia needs to move with the twist V and the acceleration A."""
    return momentum(inertia, A) + cross_force(V, momentum(inertia, V))


def transform_inertia(inertia: Inertia, R: Array, p: Array) -> Inertia:
    """Return an inertia in the axes in which its own have rotation R and origin p (34)."""
    m, h, I = inertia
    turned = R @ h
    moved = turned + m * p
    shift = np.outer(p, moved) + np.outer(turned, p)
    about = R @ I @ R.T + ONE * shift.diagonal().sum(keepdims=True) - shift
    about[np.tril_indices(3, -1)] = about.T[np.tril_indices(3, -1)]  # one formula for both
    return m, moved, about


def inertia_matrix(inertia: Inertia) -> Array:
    """Return an inertia as a matrix (6, 6)."""
    return np.stack([momentum(inertia, t) for t in np.eye(6)], axis=1)


@dataclass
class Chain:
    """A leg: numbers of its joints (struct hd_joint of core/robot.h), mount, positions, and which joints move."""

    joints: Sequence[dict[str, Scalar]]
    mount: tuple[Array, Array]
    q: Sequence[Scalar]
    moves: Sequence[bool]
    sin: Callable[[Scalar], Scalar] = np.sin
    cos: Callable[[Scalar], Scalar] = np.cos

    def links(self) -> list[tuple[Array, Inertia, Array]]:
        """Screw of each joint (14), inertia of its link (34), and the link's end, in base_link axes."""
        R, p = self.mount
        found = []
        for joint, q in zip(self.joints, self.q, strict=True):
            axis = R @ joint["axis"]
            p = p + R @ as_objects(joint["offset"], 3)
            w = joint["turn"] * axis
            v = np.cross(p, w) + joint["slide"] * axis
            p = p + joint["slide"] * axis * as_objects([q], 1)
            if joint["turn"]:
                R = R @ self._turn(np.array(joint["axis"]), as_objects([self.sin(q)], 1), as_objects([self.cos(q)], 1))
            xx, yy, zz, xy, xz, yz = joint["inertia"]
            about = as_objects([xx, xy, xz, xy, yy, yz, xz, yz, zz], 3, 3)
            inertia = as_objects([joint["mass"]], 1), as_objects(joint["h"], 3), about
            end = p + R @ as_objects(joint["end"], 3)
            found.append((np.concatenate([v, w]), transform_inertia(inertia, R, p), end))
        return found

    @staticmethod
    def _turn(u: Array, s: Array, c: Array) -> Array:
        """Rotation about u: Rodrigues."""
        square = np.outer(u, u)
        turn = c * ONE + s * np.cross(np.eye(3), u) + (1.0 + -c) * square
        turn[square == 1.0] = 1.0
        return turn


def compute_arrow(
    chain: Chain, V: Array, A: Array, rates: Array
) -> tuple[Inertia, list[Array], list[Vector], Array, Vector, list[Array]]:
    """Return composite inertia, arms M_0i (columns), block M_ii (lower triangle), wrench, torques and screws of a leg.

    Wrench and torques are what it needs under the body's twist V and acceleration A (gravity included) at the joints'
    rates, without their accelerations.
    """
    links, wrenches = chain.links(), []
    for k, (J, inertia, _) in enumerate(links):
        own = rates[k : k + 1] * J
        A = A + cross_motion(V, own)
        V = V + own
        wrenches.append(moving_wrench(inertia, V, A))
    composite: Inertia = np.zeros(1), np.zeros(3), np.zeros((3, 3))
    force = np.zeros(6)
    arms: list[Array] = []
    block: list[Vector] = []
    torques: Vector = []
    for k in reversed(range(len(links))):
        m, h, I = links[k][1]
        composite, force = (composite[0] + m, composite[1] + h, composite[2] + I), force + wrenches[k]
        arm = momentum(composite, links[k][0])
        row = [links[l][0] @ arm for l in range(k + 1)]
        row[k] = row[k] + chain.joints[k]["rotor"]
        arms.insert(0, arm)
        block.insert(0, row)
        torques.insert(0, links[k][0] @ force)
    return composite, arms, block, force, torques, [link[0] for link in links]


def solve_symmetric(M: Sequence[Sequence[Scalar]] | Array, b: Vector | Array) -> Vector:
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
        self.inertia: Inertia = np.array([body.mass]), body.mass * body.com, about
        self.R = as_objects([entry for row in R for entry in row], 3, 3)
        self.nu, self.driven = as_objects(nu, len(nu)), morphology.driven_mask[morphology.moving_mask]
        self.up = np.concatenate([self.R[2] * robot.gravity, np.zeros(3)])
        self.chains = []
        for leg in robot.legs:
            links = morphology.links(leg.name)
            joints = range(robot.leg_joints(leg.name)[0], robot.leg_joints(leg.name)[0] + len(links))
            moves = [bool(morphology.moving_mask[j]) for j in joints]
            own = [q[j] if free else float(morphology.table[2][j]) for j, free in zip(joints, moves, strict=True)]
            mount = leg.mount_rotation.astype(object), leg.mount_position.astype(object)
            self.chains.append(Chain(leg_numbers(leg, links), mount, own, moves, sin, cos))

    def equations(self) -> tuple[Array, Vector]:
        """Mass matrix (n + 6, n + 6) and the rest of the wrench and torques, those of the moving joints first.

        In this order no leg's elimination fills another leg's rows: M is an arrow (6).
        """
        V, A, n = self.nu[:6], self.up, len(self.driven)
        M, rates = np.zeros((n + 6, n + 6)).astype(object), iter(self.nu[6:])
        head, total = inertia_matrix(self.inertia), moving_wrench(self.inertia, V, A)
        torques: Vector = []
        for chain in self.chains:
            own = [k for k, moves in enumerate(chain.moves) if moves]
            of_leg = as_objects([next(rates) if moves else 0.0 for moves in chain.moves], len(chain.moves))
            composite, arms, block, force, needs, _ = compute_arrow(chain, V, A, of_leg)
            head, total, first = head + inertia_matrix(composite), total + force, len(torques)
            for i, k in enumerate(own):
                M[first + i, n:] = M[n:, first + i] = arms[k]
                for j, l in enumerate(own[: i + 1]):
                    M[first + i, first + j] = M[first + j, first + i] = block[k][l]
                torques.append(needs[k])
        M[n:, n:] = head
        return M, [*torques, *total]

    def inverse_dynamics(self, nudot: Vector) -> Vector:
        """Wrench on the body and torques of the moving joints (6 + n) for accelerations (6 + n)."""
        M, rest = self.equations()
        needs = M @ as_objects([*nudot[6:], *nudot[:6]], len(nudot)) + as_objects(rest, len(nudot))
        return [*needs[-6:], *needs[:-6]]

    def forward_dynamics(self, tau: Vector) -> Vector:
        """Accelerations (6 + n) under torques (n)."""
        M, rest = self.equations()
        motors = [t if on else 0.0 for t, on in zip(tau, self.driven, strict=True)]
        a = solve_symmetric(M, [given + -needed for given, needed in zip([*motors, *[0.0] * 6], rest, strict=True)])
        return [*a[-6:], *a[:-6]]

    def tips(self, p: Vector) -> list[Array]:
        """Ends of the existing legs in the world, with the body at p."""
        return [as_objects(p, 3) + self.R @ chain.links()[-1][2] for chain in self.chains if chain.joints]


def import_casadi(purpose: str) -> ModuleType:
    """Import and return CasADi, or raise HexapodError, which names what needs it and how to install it.

    CasADi is not a requirement of the package, because it takes 280 MB on disk, and its import 0.3 s and 60 MB.
    """
    try:
        return importlib.import_module("casadi")
    except ModuleNotFoundError as error:
        if error.name != "casadi":
            raise
        raise HexapodError(f"{purpose} needs CasADi, which is not installed here: {INSTALL_CASADI}") from None


def casadi_function(name: str, morphology: Morphology) -> Scalar:
    """Return a casadi.Function of a quantity for one morphology; see WholeBodyModel.casadi_function."""
    ca = import_casadi("casadi_function")
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
