"""A simulated robot that `Onboard` runs: physics, servo bus and IMU, with noise and lost answers drawn from a seed.

Benchmarks, the arena, training and tests walk with it, so that all of them measure the program of the robot.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from hexapod_dynamics.errors import HexapodError, require_instance, require_positive
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.onboard import MadeDecision, Onboard
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import MujocoSimulator, Simulator, Truth
from hexapod_dynamics.simulation.ground import Ground
from hexapod_dynamics.simulation.readings import ACCELEROMETER, GYROSCOPE
from hexapod_dynamics.simulation.robot_simulator import RobotSimulator

PHYSICS: dict[str, tuple[Callable[..., RobotSimulator], float]] = {
    "built_in": (Simulator, 2e-3),  # with the step [s] of each
    "mujoco": (MujocoSimulator, 1e-3),
}
TICK = 0.02  # [s] between two steps of Onboard
SAMPLE_PERIOD = 0.5 * TICK  # [s] between two samples of the IMU
CHAIN_DELAY = 0.014  # [s] from a command to the servos' start, without the Truth's delay
UNANSWERED_SHARE = 0.07  # share of the requests to a servo that lost bytes leave unanswered
# Offset of a recorded MPU6050's gyroscope, ten minutes at rest (sunsided/sensor-fusion, data/set-2, axis x): a
# Gauss-Markov process [rad/s], [s] beside white noise has its Allan deviation at 10 and 60 s.
WANDER, WANDER_TIME = math.radians(0.0066), 8.0
FILTER_SHARE = 1.0 - math.exp(-2.0 * math.pi * 20.0 * SAMPLE_PERIOD)  # of a new sample in a low-pass filter of 20 Hz
REST_TIME = 2.3  # [s] at the start, in which the gyroscope is calibrated

Walk = TypeVar("Walk", bound="OnboardSimulation")


class GyroscopeOffset:
    """Offset of a gyroscope that wanders; `random` draws it each `period` [s]."""

    def __init__(self, random: np.random.Generator, period: float) -> None:
        self._random, self._keep = random, math.exp(-period / WANDER_TIME)
        self._offset = random.normal(0.0, WANDER, 3)

    def sample(self) -> np.ndarray:
        """Return the next offset (3,) [rad/s]."""
        fresh = self._random.normal(0.0, WANDER, 3)
        self._offset = self._keep * self._offset + math.sqrt(1.0 - self._keep**2) * fresh
        return self._offset


class OnboardSimulation:
    """An Onboard, not started yet, and the simulated robot that it moves.

    Args:
        onboard: the Onboard; its declared damage is also that of the simulated robot.
        physics: built_in or mujoco.
        truth: how the simulated robot differs from the described one.
        seed: of noise and losses.
        robot: the described Robot, if the program has another one, with servo zeros and the mounting of the IMU as they
            were identified.
        ground: instead of that of the truth.
        timestep: of the physics [s], instead of that of PHYSICS.

    twist (3,) [m/s, m/s, rad/s] is commanded, and wrench (6,) [N, N m] in base_link acts on the body, in each step.
    unplugged (n,) bool: servos without power and answers. play: width of the noise of a servo's reading [counts].
    set_points (n,) [rad]: what the program commanded last. time [s]: of the next step.
    """

    def __init__(
        self,
        onboard: Onboard,
        physics: str = "mujoco",
        truth: Truth | None = None,
        seed: int = 0,
        *,
        robot: Robot | None = None,
        ground: Ground | None = None,
        timestep: float | None = None,
    ) -> None:
        require_instance("onboard", onboard, Onboard)
        if physics not in tuple(PHYSICS):
            raise HexapodError(f"physics: given {physics!r}, allowed are {', '.join(PHYSICS)}")
        engine, usual = PHYSICS[physics]
        self.robot = robot = robot or onboard.robot
        self.onboard, self.time = onboard, 0.0
        truth = Truth() if truth is None else truth
        require_instance("truth", truth, Truth)
        self.physics = engine(
            robot,
            timestep=timestep or usual,
            truth=replace(truth, delay=truth.delay + CHAIN_DELAY),
            morphology=Morphology.from_parameters(robot, onboard.morphology.parameters()),
            ground=ground,
        )
        # What the servos read at a joint's zero, by the program's robot and by the described one.
        known, described = (np.array([joint.servo_zero for joint in each.joints]) for each in (onboard.robot, robot))
        self._zeros = known - described
        self.physics.reset(joints=onboard.standing_pose + self._zeros)
        self.twist, self.wrench = np.zeros(3), np.zeros(6)
        self.unplugged, self.play = np.zeros(robot.joint_count, bool), 1.0
        self.set_points = np.full(robot.joint_count, np.nan)
        self._felt = np.zeros(6)  # specific force and angular velocity behind the filter of the chip
        self._chip = robot.imu.rotation.T
        self._random = np.random.default_rng((5, seed))
        self._offset = GyroscopeOffset(np.random.default_rng((6, seed)), SAMPLE_PERIOD)
        self._steps, self._samples = round(SAMPLE_PERIOD / self.physics.timestep), 0

    # ---- what happens to the robot -----------------------------------------------------------------------------------

    def break_parts(self, morphology: Morphology, unplugged: tuple[int, ...] = ()) -> None:
        """Break (or mend) the simulated robot; nobody tells its software. unplugged: joints (indices) without power."""
        self.unplugged[:] = False
        self.unplugged[list(unplugged)] = True
        for joint in unplugged:
            morphology = morphology.limp(self.robot.part_names[joint])
        self.physics.set_morphology(morphology)

    def run(self: Walk, seconds: float, until: Callable[[Walk], object] | None = None) -> bool:
        """Go on for a time [s], or until `until(self)`; return whether that came to be."""
        require_positive({"seconds": seconds}, zero=True)
        for _ in range(round(seconds / TICK)):
            self.step()
            if until is not None and until(self):
                return True
        return False

    def step(self) -> None:
        """Run the program and the physics for 20 ms."""
        self.physics.push(self.wrench)
        for half in range(2):
            self.sense()
            if not half:
                self.onboard.command(self.time, *self.twist)
                self.set_points = self.onboard.step(self.time)
                powered = self.physics.morphology.existing_mask & ~self.unplugged
                self.physics.command(np.where(powered, self.set_points + self._zeros, np.nan), TICK)
            self.advance()
            self._samples += 1
            self.time = SAMPLE_PERIOD * self._samples

    def advance(self) -> None:
        """Let the physics run until the next sample."""
        self.physics.step(self._steps)

    def sense(self) -> None:
        """Give Onboard the IMU's sample, and the answers of the servos that its bus asks."""
        physics, random, t = self.physics, self._random, self.time
        if self._samples:
            felt, noise = np.concatenate([physics.specific_force, physics.mean_angular_velocity]), random.normal(size=6)
            self._felt += (FILTER_SHARE if self._samples > 1 else 1.0) * (felt - self._felt)
            force, rate = (
                self._felt[:3] + ACCELEROMETER * noise[:3],
                self._felt[3:] + GYROSCOPE * noise[3:] + self._offset.sample(),
            )
            self.onboard.imu(t, self._chip @ force, self._chip @ rate + physics.truth.chip_bias())
        angles, count = physics.readings - self._zeros, self.robot.servo.resolution
        mute = ~physics.morphology.existing_mask | self.unplugged
        for joint in self.onboard.reads(t):
            if mute[joint] or random.random() < UNANSWERED_SHARE:
                self.onboard.silent(t, joint)
            else:
                angle = angles[joint] + self.play * count * random.uniform(-0.5, 0.5)
                self.onboard.joint(t, joint, float(np.round(angle / count) * count) if count else float(angle))

    # ---- what it does ------------------------------------------------------------------------------------------------

    @property
    def tilt(self) -> float:
        """Angle [rad] between the body's z axis and the vertical."""
        return math.acos(float(np.clip(self.physics.rotation[2, 2], -1.0, 1.0)))

    @property
    def gait(self) -> Gait:
        """The Gait of the program."""
        return self.onboard.parts.gait.gait

    @property
    def declared(self) -> Morphology:
        """The declared damage."""
        return self.onboard.morphology

    @property
    def decisions(self) -> list[MadeDecision]:
        """The decisions of the detector."""
        return self.onboard.decisions
