"""Walks on servos that are not springs, wired as the nodes wire the package's classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from support.blind_walk import BlindWalk

from hexapod_dynamics.gait import AdaptiveGait
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.simulation import MujocoSimulator, Truth
from hexapod_dynamics.simulation.robot_simulator import RobotSimulator

PUSHES = 3  # of push_walk
CHAIN = 0.014  # [s] from a command to the servos' start without the Truth's delay


def random_command(random: np.random.Generator) -> np.ndarray:
    """Return a twist (3,) [m/s, m/s, rad/s]: mostly forward, sometimes any direction."""
    angle = random.uniform(-np.pi, np.pi) if random.random() < 0.3 else 0.0
    return np.array([0.07 * np.cos(angle), 0.05 * np.sin(angle), random.uniform(-0.1, 0.1)])


def servo_walk(
    seed: int,
    servos: str,
    detector: Any = None,
    obey: bool = False,
    physics: Callable[..., RobotSimulator] = MujocoSimulator,
    gait: Any = None,
    robot: Robot | None = None,
) -> tuple[BlindWalk, np.random.Generator]:
    """Return a BlindWalk with a random command on random ground, flat, 4 or 8 mm rough, and its random stream.

    servos: real or half, of `Truth.parse`; model: springs. With `real,ground=blocks:0.02` the robot walks ahead, onto
    that ground. detector, obey, gait: of BlindWalk. physics: the simulator. robot: by
    default the JetHexa.
    """
    robot, random = robot or Robot.jethexa(), np.random.default_rng((77, seed))
    rough = random.choice([0.0, 0.004, 0.008])
    ahead = "ground=" in servos
    ground = "" if ahead else f",rough={rough}"
    truth = Truth.parse(f"servos={servos},seed={seed}{ground}" if servos != "model" else f"seed={seed}")
    blind = BlindWalk(
        robot,
        physics(robot, timestep=1e-3, truth=truth),
        gait or AdaptiveGait(),
        seed=seed,
        detector=detector,
        obey=obey,
        as_nodes=True,
        chain=CHAIN,
        dead_band=robot.servo.resolution,
    )
    command = random_command(random)
    blind.gait.command(*((0.07, 0.0, 0.0) if ahead else command))
    return blind, random


def disturb_walk(blind: BlindWalk, random: np.random.Generator, until: float) -> None:
    """Walk without damage until a time [s]: commands change, pushes of 6 N for 0.3 s, a bag of 0.5 kg for a while."""
    while blind.time < until:
        blind.gait.command(*random_command(random))
        if random.random() < 0.4:
            angle = random.uniform(-np.pi, np.pi)
            blind.push[:2] = 6.0 * np.cos(angle), 6.0 * np.sin(angle)
            blind.run(0.3)
            blind.push[:] = 0.0
        if random.random() < 0.15:
            x, y = random.uniform(-0.04, 0.04, 2)
            blind.push[2:5] = -4.9, -4.9 * y, 4.9 * x
            blind.run(random.uniform(4.0, 8.0))
            blind.push[:] = 0.0
        blind.run(random.uniform(3.0, 6.0))


def push_walk(blind: BlindWalk, random: np.random.Generator) -> None:
    """Push a walk hard from random sides: 4 to 10 N s in 0.1 to 0.6 s, 0 to 60 mm above the body's origin."""
    for _ in range(PUSHES):
        angle, lasts = random.uniform(-np.pi, np.pi), (0.1, 0.2, 0.3, 0.6)[random.integers(4)]
        force = random.uniform(4.0, 10.0) / lasts
        blind.push[:3] = force * np.cos(angle), force * np.sin(angle), 0.0
        blind.push[3:] = np.cross([0.0, 0.0, random.uniform(0.0, 0.06)], blind.push[:3])
        blind.run(lasts)
        blind.push[:] = 0.0
        blind.run(4.5)
