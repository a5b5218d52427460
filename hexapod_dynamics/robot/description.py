"""The robot: a body with legs; immutable, checked at its creation.

Frame: `base_link` on the main body (x forward, y left, z up), at its centre of mass, unless the body's `com` gives
another position of the centre of mass.
"""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.checked_yaml import Instance, Name, Number, Part
from hexapod_dynamics.robot.geometry import Leg, robot_of_program
from hexapod_dynamics.robot.morphology import Morphology
from hexapod_dynamics.robot.parts import Body, Contact, Imu, Joint, JointServo, Servo
from hexapod_dynamics.robot.robot_file import jethexa_path, robot_fields


@dataclass(frozen=True, eq=False)
class Robot(Part):
    """A main body with legs; immutable, equal to another one when every number in it is.

    Its methods import what reads or writes a format: a node reads the YAML file of its robot, and loads no other.

    Legs, joints and links are always in the order of `legs`, each from the body outward; `joint_starts` is the index
    of each leg's first joint among all. joint_servos: identified parameters of the servos, one entry for each
    joint, or none.
    """

    name: Annotated[str, Name(free=True)]
    gravity: Annotated[float, Number("m/s^2")]
    body: Annotated[Body, Instance(Body)]
    legs: Annotated[tuple[Leg, ...], Instance(Leg, many=True)]
    servo: Annotated[Servo, Instance(Servo)]
    contact: Annotated[Contact, Instance(Contact)]
    imu: Annotated[Imu, Instance(Imu)]
    joint_servos: Annotated[tuple[JointServo, ...], Instance(JointServo, many=True)] = ()
    # The file that `load` has read, beside which its plans lie (gait/planning/library.py); a changed robot has none.
    file: ClassVar[Path | None] = None
    MADE_BY: ClassVar[str] = "Robot.load(path) reads one from a file"

    def __post_init__(self) -> None:
        super().__post_init__()
        if "/" in self.name:
            raise RobotError(f"name: {self.name!r} given, no slash allowed: files such as plans_NAME.yaml have it")
        if not self.legs:
            raise RobotError("legs: none given, at least one needed")
        servo_ids = [joint.servo_id for joint in self.joints if joint.servo_id is not None]
        for what, used in (("leg names", self.leg_names), ("joint names", self.joint_names), ("servo ids", servo_ids)):
            if repeated := [str(one) for one, count in Counter(used).items() if count > 1]:
                raise RobotError(f"legs: {what} {', '.join(repeated)} are used more than once")
        if self.joint_servos and len(self.joint_servos) != self.joint_count:
            raise RobotError(f"joint_servos: {len(self.joint_servos)} given, {self.joint_count} (one a joint) needed")
        object.__setattr__(self, "_fingerprint", repr(_content(self)))
        counts = [len(leg.joints) for leg in self.legs]
        object.__setattr__(self, "joint_starts", tuple(sum(counts[:i]) for i in range(len(counts))))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Robot:
        """Read and check a robot's YAML file; RobotError names the wrong key and its value.

        A path that ends in .py is a program, not data: it is EXECUTED with all rights of this process, and its function
        robot() returns the Robot (robot/geometry.py). Load only programs that you trust.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise RobotError(f"robot file: {path!r} given, the path of a YAML file needed")
        try:
            if str(path).endswith(".py"):
                robot = robot_of_program(path)
                if not isinstance(robot, cls):
                    raise RobotError(f"robot() returns {type(robot).__name__}, a Robot needed")
            else:
                from hexapod_dynamics.robot.yaml_text import load_yaml

                robot = cls(**robot_fields(load_yaml(path)))
        except RobotError as error:
            text = str(error)  # names in a file are not bounded
            raise RobotError(f"robot file {path}: {text[:1000]}{'...' if len(text) > 1000 else ''}") from None
        object.__setattr__(robot, "file", Path(path).absolute())
        return robot

    @classmethod
    def jethexa(cls) -> Robot:
        """The JetHexa of the 2025 paper, from the installed (or the source tree's) config/jethexa.yaml."""
        return cls.load(jethexa_path())

    @classmethod
    def from_urdf(
        cls,
        text_or_path: str | os.PathLike[str],
        legs: Mapping[str, str] | None = None,
        *,
        servo: Servo | None = None,
        contact: Contact | None = None,
        imu: Imu | None = None,
        gravity: float = 9.81,
        keep_frame: bool = False,
    ) -> Robot:
        """Read a legged robot from a URDF's text or file: a body with any number of serial legs.

        legs: {name: name of its first joint}, {"LF": "coxa_joint_LF", ...}; by default each chain on the body.
        Fixed joints are merged, base_link moves to the body's centre of mass (keep_frame: base_link stays, and
        body.com is the centre of mass); see robot/urdf_reading.py. RobotError names what is not supported: a
        branching leg, a moving link without mass, an unknown joint, two joints of one name, links that are not
        connected to the body, <mimic>, calls of xacro. A RobotWarning names elements that are not used:
        <dynamics>, mechanicalReduction, limits of effort and velocity in which joints differ.
        """
        from hexapod_dynamics.robot.model_tree import robot_of_tree
        from hexapod_dynamics.robot.urdf_reading import read_robot_tree

        name, base = read_robot_tree(text_or_path)
        usual = dataclasses.replace(cls.jethexa(), name=name, gravity=gravity)
        return robot_of_tree(base, usual, legs, servo, contact, imu, keep_frame)

    @classmethod
    def from_mjcf(
        cls,
        text_or_path: str | os.PathLike[str],
        legs: Mapping[str, str] | None = None,
        *,
        servo: Servo | None = None,
        contact: Contact | None = None,
        imu: Imu | None = None,
        keep_frame: bool = False,
    ) -> Robot:
        """Read a legged robot from the text or the file of a MuJoCo model (MJCF); needs the package mujoco.

        As `from_urdf`; the servo follows from the position actuators, the IMU is at the gyroscope's site; see
        robot/mjcf_reading.py. RobotError names what is not supported: two joints on one body, ball joints, no
        floating body, closed chains, actuators that are not position servos (then give servo). A RobotWarning names
        what is not used: springs and friction of joints, tendons.
        """
        from hexapod_dynamics.robot.mjcf_reading import read_mjcf
        from hexapod_dynamics.robot.model_tree import robot_of_tree

        base, name, gravity, sensor = read_mjcf(text_or_path)
        usual = dataclasses.replace(cls.jethexa(), name=name, gravity=gravity)
        return robot_of_tree(base, usual, legs, servo, contact, imu, keep_frame, sensor)

    def to_urdf(self, morphology: Morphology | None = None) -> str:
        """Return the URDF text of this robot with a Morphology (None: intact); see robot/urdf.py."""
        from hexapod_dynamics.robot.urdf import to_urdf

        return to_urdf(self, morphology)

    def to_mjcf(self, morphology: Morphology | None = None, **options: Any) -> str:
        """Return the MJCF text (MuJoCo) of this robot with a Morphology (None: intact); options: see robot/mjcf.py."""
        from hexapod_dynamics.robot.mjcf import to_mjcf

        return to_mjcf(self, morphology, **options)

    @cached_property
    def leg_names(self) -> tuple[str, ...]:
        """Names of the legs, in the robot's order."""
        return tuple(leg.name for leg in self.legs)

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """All joints, leg by leg from the body outward."""
        return tuple(joint for leg in self.legs for joint in leg.joints)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of all joints, leg by leg from the body outward."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def part_names(self) -> tuple[str, ...]:
        """Names of the links that the joints move, in their order: "RM.femur"."""
        return tuple(f"{leg.name}.{link.name}" for leg in self.legs for link in leg.links)

    @property
    def joint_count(self) -> int:
        """Number of all joints."""
        return len(self.joints)

    @property
    def servo_laws(self) -> tuple[JointServo, ...]:
        """The law of each joint's servo: `joint_servos`, or that of `servo` without latency, dead zone and play."""
        law = JointServo(self.servo.stiffness, lag=self.servo.damping / self.servo.stiffness)
        return self.joint_servos or (law,) * self.joint_count

    @property
    def leg_mass(self) -> float:
        """Mass [kg] of all links of all legs."""
        return sum(link.mass for leg in self.legs for link in leg.links)

    @property
    def mass(self) -> float:
        """Mass [kg] of body and legs."""
        return self.body.mass + self.leg_mass

    def _leg_index(self, name: str) -> int:
        try:
            return self.leg_names.index(name)
        except ValueError:
            raise RobotError(f"no leg {name!r}; the legs are {', '.join(self.leg_names)}") from None

    def leg(self, name: str) -> Leg:
        """Return the leg of that name."""
        return self.legs[self._leg_index(name)]

    def leg_joints(self, name: str) -> range:
        """Return the indices of a leg's joints among all joints of the robot."""
        index = self._leg_index(name)
        start = self.joint_starts[index]
        return range(start, start + len(self.legs[index].joints))

    def __copy__(self) -> Robot:
        return self  # immutable

    def __deepcopy__(self, memo: dict[int, object]) -> Robot:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self._fingerprint == other._fingerprint

    def __hash__(self) -> int:
        return hash(self._fingerprint)

    def __repr__(self) -> str:
        return f"Robot({self.name!r}, legs {', '.join(self.leg_names)}, {self.joint_count} joints)"


def _content(value: object) -> object:
    """Return all fields of a part as nested tuples, exact to the last bit of every number."""
    if dataclasses.is_dataclass(value):
        return tuple((field.name, _content(getattr(value, field.name))) for field in dataclasses.fields(value))
    if isinstance(value, tuple):
        return tuple(map(_content, value))
    return value.tobytes() if isinstance(value, np.ndarray) else repr(value)
