"""A tree of rigid links, as a model file describes a robot, and the robot that it describes: any body with serial legs.

`urdf_reading` and `mjcf_reading` read such a tree, so both formats have the same rules: a link without a joint of its
own belongs to its parent; legs are the chains on the body, all of them, or those that are named by their first joints;
base_link is moved to the body's centre of mass, where gaits expect it, unless keep_frame is set. A link's x axis runs
from its joint to the next one; the last link of a leg ends at its outermost foot frame or collision shape. What a robot
cannot have is refused, what it has no place for is named in a RobotWarning.
"""

from __future__ import annotations

import math
import re
import warnings
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hexapod_dynamics.errors import RobotError, RobotWarning
from hexapod_dynamics.robot.leg import Leg
from hexapod_dynamics.robot.parts import Body, Contact, Imu, Joint, Link, Servo
from hexapod_dynamics.se3 import combined_inertia, rotation_from_vector, rotation_x_to

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot

MOVING = ("revolute", "prismatic")
DEEPEST = 100  # most consecutive joints, because the functions that merge links are recursive
ALIKE = 0.01  # relative difference up to which values of joints count as equal
MassProperties = tuple[float, np.ndarray, np.ndarray]  # mass, centre of mass, inertia about it


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape on a link.

    kind, size [m]: box (x, y, z), cylinder or capsule (radius, length of the cylinder), sphere (radius,), mesh
    (vertices (v, 3)); rotation (3, 3), position (3,) [m] link <- shape, z along a cylinder. rgba: colour, from 0 to 1.
    """

    kind: str
    size: np.ndarray
    rotation: np.ndarray
    position: np.ndarray
    rgba: tuple[float, ...] = (0.6, 0.6, 0.6, 1.0)

    def farthest(self, turn: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Return the point (3,) [m] of the shape that is farthest from the origin of a frame in which its link has this
        pose; of a box and of a cylinder the middle of a face, or a point of a rim that lies across.
        """
        axes, centre = turn @ self.rotation, turn @ self.position + place
        if self.kind == "mesh":
            points = self.size @ axes.T + centre
        elif self.kind == "box":
            half = 0.5 * axes * self.size
            points = centre + np.concatenate([half, -half], axis=1).T
        elif self.kind == "sphere":
            points = _outward(centre, self.size[0])
        else:
            ends = centre + np.outer([0.5, -0.5], self.size[1] * axes[:, 2])
            if self.kind == "capsule":
                points = np.concatenate([_outward(end, self.size[0]) for end in ends])
            else:
                across = centre - (centre @ axes[:, 2]) * axes[:, 2]
                rim = centre + self.size[0] * across / max(float(np.linalg.norm(across)), 1e-12)
                points = np.array([*ends, rim])
        return points[np.argmax(np.linalg.norm(points, axis=1))]


def _outward(centre: np.ndarray, radius: float) -> np.ndarray:
    """Return the point (1, 3) of a sphere that is farthest from the origin."""
    distance = float(np.linalg.norm(centre))
    return (centre * (1.0 + radius / distance) if distance > 1e-9 else np.array([0.0, 0.0, -radius]))[None]


@dataclass
class Drive:
    """What moves a joint, as far as the file says it: values of a `Servo`, None if unknown; problem: why it is none."""

    stiffness: float | None = None
    damping: float | None = None
    torque_limit: float | None = None
    speed_limit: float | None = None
    problem: str = ""


@dataclass(eq=False)
class TreeJoint:
    """The joint that carries a link: kind "fixed", "revolute", "prismatic", or another one, which no robot can have.

    rotation (3, 3), position (3,) [m]: parent <- child at joint position zero; axis (3,) in the child's axes; follows:
    the joint whose position it copies; notes: what the robot has no place for. element: its XML, empty without one.
    """

    name: str
    kind: str
    rotation: np.ndarray
    position: np.ndarray
    axis: np.ndarray
    lower: float = -math.inf
    upper: float = math.inf
    rotor_inertia: float = 0.0
    drive: Drive = field(default_factory=Drive)
    follows: str = ""
    notes: list[str] = field(default_factory=list)
    element: ET.Element = field(default_factory=lambda: ET.Element("none"))

    def pose(self, value: float) -> tuple[np.ndarray, np.ndarray]:
        """Return rotation (3, 3) and position (3,) [m] parent <- child at the joint position `value` [rad or m]."""
        if self.kind == "revolute":
            return self.rotation @ rotation_from_vector(value * self.axis), self.position
        slide = value if self.kind == "prismatic" else 0.0
        return self.rotation, self.position + self.rotation @ (slide * self.axis)


