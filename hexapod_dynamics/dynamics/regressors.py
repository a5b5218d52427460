"""Regressors of the whole-body model: quantities that are linear in the inertial parameters of the links.

A link has ten standard parameters, in Pinocchio's order (`PARAMETERS`):

    phi = (m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz)

m: mass [kg]; (mx, my, mz): m times the centre of mass [kg m]; I: inertia [kg m^2] about the origin of the link's frame,
which is at its joint with x along the link (of base_link: the body's frame). Columns are ten for base_link, then ten
for each link that exists, in the robot's order (`regressor_links`):

- a missing link has no columns;
- a locked link keeps its ten: it moves with the previous link, and base_parameters says which can be identified;
- a broken link's ten are those of its stump (`Link.cut`): m, m c and I of the stump, in the frame of the whole
  link, so that the stump is what is estimated.

Rotors of motors are not links: tau = Y phi + rotor_inertia * qddot for the moving joints, as Pinocchio's armature.
Wrench of a link under a twist (v, w), its rate (a, al) in components and gravity (Atkeson, An & Hollerbach 1986,
about the frame's origin):  f = m b + (al x + w x w x) m c,  n = m c x b + I al + w x I w,  b = a + w x v - g.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hexapod_dynamics.core._core import Model
from hexapod_dynamics.dynamics.checks import checked_input
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.se3 import skew

Array = NDArray[np.float64]
PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
BASE = "base_link"
# Index pairs of the six entries of an inertia, in the order of PARAMETERS, and the matrices (6, 3, 3) that they fill.
_ENTRIES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
_MATRICES = np.zeros((6, 3, 3))
for _entry, (_i, _j) in zip(_MATRICES, _ENTRIES, strict=True):
    _entry[_i, _j] = _entry[_j, _i] = 1.0
# Share of the largest column norm below which a column depends on the previous columns.
_RANK_TOLERANCE = 1e-8


def parameters_of_body(mass: float, com: ArrayLike, inertia: ArrayLike) -> Array:
    """Standard parameters (10,) of a mass [kg], centre (3,) [m] and inertia (3, 3) about the centre [kg m^2]."""
    c = np.asarray(com, float)
    about = np.asarray(inertia, float) + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([mass, *(mass * c), *(about[i, j] for i, j in _ENTRIES)])


def body_of_parameters(parameters: ArrayLike) -> tuple[float, Array, Array]:
    """Return mass [kg], centre (3,) [m] and inertia (3, 3) about the centre from standard parameters (10,): the
    inverse of `parameters_of_body`.
    """
    values = np.asarray(parameters, float)
    if values.shape != (10,) or not np.isfinite(values).all() or values[0] <= 0.0:
        raise DynamicsError(f"parameters: {values.tolist()} given, ten finite numbers with a positive mass needed")
    mass, about = float(values[0]), np.einsum("e,eij->ij", values[4:], _MATRICES)
    c = values[1:4] / mass
    return mass, c, about - mass * (c @ c * np.eye(3) - np.outer(c, c))


@dataclass(frozen=True)
class BaseParameters:
    """The b combinations of the standard parameters that can be identified from motions (Gautier 1991).

    names (b,): each combination in words; columns (b,): the standard parameters that represent them; combination
    (b, 10 links): beta = combination @ phi, and Y phi = Y[:, columns] @ beta; hidden: standard parameters without
    any influence. rows: "all" (wrench on the body and joint torques are measured), "base" or "joints".
    """

    names: tuple[str, ...]
    columns: NDArray[np.intp]
    combination: Array
    hidden: tuple[str, ...]
    rows: str


class Regressors(Model):
    """Calls that WholeBodyModel inherits."""

    def regressor_links(self, morphology: Morphology | None = None) -> tuple[str, ...]:
        """Names of the links, ten columns for each: base_link, then the existing links."""
        known = self._select(morphology).morphology
        names = [f"{leg.name}.{link.name}" for leg in self.robot.legs for link in known.links(leg.name)]
        return (BASE, *names)

    def regressor_parameters(self, morphology: Morphology | None = None) -> tuple[str, ...]:
        """Names of the columns, "base_link.m" to "RF.tibia.Izz", (10 links,)."""
        return tuple(f"{link}.{name}" for link in self.regressor_links(morphology) for name in PARAMETERS)

    def inertial_parameters(self, morphology: Morphology | None = None) -> Array:
        """Standard parameters (10 links,) of the robot's description, in the order of the regressors' columns."""
        known, body = self._select(morphology).morphology, self.robot.body
        rows = [parameters_of_body(body.mass, body.com, body.inertia)]
        for leg in self.robot.legs:
            rows += [parameters_of_body(link.mass, link.com, link.inertia) for link in known.links(leg.name)]
        return np.concatenate(rows)

    def inverse_dynamics_regressor(
        self, rotation: ArrayLike, q: ArrayLike, nu: ArrayLike, nudot: ArrayLike, morphology: Morphology | None = None
    ) -> Array:
        """Y (6+n, 10 links) with Y phi = inverse_dynamics(R, q, nu, nudot), rotors aside; equation (6).

        Arguments as of `inverse_dynamics`; all may have one leading axis T (samples): Y is (T, 6+n, 10 links) then.
        Raises DynamicsError for input of the wrong shape or not finite.
        """
        tree = self._tree(morphology)
        (R, q, nu, nudot), batch = self._samples(morphology, R=rotation, q=q, nu=nu, nudot=nudot)
        motion = tree.motion(q, nu, nudot, R.transpose(0, 2, 1) @ [0.0, 0.0, self.robot.gravity])
        out = tree.torque_rows(motion)
        return out if batch else out[0]

    def momentum_regressor(self, q: ArrayLike, nu: ArrayLike, morphology: Morphology | None = None) -> Array:
        """Y (6+n, 10 links) with Y phi = M(q) nu, the generalised momentum, rotors aside.

        The first six rows are the robot's momentum [kg m/s] and its moment about base_link's origin [kg m^2/s], in
        base_link axes. Leading axis as above. Raises DynamicsError.
        """
        tree = self._tree(morphology)
        (q, nu), batch = self._samples(morphology, q=q, nu=nu)
        motion = tree.motion(q, nu, np.zeros_like(nu), np.zeros((len(q), 3)))
        out = tree.momentum_rows(motion)
        return out if batch else out[0]

    def energy_regressor(
        self,
        rotation: ArrayLike,
        position: ArrayLike,
        q: ArrayLike,
        nu: ArrayLike,
        morphology: Morphology | None = None,
    ) -> tuple[Array, Array]:
        """Rows (10 links,) of kinetic and of potential energy [J]: row @ phi is the energy, rotors aside.

        Potential energy is zero for a centre of mass at height 0. Leading axis as above. Raises DynamicsError.
        """
        tree = self._tree(morphology)
        (R, p, q, nu), batch = self._samples(morphology, R=rotation, p=position, q=q, nu=nu)
        motion = tree.motion(q, nu, np.zeros_like(nu), np.zeros((len(q), 3)))
        kinetic, potential = tree.energy_rows(motion, R, p, self.robot.gravity)
        return (kinetic, potential) if batch else (kinetic[0], potential[0])

    def base_parameters(self, morphology: Morphology | None = None, *, rows: str = "all") -> BaseParameters:
        """Return the combinations of the links' parameters that can be identified from motions.

        rows: what is measured: "all", the wrench on the body and all joint torques; "base", the wrench only;
        "joints", the torques only. A column represents later ones, further from the body, that depend on it, so
        that a link's unobservable part is added to the previous link (Gautier 1991, by QR of a stacked regressor).
        """
        parts = {"all": slice(None), "base": slice(0, 6), "joints": slice(6, None)}
        if rows not in parts:
            raise DynamicsError(f"rows: {rows!r} given, one of {', '.join(parts)} needed")
        known = self._select(morphology)
        random = np.random.default_rng(1)
        m, n = 40 if rows == "all" else 160, self.robot.joint_count  # m: number of random states
        # numpy 1.21 accepts no stack of matrices
        R = np.array([np.linalg.qr(each)[0] for each in random.normal(size=(m, 3, 3))])
        R *= np.linalg.det(R)[:, None, None]
        nu, nudot = random.normal(size=(2, m, known.size)) * 3.0
        stacked = self.inverse_dynamics_regressor(R, random.uniform(-1.0, 1.0, (m, n)), nu, nudot, morphology)
        W = stacked[:, parts[rows]].reshape(-1, stacked.shape[2])
        columns, combination = _independent_columns(W)
        names = self.regressor_parameters(morphology)
        words = tuple(_in_words(row, first, names) for row, first in zip(combination, columns, strict=True))
        hidden = tuple(name for name, used in zip(names, np.any(combination != 0.0, axis=0), strict=True) if not used)
        return BaseParameters(words, columns, combination, hidden, rows)

    # ---- inside ----------------------------------------------------------------------------------------------------

    def _tree(self, morphology: Morphology | None) -> _MovingTree:
        return _tree_of(self.robot, self._select(morphology).morphology)

    def _samples(self, morphology: Morphology | None, **given: ArrayLike) -> tuple[list[Array], bool]:
        """Return the arguments by name as arrays with a leading axis, and whether they had one; DynamicsError if
        one is wrong.
        """
        known = self._select(morphology).morphology
        dimensions = {"R": 2, "p": 1, "q": 1, "nu": 1, "nudot": 1}
        batch = all(np.ndim(value) == 1 + dimensions[name] for name, value in given.items())
        lead = np.shape(given["q"])[:1] if batch else ()
        arrays = [checked_input(name, value, known, lead) for name, value in given.items()]
        return [array if batch else array[None] for array in arrays], batch


def _independent_columns(W: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the columns (b,) of W (m, k) that do not depend on previous ones, and C (b, k) with W = W[:, columns]
    C.
    """
    norms = np.linalg.norm(W, axis=0)
    kept: list[int] = []
    basis = np.empty((W.shape[0], 0))
    for k in np.flatnonzero(norms > _RANK_TOLERANCE * norms.max(initial=0.0)):
        rest = W[:, k] / norms[k]
        for _ in range(2):  # twice is enough (Kahan)
            rest = rest - basis @ (basis.T @ rest)
        size = np.linalg.norm(rest)
        if size > _RANK_TOLERANCE:
            kept.append(int(k))
            basis = np.column_stack([basis, rest / size])
    columns = np.array(kept, np.intp)
    combination = np.asarray(np.linalg.lstsq(W[:, columns], W, rcond=None)[0], np.float64)
    combination[np.abs(combination) < 1e-9] = 0.0
    combination[:, columns] = np.eye(len(columns))
    return columns, combination


