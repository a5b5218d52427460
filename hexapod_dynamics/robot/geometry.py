"""A leg described only by the positions of its links' points, as functions of the joint variables.

Automatic differentiation (CasADi) turns the positions into joint screws: link j depends on q_1 .. q_j, and its
motion by dq_j at zero is joint j's twist. The idea is Kusaka & Tanaka's (2022): the user writes the geometry only.
`Leg.from_geometry` returns an ordinary `Leg`, checked at random postures against the positions.

Positions are written with `casadi.sin`, `casadi.cos` and arithmetic:

    def shin(q, point):                      # q: joint variables; point: (x, y, z) in the link's own axes
        x, y, z = point
        return x + q[3], y, z                # position of that point in the leg's mount frame

x of a link's axes is along the link; its point (0, 0, 0) is the start of the link, on its joint's axis.
"""

from __future__ import annotations

import os
import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.casadi_extra import INSTALL, import_casadi
from hexapod_dynamics.robot.parts import Joint, Link
from hexapod_dynamics.se3 import exp

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot

# q (n,) -> pose (4, 4) and d pose / dq_k side by side (4, 4n)
PoseFunction = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
TOLERANCE = 1e-9  # of positions [m] and axes: double precision leaves 1e-15


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


def chain_of_geometry(name: str, links: tuple[LinkGeometry, ...]) -> tuple[tuple[Joint, ...], tuple[Link, ...]]:
    """Return joints and links of a leg, from the body outward; RobotError names a link whose positions do not
    describe a chain.
    """
    if not links:
        raise RobotError(f"leg {name}: no links given, at least one needed")
    poses = _pose_functions(name, links)
    n = len(links)
    zero = np.zeros(n)
    joints, bodies, screws = [], [], []
    for j, link in enumerate(links):
        pose, by_q = (_exact(np.asarray(value)) for value in poses[j](zero))
        rotation = pose[:3, :3]
        _check_axes(name, link.name, rotation)
        screws.append(_screw(by_q[:, 4 * j : 4 * j + 4], pose))
        joints.append(_joint(name, link, screws[-1], pose[:3, 3]))
        com = np.array([link.length / 2, 0, 0]) if link.com is None else link.com
        bodies.append(Link(link.name, link.mass, link.length, com, link.inertia, rotation))
    _check_chain(name, links, poses, screws)
    return tuple(joints), tuple(bodies)


def _pose_functions(leg: str, links: Sequence[LinkGeometry]) -> list[PoseFunction]:
    """For each link a function of q: its pose (4,4) and d pose / dq_k side by side (4, 4n)."""
    ca = import_casadi(f"leg {leg}, which is described by positions,")
    q = ca.SX.sym("q", len(links))
    variables = ca.vertsplit(q)
    functions = []
    for link in links:
        try:
            corners = [
                ca.vertcat(*link.place(variables, point)) for point in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
            ]
        except Exception as error:  # any error of the user's function
            raise RobotError(f"leg {leg}, link {link.name}: place(q, point) fails: {error!r}") from error
        if any(corner.shape != (3, 1) for corner in corners):
            raise RobotError(
                f"leg {leg}, link {link.name}: place(q, point) gives {corners[0].shape[0]} coordinates, 3 needed"
            )
        start = ca.SX(corners[0])
        columns = [ca.SX(corner) - start for corner in corners[1:]] + [start]
        pose = ca.vertcat(ca.horzcat(*columns), ca.SX(ca.DM([[0, 0, 0, 1]])))
        by_q = ca.horzcat(*(ca.reshape(ca.jacobian(ca.vec(pose), variable), 4, 4) for variable in variables))
        functions.append(ca.Function("pose", [q], [ca.densify(pose), ca.densify(by_q)]))
    return functions


def _check_axes(leg: str, link: str, rotation: np.ndarray) -> None:
    if not (np.allclose(rotation.T @ rotation, np.eye(3), atol=TOLERANCE) and np.linalg.det(rotation) > 0):
        raise RobotError(
            f"leg {leg}, link {link}: its points do not move as a rigid body, the unit axes become "
            f"{rotation.T.tolist()}"
        )


