"""A chain of rigid bodies, serial or branched, on a fixed base: what the formulations of this package share.

Body i is attached to body `parents[i]` (-1: the base) by one joint. With B_i the zero pose of body i in its parent and
X_i the joint's screw in body i's own frame (v, w: linear first), the pose at joint variable q_i is

    T_i(q_i) = B_i exp(X_i q_i),     dT_i/dq_i = T_i X_i^,     d2T_i/dq_i^2 = T_i X_i^ X_i^

where X^ = [[ [w], v ], [0, 0]]. Denavit-Hartenberg rows are the special case whose frames sit on the joint axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.array_checks import as_array
from hexapod_dynamics.errors import DynamicsError, RobotError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.model_tree import TreeLink
from hexapod_dynamics.robot.urdf_reading import read_inertial, read_root, read_tree
from hexapod_dynamics.se3 import Ad, Array, combine_inertias, inverse, pose, rotation_about, skew, spatial_inertia

REVOLUTE, PRISMATIC = KINDS = "revolute", "prismatic"
BASE = -1  # the parent of a body that is attached to the base


def refuse(wrong: bool | np.bool_, message: str) -> None:
    """Raise DynamicsError with this message if something is wrong."""
    if wrong:
        raise DynamicsError(message)


class DenavitHartenbergRow(NamedTuple):
    """One row: angle theta [rad], offset d [m], length a [m], twist alpha [rad]; q is added to theta (revolute) or
    d (prismatic).
    """

    theta: float
    d: float
    a: float
    alpha: float
    kind: str = REVOLUTE


@dataclass(frozen=True, eq=False)
class Chain:
    """Rigid bodies joined by revolute and prismatic joints, parents before children.

    Attributes
    ----------
    parents: (n,) index of each body's parent, -1 for the base, always less than the body's own index
    placements: (n,4,4) zero pose of body i in its parent's frame
    screws: (n,6) joint screw (v, w) in body i's frame; revolute: unit w, no pitch; prismatic: w = 0, unit v
    masses: (n,) [kg]; coms: (n,3) centre of mass in the body frame [m]; inertias: (n,3,3) about it, body axes [kg m^2]
    gravity: (3,) in the base frame [m/s^2]
    names: (n,) joint names

    Raises DynamicsError, which names the body, if the arguments do not describe a chain.
    """

    parents: tuple[int, ...]
    placements: np.ndarray
    screws: np.ndarray
    masses: np.ndarray
    coms: np.ndarray
    inertias: np.ndarray
    gravity: np.ndarray
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        set_field, n = object.__setattr__, len(self.parents)
        refuse(n == 0, "a chain needs at least one joint, none was given")
        set_field(self, "parents", tuple(int(parent) for parent in self.parents))
        set_field(self, "names", tuple(self.names) or tuple(f"joint_{i + 1}" for i in range(n)))
        different = len(self.names) == n == len(set(self.names))
        refuse(not different, f"{n} different joint names are needed, given {list(self.names)}")
        shapes = {"placements": (n, 4, 4), "screws": (n, 6), "masses": (n,), "coms": (n, 3), "inertias": (n, 3, 3)}
        for field, shape in (shapes | {"gravity": (3,)}).items():
            array = as_array(field, getattr(self, field), shape)
            array.setflags(write=False)
            set_field(self, field, array)
        for i in range(n):
            self._check_body(i)

    def _check_body(self, i: int) -> None:
        name, parent = self.names[i], self.parents[i]
        mass, inertia = self.masses[i], self.inertias[i]
        refuse(
            not BASE <= parent < i,
            f"body {i} ({name}) names {parent} as its parent, allowed: -1 (the base) to {i - 1}; "
            "a parent that comes later closes a loop: cut it (see papers/sensitivities_closed_loop.py)",
        )
        linear, angular = self.screws[i, :3], self.screws[i, 3:]
        unit, pitch = angular if self.turns[i] else linear, linear @ angular
        refuse(abs(np.linalg.norm(unit) - 1) > 1e-9, f"joint {name} needs a unit axis, given {unit}")
        refuse(abs(pitch) > 1e-9, f"joint {name} has pitch {pitch:.3g} m/rad, allowed: 0")
        rotation, last = self.placements[i, :3, :3], self.placements[i, 3]
        rigid = np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-9) and np.linalg.det(rotation) > 0
        rigid = rigid and np.array_equal(last, (0, 0, 0, 1))
        refuse(not rigid, f"the placement of {name} is no rigid motion: {self.placements[i].tolist()}")
        refuse(mass < 0, f"the mass of body {name} is {mass:g} kg, allowed: 0 or more")
        symmetric = np.allclose(inertia, inertia.T, atol=1e-12)
        refuse(not symmetric, f"the inertia of body {name} is not symmetric: {inertia.tolist()}")
        smallest = np.linalg.eigvalsh(np.trace(inertia) / 2 * np.eye(3) - inertia)[0]
        wrong = smallest < -1e-9 * max(np.trace(inertia), 1e-12)
        refuse(wrong, f"the inertia of body {name} breaks the triangle inequality: {inertia.tolist()}")

    # ---- sources -------------------------------------------------------------------------------------------------

    @classmethod
    def from_denavit_hartenberg(
        cls,
        rows: Sequence[DenavitHartenbergRow],
        masses: npt.ArrayLike,
        coms: npt.ArrayLike,
        inertias: npt.ArrayLike,
        *,
        gravity: npt.ArrayLike = (0, 0, -9.81),
        convention: str = "standard",
        names: Iterable[str] = (),
    ) -> Chain:
        """Serial chain from one row for each joint.

        `convention='standard'`: T_i = Rz(theta) Tz(d) Tx(a) Rx(alpha) (Hollerbach 1980, eq. 2; Xiang 2008, eq. 1);
        `convention='modified'`: T_i = Rx(alpha) Tx(a) Rz(theta) Tz(d) (Craig). coms and inertias in the link frames.
        """
        refuse(
            convention not in ("standard", "modified"), f"convention is {convention!r}, allowed: 'standard', 'modified'"
        )
        placements, screws = [], []
        for row in (DenavitHartenbergRow(*row) for row in rows):
            refuse(row.kind not in KINDS, f"a joint is {row.kind!r}, allowed: {', '.join(KINDS)}")
            about_z = pose(rotation_about(2, row.theta), (0, 0, row.d))
            about_x = pose(rotation_about(0, row.alpha), (row.a, 0, 0))
            axis = np.array([0, 0, 0, 0, 0, 1.0] if row.kind == REVOLUTE else [0, 0, 1.0, 0, 0, 0])
            if convention == "standard":
                placements.append(about_z @ about_x)
                screws.append(Ad(inverse(about_x)) @ axis)  # the axis is z_{i-1}; seen from frame i
            else:
                placements.append(about_x @ about_z)
                screws.append(axis)
        bodies: dict[str, Any] = {"masses": masses, "coms": coms, "inertias": inertias, "gravity": gravity}
        parents = tuple(range(-1, len(screws) - 1))
        return cls(parents, np.array(placements), np.array(screws), **bodies, names=tuple(names))

    @classmethod
    def from_screws(
        cls,
        screws: npt.ArrayLike,
        poses: npt.ArrayLike,
        masses: npt.ArrayLike,
        coms: npt.ArrayLike,
        inertias: npt.ArrayLike,
        *,
        parents: Sequence[int] | None = None,
        gravity: npt.ArrayLike = (0, 0, -9.81),
        names: Iterable[str] = (),
    ) -> Chain:
        """Chain from spatial joint screws (n,6) (v, w) and body poses (n,4,4), both at zero in the base frame."""
        screws, poses = np.asarray(screws, float), np.asarray(poses, float)
        bodies: dict[str, Any] = {"masses": masses, "coms": coms, "inertias": inertias, "gravity": gravity}
        n = len(screws)
        parents = tuple(range(-1, n - 1)) if parents is None else tuple(parents)
        refuse(
            poses.shape != (n, 4, 4) or screws.shape != (n, 6) or len(parents) != n,
            f"screws (n,6), poses (n,4,4) and parents (n,) are needed, given {screws.shape}, {poses.shape} and "
            f"({len(parents)},)",
        )
        above = [np.eye(4) if parent == BASE else poses[parent] for parent in parents]
        placements = np.array([inverse(outer) @ g for outer, g in zip(above, poses, strict=True)])
        body_screws = np.array([Ad(inverse(g)) @ screw for g, screw in zip(poses, screws, strict=True)])
        return cls(parents, placements, body_screws, **bodies, names=tuple(names))

    @classmethod
    def from_leg(
        cls, robot: Robot, leg: str, *, morphology: Morphology | None = None, gravity: np.ndarray | None = None
    ) -> Chain:
        """Serial chain of one leg of a `Robot` whose mount is fixed; body frames are at the links' centres of
        mass.

        With a morphology: the links that are left, shortened links with their remaining length, locked joints
        welded.
        """
        links = robot.leg(leg).links if morphology is None else morphology.links(leg)
        description = robot.leg(leg)
        joints = description.joints[: len(links)]
        for joint in joints:
            wrong = joint.kind not in KINDS
            refuse(wrong, f"joint {joint.name} is {joint.kind}, a chain has {REVOLUTE} and {PRISMATIC} joints")
        mount = pose(description.mount_rotation, description.mount_position)
        poses = [
            mount @ pose(np.eye(3), joint.origin + link.com_in_leg) for joint, link in zip(joints, links, strict=True)
        ]
        chain = cls.from_screws(
            [Ad(mount) @ joint.screw for joint in joints],
            np.reshape(poses, (-1, 4, 4)),
            [link.mass for link in links],
            np.zeros((len(links), 3)),
            [link.inertia_in_leg for link in links],
            gravity=(0, 0, -robot.gravity) if gravity is None else gravity,
            names=[joint.name for joint in joints],
        )
        for i in reversed(range(len(links))):
            angle = None if morphology is None else morphology.locked_angle(leg, links[i].name)
            chain = chain if angle is None else chain.weld(i, angle)
        return chain

    @classmethod
    def from_urdf(cls, text: str, *, gravity: npt.ArrayLike = (0, 0, -9.81)) -> Chain:
        """Tree from the text of a URDF; the root link is the base, fixed joints weld, every other joint adds a body,
        in the order of the joints from the root outward.
        """
        try:
            base = read_tree(read_root(text))
            for link in base.list_subtree():
                read_inertial(link)
        except RobotError as error:
            raise DynamicsError(f"this is no URDF of a chain: {error}") from error
        base.merge_fixed()
        parents: list[int] = []
        bodies: list[TreeLink] = []

        def add(link: TreeLink, body: int) -> None:
            for child in link.children:
                parents.append(body)
                bodies.append(child)
                add(child, len(parents) - 1)

        add(base, BASE)
        refuse(not bodies, "a chain needs at least one joint, none was given")
        return cls(
            parents=tuple(parents),
            names=tuple(link.joint for link in bodies),
            placements=np.array([link.pose for link in bodies]),
            screws=np.array([_screw(link) for link in bodies]),
            masses=np.array([link.mass for link in bodies]),
            coms=np.array([link.com for link in bodies]),
            inertias=np.array([link.inertia for link in bodies]),
            gravity=np.asarray(gravity),
        )

    # ---- what the methods ask for --------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def turns(self) -> npt.NDArray[np.bool_]:
        """Whether each joint is revolute (n,); the others are prismatic."""
        return np.asarray(self.screws[:, 3:].any(axis=1), np.bool_)

    @property
    def serial(self) -> bool:
        """Whether every body is attached to the previous body."""
        return self.parents == tuple(range(-1, len(self) - 1))

    def children(self, i: int) -> tuple[int, ...]:
        """Bodies that are attached to body i."""
        return tuple(j for j, parent in enumerate(self.parents) if parent == i)

    def weld(self, joint: int, q: float) -> Chain:
        """Return the chain with one joint fixed at q [rad or m]: its body becomes part of its parent."""
        refuse(not 0 <= joint < len(self), f"no joint {joint}, this chain has 0 to {len(self) - 1}")
        kept = [i for i in range(len(self)) if i != joint]
        refuse(not kept, f"{self.names[joint]} is the only joint: nothing would move")
        held, above = self.transforms(np.where(np.arange(len(self)) == joint, q, 0.0))[joint], self.parents[joint]
        parents = [above if self.parents[i] == joint else self.parents[i] for i in kept]
        masses, coms, inertias = self.masses.copy(), self.coms.copy(), self.inertias.copy()
        if above != BASE:
            com, turn = held[:3, :3] @ coms[joint] + held[:3, 3], held[:3, :3]
            masses[above], coms[above], inertias[above] = combine_inertias(
                [(masses[above], coms[above], inertias[above]), (masses[joint], com, turn @ inertias[joint] @ turn.T)]
            )
        return replace(
            self,
            parents=tuple(parent - (parent > joint) for parent in parents),
            names=tuple(self.names[i] for i in kept),
            placements=np.array(
                [held @ self.placements[i] if self.parents[i] == joint else self.placements[i] for i in kept]
            ),
            screws=self.screws[kept],
            masses=masses[kept],
            coms=coms[kept],
            inertias=inertias[kept],
        )

    def check_state(self, *vectors: npt.ArrayLike) -> tuple[np.ndarray, ...]:
        """Return the vectors as float arrays (..., n); DynamicsError for a wrong length or a non-finite value."""
        arrays = [np.asarray(vector, float) for vector in vectors]
        for name, array in zip(("q", "qdot", "qddot"), arrays, strict=False):
            wrong = array.shape[-1:] != (len(self),)
            refuse(wrong, f"{name} has shape {array.shape}, this chain has {len(self)} joints")
            refuse(not np.isfinite(array).all(), f"{name} is not finite: {array}")
        return tuple(arrays)

    def hats(self) -> np.ndarray:
        """X_i^ of every joint (n,4,4), so that dT_i/dq_i = T_i X_i^."""
        hats = np.zeros((len(self), 4, 4))
        hats[:, :3, :3] = [skew(w) for w in self.screws[:, 3:]]
        hats[:, :3, 3] = self.screws[:, :3]
        return hats

    def transforms(self, q: np.ndarray) -> np.ndarray:
        """T_i(q_i), pose of every body in its parent: q (..., n) -> (..., n, 4, 4)."""
        q = np.asarray(q, float)
        hats, turns = self.hats(), self.turns
        first = np.where(turns, np.sin(q), q)[..., None, None]
        second = np.where(turns, 1 - np.cos(q), 0)[..., None, None]  # X^ cubed = -X^ for a screw without pitch
        return self.placements @ (np.eye(4) + first * hats + second * (hats @ hats))

    def poses(self, q: np.ndarray) -> np.ndarray:
        """Pose of every body in the base frame: q (..., n) -> (..., n, 4, 4)."""
        poses = self.transforms(q)
        for i, parent in enumerate(self.parents):
            if parent != BASE:
                poses[..., i, :, :] = poses[..., parent, :, :] @ poses[..., i, :, :]
        return poses

    def pseudo_inertias(self) -> np.ndarray:
        """(n,4,4) integral of r r^T dm with r = (x, y, z, 1) in the body frame: J_i in Hollerbach 1980, I_i in
        Xiang 2008.
        """
        pseudo = np.zeros((len(self), 4, 4))
        for i, (m, c, inertia) in enumerate(zip(self.masses, self.coms, self.inertias, strict=True)):
            pseudo[i, :3, :3] = np.trace(inertia) / 2 * np.eye(3) - inertia + m * np.outer(c, c)
            pseudo[i, :3, 3] = pseudo[i, 3, :3] = m * c
            pseudo[i, 3, 3] = m
        return pseudo

    def spatial_inertias(self) -> np.ndarray:
        """(n,6,6) inertia of every body about its frame's origin, for twists (v, w): Mueller & Kumar, eq. 12."""
        return np.array([spatial_inertia(*body) for body in zip(self.masses, self.coms, self.inertias, strict=True)])


def _screw(link: TreeLink) -> Array:
    """Return the screw (v, w) of the joint of a link of a URDF in the link's frame. Raises DynamicsError."""
    wrong, mimic = link.kind not in KINDS, link.joint_element.find("mimic")
    refuse(wrong, f"joint {link.joint} is {link.kind!r}, allowed: {', '.join(KINDS)}, continuous, fixed")
    if mimic is not None:
        raise DynamicsError(f"joint {link.joint} mimics {mimic.get('joint')}: a chain needs independent joints")
    length = np.linalg.norm(link.axis)
    refuse(not length > 0.0, f"joint {link.joint} has the axis {link.axis}, needed: a direction")
    axis = link.axis / length
    return np.concatenate((np.zeros(3), axis) if link.kind == REVOLUTE else (axis, np.zeros(3)))
