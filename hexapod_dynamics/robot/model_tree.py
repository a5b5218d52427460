"""A tree of rigid links, as a model file describes a robot, and the robot that it describes: any body with serial legs.

`urdf_reading` and `mjcf_reading` read such a tree, so both formats have the same rules: a link without a joint of its
own belongs to its parent; legs are the chains on the body, all of them, or those that are named by their first joints;
base_link is moved to the body's centre of mass, where gaits expect it, unless keep_frame is set. A link's x axis runs
from its joint to the next one; the last link of a leg ends at its outermost foot frame or collision shape. What a robot
cannot have is refused, what it has no place for is named in a RobotWarning.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import warnings
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import RobotError, RobotWarning
from hexapod_dynamics.robot.geometry import Leg
from hexapod_dynamics.robot.parts import Body, Contact, Imu, Joint, Link, Servo
from hexapod_dynamics.se3 import combine_inertias, exp, rotation_x_to

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot

MOVING = ("revolute", "prismatic")
# Of the values of a `Servo` that a file may have.
UNITS = {"stiffness": "N m/rad", "damping": "N m s/rad", "torque_limit": "N m", "speed_limit": "rad/s"}
FIX = 'make it a part of the body (type="fixed" in a URDF, no <joint> in MJCF)'
AT_END = 0.98  # share of the greatest distance from which the vertices of a mesh are those of its end


def warn(message: str) -> None:
    """Warn of what the robot has no place for, at the level of the caller of Robot.from_urdf or from_mjcf."""
    warnings.warn(message, RobotWarning, stacklevel=5)


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape on a link.

    kind, size [m]: box (x, y, z), cylinder or capsule (radius, length of the cylinder), sphere (radius,), mesh
    (vertices (v, 3)); pose (4, 4): link <- shape, z along a cylinder. rgba: colour, from 0 to 1.
    """

    kind: str
    size: np.ndarray
    pose: np.ndarray
    rgba: tuple[float, ...] = (0.6, 0.6, 0.6, 1.0)

    def farthest_point(self) -> np.ndarray:
        """Return the point (3,) [m] of the shape that is farthest from the link's origin; of a box and of a cylinder
        the middle of a face, or a point of a rim that lies across; of a mesh the middle of its end.
        """
        axes, centre, radius = self.pose[:3, :3], self.pose[:3, 3], 0.0
        if self.kind == "mesh":
            points = self.size @ axes.T + centre
            distances = np.linalg.norm(points, axis=1)
            end = points[(distances >= AT_END * distances.max()) & (points @ points[distances.argmax()] >= 0.0)]
            middle = end.min(axis=0) + end.max(axis=0)
            along = middle / max(float(np.linalg.norm(middle)), 1e-12)
            return along * np.max(points @ along)
        if self.kind == "box":
            half = 0.5 * axes * self.size
            points = centre + np.concatenate([half, -half], axis=1).T
        elif self.kind == "sphere":
            points, radius = centre[None], self.size[0]
        else:
            points = centre + np.outer([0.5, -0.5], self.size[1] * axes[:, 2])
            if self.kind == "capsule":
                radius = self.size[0]
            else:
                across = centre - (centre @ axes[:, 2]) * axes[:, 2]
                rim = centre + self.size[0] * across / max(float(np.linalg.norm(across)), 1e-12)
                points = np.vstack([points, rim])
        far = points[np.argmax(np.linalg.norm(points, axis=1))]
        distance = float(np.linalg.norm(far))
        return far * (1.0 + radius / distance) if distance > 1e-9 else np.array([0.0, 0.0, -radius])

    def extent(self) -> np.ndarray:
        """Return the size (3,) [m] of the shape along the link's axes."""
        axes = np.abs(self.pose[:3, :3])
        if self.kind == "mesh":
            return np.ptp(self.size @ self.pose[:3, :3].T, axis=0)
        if self.kind == "box":
            return axes @ self.size
        if self.kind == "sphere":
            return np.full(3, 2.0 * self.size[0])
        radius, length = self.size
        across = 1.0 if self.kind == "capsule" else np.sqrt(np.maximum(1.0 - axes[:, 2] ** 2, 0.0))
        return length * axes[:, 2] + 2.0 * radius * across