@dataclass(eq=False)
class TreeLink:
    """A link: its mass properties in its own frame, its joint (None: the body), and what is attached to it.

    collisions, visuals: its shapes; marks: points (3,) that may be its end, used where no shape is; unreadable: files
    of shapes that cannot be read. element: its XML, empty without one.
    """

    name: str
    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    joint: TreeJoint | None = None
    children: list[TreeLink] = field(default_factory=list)
    collisions: list[Shape] = field(default_factory=list)
    visuals: list[Shape] = field(default_factory=list)
    marks: list[np.ndarray] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    element: ET.Element = field(default_factory=lambda: ET.Element("none"))

    def below(self) -> list[TreeLink]:
        """Return this link and all below it, each after its parent."""
        found = [self]
        for link in found:  # the list grows in this loop
            found += link.children
        return found


def carried(link: TreeLink) -> TreeJoint:
    """Return the joint that carries a link; RobotError for the body."""
    if link.joint is None:
        raise RobotError(f"link {link.name}: no joint carries it")
    return link.joint


Placed = tuple[np.ndarray, np.ndarray, TreeLink]  # rotation, position in a frame; link


def rigid_parts(link: TreeLink) -> tuple[list[Placed], list[Placed]]:
    """Return a link and what is fixed to it, and the moving links on these, each with its pose in the link's frame."""
    parts: list[Placed] = [(np.eye(3), np.zeros(3), link)]
    moving: list[Placed] = []
    for turn, place, part in parts:  # the list grows in this loop
        for child in part.children:
            joint = carried(child)
            pose = turn @ joint.rotation, place + turn @ joint.position
            (moving if joint.kind != "fixed" else parts).append((*pose, child))
    return parts, moving


def mass_properties(parts: list[Placed]) -> MassProperties:
    """Return the mass properties of parts in the frame in which they are placed."""
    return combined_inertia(
        (link.mass, place + turn @ link.com, turn @ link.inertia @ turn.T) for turn, place, link in parts
    )


def free_body(base: TreeLink) -> TreeLink:
    """Return the body of a tree: its root, or what floats or slides on a root without mass, as a link `world`."""
    free = len(base.children) == 1 and carried(base.children[0]).kind in ("floating", "planar")
    if base.mass == 0.0 and free:
        base.children[0].joint = None
        return base.children[0]
    return base


def robot_of_tree(
    make: type[Robot],
    base: TreeLink,
    name: str,
    gravity: float,
    legs: Mapping[str, str] | None,
    servo: Servo | None,
    contact: Contact | None,
    imu: Imu | None,
    keep_frame: bool,
    sensor: tuple[np.ndarray, np.ndarray] | None = None,
) -> Robot:
    """Return the robot that a tree describes, base_link at the body's centre of mass unless keep_frame.

    make: the class `Robot`, an argument because its module imports this one. legs: {name: first joint}, None: all
    chains on the body. servo: None: that of the tree's drives, the weakest of the
    legs' joints. imu: in base_link; sensor: position and rotation of the file's IMU in the body's frame. Raises
    RobotError.
    """
    base = free_body(base)
    parts, branches = rigid_parts(base)
    mass, com, inertia = mass_properties(parts)
    if mass <= 0:
        raise RobotError(f"link {base.name}: no mass; the body needs an inertial element with a mass above 0")
    origin, com = (np.zeros(3), com) if keep_frame else (com, np.zeros(3))
    chosen = _choose(legs, branches)
    chains = {leg: _chain(leg, link) for leg, (_, _, link) in chosen.items()}
    joints = [carried(part[2]) for chain in chains.values() for part in chain]
    for joint in joints:
        if joint.follows:
            raise RobotError(
                f"joint {joint.name}: it follows joint {joint.follows} (mimic, equality): joints that follow others "
                "are not supported; remove that to drive it alone, or make the joint fixed"
            )
        turns = np.ptp([joint.lower, joint.upper]) if joint.kind == "revolute" else 0.0
        if 4.0 * math.pi < turns < math.inf:
            joint.notes.append(f"limits {joint.lower:g} to {joint.upper:g} rad are more than two turns: degrees?")
    for note in dict.fromkeys(note for joint in joints for note in joint.notes):
        warn(f"{_named(joint for joint in joints if note in joint.notes)}: {note}")
    place, chip = (origin, np.eye(3)) if sensor is None else sensor
    guessed: dict[str, str] = {}
    made = tuple(
        _leg(leg, turn, hip - origin, chains[leg], 1 + index % 2, guessed)
        for index, (leg, (turn, hip, _)) in enumerate(chosen.items())
    )
    if guessed:
        files = "".join(dict.fromkeys(guessed.values()))
        warn(
            f"leg {', '.join(guessed)}: nothing says where the last link ends{files}; "
            "twice the way to its centre of mass is taken; give it a link at the foot, on a fixed joint, or a shape"
        )
    body = Body(mass, inertia, _box(base, made), com)
    drive, foot = servo or _servo(joints), contact or Contact(10000.0, 150.0, 50.0)
    return make(name, gravity, body, made, drive, foot, imu or Imu(place - origin, chip))


