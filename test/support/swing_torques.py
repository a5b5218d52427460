"""Torques of swinging legs in a simulated walk, for tests and benchmarks."""

from __future__ import annotations

from typing import Any

import numpy as np

from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.papers.optimal_gait import OptimalGait, Swing
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.simulation import Ground, Simulator

ROBOT = Robot.jethexa()
STEP = {"step_length": 0.05, "step_height": 0.012, "period": 1.3}
COMMAND_PERIOD = 0.02


def walk(
    gait: TripodGait, seconds: float = 3.9, morphology: Morphology | None = None
) -> tuple[float, float, float, float]:
    """Walk in simulation and measure after the first 1.3 s.

    Return the peak [N m] and the mean square [N^2 m^2] of the torques of swinging legs, the forward speed [m/s] and the
    largest change of a commanded joint rate from one command to the next [rad/s].
    """
    gait.bind(ROBOT, morphology)
    gait.reset(walking=True)
    simulator = Simulator(ROBOT, morphology=morphology, ground=Ground.viscous())
    simulator.reset(joints=gait.position.copy())
    peak, squares, count, leap, rates = 0.0, 0.0, 0, 0.0, gait.velocity.copy()
    start_position, start_command = 0.0, None
    for k in range(round(seconds / COMMAND_PERIOD)):
        phases = (gait.data.state.phase + gait.data.legs["phase"]) % 1.0
        position, velocity = gait.step(COMMAND_PERIOD)
        simulator.command(position.copy(), COMMAND_PERIOD)
        settled = k * COMMAND_PERIOD > 1.3
        if settled and start_command is None:
            start_position, start_command = simulator.position[0], k
        if settled:
            leap = max(leap, np.abs(velocity - rates).max())
        rates = velocity.copy()
        swinging = np.repeat((phases >= 0.5) & (phases + COMMAND_PERIOD / gait.period < 1.0), 3)
        for _ in range(20):
            simulator.step()
            if settled:
                torques = simulator.joint_torques[swinging]
                peak = max(peak, np.abs(torques).max(initial=0.0))
                squares, count = squares + (torques**2).sum(), count + torques.size
    if start_command is None:
        raise ValueError(f"{seconds} s are too short: needed are more than 1.3 s")
    speed = (simulator.position[0] - start_position) / (seconds - start_command * COMMAND_PERIOD)
    return peak, squares / count, speed, leap


def swings(morphology: Morphology | None = None, **options: Any) -> tuple[OptimalGait, list[Swing]]:
    """Return a gait and the swings of its legs at 0.0769 m/s forward; options: those of `OptimalGait`."""
    gait = OptimalGait(**{**STEP, **options}).bind(ROBOT, morphology)
    return gait, gait.swings(np.array([0.0769, 0, 0]))
