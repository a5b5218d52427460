"""What a robot is made of: immutable records in SI units, checked where they are made.

Frames: `base_link` at the main body's centre of mass (x forward, y left, z up); a leg's mount frame at its first
joint (x outward, z up); a link's axes with x along the link. "At zero" means all joint parameters are zero.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.errors import RobotError

JOINT_KINDS = ("revolute", "prismatic", "helical")


def constant(array_like, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Read-only float array of the given shape, or a RobotError that names the quantity."""
    try:
        array = np.array(array_like, dtype=float)
    except (TypeError, ValueError):
        raise RobotError(f"{name}: {array_like!r} is not made of numbers") from None
    if array.shape != shape:
        raise RobotError(f"{name}: shape {array.shape} given, {shape} needed")
    if not np.all(np.isfinite(array)):
        raise RobotError(f"{name}: {array.tolist()} has a value that is not finite")
    array.flags.writeable = False
    return array


def check_mass(mass: float, name: str) -> None:
    """Refuse a mass that is not a positive finite number."""
    if not (math.isfinite(mass) and mass > 0):
        raise RobotError(f"{name}.mass: {mass!r} given, a positive finite number (kg) needed")


def check_inertia(inertia: np.ndarray, name: str) -> None:
    """Refuse an inertia no rigid body can have: not symmetric, not positive, or against the triangle inequality."""
    scale = float(np.max(np.abs(inertia)))
    if not np.allclose(inertia, inertia.T, rtol=0, atol=1e-12 * scale):
        raise RobotError(f"{name}.inertia: {inertia.tolist()} is not symmetric")
    principal = np.linalg.eigvalsh(inertia)
    if principal[0] <= 0:
        raise RobotError(f"{name}.inertia: principal moments {principal.tolist()} kg m^2, all must be positive")
    if principal[0] + principal[1] < principal[2] * (1 - 1e-9):
        raise RobotError(
            f"{name}.inertia: principal moments {principal.tolist()} kg m^2 break the triangle inequality: "
            "the two smaller ones must add up to at least the largest (are the units the same?)"
        )


@dataclass(frozen=True, eq=False)
class Body:
    """Main body: mass [kg], inertia (3, 3) about its centre of mass in base_link axes [kg m^2], box (3,) [m]."""

    mass: float
    inertia: np.ndarray
    box: np.ndarray

    def __post_init__(self):
        check_mass(self.mass, "body")
        object.__setattr__(self, "inertia", constant(self.inertia, (3, 3), "body.inertia"))
        check_inertia(self.inertia, "body")
        object.__setattr__(self, "box", constant(self.box, (3,), "body.box"))


