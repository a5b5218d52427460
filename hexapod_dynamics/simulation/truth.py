"""Differences of the simulated robot from the model that the nodes use; the same for both physics engines."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation.ground import LARGEST_SEED, Ground

# Field: smallest and largest value, unit.
RANGES = {
    "mass": (0.2, 5.0, ""),
    "payload": (0.0, 5.0, "kg"),
    "payload_x": (-0.5, 0.5, "m"),
    "payload_y": (-0.5, 0.5, "m"),
    "payload_z": (-0.5, 0.5, "m"),
    "stiffness": (0.05, 10.0, ""),
    "friction": (0.0, 5.0, ""),
    "deadband": (0.0, 20.0, "counts"),
    "delay": (0.0, 0.5, "s"),
    "slope": (-45.0, 45.0, "degrees"),
    "slope_yaw": (-360.0, 360.0, "degrees"),
    "rough": (0.0, 0.1, "m"),
    "seed": (0, LARGEST_SEED, ""),
}


@dataclass(frozen=True)
class Truth:
    """The simulated robot and its ground, relative to the model.

    mass: factor on all masses and inertias. payload [kg]: point mass fixed to the body at payload_x, payload_y,
    payload_z [m] in base_link. stiffness: factor on the stiffness of all servos. friction: Coulomb's coefficient.
    deadband [counts of the servo]: deviation from the set-point below which a servo gives no torque. delay [s]: from
    a command to the servos' start. slope, slope_yaw [deg], rough [m], seed: of the Ground.
    """

    mass: float = 1.0
    payload: float = 0.0
    payload_x: float = 0.0
    payload_y: float = 0.0
    payload_z: float = 0.03
    stiffness: float = 1.0
    friction: float = 0.6
    deadband: float = 0.0
    delay: float = 0.0
    slope: float = 0.0
    slope_yaw: float = 0.0
    rough: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, (low, high, unit) in RANGES.items():
            value = getattr(self, name)
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not (number and math.isfinite(value) and low <= value <= high):
                raise HexapodError(f"truth: {name}={value!r} given, allowed are numbers from {low} to {high} {unit}")
        if self.seed != int(self.seed):
            raise HexapodError(f"truth: seed={self.seed!r} given, a whole number is needed")
        object.__setattr__(self, "seed", int(self.seed))

    @classmethod
    def parse(cls, text: str) -> Truth:
        """Read `mass=1.1,stiffness=0.8`; an empty text is the model itself. HexapodError names what is wrong."""
        values: dict[str, float] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if name not in RANGES or not equals:
                raise HexapodError(f"truth: {part!r} given, allowed are name=number with {', '.join(RANGES)}")
            if name in values:
                raise HexapodError(f"truth: {name} is given twice")
            try:
                values[name] = float(value)
            except ValueError:
                raise HexapodError(f"truth: {name}={value!r} given, a number is needed") from None
        return cls(**values)  # type: ignore[arg-type]

    def describe(self) -> str:
        """Return the differences from the model, in the format of `parse`."""
        differing = [f for f in dataclasses.fields(self) if getattr(self, f.name) != f.default]
        return ",".join(f"{f.name}={getattr(self, f.name):g}" for f in differing)

    def ground(self) -> Ground:
        """Return the Ground."""
        return Ground(
            friction=self.friction, slope=self.slope, slope_yaw=self.slope_yaw, rough=self.rough, seed=self.seed
        )

    def robot(self, robot: Robot) -> Robot:
        """Return the robot with these masses and servos; its payload is not part of it."""
        if self.mass == 1.0 and self.stiffness == 1.0:
            return robot
        scaled = dataclasses.replace
        legs = tuple(
            scaled(
                leg,
                links=tuple(
                    scaled(link, mass=self.mass * link.mass, inertia=self.mass * link.inertia) for link in leg.links
                ),
            )
            for leg in robot.legs
        )
        body = scaled(robot.body, mass=self.mass * robot.body.mass, inertia=self.mass * robot.body.inertia)
        return scaled(
            robot, body=body, legs=legs, servo=scaled(robot.servo, stiffness=self.stiffness * robot.servo.stiffness)
        )

    def morphology(self, morphology: Morphology, robot: Robot) -> Morphology:
        """Return a morphology of the model for the robot that `robot` returned."""
        if morphology.robot == robot:
            return morphology
        return Morphology.from_parameters(robot, morphology.parameters())

    @property
    def payload_position(self) -> np.ndarray:
        """Where the payload is (3,), in base_link [m]."""
        return np.array([self.payload_x, self.payload_y, self.payload_z])
