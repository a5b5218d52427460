"""What legs and robots are made of: immutable records in SI units, checked where they are made.

A leg's mount frame is at its first joint (x outward, z up); a link's axes have x along the link. "At zero" means all
joint parameters are zero.
"""

from __future__ import annotations

import dataclasses
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
