"""The gait that the searching methods search in: 22 numbers in joint space, as in IT&E and its successors.

Per leg: amplitude of the coxa, lift of the femur, phase; for all: duty factor and frequency, body height, turning. The
same family as Cully et al., Robots that can adapt like animals (2015), with a common duty factor.
"""

from __future__ import annotations

import numpy as np

from hexapod_dynamics.gait import TripodGait
from hexapod_dynamics.robot import Robot

LEGS, SIZE = 6, 22
COXA, LIFT = 0.35, 0.6  # [rad] largest amplitude of a coxa, largest lift of a femur
FREQUENCY, FREQUENCIES = 0.85, 0.35  # [Hz] middle, half width
DUTY, DUTIES = 0.65, 0.2
HEIGHT, TURN = 0.15, 0.4  # [rad] change of the femurs, share by which the sides differ


def tripod(robot: Robot) -> np.ndarray:
    """Return the point (SIZE,) in [0, 1] of the tripod at the speed of the textbook gait, nearly."""
    x = np.full(SIZE, 0.5)
    x[:LEGS], x[LEGS : 2 * LEGS] = 0.45, 0.4
    x[2 * LEGS : 3 * LEGS] = [0.0 if leg.tripod_group == 1 else 0.5 for leg in robot.legs]
    return x


class JointGait:
    """Joint angles over time of a point x (SIZE,) in [0, 1]."""

    def __init__(self, robot: Robot) -> None:
        self.stand = TripodGait().bind(robot).position.copy().reshape(LEGS, 3)
        # A positive coxa angle carries a left leg's foot backward and a right leg's forward.
        self.side = np.array([1.0 if leg.mount_position[1] > 0.0 else -1.0 for leg in robot.legs])

    def descriptor(self, x: np.ndarray) -> np.ndarray:
        """Return how much each leg (LEGS,) is used, 0 to 1: its amplitude. The behaviour of IT&E is by leg, too."""
        return np.clip(x[:LEGS], 0.0, 1.0)

    def angles(self, x: np.ndarray, time: float) -> np.ndarray:
        """Return the set-points (18,) [rad] at a time [s]."""
        x = np.clip(x, 0.0, 1.0)
        amplitude, lift, phase = x[:LEGS] * COXA, x[LEGS : 2 * LEGS] * LIFT, x[2 * LEGS : 3 * LEGS]
        duty, frequency, height, turn = x[3 * LEGS :] * 2.0 - 1.0
        duty, frequency = DUTY + DUTIES * duty, FREQUENCY + FREQUENCIES * frequency
        p = (time * frequency + phase) % 1.0
        swing = p >= duty
        u = np.where(swing, (p - duty) / (1.0 - duty), p / duty)
        ahead = np.where(swing, -np.cos(np.pi * u), 1.0 - 2.0 * u)  # 1: foot in front, -1: behind
        up = np.where(swing, np.sin(np.pi * u), 0.0)
        out = self.stand.copy()
        out[:, 0] -= self.side * amplitude * ahead * (1.0 + TURN * turn * self.side)
        out[:, 1] += lift * up + HEIGHT * height
        out[:, 2] += 0.3 * lift * up - HEIGHT * height
        return out.ravel()
