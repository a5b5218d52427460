"""The exercise of a robot that hangs, its feet in the air; that of a robot that stands: standing.py.

In each leg one joint moves at a time: slow waves (zone, play, gravity) and quick steps (latency, damping, inertia). The
leg is held so that gravity acts on that joint with a long lever: what a tibia that hangs straight down pulls at its
servo is not seen.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.leg import Leg

Array = NDArray[np.float64]
PERIOD = 0.02  # [s] between commands
# Suspended, [s] for one joint of each leg: waves, then steps. [rad]: size of waves and of steps; a step takes one
# command if the speed limit permits.
WAVE_TIME, STEP_TIME, WAVE, STEP = 10.0, 6.5, 0.45, 0.10
STEP_EVERY = 0.5  # [s]
MOVE = 2.0  # [s] from one pose to the next, and at rest at the beginning
SETTLE = 0.5  # [s] at rest after it
MARGIN = 0.05  # [rad] to the limits of a joint
POSES = -1.0, -0.5, 0.0, 0.5, 1.0  # [rad] of a joint from its rest, of which the longest lever is chosen


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
    model = WholeBodyModel(robot)
    longest = max(len(leg.joints) for leg in robot.legs)
    part = MOVE + SETTLE + WAVE_TIME + STEP_TIME
    time = np.arange(0.0, longest * part + MOVE + SETTLE, PERIOD)
    poses, here = np.tile(rest, (longest + 2, 1)), time - part * np.arange(longest + 1)[:, None]
    own = np.zeros((len(time), robot.joint_count))
    for index, leg in enumerate(robot.legs):
        columns = robot.leg_joints(leg.name)
        for k in range(len(leg.joints)):
            low, high = leg.joints[k].planned_range
            size = min(WAVE, high - rest[columns[k]] - MARGIN, rest[columns[k]] - low - MARGIN)
            if size < 1.5 * STEP:
                raise IdentificationError(
                    f"{leg.joints[k].name}: limits leave {size:.2f} rad around its rest, {1.5 * STEP:.2f} needed"
                )
            poses[k + 1, columns] = _pose_of_longest_lever(model, robot, leg, k, rest, size)
            begun = here[k] - MOVE - SETTLE
            own[:, columns[k]] = _waves(begun, size, index) + _steps(begun - WAVE_TIME, index)
    share = np.clip(here / MOVE, 0.0, 1.0)
    share = share * share * (3.0 - 2.0 * share)
    return Exercise(time, poses[0] + share.T @ np.diff(poses, axis=0) + own)


def _pose_of_longest_lever(model: WholeBodyModel, robot: Robot, leg: Leg, k: int, rest: Array, size: float) -> Array:
    """Return the angles [rad] of a leg's joints around which gravity's torque on joint k is largest while that moves
    by +-size: its root mean square.

    The foot is as far from the body as at rest or farther, so that no leg touches the body or the opposite one. Of
    poses with the same torque that with the least motion from the rest is chosen.
    """
    columns = list(robot.leg_joints(leg.name))
    turning = [joint.kind == "revolute" and abs(joint.axis[2]) < 0.5 for joint in leg.joints]
    angles = rest.copy()

    def outward(angles: Array) -> float:
        foot = model.link_poses(np.eye(3), np.zeros(3), angles)[f"{leg.name}.{leg.links[-1].name}"]
        return float((leg.mount_rotation.T @ (foot[1] + foot[0][:, 0] * leg.links[-1].length - leg.mount_position))[0])

    def torque(shift: tuple[float, ...]) -> float:
        angles[columns] = rest[columns] + shift
        for joint, move, angle in zip(leg.joints, shift, angles[columns], strict=True):
            room = MARGIN + (size if joint is leg.joints[k] else 0.0)
            if move and not joint.planned_range[0] + room <= angle <= joint.planned_range[1] - room:
                return -1.0
        waves, squares = np.linspace(-size, size, 5), 0.0
        for wave in waves:
            angles[columns[k]] = rest[columns[k]] + shift[k] + wave
            if any(shift) and outward(angles) < least:
                return -1.0
            squares += float(model.gravity_force(np.eye(3), angles)[6 + columns[k]]) ** 2
        return round(squares, 9)

    least = outward(rest)
    choices = itertools.product(*(POSES if one else (0.0,) for one in turning))
    best = max(choices, key=lambda shift: (torque(shift), -sum(map(abs, shift))))
    return np.asarray(rest[columns] + best, np.float64)


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
