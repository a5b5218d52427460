"""The components of legs and robots: immutable records in SI units, checked at their creation.

A leg's mount frame is at its first joint (x outward, z up); a link's axes have x along the link. "At zero" means all
joint parameters are zero.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.se3 import spatial_inertia

JOINT_KINDS = ("revolute", "prismatic", "helical")
DRAKE = "http://drake.mit.edu"  # namespace of the elements of a URDF that give a motor's rotor inertia


def constant(array_like: npt.ArrayLike, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Read-only float array of the given shape, or a RobotError that names the quantity."""
    try:
        given = np.asarray(array_like)
        array = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise RobotError(f"{name}: {array_like!r} is not made of numbers") from None
    if np.iscomplexobj(given):
        raise RobotError(f"{name}: {array_like!r} is complex, real numbers needed")
    if array.shape != shape:
        raise RobotError(f"{name}: shape {array.shape} given, {shape} needed")
    if not np.all(np.isfinite(array)):
        raise RobotError(f"{name}: {array.tolist()} has a value that is not finite")
    array.flags.writeable = False
    return array


def check_number(value: float, name: str, unit: str, *, zero: bool = True) -> None:
    """Raise RobotError unless the value is a finite number >= 0 (zero=False: > 0)."""
    number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not (number and math.isfinite(value) and (value >= 0 if zero else value > 0)):
        raise RobotError(f"{name}: {value!r} given, a finite number {'>=' if zero else '>'} 0 [{unit}] needed")


def check_name(name: object, what: str) -> None:
    """Raise RobotError unless the name is one word: a text without dots, slashes and spaces, and not empty."""
    if not isinstance(name, str) or not name or any(c in "./" or c.isspace() for c in name):
        raise RobotError(f"{what}: {name!r} given as its name, one word without dots, slashes and spaces needed")


def check_rotation(matrix: np.ndarray, name: str) -> None:
    """Raise RobotError unless the matrix (3, 3) is a rotation."""
    if not np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-9) or np.linalg.det(matrix) < 0:
        raise RobotError(f"{name}: {matrix.tolist()} is not a rotation")


def check_inertia(inertia: np.ndarray, name: str) -> None:
    """Raise RobotError for an inertia that no rigid body can have: not symmetric, not positive, or violating the
    triangle inequality.
    """
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
    """Main body: mass [kg], inertia (3, 3) about its centre of mass in base_link axes [kg m^2], box (3,) [m].

    com (3,) [m]: its centre of mass in base_link, the origin by default.
    """

    mass: float
    inertia: np.ndarray
    box: np.ndarray
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        check_number(self.mass, "body.mass", "kg", zero=False)
        object.__setattr__(self, "inertia", constant(self.inertia, (3, 3), "body.inertia"))
        check_inertia(self.inertia, "body")
        object.__setattr__(self, "box", constant(self.box, (3,), "body.box"))
        object.__setattr__(self, "com", constant(self.com, (3,), "body.com"))
        if np.any(self.box < 0):
            raise RobotError(f"body.box: {self.box.tolist()} given, lengths >= 0 (m) needed")

    @property
    def box_and_com(self) -> np.ndarray:
        """Box and centre of mass, (6,) [m]."""
        return np.concatenate([self.box, self.com])

    @property
    def spatial_inertia(self) -> np.ndarray:
        """Generalised mass matrix (6, 6) about base_link's origin."""
        return spatial_inertia(self.mass, self.com, self.inertia)


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

    def __post_init__(self) -> None:
        where = f"link {self.name}"
        check_number(self.mass, f"{where}.mass", "kg", zero=False)
        check_number(self.length, f"{where}.length", "m")
        for name, shape in (("com", (3,)), ("inertia", (3, 3)), ("rotation", (3, 3))):
            object.__setattr__(self, name, constant(getattr(self, name), shape, f"{where}.{name}"))
        check_rotation(self.rotation, f"{where}.rotation")
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
        """Return the link cut at a fraction r of its length, treated as a uniform thick rod.

        Mass, length and centre of mass scale with r, the inertia about the link's axis as Ia' = r Ia, the other two as
        It' = r^3 (It - Ia/2) + r Ia/2, products of inertia with r^3. The second moments are r^3 times those of the
        whole link plus (r - r^3) times those of a thin-walled tube, so this is a possible body for every r.
        """
        if remaining == 1.0:
            return self
        cubed = remaining**3
        tube = self.inertia[0, 0] * np.diag([1.0, 0.5, 0.5])
        return dataclasses.replace(
            self,
            mass=self.mass * remaining,
            length=self.length * remaining,
            com=self.com * remaining,
            inertia=cubed * self.inertia + (remaining - cubed) * tube,
        )