@dataclass(frozen=True, eq=False)
class Link:
    """One link: x of its axes runs along it, from its joint to its end.

    mass [kg]; length [m]; com (3,) from the link's start in link axes [m]; inertia (3, 3) about com in link axes
    [kg m^2]; rotation (3, 3) mount frame <- link axes at zero.
    """

    name: str
    mass: float
    length: float
    com: np.ndarray
    inertia: np.ndarray
    rotation: np.ndarray

    def __post_init__(self):
        where = f"link {self.name}"
        check_mass(self.mass, where)
        if not (math.isfinite(self.length) and self.length >= 0):
            raise RobotError(f"{where}.length: {self.length!r} given, a finite number >= 0 (m) needed")
        for field, shape in (("com", (3,)), ("inertia", (3, 3)), ("rotation", (3, 3))):
            object.__setattr__(self, field, constant(getattr(self, field), shape, f"{where}.{field}"))
        check_inertia(self.inertia, where)

    @property
    def tip(self) -> np.ndarray:
        """End of the link from its start, (3,) in the mount frame at zero [m]."""
        return self.rotation[:, 0] * self.length

    @property
    def com_in_leg(self) -> np.ndarray:
        """Centre of mass from the link's start, (3,) in the mount frame at zero [m]."""
        return self.rotation @ self.com

    @property
    def inertia_in_leg(self) -> np.ndarray:
        """Inertia about the centre of mass, (3, 3) in mount-frame axes at zero [kg m^2]."""
        return self.rotation @ self.inertia @ self.rotation.T

    def cut(self, remaining: float) -> Link:
        """The link cut off at a fraction of its length, as a uniform rod would be (equations.md, section 1).

        Mass, length and centre of mass scale with r, the inertia about the link's axis with r, the other two with
        r^3; products of inertia follow by congruence, so that the inertia stays positive definite.
        """
        if remaining == 1.0:
            return self
        scale = np.array([remaining**0.5, remaining**1.5, remaining**1.5])
        cut = object.__new__(Link)  # a thin stump obeys the rod law, not the triangle inequality: not checked again
        for field in dataclasses.fields(Link):
            object.__setattr__(cut, field.name, getattr(self, field.name))
        object.__setattr__(cut, "mass", self.mass * remaining)
        object.__setattr__(cut, "length", self.length * remaining)
        object.__setattr__(cut, "com", constant(self.com * remaining, (3,), "com"))
        object.__setattr__(cut, "inertia", constant(self.inertia * np.outer(scale, scale), (3, 3), "inertia"))
        return cut


@dataclass(frozen=True, eq=False)
class Joint:
    """One-degree-of-freedom joint that moves the link of the same index.

    kind: "revolute", "prismatic" or "helical"; axis (3,) unit vector and origin (3,) [m] in the mount frame at zero;
    pitch [m/rad] of a helical joint; lower, upper limits [rad or m]; servo_id and servo_direction (+1/-1) of the
    bus servo that drives it, None where there is none.
    """

    name: str
    kind: str
    axis: np.ndarray
    origin: np.ndarray
    lower: float
    upper: float
    pitch: float = 0.0
    servo_id: int | None = None
    servo_direction: int | None = None

    def __post_init__(self):
        where = f"joint {self.name}"
        if self.kind not in JOINT_KINDS:
            raise RobotError(f"{where}.kind: {self.kind!r} given, one of {', '.join(JOINT_KINDS)} needed")
        axis = constant(self.axis, (3,), f"{where}.axis")
        length = float(np.linalg.norm(axis))
        if length < 1e-9:
            raise RobotError(f"{where}.axis: {axis.tolist()} has no direction")
        object.__setattr__(self, "axis", constant(axis / length, (3,), f"{where}.axis"))
        object.__setattr__(self, "origin", constant(self.origin, (3,), f"{where}.origin"))
        if math.isnan(self.lower) or math.isnan(self.upper) or not self.lower < self.upper:
            raise RobotError(f"{where}.limits: [{self.lower}, {self.upper}] given, lower < upper needed")
        if not math.isfinite(self.pitch) or (self.kind != "helical" and self.pitch != 0):
            raise RobotError(f"{where}.pitch: {self.pitch!r} given; only a helical joint has one, and it is finite")

    @property
    def screw(self) -> np.ndarray:
        """Joint twist xi (6,), linear first, in the mount frame at zero (equation 12)."""
        if self.kind == "prismatic":
            return np.concatenate([self.axis, np.zeros(3)])
        linear = np.cross(self.origin, self.axis) + self.pitch * self.axis
        return np.concatenate([linear, self.axis])


