"""The components of legs and robots: immutable records in SI units, checked at their creation.

What a field must be stands in its annotation, once for Python (`Part`) and for the robot's file (robot_file.py). A
leg's mount frame is at its first joint (x outward, z up); a link's axes have x along the link. "At zero" means all
joint parameters are zero.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.checked_yaml import (
    Array,
    Choice,
    Name,
    Number,
    Part,
    check_inertia,
    check_rotation,
    make_constant,
)
from hexapod_dynamics.se3 import spatial_inertia

JOINT_KINDS = ("revolute", "prismatic", "helical")
DRAKE = "http://drake.mit.edu"  # namespace of the elements of a URDF that give a motor's rotor inertia
# [m/s^2] plausible mean of what an accelerometer on a robot measures, which is gravity; beyond: other units, or faults.
MEAN_FORCE = 5.0, 15.0
MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")  # in a URDF, in the order of se3.inertia_elements
ROTATION, INERTIA = Array(check_rotation), Array(check_inertia)
# Ids 254 and 255 name all servos, in every protocol of bus servos.
SERVO_ID = Choice(range(254), "a whole number 0..253", optional=True)
DIRECTION = Choice((-1, 1), "+1 or -1", optional=True)
SERVO_ZERO = Number("rad or m", signed=True)
Vector = Annotated[np.ndarray, Array()]
Rotation = Annotated[np.ndarray, ROTATION]
Inertia = Annotated[np.ndarray, INERTIA]


@dataclass(frozen=True, eq=False)
class Body(Part):
    """Main body: mass [kg], inertia (3, 3) about its centre of mass in base_link axes [kg m^2], box (3,) [m].

    com (3,) [m]: its centre of mass in base_link, the origin by default.
    """

    mass: Annotated[float, Number("kg", zero=False)]
    inertia: Inertia
    box: Vector
    com: Vector = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        super().__post_init__()
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
class Link(Part):
    """One link: x of its axes runs along it, from its joint to its end.

    mass [kg]; length [m]; com (3,) from the link's start in link axes [m]; inertia (3, 3) about com in link axes
    [kg m^2]; rotation (3, 3) mount frame <- link axes at zero.
    """

    name: Annotated[str, Name()]
    mass: Annotated[float, Number("kg", zero=False)]
    length: Annotated[float, Number("m")]
    com: Vector
    inertia: Inertia
    rotation: Rotation

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
class Joint(Part):
    """One-degree-of-freedom joint that moves the link of the same index.

    kind: "revolute", "prismatic" or "helical"; axis (3,) unit vector and origin (3,) [m] in the mount frame at zero;
    pitch [m/rad] of a helical joint; lower, upper limits [rad or m], infinite if there is none; servo_id and
    servo_direction (+1/-1) of the bus servo that drives it, None if there is none; rotor_inertia of its motor,
    reflected to the joint (the rotor's own times the gear ratio squared; Pinocchio's and MuJoCo's armature) [kg
    m^2, of a prismatic joint kg]; servo_zero: what the servo reads at the joint's zero [rad or m], because of the
    mounting error of its horn.
    """

    name: Annotated[str, Name(free=True)]
    kind: str
    axis: Vector
    origin: Vector
    lower: float
    upper: float
    pitch: Annotated[float, Number("m/rad", signed=True)] = 0.0
    servo_id: Annotated[int | None, SERVO_ID] = None
    servo_direction: Annotated[int | None, DIRECTION] = None
    rotor_inertia: Annotated[float, Number("kg m^2 or kg")] = 0.0
    servo_zero: Annotated[float, SERVO_ZERO] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        where = self.label
        if self.kind not in JOINT_KINDS:
            raise RobotError(f"{where}.kind: {self.kind!r} given, one of {', '.join(JOINT_KINDS)} needed")
        length = float(np.linalg.norm(self.axis))
        if length < 1e-9:
            raise RobotError(f"{where}.axis: {self.axis.tolist()} has no direction")
        object.__setattr__(self, "axis", make_constant(self.axis / length, (3,), f"{where}.axis"))
        limits = self.lower, self.upper
        if not all(isinstance(limit, numbers.Real) for limit in limits) or not self.lower < self.upper:
            raise RobotError(f"{where}.limits: [{self.lower}, {self.upper}] given, lower < upper needed")
        if self.kind != "helical" and self.pitch != 0:
            raise RobotError(f"{where}.pitch: {self.pitch!r} given; only a helical joint has one")

    @property
    def planned_range(self) -> tuple[float, float]:
        """Limits (lower, upper) within which motions are planned: half a turn [rad or m] if there is no limit."""
        lower = self.lower if math.isfinite(self.lower) else min(-math.pi, self.upper - math.pi)
        upper = self.upper if math.isfinite(self.upper) else max(math.pi, self.lower + math.pi)
        return lower, upper

    @property
    def screw(self) -> np.ndarray:
        """Joint twist xi (6,), linear first, in the mount frame at zero (equation 12)."""
        return self.twist(self.origin, self.axis)

    def twist(self, origin: np.ndarray, axis: np.ndarray) -> np.ndarray:
        """Return the twist (6,), linear first, that this joint would have with this origin and axis."""
        if self.kind == "prismatic":
            return np.concatenate([axis, np.zeros(3)])
        return np.concatenate([np.cross(origin, axis) + self.pitch * axis, axis])


@dataclass(frozen=True)
class Servo(Part):
    """Servo: stiffness [N m/rad], damping [N m s/rad], torque_limit [N m], speed_limit [rad/s], resolution [rad]."""

    stiffness: Annotated[float, Number("N m/rad", zero=False)]
    damping: Annotated[float, Number("N m s/rad")]
    torque_limit: Annotated[float, Number("N m", zero=False)]
    speed_limit: Annotated[float, Number("rad/s", zero=False)]
    resolution: Annotated[float, Number("rad")]

    def quantise(self, angles: np.ndarray) -> np.ndarray:
        """Angles (n,) [rad] from the servos' centres at their nearest counts; NaN stays NaN."""
        return np.floor(angles / self.resolution + 0.5) * self.resolution if self.resolution else angles