def _screw(by_q: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Return the twist (v, w), in the mount frame, of the motion d pose / dq."""
    hat = by_q @ np.linalg.inv(pose)
    return _exact(np.array([*hat[:3, 3], hat[2, 1], hat[0, 2], hat[1, 0]]))


def _exact(values: np.ndarray) -> np.ndarray:
    """Round values that are integers up to rounding errors, so that an axis along z is exactly (0, 0, 1)."""
    whole = np.round(values)
    return np.where(np.abs(values - whole) < 1e-14, whole + 0.0, values)


def _joint(leg: str, link: LinkGeometry, screw: np.ndarray, start: np.ndarray) -> Joint:
    linear, angular = screw[:3], screw[3:]
    turns, slides = np.linalg.norm(angular), np.linalg.norm(linear)
    where = f"leg {leg}, link {link.name}"
    make = partial(
        Joint,
        name=f"{link.name}_joint_{leg}",
        lower=link.lower,
        upper=link.upper,
        servo_id=link.servo_id,
        servo_direction=link.servo_direction,
    )
    if turns < TOLERANCE:
        if abs(slides - 1) > TOLERANCE:
            raise RobotError(
                f"{where}: a unit of its joint variable moves it by {slides:.6g} m and does not turn it; "
                "needed: 1 m or 1 rad"
            )
        return make(kind="prismatic", axis=linear, origin=start)
    if abs(turns - 1) > TOLERANCE:
        raise RobotError(f"{where}: a unit of its joint variable turns it by {turns:.6g} rad; needed: 1")
    pitch = float(linear @ angular)
    off_axis = linear - pitch * angular - np.cross(start, angular)
    if np.linalg.norm(off_axis) > TOLERANCE:
        raise RobotError(
            f"{where}: its start {start.tolist()} is {np.linalg.norm(off_axis):.6g} m off its joint's "
            "axis; choose the point (0, 0, 0) of its axes on it"
        )
    if abs(pitch) < TOLERANCE:
        return make(kind="revolute", axis=angular, origin=start)
    return make(kind="helical", axis=angular, origin=start, pitch=pitch)


def _check_chain(
    leg: str, links: Sequence[LinkGeometry], poses: Sequence[PoseFunction], screws: Sequence[np.ndarray]
) -> None:
    """Compare the positions with the product of exponentials of the screws, at random postures."""
    rng = np.random.default_rng(0)
    at_zero = [np.asarray(pose(np.zeros(len(links)))[0]) for pose in poses]
    for _ in range(8):
        q = np.array([rng.uniform(max(link.lower, -3), min(link.upper, 3)) for link in links])
        motion = np.eye(4)
        for j, link in enumerate(links):
            motion = motion @ exp(screws[j] * q[j])
            off = np.abs(np.asarray(poses[j](q)[0]) - motion @ at_zero[j]).max()
            if off > TOLERANCE:
                raise RobotError(
                    f"leg {leg}, link {link.name}: at q = {np.round(q, 3).tolist()} its positions are {off:.3g} off "
                    "those of a chain in which each joint moves its link and all beyond it in one fixed screw motion"
                )


def robot_of_program(path: str | os.PathLike[str], make: type[Robot]) -> Robot:
    """Return the result of the function robot() of a Python file, which is trusted code: see `Robot.load`.

    make: the class `Robot`, passed as an argument because its module imports those of this folder. Raises RobotError.
    """
    if not Path(path).is_file():
        raise RobotError(f"robot file {path}: cannot be read: there is no such file")
    try:
        program = runpy.run_path(str(path)).get("robot")
        if not callable(program):
            raise RobotError("defines no function robot() that returns a Robot")
        robot = program()
    except RobotError as error:
        raise RobotError(f"robot file {path}: {error}") from None
    except ModuleNotFoundError as error:
        if error.name != "casadi":
            raise
        raise RobotError(f"robot file {path}: it imports CasADi, which is not installed here: {INSTALL}") from None
    if not isinstance(robot, make):
        raise RobotError(f"robot file {path}: robot() returns {type(robot).__name__}, a Robot needed")
    return robot