@dataclass(eq=False)
class TreeLink:
    """A link, the joint that carries it, and what is attached to it.

    joint: its name; kind: "fixed", "revolute", "prismatic", another one, which no robot can have, or "" for the root,
    which no joint carries. pose (4, 4): parent <- link at joint position zero; axis (3,) in the link's axes; follows:
    the joint whose position it copies; notes: what the robot has no place for. drive: values of a `Servo` that the file
    has; problem: why it has no position servo. mass, com, inertia: in the link's frame.
    collisions, visuals: shapes; frames, marks: points (3,) of links that are fixed to it and of sites, which may be its
    end; unreadable: files of shapes that cannot be read. element, joint_element: XML, empty without one.
    """

    name: str
    joint: str = ""
    kind: str = ""
    pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    axis: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    lower: float = -math.inf
    upper: float = math.inf
    rotor_inertia: float = 0.0
    drive: dict[str, float] = field(default_factory=dict)
    problem: str = ""
    follows: str = ""
    notes: list[str] = field(default_factory=list)
    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    children: list[TreeLink] = field(default_factory=list)
    collisions: list[Shape] = field(default_factory=list)
    visuals: list[Shape] = field(default_factory=list)
    frames: list[np.ndarray] = field(default_factory=list)
    marks: list[np.ndarray] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    element: ET.Element = field(default_factory=lambda: ET.Element("none"))
    joint_element: ET.Element = field(default_factory=lambda: ET.Element("none"))

    def pose_at(self, value: float) -> np.ndarray:
        """Return the pose (4, 4) parent <- link at the joint position `value` [rad or m]."""
        if self.kind not in MOVING:
            return self.pose
        still = np.zeros(3)
        screw = np.concatenate([still, self.axis] if self.kind == "revolute" else [self.axis, still])
        return self.pose @ exp(value * screw)

    def list_subtree(self) -> list[TreeLink]:
        """Return this link and all below it, each after its parent."""
        found = [self]
        for link in found:  # the list grows in this loop
            found += link.children
        return found

    def merge_fixed(self) -> None:
        """Make each link below that is fixed to the one that carries it a part of that one."""
        for link in reversed(self.list_subtree()):
            for child in [child for child in link.children if child.kind == "fixed"]:
                link.absorb(child)

    def absorb(self, child: TreeLink) -> None:
        """Make a child, which has no children that are fixed to it, a part of this link."""
        turn, place = child.pose[:3, :3], child.pose[:3, 3]
        other = child.mass, place + turn @ child.com, turn @ child.inertia @ turn.T
        self.mass, self.com, self.inertia = combine_inertias([(self.mass, self.com, self.inertia), other])
        for shapes, more in ((self.collisions, child.collisions), (self.visuals, child.visuals)):
            shapes += [dataclasses.replace(shape, pose=child.pose @ shape.pose) for shape in more]
        self.frames += [place, *(place + turn @ frame for frame in child.frames)]
        self.marks += [place + turn @ mark for mark in child.marks]
        self.unreadable += child.unreadable
        for link in child.children:
            link.pose = child.pose @ link.pose
        self.children = [link for link in self.children if link is not child] + child.children