@dataclass(frozen=True)
class JointServo(Part):
    """Identified parameters of the servo of one joint (docs/identify.md).

    stiffness [N m/rad]; dead_zone [rad]: half width, the error below which the servo gives no torque; latency [s]:
    from a command to its start; lag [s]: damping over stiffness; feed_forward, 0 to 1: share of the set-point's
    rate that it feeds forward; play [rad]: half width; coulomb [N m]: dry friction; load_friction: friction as a
    share of the load; zero_deviation [rad]: standard deviation of the servo's zero, None if it is not identified.
    """

    stiffness: Annotated[float, Number("N m/rad", zero=False)]
    dead_zone: Annotated[float, Number("rad")] = 0.0
    latency: Annotated[float, Number("s")] = 0.0
    lag: Annotated[float, Number("s")] = 0.0
    feed_forward: Annotated[float, Number(most=1.0)] = 1.0
    play: Annotated[float, Number("rad")] = 0.0
    coulomb: Annotated[float, Number("N m")] = 0.0
    load_friction: Annotated[float, Number()] = 0.0
    zero_deviation: Annotated[float | None, Number("rad", optional=True)] = None


@dataclass(frozen=True)
class Contact(Part):
    """Foot contact: stiffness [N/m], damping [N s/m] and viscous friction [N s/m]."""

    stiffness: Annotated[float, Number("N/m")]
    damping: Annotated[float, Number("N s/m")]
    friction: Annotated[float, Number("N s/m")]


@dataclass(frozen=True, eq=False)
class Imu(Part):
    """Mounting of the IMU: position (3,) [m] and rotation (3, 3) base_link <- chip axes; tilt_deviation [rad]: standard
    deviation of its roll and pitch, None if they are not identified.
    """

    position: Vector = field(default_factory=lambda: np.zeros(3))
    rotation: Rotation = field(default_factory=lambda: np.eye(3))
    tilt_deviation: Annotated[float | None, Number("rad", optional=True)] = None