@dataclass(frozen=True, eq=False)
class Leg:
    """A leg: where it is mounted (base_link <- mount frame), its joints and links, and its tripod group."""

    name: str
    mount_rotation: np.ndarray
    mount_position: np.ndarray
    joints: tuple[Joint, ...]
    links: tuple[Link, ...]
    tripod_group: int
    module: str

    def __post_init__(self):
        where = f"leg {self.name}"
        object.__setattr__(self, "mount_rotation", constant(self.mount_rotation, (3, 3), f"{where}.mount_rotation"))
        object.__setattr__(self, "mount_position", constant(self.mount_position, (3,), f"{where}.mount_position"))
        rotation = self.mount_rotation
        if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-9) or np.linalg.det(rotation) < 0:
            raise RobotError(f"{where}.mount_rotation: {rotation.tolist()} is not a rotation")
        if not self.joints or len(self.joints) != len(self.links):
            raise RobotError(f"{where}: {len(self.joints)} joints and {len(self.links)} links, as many of each needed")
        names = [link.name for link in self.links]
        if len(set(names)) != len(names):
            raise RobotError(f"{where}: link names {names} are not all different")

    @classmethod
    def from_geometry(
        cls, name: str, links, *, mount_rotation, mount_position, tripod_group=1, module="geometry"
    ) -> Leg:
        """Leg described by positions alone, `LinkGeometry` by `LinkGeometry`; see robot/geometry.py. RobotError."""
        from hexapod_dynamics.robot.geometry import leg_from_geometry  # brings CasADi, which nothing else here needs

        return leg_from_geometry(
            name,
            links,
            mount_rotation=mount_rotation,
            mount_position=mount_position,
            tripod_group=tripod_group,
            module=module,
        )

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links, from the body outward."""
        return tuple(link.name for link in self.links)


@dataclass(frozen=True)
class Servo:
    """Servo model: stiffness [N m/rad], damping [N m s/rad], torque_limit [N m], speed_limit [rad/s], resolution
    [rad].
    """

    stiffness: float
    damping: float
    torque_limit: float
    speed_limit: float
    resolution: float


@dataclass(frozen=True)
class Contact:
    """Foot contact: stiffness [N/m], damping [N s/m] and viscous friction [N s/m]."""

    stiffness: float
    damping: float
    friction: float


@dataclass(frozen=True, eq=False)
class Imu:
    """Where the IMU sits: position (3,) [m] and rotation (3, 3) base_link <- chip axes."""

    position: np.ndarray
    rotation: np.ndarray


@dataclass(frozen=True, eq=False)
class Robot:
    """A main body with legs; immutable, equal to another one when every number in it is.

    Legs, joints and links are always in the order of `legs`, each from the body outward; `joint_starts` is the index
    of each leg's first joint among all.
    """

    name: str
    gravity: float
    body: Body
    legs: tuple[Leg, ...]
    servo: Servo
    contact: Contact
    imu: Imu

    def __post_init__(self):
        if not (math.isfinite(self.gravity) and self.gravity >= 0):
            raise RobotError(f"gravity: {self.gravity!r} given, a finite number >= 0 (m/s^2) needed")
        if not self.legs:
            raise RobotError("legs: none given, at least one needed")
        for what, names in (("leg", self.leg_names), ("joint", self.joint_names)):
            if len(set(names)) != len(names):
                twice = sorted({name for name in names if names.count(name) > 1})
                raise RobotError(f"legs: {what} names {', '.join(twice)} are used more than once")
        servo_ids = [joint.servo_id for leg in self.legs for joint in leg.joints if joint.servo_id is not None]
        if len(set(servo_ids)) != len(servo_ids):
            twice = sorted({i for i in servo_ids if servo_ids.count(i) > 1})
            raise RobotError(f"legs: servo ids {twice} are used more than once")
        object.__setattr__(self, "_fingerprint", _digest(self))
        counts = [len(leg.joints) for leg in self.legs]
        object.__setattr__(self, "joint_starts", tuple(sum(counts[:i]) for i in range(len(counts))))

    @classmethod
    def load(cls, path) -> Robot:
        """Read and check a robot's YAML file; RobotError names the key and the value that cannot be."""
        from hexapod_dynamics.robot.loading import load_robot

        return load_robot(path)

    @classmethod
    def jethexa(cls) -> Robot:
        """The JetHexa of the 2025 paper, from the installed (or the source tree's) config/jethexa.yaml."""
        from hexapod_dynamics.robot.loading import jethexa_path

        return cls.load(jethexa_path())

    @property
    def leg_names(self) -> tuple[str, ...]:
        """Names of the legs, in the robot's order."""
        return tuple(leg.name for leg in self.legs)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of all joints, leg by leg from the body outward."""
        return tuple(joint.name for leg in self.legs for joint in leg.joints)

    @property
    def joint_count(self) -> int:
        """Number of all joints."""
        return sum(len(leg.joints) for leg in self.legs)

    def leg(self, name: str) -> Leg:
        """The leg of that name."""
        for leg in self.legs:
            if leg.name == name:
                return leg
        raise RobotError(f"no leg {name!r}; the legs are {', '.join(self.leg_names)}")

    def leg_joints(self, name: str) -> range:
        """Indices of a leg's joints among all joints of the robot."""
        for leg, start in zip(self.legs, self.joint_starts, strict=True):
            if leg.name == name:
                return range(start, start + len(leg.joints))
        raise RobotError(f"no leg {name!r}; the legs are {', '.join(self.leg_names)}")

    def with_leg(self, name: str, *, like: str, position, yaw: float, tripod_group: int | None = None) -> Robot:
        """A robot with one more leg: a copy of leg `like` mounted at `position` (3,) [m], turned by `yaw` [rad].

        The new leg comes last, has no servo ids, and needs no new compiled code ("attaching similar legs at
        different locations of the main body", Farghdani & Chhabra 2025, section V).
        """
        model = self.leg(like)
        joints = tuple(
            dataclasses.replace(joint, name=f"{link.name}_joint_{name}", servo_id=None, servo_direction=None)
            for joint, link in zip(model.joints, model.links, strict=True)
        )
        leg = dataclasses.replace(
            model,
            name=name,
            joints=joints,
            mount_position=position,
            mount_rotation=rotation_rpy(0.0, 0.0, yaw),
            tripod_group=model.tripod_group if tripod_group is None else tripod_group,
        )
        return dataclasses.replace(self, legs=(*self.legs, leg))

    def __eq__(self, other):
        return isinstance(other, Robot) and self._fingerprint == other._fingerprint

    def __hash__(self):
        return hash(self._fingerprint)

    def __repr__(self):
        return f"Robot({self.name!r}, legs {', '.join(self.leg_names)}, {self.joint_count} joints)"