def _named(joints: Iterable[TreeJoint]) -> str:
    names = [joint.name for joint in joints]
    return f"joint{'s' if len(names) > 1 else ''} {', '.join(names)}"


def warn(message: str) -> None:
    """Warn of what the robot has no place for, at the level of the caller of Robot.from_urdf or from_mjcf."""
    warnings.warn(message, RobotWarning, stacklevel=5)


# ---- legs ------------------------------------------------------------------------------------------------------------


def _choose(legs: Mapping[str, str] | None, branches: list[Placed]) -> dict[str, Placed]:
    """Return the legs by name: the requested ones (name -> first joint), or all, named by the part in which their
    joints' names differ.
    """
    by_joint = {carried(branch[2]).name: branch for branch in branches}
    if legs is None:
        if not by_joint:
            raise RobotError("no moving joint is attached to the body, so there are no legs")
        _check_legs({joint: _chain_length(link) for joint, (_, _, link) in by_joint.items()})
        return dict(zip(leg_names(list(by_joint)), by_joint.values(), strict=True))
    if not isinstance(legs, Mapping):
        raise RobotError(f"legs: {legs!r} given, a dict {{leg name: name of its first joint}} needed")
    for leg, joint in legs.items():
        if joint not in by_joint:
            raise RobotError(f"legs.{leg}: no joint {joint!r} on the body; there are {', '.join(by_joint)}")
    left = [joint for joint in by_joint if joint not in set(legs.values())]
    if left:
        raise RobotError(
            f"legs: joints {', '.join(left)} are attached to the body, too, and belong to no leg; name them all, "
            'or make what is no leg type="fixed": it then belongs to the body'
        )
    return {leg: by_joint[joint] for leg, joint in legs.items()}


def _chain_length(link: TreeLink) -> int:
    """Return the largest number of consecutive moving joints from a link on, including its own."""
    counts = {id(link): 1}
    for part in link.below():
        for child in part.children:
            counts[id(child)] = counts[id(part)] + (carried(child).kind != "fixed")
    return max(counts.values())


def _check_legs(chains: dict[str, int]) -> None:
    """Raise RobotError if some of the chains on the body, {first joint: number of joints}, are not legs.

    If the names of most chains begin or end with the same word, and these chains have equal numbers of joints,
    they are legs. A chain with another name and another number of joints, such as a head's pan joint, is not a
    leg.
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
                'another name. What is no leg must be type="fixed" (it then belongs to the body); where all are legs, '
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


def _chain(leg: str, link: TreeLink) -> list[Placed]:
    """Return the moving links of a leg, each with its pose in the leg's mount frame at zero."""
    chain: list[Placed] = [(np.eye(3), np.zeros(3), link)]
    while True:
        turn, place, link = chain[-1]
        joint = carried(link)
        if joint.kind not in MOVING:
            raise RobotError(
                f"joint {joint.name}: type {joint.kind!r}, allowed are revolute, continuous, prismatic, fixed"
            )
        moving = rigid_parts(link)[1]
        if not moving:
            return chain
        if len(moving) > 1:
            names = ", ".join(carried(child).name for _, _, child in moving)
            raise RobotError(f"leg {leg}: link {link.name} carries {names}; a leg is one chain of single joints")
        r, p, child = moving[0]
        chain.append((turn @ r, place + turn @ p, child))


def read_leg(name: str, placed: Placed) -> Leg:
    """Return the leg of a chain on the body, by its first link; RobotError, which names it, if it can be none."""
    return _leg(name, placed[0], placed[1], _chain(name, placed[2]), 1, {})