def find_body(root: TreeLink) -> TreeLink:
    """Merge what is fixed, and return the body of a tree: its root, or what floats or slides on roots without mass, as
    on links `map` and `odom`. RobotError for such a root with mass, and for a body without.
    """
    root.merge_fixed()
    while len(root.children) == 1 and (body := root.children[0]).kind in ("floating", "planar"):
        if root.mass:
            raise RobotError(
                f"link {root.name}: mass {root.mass:g} kg given, but {body.name} is the body, as joint {body.joint} is "
                f"{body.kind}; remove its <inertial>"
            )
        body.kind = ""
        root = body
    if root.mass <= 0.0:
        remedy = "the body needs an inertial element with a mass above 0"
        if len(root.children) == 1:
            only = root.children[0]
            remedy += f'; if link {only.name} is the body, its joint {only.joint} must be of type="floating"'
        raise RobotError(f"link {root.name}: no mass; {remedy}")
    return root


def robot_of_tree(
    base: TreeLink,
    usual: Robot,
    legs: Mapping[str, str] | None = None,
    servo: Servo | None = None,
    contact: Contact | None = None,
    imu: Imu | None = None,
    keep_frame: bool = False,
    sensor: np.ndarray | None = None,
) -> Robot:
    """Return the robot that a tree describes, base_link at the body's centre of mass unless keep_frame.

    usual: has its name and gravity, and the servo and contact that are taken where the file says nothing. legs: {name:
    first joint}, None: all chains on the body. servo: None: that of the tree's drives, the weakest of the legs' joints.
    imu: in base_link; sensor (4, 4): the pose of the file's IMU in the body's frame. Raises RobotError.
    """
    base = find_body(base)
    origin = np.zeros(3) if keep_frame else base.com
    chosen = _choose(legs, base.children)
    chains = {leg: [link for _, link in _chain(leg, first)] for leg, first in chosen.items()}
    joints = [link for chain in chains.values() for link in chain]
    for joint in joints:
        if joint.follows:
            raise RobotError(
                f"joint {joint.joint}: it follows joint {joint.follows} (mimic, equality): joints that follow others "
                "are not supported; remove that to drive it alone, or make the joint fixed"
            )
        half = 0.5 * joint.upper - 0.5 * joint.lower if joint.kind == "revolute" else 0.0  # the whole may overflow
        if 2.0 * math.pi < half < math.inf:
            joint.notes.append(f"limits {joint.lower:g} to {joint.upper:g} rad are more than two turns: degrees?")
    for note in dict.fromkeys(note for joint in joints for note in joint.notes):
        warn(f"{_list_names(joint for joint in joints if note in joint.notes)}: {note}")
    made = tuple(read_leg(leg, link, origin, 1 + k % 2) for k, (leg, link) in enumerate(chosen.items()))
    blind = {leg: chain[-1].unreadable for leg, chain in chains.items() if _find_foot(chain[-1]) is None}
    if blind:
        files = ", ".join(dict.fromkeys(itertools.chain.from_iterable(blind.values())))
        unread = f" ({files} cannot be read)" if files else ""
        warn(
            f"leg {', '.join(blind)}: the end of the last link is not in the file{unread}; twice the distance of its "
            "centre of mass is assumed; add a link of the foot on a fixed joint, or a shape of the last link"
        )
    place, chip = (origin, np.eye(3)) if sensor is None else (sensor[:3, 3], sensor[:3, :3])
    return dataclasses.replace(
        usual,
        body=Body(base.mass, base.inertia, _find_box(base, made), base.com - origin),
        legs=made,
        servo=servo or _find_servo(joints, usual.servo),
        contact=contact or usual.contact,
        imu=imu or Imu(place - origin, chip),
        joint_servos=(),
    )


def _list_names(joints: Iterable[TreeLink]) -> str:
    names = [joint.joint for joint in joints]
    return f"joint{'s' if len(names) > 1 else ''} {', '.join(names)}"


# ---- legs ------------------------------------------------------------------------------------------------------------