def _digest(value) -> str:
    """Content hash over every field, exact to the last bit of every number."""
    digest = hashlib.sha256()

    def feed(item):
        if dataclasses.is_dataclass(item):
            for field in dataclasses.fields(item):
                digest.update(field.name.encode())
                feed(getattr(item, field.name))
        elif isinstance(item, tuple):
            digest.update(b"(%d" % len(item))
            for part in item:
                feed(part)
        elif isinstance(item, np.ndarray):
            digest.update(item.tobytes())
        else:
            digest.update(repr(item).encode())

    feed(value)
    return digest.hexdigest()


def rotation_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Rotation Rz(yaw) Ry(pitch) Rx(roll), (3, 3); angles in rad; exact zeros at right angles."""
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a), math.sin(a)) for a in (roll, pitch, yaw))
    rotation = np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
    rotation[np.abs(rotation) < 1e-15] = 0.0  # cos(pi/2) is not zero in floating point, a mount at 90 degrees is
    return rotation


def rotation_x_to(direction) -> np.ndarray:
    """Smallest rotation that takes x to the given unit vector, (3, 3); about z where the two are opposite."""
    x, y, z = (float(component) for component in direction)
    if x < -1 + 1e-12:
        return np.diag([-1.0, -1.0, 1.0])
    k = 1.0 / (1.0 + x)
    return np.array([[x, -y, -z], [y, 1.0 - k * y * y, -k * y * z], [z, -k * y * z, 1.0 - k * z * z]])
