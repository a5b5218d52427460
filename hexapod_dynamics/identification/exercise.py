"""The exercise of a robot that hangs, its feet in the air; that of a robot that stands: standing.py.

In each leg one joint moves at a time: slow waves (zone, play, gravity) and quick steps (latency, damping, inertia).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.leg import Leg

Array = NDArray[np.float64]
PERIOD = 0.02  # [s] between commands
# Suspended, [s] for one joint of each leg: waves, then steps. [rad]: size of waves and of steps; a step takes one
# command if the speed limit permits.
WAVE_TIME, STEP_TIME, WAVE, STEP = 10.0, 7.5, 0.45, 0.10
STEP_EVERY = 0.5  # [s]
EASE = 2.0  # [s] at rest before a motion
MARGIN = 0.05  # [rad] to the limits of a joint


@dataclass(frozen=True, eq=False)
class Exercise:
    """Targets (T, n) [rad] at times (T,) [s], PERIOD apart."""

    time: Array
    targets: Array


def suspended_exercise(robot: Robot) -> Exercise:
    """Return the exercise for a robot that hangs; from its pose of rest back to it.

    Raises IdentificationError if a joint's limits leave no room.
    """
    rest = np.array([_middle(leg, k) for leg in robot.legs for k in range(len(leg.joints))])
    limits = [joint.planned_range for leg in robot.legs for joint in leg.joints]
    low, high = np.array(limits).T
    longest = max(len(leg.joints) for leg in robot.legs)
    part = WAVE_TIME + STEP_TIME + EASE
    time = np.arange(0.0, EASE + longest * part, PERIOD)
    targets = np.repeat(rest[None], len(time), axis=0)
    for index, leg in enumerate(robot.legs):
        for k in range(len(leg.joints)):
            joint = robot.leg_joints(leg.name).start + k
            here = time - EASE - k * part
            size = min(WAVE, high[joint] - rest[joint] - MARGIN, rest[joint] - low[joint] - MARGIN)
            if size < 1.5 * STEP:
                raise IdentificationError(
                    f"{leg.joints[k].name}: limits leave {size:.2f} rad around its rest, {1.5 * STEP:.2f} needed"
                )
            targets[:, joint] += _waves(here, size, index) + _steps(here - WAVE_TIME, index)
    return Exercise(time, targets)


def _middle(leg: Leg, k: int) -> float:
    """Position of rest of a joint: zero where its limits allow, else their middle."""
    low, high = leg.joints[k].planned_range
    return 0.0 if low + WAVE < 0.0 < high - WAVE else 0.5 * (low + high)


def _waves(time: Array, size: float, index: int) -> Array:
    """Two waves of different size and period, zero outside of 0 to WAVE_TIME."""
    inside = (time >= 0.0) & (time < WAVE_TIME)
    sign = 1.0 if index % 2 else -1.0  # neighbours move apart
    slow = np.where(time < 0.6 * WAVE_TIME, time / (0.6 * WAVE_TIME), 0.0)
    quick = np.where(time >= 0.6 * WAVE_TIME, (time - 0.6 * WAVE_TIME) / (0.2 * WAVE_TIME), 0.0)
    wave = size * np.sin(2.0 * np.pi * slow) + 0.4 * size * np.sin(2.0 * np.pi * quick)
    return np.where(inside, sign * wave, 0.0)


def _steps(time: Array, index: int) -> Array:
    """Steps up, back, down and back, zero outside of 0 to STEP_TIME; legs begin at different times."""
    shifted = time - 0.03 * index
    level = np.array([1.0, 0.0, -1.0, 0.0])[np.floor(shifted / STEP_EVERY).astype(int) % 4]
    return np.where((shifted >= 0.0) & (shifted < STEP_TIME - STEP_EVERY), STEP * level, 0.0)