def _leg(
    name: str, rotation: np.ndarray, position: np.ndarray, chain: list[Placed], group: int, guessed: dict[str, str]
) -> Leg:
    joints, links = [], []
    for k, (turn, place, link) in enumerate(chain):
        parts = rigid_parts(link)[0]
        mass, com, inertia = mass_properties(parts)
        if mass <= 0:
            raise RobotError(f"leg {name}: link {link.name} moves and has no mass; give it an inertial element")
        end = turn.T @ (chain[k + 1][1] - place) if k + 1 < len(chain) else _end(name, com, parts, guessed)
        length = float(np.linalg.norm(end))
        axes = rotation_x_to(end / length) if length > 1e-9 else np.eye(3)
        own = _own(link.name, name)
        try:
            links.append(Link(own, mass, length, axes.T @ com, axes.T @ inertia @ axes, turn @ axes))
        except RobotError as error:
            raise RobotError(f"leg {name}, {link.name}: {error}") from None
        joint = carried(link)
        limits = joint.lower, joint.upper
        joints.append(
            Joint(joint.name, joint.kind, turn @ joint.axis, place, *limits, rotor_inertia=joint.rotor_inertia)
        )
    return Leg(name, rotation, position, tuple(joints), tuple(links), group, "urdf")


def _end(leg: str, com: np.ndarray, parts: list[Placed], guessed: dict[str, str]) -> np.ndarray:
    """Return the end (3,) of a leg's last link: the farthest of the frames that are fixed to it and of its collision
    shapes; without these, of its marks, or of its visual shapes. Else the leg is `guessed`, with the files that cannot
    be read: twice the way to its centre of mass.
    """

    def shapes(what: str) -> list[np.ndarray]:
        return [shape.farthest(turn, place) for turn, place, link in parts for shape in getattr(link, what)]

    frames = [place for _, place, _ in parts[1:]]
    marks = [place + turn @ mark for turn, place, link in parts for mark in link.marks]
    for points in ([*frames, *shapes("collisions")], marks, shapes("visuals")):
        if points and np.linalg.norm(farthest := max(points, key=lambda point: float(np.linalg.norm(point)))) > 1e-9:
            return farthest
    files = ", ".join(dict.fromkeys(file for _, _, link in parts for file in link.unreadable))
    guessed[leg] = f" ({files} cannot be read)" if files else ""
    return 2.0 * com


def _own(link: str, leg: str) -> str:
    """Return the link's name without that of its leg: tibia_link_LF -> tibia, LF_tibia -> tibia."""
    if link.startswith(f"{leg}_") and len(link) > len(leg) + 1:
        link = link[len(leg) + 1 :]
    for ending in (f"_link_{leg}", f"_{leg}"):
        if link.endswith(ending) and len(link) > len(ending):
            link = link[: -len(ending)]
    return re.sub(r"[./\s]", "_", link)


def _box(base: TreeLink, legs: tuple[Leg, ...]) -> np.ndarray:
    """Return the size (3,) [m] of the body: its largest box, one that collides if there is any, else the extent of its
    hips.
    """
    for shapes in (base.collisions, base.visuals):
        boxes = [shape.size for shape in shapes if shape.kind == "box"]
        if boxes:
            return max(boxes, key=lambda size: float(np.prod(size)))
    return np.maximum(np.ptp(np.array([leg.mount_position for leg in legs]), axis=0), 0.01)


def _servo(joints: Iterable[TreeJoint]) -> Servo:
    """Return the one servo model of the robot: where joints differ the weakest, with a warning that names them; the
    JetHexa's values where the file has none.
    """
    values = {"stiffness": 30.0, "damping": 0.3, "torque_limit": 3.43, "speed_limit": 5.82}
    units = {"stiffness": "N m/rad", "damping": "N m s/rad", "torque_limit": "N m", "speed_limit": "rad/s"}
    joints = list(joints)
    for problem in dict.fromkeys(joint.drive.problem for joint in joints if joint.drive.problem):
        raise RobotError(f"{_named(joint for joint in joints if joint.drive.problem == problem)}: {problem}")
    joints = [joint for joint in joints if joint.kind == "revolute"] or joints  # of one unit
    for key in values:
        known = {joint.name: value for joint in joints if (value := getattr(joint.drive, key)) is not None}
        if not known:
            continue
        low, high = min(known.values()), max(known.values())
        values[key] = float(np.median([*known.values()])) if key == "damping" else low
        if high > low * (1.0 + ALIKE):
            weakest = ", ".join(name for name, value in known.items() if value <= low * (1.0 + ALIKE))
            taken = "median" if key == "damping" else "weakest"
            warn(
                f"joints {weakest}: {key.replace('_', ' ')} {low:.4g} {units[key]}, others up to {high:.4g}; the robot "
                f"has one servo model, the {taken} is taken; another one: servo=Servo(...)"
            )
    return Servo(**values, resolution=math.radians(0.24))