def _in_words(row: Array, first: int, names: tuple[str, ...]) -> str:
    """A combination as "LF.coxa.mx + 0.045 LF.femur.m"."""
    words = names[first]
    for k in np.flatnonzero(row):
        if k != first:
            size = "" if abs(abs(row[k]) - 1.0) < 1e-9 else f"{abs(row[k]):.4g} "
            words += f" {'-' if row[k] < 0 else '+'} {size}{names[k]}"
    return words


# ---- links that move -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Motion:
    """Motion of k links in T samples, in link axes: pose in the parent (k, T, 4, 4), the matrix (k, T, 6, 6) that
    carries a twist from the parent, twist and its rate with gravity removed (k, T, 6), linear first.
    """

    pose: Array
    carry: Array
    twist: Array
    rate: Array


class _MovingTree:
    """The links of a morphology, base_link first: their motions, and their wrenches on body and joints."""

    def __init__(self, robot: Robot, morphology: Morphology) -> None:
        tree = LinkTree(robot, morphology)
        here = [branch for branch in tree.branches if branch.joint is not None]
        places = {BASE: 0} | {branch.child: k + 1 for k, branch in enumerate(here)}
        self.parents = [0] + [places[branch.parent] for branch in here]
        rates = np.cumsum(morphology.moving_mask) - 1
        # index of the joint, index of its rate in nu, screw (6,) in link axes; None for base_link and locked joints
        self.joints: list[tuple[int, int, Array] | None] = [None]
        self.at_zero = [np.eye(4)]
        for branch in here:
            moves = bool(morphology.moving_mask[branch.index])
            self.joints.append((branch.index, 6 + int(rates[branch.index]), branch.screw) if moves else None)
            self.at_zero.append(branch.at_zero)
        self.size = 6 + int(morphology.moving_mask.sum())

    def motion(self, q: Array, nu: Array, nudot: Array, up: Array) -> _Motion:
        """Motion of samples q (T, n), nu, nudot (T, 6+n); up (T, 3): -g in base_link axes [m/s^2]."""
        k, T = len(self.parents), len(q)
        pose, carry = np.zeros((k, T, 4, 4)), np.zeros((k, T, 6, 6))
        twist, rate = np.empty((2, k, T, 6))
        twist[0], rate[0] = nu[:, :6], nudot[:, :6]
        rate[0, :, :3] += up
        for i in range(1, k):
            parent, joint = self.parents[i], self.joints[i]
            pose[i] = self.at_zero[i] if joint is None else self.at_zero[i] @ _displacements(joint[2], q[:, joint[0]])
            back = pose[i, :, :3, :3].transpose(0, 2, 1)
            carry[i, :, :3, :3] = carry[i, :, 3:, 3:] = back
            carry[i, :, :3, 3:] = -back @ _skew(pose[i, :, :3, 3])
            twist[i] = _times(carry[i], twist[parent])
            rate[i] = _times(carry[i], rate[parent])
            if joint is not None:
                own = nu[:, joint[1], None] * joint[2]
                twist[i] += own
                # the rate of a twist in axes that turn with the link: ad_V S qdot
                rate[i] += nudot[:, joint[1], None] * joint[2]
                rate[i, :, :3] += np.cross(twist[i, :, 3:], own[:, :3]) + np.cross(twist[i, :, :3], own[:, 3:])
                rate[i, :, 3:] += np.cross(twist[i, :, 3:], own[:, 3:])
        return _Motion(pose, carry, twist, rate)

    def torque_rows(self, motion: _Motion) -> Array:
        """Rows (T, 6+n, 10 k) of the wrenches that the motion needs."""
        v, w, a, al = motion.twist[..., :3], motion.twist[..., 3:], motion.rate[..., :3], motion.rate[..., 3:]
        turn, about = _skew(al) + _skew(w) @ _skew(w), _times_inertia(al) + _skew(w) @ _times_inertia(w)
        return self._gather(motion, a + np.cross(w, v), turn, about)

    def momentum_rows(self, motion: _Motion) -> Array:
        """Rows (T, 6+n, 10 k) of the generalised momentum."""
        v, w = motion.twist[..., :3], motion.twist[..., 3:]
        return self._gather(motion, v, _skew(w), _times_inertia(w))

    def energy_rows(self, motion: _Motion, rotation: Array, position: Array, gravity: float) -> tuple[Array, Array]:
        """Rows (T, 10 k) of kinetic and potential energy."""
        k, T = motion.twist.shape[:2]
        kinetic, potential = np.zeros((2, T, k, 10))
        place = motion.pose.copy()  # in the world
        place[0, :, :3, :3], place[0, :, :3, 3], place[0, :, 3, 3] = rotation, position, 1.0
        for i in range(1, k):
            place[i] = place[self.parents[i]] @ motion.pose[i]
        v, w = (np.moveaxis(motion.twist[..., part], 0, 1) for part in (slice(0, 3), slice(3, 6)))
        kinetic[..., 0] = 0.5 * np.sum(v * v, axis=2)
        kinetic[..., 1:4] = np.cross(v, w)
        kinetic[..., 4:] = 0.5 * np.einsum("tki,tkij->tkj", w, _times_inertia(w))
        potential[..., 0] = gravity * place[:, :, 2, 3].T
        potential[..., 1:4] = gravity * np.moveaxis(place[:, :, 2, :3], 0, 1)
        return kinetic.reshape(T, -1), potential.reshape(T, -1)

    def _gather(self, motion: _Motion, linear: Array, turn: Array, about: Array) -> Array:
        """Rows (T, 6+n, 10 k) of the wrenches (linear m + turn m c, -[linear] m c + about I) of the links, each in the
        axes of its link.
        """
        k, T = linear.shape[:2]
        blocks, rows = np.zeros((k, T, 6, 10)), np.zeros((T, self.size, k, 10))
        blocks[..., :3, 0], blocks[..., :3, 1:4] = linear, turn
        blocks[..., 3:, 1:4], blocks[..., 3:, 4:] = -_skew(linear), about
        for i in range(k):
            block, at = blocks[i], i
            while at:
                joint = self.joints[at]
                if joint is not None:
                    rows[:, joint[1], i] = joint[2] @ block
                block, at = motion.carry[at].transpose(0, 2, 1) @ block, self.parents[at]
            rows[:, :6, i] = block
        return rows.reshape(T, self.size, -1)


