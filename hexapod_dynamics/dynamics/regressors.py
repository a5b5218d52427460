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
Inverse dynamics are linear in phi (Atkeson, An & Hollerbach 1986): a column of Y is the core's own recursion with a
unit of one parameter in place of all inertias (core/derivatives.h).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hexapod_dynamics.core._core import Model
from hexapod_dynamics.dynamics.checks import check_input
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Morphology

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


def body_to_parameters(mass: float, com: ArrayLike, inertia: ArrayLike) -> Array:
    """Standard parameters (10,) of a mass [kg], centre (3,) [m] and inertia (3, 3) about the centre [kg m^2]."""
    c = np.asarray(com, float)
    about = np.asarray(inertia, float) + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([mass, *(mass * c), *(about[i, j] for i, j in _ENTRIES)])


def parameters_to_body(parameters: ArrayLike) -> tuple[float, Array, Array]:
    """Return mass [kg], centre (3,) [m] and inertia (3, 3) about the centre from standard parameters (10,): the
    inverse of `body_to_parameters`.
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
        rows = [body_to_parameters(body.mass, body.com, body.inertia)]
        for leg in self.robot.legs:
            rows += [body_to_parameters(link.mass, link.com, link.inertia) for link in known.links(leg.name)]
        return np.concatenate(rows)

    def inverse_dynamics_regressor(
        self, rotation: ArrayLike, q: ArrayLike, nu: ArrayLike, nudot: ArrayLike, morphology: Morphology | None = None
    ) -> Array:
        """Y (6+n, 10 links) with Y phi = inverse_dynamics(R, q, nu, nudot), rotors aside; equation (6).

        Arguments as of `inverse_dynamics`; all may have one leading axis T (samples): Y is (T, 6+n, 10 links) then.
        Raises DynamicsError for input of the wrong shape or not finite.
        """
        arrays, batch = self._samples(morphology, R=rotation, q=q, nu=nu, nudot=nudot)
        out = self._regressors(morphology, *arrays)
        return out if batch else out[0]

    def momentum_regressor(self, q: ArrayLike, nu: ArrayLike, morphology: Morphology | None = None) -> Array:
        """Y (6+n, 10 links) with Y phi = M(q) nu, the generalised momentum, rotors aside.

        The first six rows are the robot's momentum [kg m/s] and its moment about base_link's origin [kg m^2/s], in
        base_link axes. Leading axis as above. Raises DynamicsError.
        """
        (q, nu), batch = self._samples(morphology, q=q, nu=nu)
        out = self._momentum(morphology, q, nu)
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
        (R, p, q, nu), batch = self._samples(morphology, R=rotation, p=position, q=q, nu=nu)
        kinetic = 0.5 * np.einsum("ti,tik->tk", nu, self._momentum(morphology, q, nu))
        potential = np.zeros((*kinetic.shape[:1], kinetic.shape[1] // 10, 10))
        for row, turned, place, joints in zip(potential, R, p, q, strict=True):
            poses = [(turned, place), *self.link_poses(turned, place, joints, morphology).values()]
            row[:, 0] = [origin[2] for _, origin in poses]  # heights
            row[:, 1:4] = [turn[2] for turn, _ in poses]
        potential = self.robot.gravity * potential.reshape(kinetic.shape)
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
        n, columns = self.robot.joint_count, 10 * len(self.regressor_links(morphology))
        # m: number of random states, which together have four rows for each column
        m = max(40, 4 * columns // max(1, len(range(known.size)[parts[rows]])))
        # numpy 1.21 accepts no stack of matrices
        R = np.array([np.linalg.qr(each)[0] for each in random.normal(size=(m, 3, 3))])
        R *= np.linalg.det(R)[:, None, None]
        nu, nudot = random.normal(size=(2, m, known.size)) * 3.0
        stacked = self.inverse_dynamics_regressor(R, random.uniform(-1.0, 1.0, (m, n)), nu, nudot, morphology)
        W = stacked[:, parts[rows]].reshape(-1, stacked.shape[2])
        chosen, combination = _independent_columns(W)
        names = self.regressor_parameters(morphology)
        words = tuple(_in_words(row, first, names) for row, first in zip(combination, chosen, strict=True))
        hidden = tuple(name for name, used in zip(names, np.any(combination != 0.0, axis=0), strict=True) if not used)
        return BaseParameters(words, chosen, combination, hidden, rows)

    # ---- inside ----------------------------------------------------------------------------------------------------

    def _momentum(self, morphology: Morphology | None, q: Array, nu: Array) -> Array:
        """Regressors of the momentum: of what accelerations nu need at rest, without weight."""
        return self._regressors(morphology, np.zeros((len(q), 3, 3)), q, np.zeros_like(nu), nu)

    def _samples(self, morphology: Morphology | None, **given: ArrayLike) -> tuple[list[Array], bool]:
        """Return the arguments by name as arrays with a leading axis, and whether they had one; DynamicsError if
        one is wrong.
        """
        known = self._select(morphology).morphology
        dimensions = {"R": 2, "p": 1, "q": 1, "nu": 1, "nudot": 1}
        batch = all(np.ndim(value) == 1 + dimensions[name] for name, value in given.items())
        lead = np.shape(given["q"])[:1] if batch else ()
        arrays = [check_input(name, value, known, lead) for name, value in given.items()]
        return [array if batch else array[None] for array in arrays], batch


def _independent_columns(W: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the columns (b,) of W (m, k) that do not depend on previous ones, and C (b, k) with W = W[:, columns]
    C.
    """
    norms = np.linalg.norm(W, axis=0)
    seen = np.flatnonzero(norms > _RANK_TOLERANCE * norms.max(initial=0.0))
    rest = np.abs(np.diag(np.linalg.qr(W[:, seen] / norms[seen], mode="r")))  # length of what previous ones do not have
    columns = seen[rest > _RANK_TOLERANCE]
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
