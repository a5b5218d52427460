"""Differences of the simulated robot from the model that the nodes use; the same for both physics engines."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from hexapod_dynamics.errors import HexapodError, parse_number
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import rotation_from_vector, rotation_z
from hexapod_dynamics.simulation.ground import ALLOWED, LARGEST_SEED, CheckedNumbers, Ground, number, parse_ground
from hexapod_dynamics.simulation.servo_law import MODELS

# The fields that make the servos a ServoLaw instead of the springs of the model.
_OF_SERVO_LAW = {"lag": 0.0, "ff": 1.0, "zone": 0.0, "hysteresis": 0.0, "servo_friction": 0.0, "servo_spread": 0.0}
# Shares of the ranges of `draw_real_servos`.
SERVOS = {"real": 1.0, "half": 0.5}
# Separate random streams of a seed, so that a new draw does not change the others.
Stream = IntEnum("Stream", ["ZEROS", "LINKS", "IMU", "PRESET", "CENTRES", "STIFFNESSES", "MOUNTS"])


@dataclass(frozen=True)
class Truth(CheckedNumbers):
    """The simulated robot and its ground, relative to the model.

    mass: factor on all masses and inertias. payload [kg]: point mass fixed to the body at payload_x, payload_y,
    payload_z [m] in base_link. stiffness: factor on the stiffness of all servos. friction: Coulomb's coefficient.
    deadband [counts of the servo]: deviation from the set-point below which a servo gives no torque. delay [s]:
    from a command to the start of the servos. slope, slope_yaw [deg], rough [m]: of the Ground; or terrain: a
    ground by name, as `ground=blocks:0.03` in `parse` (ground.py). seed: of the ground and of the random values
    below.

    Servos with their own law (servo_law.py): lag [s]: their additional damping, divided by their stiffness. ff: share
    of the set-point's rate that they feed forward; 0: they damp against zero rate. zone [deg]: error below which they
    give no torque, in addition to that of `deadband`. hysteresis [deg]: play between joint and encoder.
    servo_friction: factor on the friction_model (1, 4, 6; 0: none) of servo_law.py. servo_spread: standard
    deviation of one servo's stiffness, relative to that of all.
    zero [deg]: largest error of the angle at which a horn is mounted. link_masses: largest relative error of a link's
    mass. link_centres: standard deviation of a link's centre of mass in each direction, in its radii of gyration.
    hips [mm]: distance of each leg's mount from its described place, in a random direction. leg_yaw [deg]: angle about
    the vertical by which each leg is mounted askew, to a random side.
    imu_tilt [deg]: mounting error of the IMU. gyro_bias [deg/s]: of the chip.
    """

    mass: float = number(1.0, 0.2, 5.0)
    payload: float = number(0.0, 0.0, 5.0, "kg")
    payload_x: float = number(0.0, -0.5, 0.5, "m")
    payload_y: float = number(0.0, -0.5, 0.5, "m")
    payload_z: float = number(0.03, -0.5, 0.5, "m")
    stiffness: float = number(1.0, 0.05, 10.0)
    friction: float = number(0.6, 0.0, 5.0)
    deadband: float = number(0.0, 0.0, 20.0, "counts")
    delay: float = number(0.0, 0.0, 0.5, "s")
    slope: float = number(0.0, -45.0, 45.0, "degrees")
    slope_yaw: float = number(0.0, -360.0, 360.0, "degrees")
    rough: float = number(0.0, 0.0, 0.1, "m")
    seed: int = number(0, 0, LARGEST_SEED)
    lag: float = number(0.0, 0.0, 0.1, "s")
    ff: float = number(1.0, 0.0, 1.0)
    zone: float = number(0.0, 0.0, 5.0, "degrees")
    hysteresis: float = number(0.0, 0.0, 5.0, "degrees")
    zero: float = number(0.0, 0.0, 10.0, "degrees")
    servo_friction: float = number(0.0, 0.0, 5.0)
    friction_model: int = number(6, 0, 6)
    servo_spread: float = number(0.0, 0.0, 0.5)
    link_masses: float = number(0.0, 0.0, 0.9)
    link_centres: float = number(0.0, 0.0, 1.0)
    hips: float = number(0.0, 0.0, 20.0, "mm")
    leg_yaw: float = number(0.0, 0.0, 20.0, "degrees")
    imu_tilt: float = number(0.0, 0.0, 20.0, "degrees")
    gyro_bias: float = number(0.0, 0.0, 20.0, "degrees/s")
    terrain: str = "flat"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.terrain != "flat" and (self.slope or self.rough):
            raise HexapodError(f"truth: ground={self.terrain} and slope or rough given, allowed is one of them")
        parse_ground(self.terrain, self.seed)
        if self.friction_model not in MODELS:
            known = ", ".join(map(str, MODELS))
            raise HexapodError(f"truth: friction_model={self.friction_model} given, allowed are {known}")

    @classmethod
    def parse(cls, text: str) -> Truth:
        """Read `mass=1.1,stiffness=0.8`; an empty text is the model itself. HexapodError names what is wrong.

        `servos=real` (or half) draws the values of `draw_real_servos`, with the seed; values that the text names are
        not replaced.
        """
        values: dict[str, Any] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals or name not in (*RANGES, "servos", "ground"):
                raise HexapodError(
                    f"truth: {part!r} given, allowed are name=number with {', '.join(RANGES)}, "
                    f"and servos={' or '.join(SERVOS)}, and ground= with {ALLOWED}"
                )
            if name in values:
                raise HexapodError(f"truth: {name} is given twice")
            try:
                values[name] = value if name in ("servos", "ground") else parse_number(value)
            except ValueError:
                raise HexapodError(f"truth: {name}={value!r} given, a number is needed") from None
        if "ground" in values:
            values["terrain"] = values.pop("ground")
        if "servos" in values:
            servos = values.pop("servos")
            if servos not in SERVOS:
                raise HexapodError(f"truth: {f'servos={servos}'!r} given, allowed is one servos={' or '.join(SERVOS)}")
            values = draw_real_servos(cls(seed=values.get("seed", 0)).seed, SERVOS[servos]) | values
        return cls(**values)

    def describe(self) -> str:
        """Return the differences from the model, in the format of `parse`."""
        differing = [f for f in dataclasses.fields(self) if getattr(self, f.name) != f.default]
        return ",".join(
            f"ground={self.terrain}" if f.name == "terrain" else f"{f.name}={getattr(self, f.name):.12g}"
            for f in differing
        )

    def make_ground(self) -> Ground:
        """Return the Ground."""
        named = parse_ground(self.terrain, self.seed)
        drawn = {"slope": self.slope, "slope_yaw": self.slope_yaw, "rough": self.rough} | named
        return Ground(friction=self.friction, seed=self.seed, **drawn)

    def robot(self, robot: Robot) -> Robot:
        """Return the robot with these masses, mounts of legs and servos; its payload is not part of it."""
        if self.mass == self.stiffness == 1.0 and not any(
            (self.link_masses, self.link_centres, self.hips, self.leg_yaw)
        ):
            return robot
        scaled = dataclasses.replace
        random, moved, mounts = (
            np.random.default_rng((each, self.seed)) for each in (Stream.LINKS, Stream.CENTRES, Stream.MOUNTS)
        )
        legs = []
        for leg in robot.legs:
            factors = self.mass * (1.0 + self.link_masses * random.uniform(-1.0, 1.0, len(leg.links)))
            links = []
            for link, factor in zip(leg.links, factors.tolist(), strict=True):
                shift = self.link_centres * radii_of_gyration(link.mass, link.inertia) @ moved.normal(size=3)
                changed = {"mass": factor * link.mass, "inertia": factor * link.inertia, "com": link.com + shift}
                links.append(scaled(link, **changed))
            turn = rotation_z(math.radians(self.leg_yaw) * mounts.choice((-1.0, 1.0)))
            direction = mounts.normal(size=3)
            hip = leg.mount_position + 1e-3 * self.hips * direction / np.linalg.norm(direction)
            legs.append(scaled(leg, links=tuple(links), mount_rotation=turn @ leg.mount_rotation, mount_position=hip))
        body = scaled(robot.body, mass=self.mass * robot.body.mass, inertia=self.mass * robot.body.inertia)
        return scaled(
            robot,
            body=body,
            legs=tuple(legs),
            servo=scaled(robot.servo, stiffness=self.stiffness * robot.servo.stiffness),
        )

    def morphology(self, morphology: Morphology, model: Robot, robot: Robot) -> Morphology:
        """Return a morphology of the model for the robot that `robot` returned for it."""
        Morphology.check(model, morphology)
        if model == robot:
            return morphology
        return Morphology.from_parameters(robot, morphology.parameters())

    @property
    def servo_law(self) -> list[str]:
        """Names of the fields by which the servos differ from springs (servo_law.py); empty if they are springs."""
        return [name for name, value in _OF_SERVO_LAW.items() if getattr(self, name) != value]

    def stiffness_factors(self, count: int) -> np.ndarray:
        """Return the stiffness of each of `count` servos relative to that of all (count,)."""
        return np.exp(self.servo_spread * np.random.default_rng((Stream.STIFFNESSES, self.seed)).normal(size=count))

    def zeros(self, count: int) -> np.ndarray:
        """Return what each of `count` servos reads at the joint's zero (count,) [rad]."""
        return math.radians(self.zero) * np.random.default_rng((Stream.ZEROS, self.seed)).uniform(-1.0, 1.0, count)

    def imu_rotation(self) -> np.ndarray:
        """Return the rotation (3, 3) described base_link <- base_link according to the IMU's real mounting: a tilt
        of `imu_tilt` about a random horizontal axis.
        """
        heading = np.random.default_rng((Stream.IMU, self.seed)).uniform(-math.pi, math.pi)
        size = math.radians(self.imu_tilt)
        return rotation_from_vector(np.array([size * math.cos(heading), size * math.sin(heading), 0.0]))

    def chip_bias(self) -> np.ndarray:
        """Return the gyroscope's bias (3,) [rad/s] in axes of the chip, most of it about x as in a recorded MPU6050."""
        return math.radians(self.gyro_bias) * np.array([0.97, 0.01, 0.24])

    @property
    def payload_position(self) -> np.ndarray:
        """Position of the payload (3,), in base_link [m]."""
        return np.array([self.payload_x, self.payload_y, self.payload_z])