def _choose(legs: Mapping[str, str] | None, chains: list[TreeLink]) -> dict[str, TreeLink]:
    """Return the first links of the legs by name: the requested ones (name -> first joint), or all, named by the part
    in which their joints' names differ.
    """
    by_joint = {link.joint: link for link in chains}
    if legs is None:
        if not by_joint:
            raise RobotError("no moving joint is attached to the body, so there are no legs")
        _check_legs({joint: len(link.list_subtree()) for joint, link in by_joint.items()})
        return dict(zip(leg_names(list(by_joint)), chains, strict=True))
    if not isinstance(legs, Mapping):
        raise RobotError(f"legs: {legs!r} given, a dict {{leg name: name of its first joint}} needed")
    for leg, joint in legs.items():
        if joint not in by_joint:
            raise RobotError(f"legs.{leg}: no joint {joint!r} on the body; there are {', '.join(by_joint)}")
    left = [joint for joint in by_joint if joint not in set(legs.values())]
    if left:
        raise RobotError(
            f"legs: joints {', '.join(left)} are attached to the body, too, and belong to no leg; name them all, "
            f"or {FIX}"
        )
    return {leg: by_joint[joint] for leg, joint in legs.items()}


def _check_legs(chains: dict[str, int]) -> None:
    """Raise RobotError if some of the chains on the body, {first joint: number of joints}, are not legs.

    If the names of most chains begin or end with the same word, and these chains have equal numbers of joints, they are
    legs. A chain with another name and another number of joints, such as a head's pan joint, is not a leg.
    """
    for end in (0, -1):
        word, count = Counter(_words(joint)[end] for joint in chains).most_common(1)[0]
        legs = [joint for joint in chains if _words(joint)[end] == word]
        others = [joint for joint in chains if joint not in legs]
        alike = {chains[joint] for joint in legs}
        if 2 * count > len(chains) and others and len(alike) == 1 and alike.isdisjoint(map(chains.get, others)):
            example = ", ".join(f"{name!r}: {joint!r}" for name, joint in zip(leg_names(legs), legs, strict=True))
            raise RobotError(
                f"{', '.join(others)} on the body is no leg like {', '.join(legs)}: it has other joints and "
                f"another name. Where that is no leg, {FIX}; where all are legs, "
                f"name them: legs={{{example}, ...}}"
            )


def _words(joint: str) -> list[str]:
    return re.split(r"[._/\s]+", joint)


def leg_names(joints: list[str]) -> list[str]:
    """Return the parts of the joints' names without their common beginning and end: coxa_joint_LF -> LF."""
    words = [_words(joint) for joint in joints]
    for end, rest in ((0, slice(1, None)), (-1, slice(None, -1))):
        while len(words) > 1 and all(len(w) > 1 for w in words) and len({w[end] for w in words}) == 1:
            words = [w[rest] for w in words]
    return ["_".join(w) for w in words]


def _chain(leg: str, first: TreeLink) -> list[tuple[np.ndarray, TreeLink]]:
    """Return the links of a leg, each with its pose (4, 4) in the leg's mount frame at zero."""
    chain = [(np.eye(4), first)]
    while True:
        place, link = chain[-1]
        if link.kind not in MOVING:
            raise RobotError(
                f"joint {link.joint}: type {link.kind!r}, allowed are revolute, continuous, prismatic, fixed"
            )
        if not link.children:
            return chain
        if len(link.children) > 1:
            names = ", ".join(child.joint for child in link.children)
            raise RobotError(f"leg {leg}: link {link.name} carries {names}; a leg is one chain of single joints")
        chain.append((place @ link.children[0].pose, link.children[0]))