@dataclass(frozen=True, eq=False)
class Joint:
    """One-degree-of-freedom joint that moves the link of the same index.

    kind: "revolute", "prismatic" or "helical"; axis (3,) unit vector and origin (3,) [m] in the mount frame at zero;
    pitch [m/rad] of a helical joint; lower, upper limits [rad or m], infinite if there is none; servo_id and
    servo_direction (+1/-1) of the bus servo that drives it, None if there is none; rotor_inertia of its motor,
    reflected to the joint (the rotor's own times the gear ratio squared; Pinocchio's and MuJoCo's armature) [kg
    m^2, of a prismatic joint kg]; servo_zero: what the servo reads at the joint's zero [rad or m], because of the
    mounting error of its horn.
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
    rotor_inertia: float = 0.0
    servo_zero: float = 0.0

    def __post_init__(self) -> None:
        where = f"joint {self.name}"
        check_number(abs(self.servo_zero), f"{where}.servo_zero", "m" if self.kind == "prismatic" else "rad")
        check_number(self.rotor_inertia, f"{where}.rotor_inertia", "kg" if self.kind == "prismatic" else "kg m^2")
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
    def planned_range(self) -> tuple[float, float]:
        """Limits (lower, upper) within which motions are planned: half a turn [rad or m] if there is no limit."""
        lower = self.lower if math.isfinite(self.lower) else min(-math.pi, self.upper - math.pi)
        upper = self.upper if math.isfinite(self.upper) else max(math.pi, self.lower + math.pi)
        return lower, upper

    @property
    def screw(self) -> np.ndarray:
        """Joint twist xi (6,), linear first, in the mount frame at zero (equation 12)."""
        if self.kind == "prismatic":
            return np.concatenate([self.axis, np.zeros(3)])
        linear = np.cross(self.origin, self.axis) + self.pitch * self.axis
        return np.concatenate([linear, self.axis])


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

    def __post_init__(self) -> None:
        for name, unit in (("stiffness", "N m/rad"), ("damping", "N m s/rad"), ("resolution", "rad")):
            check_number(getattr(self, name), f"servo.{name}", unit)
        for name, unit in (("torque_limit", "N m"), ("speed_limit", "rad/s")):
            check_number(getattr(self, name), f"servo.{name}", unit, zero=False)


@dataclass(frozen=True)
class JointServo:
    """Identified parameters of the servo of one joint (docs/identify.md).

    stiffness [N m/rad]; dead_zone [rad]: half width, the error below which the servo gives no torque; latency [s]:
    from a command to its start; lag [s]: damping over stiffness; feed_forward, 0 to 1: share of the set-point's
    rate that it feeds forward; play [rad]: half width; coulomb [N m]: dry friction; load_friction: friction as a
    share of the load; zero_deviation [rad]: standard deviation of the servo's zero, None if it is not identified.
    """

    stiffness: float
    dead_zone: float = 0.0
    latency: float = 0.0
    lag: float = 0.0
    feed_forward: float = 1.0
    play: float = 0.0
    coulomb: float = 0.0
    load_friction: float = 0.0
    zero_deviation: float | None = None

    def __post_init__(self) -> None:
        check_number(self.stiffness, "joint_servos: stiffness", "N m/rad", zero=False)
        units = {"dead_zone": "rad", "latency": "s", "lag": "s", "play": "rad", "coulomb": "N m"}
        for name, unit in (units | {"feed_forward": "", "load_friction": ""}).items():
            check_number(getattr(self, name), f"joint_servos: {name}", unit)
        if self.zero_deviation is not None:
            check_number(self.zero_deviation, "joint_servos: zero_deviation", "rad")
        if self.feed_forward > 1.0:
            raise RobotError(f"joint_servos: feed_forward: {self.feed_forward} given, at most 1 allowed")


@dataclass(frozen=True)
class Contact:
    """Foot contact: stiffness [N/m], damping [N s/m] and viscous friction [N s/m]."""

    stiffness: float
    damping: float
    friction: float

    def __post_init__(self) -> None:
        for name, unit in (("stiffness", "N/m"), ("damping", "N s/m"), ("friction", "N s/m")):
            check_number(getattr(self, name), f"contact.{name}", unit)


@dataclass(frozen=True, eq=False)
class Imu:
    """Mounting of the IMU: position (3,) [m] and rotation (3, 3) base_link <- chip axes; tilt_deviation [rad]: standard
    deviation of its roll and pitch, None if they are not identified.
    """

    position: np.ndarray
    rotation: np.ndarray
    tilt_deviation: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", constant(self.position, (3,), "imu.position"))
        object.__setattr__(self, "rotation", constant(self.rotation, (3, 3), "imu.rotation"))
        check_rotation(self.rotation, "imu.rotation")
        if self.tilt_deviation is not None:
            check_number(self.tilt_deviation, "imu.tilt_deviation", "rad")
