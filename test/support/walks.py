"""Walks that tests and benchmarks share: the robot's whole program on simulated robots that are not its model."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from support.copies import in_a_copy

from hexapod_dynamics.estimation import DamageDetector
from hexapod_dynamics.estimation.payload import Payload
from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.onboard import MadeDecision, Onboard
from hexapod_dynamics.onboard.servos import READS_A_SECOND
from hexapod_dynamics.onboard.simulation import REST_TIME, TICK, OnboardSimulation
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Truth

ROBOT = Robot.jethexa()
WHOLE = Morphology.whole(ROBOT)
FORWARD = (0.077, 0.0, 0.0)
LOAD_HEIGHT = 0.03  # [m] over base_link's origin; the program assumes another


class Walk(OnboardSimulation):
    """An OnboardSimulation on which forces of the world act; it rests [s] first, until the gyroscope is calibrated.

    force (3,) [N]: in the world, `height` [m] above the body's origin. load: (mass [kg], x, y [m]) that lies on the
    body. lowest: the least upward component of the body's z axis so far.
    """

    def __init__(self, *arguments: Any, rests: float = REST_TIME, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.force, self.height, self.load, self.lowest = np.zeros(3), 0.0, (0.0, 0.0, 0.0), 1.0
        self.run(rests)

    def step(self) -> None:
        """Go on for 20 ms."""
        (mass, x, y), axes = self.load, self.physics.rotation.T
        pushed, weight = axes @ self.force, axes @ [0.0, 0.0, -self.robot.gravity * mass]
        self.wrench[:3] = pushed + weight
        self.wrench[3:] = np.cross([0.0, 0.0, self.height], pushed) + np.cross([x, y, LOAD_HEIGHT], weight)
        super().step()
        self.lowest = min(self.lowest, float(self.physics.rotation[2, 2]))

    def push(self, seconds: float, force: float, direction: float, height: float = 0.0) -> None:
        """Walk on for so many seconds while a horizontal force [N] in a direction [rad] acts on the body."""
        self.force[:], self.height = (force * math.cos(direction), force * math.sin(direction), 0.0), height
        self.run(seconds)
        self.force[:] = 0.0

    @property
    def turned_over(self) -> bool:
        """Whether it has turned over at any time."""
        return self.lowest < 0.5

    @property
    def detector(self) -> DamageDetector:
        """The DamageDetector of the program."""
        detection = self.onboard.parts.detection
        assert detection is not None
        return detection.detector

    @property
    def payload(self) -> Payload:
        """What the program knows of its load."""
        weighing = self.onboard.parts.prediction.payload
        assert weighing is not None
        return weighing.payload


def walking(
    truth: Truth | None = None,
    seed: int = 0,
    *,
    seconds: float = 5.0,
    twist: tuple[float, float, float] = FORWARD,
    physics: str = "built_in",
    detect: str = "declare",
    gait: str | Gait = "auto",
) -> Walk:
    """Return a Walk of the JetHexa that has walked so for some seconds."""
    walk = Walk(Onboard(ROBOT, detect, gait=gait), physics, truth, seed)
    walk.twist[:] = twist
    walk.run(seconds)
    return walk


def probability(decision: MadeDecision) -> float:
    """Return the probability that a decision names."""
    return float(re.findall(r"p = ([0-9.]+)\)", decision.text)[-1])


# ---- servos that are not springs -------------------------------------------------------------------------------------


def random_command(random: np.random.Generator) -> np.ndarray:
    """Return a twist (3,) [m/s, m/s, rad/s]: mostly forward, sometimes any direction."""
    angle = random.uniform(-np.pi, np.pi) if random.random() < 0.3 else 0.0
    return np.array([0.07 * np.cos(angle), 0.05 * np.sin(angle), random.uniform(-0.1, 0.1)])


def servo_walk(
    seed: int,
    servos: str,
    *,
    detect: str = "declare",
    physics: str = "mujoco",
    gait: str | Gait = "auto",
    robot: Robot = ROBOT,
    reads: float = READS_A_SECOND,
) -> tuple[Walk, np.random.Generator]:
    """Return a Walk with a random command on random ground, flat, 4 or 8 mm rough, and its random stream.

    servos: real or half, of `Truth.parse`; model: springs. With `real,ground=blocks:0.02` the robot walks ahead, onto
    that ground.
    """
    random = np.random.default_rng((77, seed))
    rough = random.choice([0.0, 0.004, 0.008])
    ahead = "ground=" in servos
    ground = "" if ahead else f",rough={rough}"
    truth = Truth.parse(f"servos={servos},seed={seed}{ground}" if servos != "model" else f"seed={seed}")
    walk = Walk(Onboard(robot, detect, gait=gait, reads_a_second=reads), physics, truth, seed)
    command = random_command(random)
    walk.twist[:] = (0.07, 0.0, 0.0) if ahead else command
    return walk, random


def disturb_walk(walk: Walk, random: np.random.Generator, seconds: float) -> None:
    """Walk without damage for some seconds: commands change, pushes of 6 N for 0.3 s, a bag of 0.5 kg for a while."""
    end = walk.time + seconds
    while walk.time < end:
        walk.twist[:] = random_command(random)
        if random.random() < 0.4:
            walk.push(0.3, 6.0, random.uniform(-np.pi, np.pi))
        if random.random() < 0.15:
            walk.load = (0.5, *random.uniform(-0.04, 0.04, 2))
            walk.run(random.uniform(4.0, 8.0))
            walk.load = (0.0, 0.0, 0.0)
        walk.run(random.uniform(3.0, 6.0))


# ---- pushes ----------------------------------------------------------------------------------------------------------

AFTER, LASTS = 2.5, 0.3  # [s] after a push, and of a push


def pushed_walk(
    seed: int, *, lost: tuple[str, ...] = (), braced: bool = True, truth: str = "", speed: float = 0.07
) -> tuple[Walk, np.random.Generator]:
    """Return a Walk of `servos=real` whose damage is not looked for, and its random stream: friction 0.5 to 0.9, masses
    +-10 %, `truth` added (as ",rough=0.008").
    """
    random = np.random.default_rng((5, seed))
    friction, mass = random.uniform(0.5, 0.9), random.uniform(0.9, 1.1)
    drawn = Truth.parse(f"servos=real,seed={seed},friction={friction},mass={mass}{truth}")
    onboard = Onboard(ROBOT, "off", "asked", morphology=WHOLE.without(*lost), braces=braced)
    walk = Walk(onboard, "mujoco", drawn, seed, timestep=2e-3)
    walk.twist[0] = speed
    return walk, random


def plain(walk: Walk) -> None:
    """Let the walk not brace."""
    control = walk.onboard.parts.gait
    control.settings = replace(control.settings, brace=False)


def pushed(
    seed: int,
    impulse: float,
    ways: Sequence[Callable[[Walk], None]],
    *,
    lost: tuple[str, ...] = (),
    height: float = 0.06,
) -> list[tuple[bool, int]]:
    """Push a walk once, at a random time and from a random direction, by an impulse [N s], in each of some ways.

    A way is what is done with the walk before, as `plain`. Return for each whether it turned over, and its
    braces.
    """
    walk, random = pushed_walk(seed, lost=lost)
    walk.run(4.0 + random.uniform(0.0, 2.0))
    direction = random.uniform(-math.pi, math.pi)

    def push(way: Callable[[Walk], None]) -> tuple[bool, int]:
        way(walk)
        walk.push(LASTS, impulse / LASTS, direction, height)
        walk.run(AFTER, until=lambda walk: walk.turned_over)
        return walk.turned_over, walk.onboard.parts.gait.brace.count

    return [in_a_copy(push, way) for way in ways]


# ---- grounds ---------------------------------------------------------------------------------------------------------


def walk_on(ground: str, lost: tuple[str, ...], seed: int, gait: Gait, friction: float = 0.8) -> Walk:
    """Return a Walk of a robot of MuJoCo that stands on a ground of `Truth.parse`, and knows which legs it has lost."""
    truth = Truth.parse(f"servos=real,seed={seed},friction={friction:.3f},ground={ground}")
    walk = Walk(Onboard(ROBOT, "off", gait=gait), "mujoco", truth, seed, timestep=2e-3)
    if lost:
        walk.break_parts(WHOLE.without(*lost))
        walk.onboard.declare(WHOLE.without(*lost))
        walk.run(TICK)
        walk.run(6.0, until=lambda walk: walk.gait.doing == "standing")
    return walk


# ---- loads -----------------------------------------------------------------------------------------------------------


def payload_walk(truth: Truth, seed: int = 0, *, known: Robot | None = None, sway: float = 0.0) -> Walk:
    """Return a Walk in MuJoCo at 5 cm/s; known: the Robot that the program has; sway [m]: the gait's weighing_sway."""
    gait = AdaptiveGait(weighing_sway=sway)
    walk = Walk(Onboard(known or ROBOT, "off", gait=gait), "mujoco", truth, seed, robot=ROBOT)
    walk.twist[0] = 0.05
    return walk