def read_leg(name: str, first: TreeLink, origin: npt.ArrayLike = (0.0, 0.0, 0.0), group: int = 1) -> Leg:
    """Return the leg of a chain on the body, by its first link; RobotError, which names it, if it can be none.

    origin (3,) [m]: of base_link in the body's frame. group: its tripod group.
    """
    joints, links = [], []
    for mounted, link in _chain(name, first):
        if link.mass <= 0:
            raise RobotError(f"leg {name}: link {link.name} moves and has no mass; give it an inertial element")
        turn, place = mounted[:3, :3], mounted[:3, 3]
        foot = link.children[0].pose[:3, 3] if link.children else _find_foot(link)
        end = 2.0 * link.com if foot is None else foot
        length = float(np.linalg.norm(end))
        axes = rotation_x_to(end / length) if length > 1e-9 else np.eye(3)
        try:
            own = axes.T @ link.com, axes.T @ link.inertia @ axes, turn @ axes
            links.append(Link(_own_name(link.name, name), link.mass, length, *own))
        except RobotError as error:
            raise RobotError(f"leg {name}, {link.name}: {error}") from None
        limits = link.lower, link.upper
        joints.append(Joint(link.joint, link.kind, turn @ link.axis, place, *limits, rotor_inertia=link.rotor_inertia))
    mount = first.pose[:3, :3], first.pose[:3, 3] - origin
    return Leg(name, *mount, tuple(joints), tuple(links), group, "urdf")


def _find_foot(link: TreeLink) -> np.ndarray | None:
    """Return the end (3,) of a leg's last link: the farthest of the frames that are fixed to it and of its collision
    shapes; where these are not at the end of what is drawn, of its marks, or of its visual shapes. None: nothing says
    it.
    """
    collisions, visuals = ([shape.farthest_point() for shape in shapes] for shapes in (link.collisions, link.visuals))
    ends = [
        max(points, key=lambda point: float(np.linalg.norm(point)), default=np.zeros(3))
        for points in ([*link.frames, *collisions], link.marks, visuals)
    ]
    # a frame or a shape well within what is drawn, or before the centre of mass, is of another part: a servo, a sensor
    least = max(1e-9, 0.8 * float(np.linalg.norm(ends[-1])), float(np.linalg.norm(link.com)))
    return next((end for end in ends if np.linalg.norm(end) > least), None)


def _own_name(link: str, leg: str) -> str:
    """Return the link's name without that of its leg: tibia_link_LF -> tibia, LF_tibia -> tibia."""
    name = re.escape(str(leg))  # `Leg` refuses another name
    return re.sub(rf"^{name}_(?=.)|(?<=.)(_link)?_{name}$", "", re.sub(r"[./\s]", "_", link))


def _find_box(base: TreeLink, legs: tuple[Leg, ...]) -> np.ndarray:
    """Return the size (3,) [m] of the body: that of its largest shape, one that collides if there is any, else the
    extent of its hips.
    """
    for shapes in (base.collisions, base.visuals):
        if shapes:
            return max((shape.extent() for shape in shapes), key=lambda size: float(np.prod(size)))
    return np.maximum(np.ptp(np.array([leg.mount_position for leg in legs]), axis=0), 0.01)


def _find_servo(joints: list[TreeLink], usual: Servo) -> Servo:
    """Return the one servo model of the robot: where joints differ the weakest, with a warning that names them; the
    usual one's values where the file has none.
    """
    for problem in dict.fromkeys(joint.problem for joint in joints if joint.problem):
        raise RobotError(f"{_list_names(joint for joint in joints if joint.problem == problem)}: {problem}")
    values: dict[str, float] = {}
    for key, unit in UNITS.items():
        of_one_unit = [joint for joint in joints if joint.kind == "revolute"] or joints
        known = {joint.joint: joint.drive[key] for joint in of_one_unit if key in joint.drive}
        if not known:
            continue
        low, high = min(known.values()), max(known.values())
        values[key] = float(np.median([*known.values()])) if key == "damping" else low
        equal = 1.01 * low  # values up to this count as equal
        if high > equal:
            weakest = ", ".join(name for name, value in known.items() if value <= equal)
            taken = "median" if key == "damping" else "weakest"
            warn(
                f"joints {weakest}: {key.replace('_', ' ')} {low:.4g} {unit}, others up to {high:.4g}; the robot "
                f"has one servo model, the {taken} is taken; another one: servo=Servo(...)"
            )
    return dataclasses.replace(usual, **values)
