"""A leg, and one that is described only by the positions of its links' points, as functions of the joint variables.

Link j depends on q_1 .. q_j, and q_j alone moves it along joint j's twist, which is the logarithm of that motion. The
idea is Kusaka & Tanaka's (2022): the user writes the geometry only. `Leg.from_geometry` returns an ordinary `Leg`,
checked at random postures against the positions.

    def shin(q, point):                      # q: joint variables; point: (x, y, z) in the link's own axes
        x, y, z = point
        return x + q[3], y, z                # position of that point in the leg's mount frame

x of a link's axes is along the link; its point (0, 0, 0) is the start of the link, on its joint's axis.
"""

from __future__ import annotations

import os
import runpy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.checked_yaml import Choice, Instance, Name, Part
from hexapod_dynamics.robot.parts import Joint, Link, Rotation, Vector
from hexapod_dynamics.se3 import exp, inverse, log, pose

TOLERANCE = 1e-9  # of positions [m] and axes: double precision leaves 1e-15


@dataclass(frozen=True, eq=False)
class Leg(Part):
    """A leg: its mount (base_link <- mount frame), its joints and links from the body outward, and its tripod group."""

    name: Annotated[str, Name()]
    mount_rotation: Rotation
    mount_position: Vector
    joints: Annotated[tuple[Joint, ...], Instance(Joint, many=True)]
    links: Annotated[tuple[Link, ...], Instance(Link, many=True)]
    tripod_group: Annotated[int, Choice((1, 2), "1 or 2")]
    module: Annotated[str, Name(free=True)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.joints or len(self.joints) != len(self.links):
            count = f"{len(self.joints)} joints and {len(self.links)} links"
            raise RobotError(f"{self.label}: {count}, as many of each needed")
        if len(set(self.link_names)) != len(self.links):
            raise RobotError(f"{self.label}: link names {list(self.link_names)} are not all different")

    @classmethod
    def from_geometry(
        cls,
        name: str,
        links: Iterable[LinkGeometry],
        *,
        mount_rotation: npt.ArrayLike,
        mount_position: npt.ArrayLike,
        tripod_group: int = 1,
        module: str = "geometry",
    ) -> Leg:
        """Return a leg described by positions only, from the body outward; see robot/geometry.py.

        Raises RobotError, which names the link, if the positions are not those of a chain of joints.
        """
        joints, bodies = chain_of_geometry(name, tuple(links))
        mount = np.asarray(mount_rotation), np.asarray(mount_position)
        return cls(name, *mount, joints, bodies, tripod_group, module)

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links, from the body outward."""
        return tuple(link.name for link in self.links)


@dataclass(frozen=True)
class LinkGeometry:
    """One link and its joint.

    place(q, point) -> position (3) in the mount frame of a point (3) given in the link's axes. mass [kg]; length [m];
    inertia (3, 3) about the centre of mass in link axes [kg m^2]; com (3,) in link axes, default half the length;
    lower, upper: range of its joint [rad or m]; servo_id, servo_direction as in `Joint`.
    """

    name: str
    place: Callable
    mass: float
    length: float
    inertia: np.ndarray
    com: np.ndarray | None = None
    lower: float = -np.pi
    upper: float = np.pi
    servo_id: int | None = None
    servo_direction: int | None = None

    def pose(self, leg: str, q: np.ndarray) -> np.ndarray:
        """Return the pose (4, 4) mount frame <- link at joint variables q (n,); RobotError if it is none."""
        where = f"leg {leg}, link {self.name}"
        corners = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        try:
            places = [[float(value) for value in self.place(q.tolist(), corner)] for corner in corners]
        except Exception as error:  # any error of the user's function
            raise RobotError(f"{where}: place(q, point) fails: {error!r}") from error
        if wrong := [len(place) for place in places if len(place) != 3]:
            raise RobotError(f"{where}: place(q, point) gives {wrong[0]} coordinates, 3 needed")
        start, *ends = np.array(places)
        rotation = np.column_stack([end - start for end in ends])
        if not (np.allclose(rotation.T @ rotation, np.eye(3), atol=TOLERANCE) and np.linalg.det(rotation) > 0):
            raise RobotError(
                f"{where}: its points do not move as a rigid body, the unit axes become {rotation.T.tolist()}"
            )
        return pose(_exact(rotation), _exact(start))


def chain_of_geometry(name: str, links: tuple[LinkGeometry, ...]) -> tuple[tuple[Joint, ...], tuple[Link, ...]]:
    """Return joints and links of a leg from the body outward; RobotError names a link whose positions form no chain."""
    if not links:
        raise RobotError(f"leg {name}: no links given, at least one needed")
    one = np.eye(len(links))
    at_zero = [link.pose(name, 0.0 * one[0]) for link in links]
    screws = [  # twists of the motions by 1 rad or 1 m
        _exact(log(link.pose(name, row) @ inverse(still))) for link, row, still in zip(links, one, at_zero, strict=True)
    ]
    _check_chain(name, links, at_zero, screws)
    joints, bodies = [], []
    for link, still, screw in zip(links, at_zero, screws, strict=True):
        joints.append(_joint(name, link, screw, still[:3, 3]))
        com = np.array([link.length / 2, 0, 0]) if link.com is None else link.com
        bodies.append(Link(link.name, link.mass, link.length, com, link.inertia, still[:3, :3]))
    return tuple(joints), tuple(bodies)


def _exact(values: np.ndarray) -> np.ndarray:
    """Round values that are integers up to rounding errors, so that an axis along z is exactly (0, 0, 1)."""
    whole = np.round(values)
    return np.where(np.abs(values - whole) < 1e-14, whole + 0.0, values)


def _joint(leg: str, link: LinkGeometry, screw: np.ndarray, start: np.ndarray) -> Joint:
    linear, angular = screw[:3], screw[3:]
    turns, slides = np.linalg.norm(angular), np.linalg.norm(linear)
    where = f"leg {leg}, link {link.name}"
    pitch = float(linear @ angular)
    if turns < TOLERANCE:
        if abs(slides - 1) > TOLERANCE:
            raise RobotError(
                f"{where}: a unit of its joint variable moves it by {slides:.6g} m and does not turn it; "
                "needed: 1 m or 1 rad"
            )
        kind, axis, pitch = "prismatic", linear, 0.0
    else:
        if abs(turns - 1) > TOLERANCE:
            raise RobotError(f"{where}: a unit of its joint variable turns it by {turns:.6g} rad; needed: 1")
        off_axis = float(np.linalg.norm(linear - pitch * angular - np.cross(start, angular)))
        if off_axis > TOLERANCE:
            raise RobotError(
                f"{where}: its start {start.tolist()} is {off_axis:.6g} m off its joint's axis; choose the point "
                "(0, 0, 0) of its axes on it"
            )
        kind, axis = "revolute" if abs(pitch) < TOLERANCE else "helical", angular
        pitch = 0.0 if kind == "revolute" else pitch
    limits, servo = (link.lower, link.upper), (link.servo_id, link.servo_direction)
    return Joint(f"{link.name}_joint_{leg}", kind, axis, start, *limits, pitch, *servo)


def _check_chain(
    leg: str, links: tuple[LinkGeometry, ...], at_zero: list[np.ndarray], screws: list[np.ndarray]
) -> None:
    """Compare the positions with the product of exponentials of the screws, at random postures."""
    rng = np.random.default_rng(0)
    for _ in range(8):
        q = np.array([rng.uniform(max(link.lower, -3), min(link.upper, 3)) for link in links])
        motion = np.eye(4)
        for j, link in enumerate(links):
            motion = motion @ exp(screws[j] * q[j])
            off = np.abs(link.pose(leg, q) - motion @ at_zero[j]).max()
            if off > TOLERANCE:
                raise RobotError(
                    f"leg {leg}, link {link.name}: at q = {np.round(q, 3).tolist()} its positions are {off:.3g} off "
                    "those of a chain in which each joint moves its link and all beyond it in one fixed screw motion"
                )


def robot_of_program(path: str | os.PathLike[str]) -> object:
    """Return the result of robot() of a Python file, which is trusted code: see `Robot.load`. Raises RobotError."""
    if not Path(path).is_file():
        raise RobotError("cannot be read: there is no such file")
    try:
        program = runpy.run_path(str(path)).get("robot")
        if not callable(program):
            raise RobotError("defines no function robot() that returns a Robot")
        return program()
    except ModuleNotFoundError as error:
        remedy = f"python3 -m pip install {error.name}"
        raise RobotError(f"it imports {error.name}, which is not installed here: {remedy}") from None