@lru_cache(maxsize=64)
def _tree_of(robot: Robot, morphology: Morphology) -> _MovingTree:
    return _MovingTree(robot, morphology)


def _displacements(screw: Array, positions: Array) -> Array:
    """Poses (T, 4, 4) of a screw through the link's origin at positions (T,): Rodrigues' formula."""
    hat, poses = skew(screw[3:]), np.zeros((len(positions), 4, 4))
    s, c = np.sin(positions)[:, None, None], np.cos(positions)[:, None, None]
    poses[:, :3, :3] = np.eye(3) + s * hat + (1.0 - c) * (hat @ hat)
    poses[:, :3, 3], poses[:, 3, 3] = positions[:, None] * screw[:3], 1.0
    return poses


def _times(matrices: Array, vectors: Array) -> Array:
    return (matrices @ vectors[..., None])[..., 0]


def _skew(vectors: Array) -> Array:
    """Matrices (..., 3, 3) with [a] b = a x b, of vectors (..., 3): row i is e_i x a."""
    return np.cross(np.eye(3), vectors[..., None, :])


def _times_inertia(vectors: Array) -> Array:
    """Matrices (..., 3, 6) with I a = K(a) (Ixx, Ixy, Iyy, Ixz, Iyz, Izz), of vectors a (..., 3)."""
    return np.einsum("eij,...j->...ie", _MATRICES, vectors)