# Name of each number: smallest and largest value, unit.
RANGES = {field.name: field.metadata["range"] for field in dataclasses.fields(Truth) if field.metadata}


def radii_of_gyration(mass: float, inertia: np.ndarray) -> np.ndarray:
    """Return the factor R (3, 3) [m] of a body's second moments about its centre, mass R R^T, of its mass [kg] and
    its inertia (3, 3) about the centre [kg m^2]: R with normal numbers (3,) is a shift as likely in all directions.
    """
    second = (0.5 * np.trace(inertia) * np.eye(3) - inertia) / mass
    moments, axes = np.linalg.eigh(second)
    least = 1e-9 * moments[2]
    if moments[0] < least:  # a thin rod or plate: nothing lies beside it, up to rounding
        second = axes * np.maximum(moments, least) @ axes.T
    return np.linalg.cholesky(second)


def draw_real_servos(seed: int, share: float = 1.0) -> dict[str, float]:
    """Return the values of a Truth with random servos, masses and IMU in the ranges of real ones; share: of the
    ranges.

    Play of hexapods' legs +-0.16 to 0.49 degrees, friction of an STS3215, bias of an MPU6050 as measured by others; the
    ground is not among the values.
    """
    random = np.random.default_rng((Stream.PRESET, seed))

    def within(middle: float, spread: float) -> float:
        return round(middle + share * spread * random.uniform(-1.0, 1.0), 6)

    def up_to(most: float, least: float = 0.0) -> float:
        return round(share * random.uniform(least, most), 6)

    return {
        "mass": within(1.0, 0.05),
        "stiffness": within(1.0, 0.2),
        "payload": up_to(0.6),
        "payload_x": within(0.0, 0.03),
        "payload_y": within(0.0, 0.02),
        "friction": within(0.7, 0.2),
        "delay": up_to(0.016),
        "lag": up_to(0.008),
        "ff": float(random.random() < 0.5),
        "zone": up_to(0.6, 0.3),
        "hysteresis": up_to(0.5, 0.15),
        "zero": up_to(2.0, 1.0),
        "servo_friction": up_to(0.5, 0.1),
        "link_masses": up_to(0.25, 0.1),
        "imu_tilt": up_to(2.0, 0.5),
        "gyro_bias": up_to(4.5, 1.0),
    }
