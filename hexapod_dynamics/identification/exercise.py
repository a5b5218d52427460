"""The two exercises: of a robot that hangs, its feet in the air, and of one that stands.

Suspended: in each leg one joint moves at a time: slow waves (zone, play, gravity) and quick steps (latency, damping,
inertia). The leg is held so that gravity acts on that joint with a long lever: what a tibia that hangs straight down
pulls at its servo is not seen.

Standing: in turn on one half of the legs and on the other, the body moving over them. On three legs every foot carries
about a third of the robot, and is on the floor; of six feet, whose zero offsets pull them against each other, some hang
in the air. The load makes the servos' leads twice as large, too. The other feet come down nearer or farther each time,
all on the one level floor: their heights there tell zero offsets of femur and tibia apart.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.core._core import hull_margin
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import HexapodError, IdentificationError
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.leg import Leg
from hexapod_dynamics.se3 import rotation_rpy

Array = NDArray[np.float64]
PERIOD = 0.02  # [s] between commands
# Suspended: [s] for one joint of each leg: waves, then steps. [rad]: size of waves and of steps; a step takes one
# command if the speed limit permits.
WAVE_TIME, STEP_TIME, WAVE, STEP = 10.0, 6.5, 0.45, 0.10
PAUSE = 2.5  # [s] from one pose to the next, and at rest at the beginning; the last half a second is at rest
MARGIN = 0.05  # [rad] to the limits of a joint
# Standing: where feet stand [m] in the leg's axes, reach and height; each step is a SPREAD nearer or farther.
REACH, HEIGHT, SPREAD = 0.135, 0.110, 0.025
EASE = 2.0  # [s] at rest at the beginning and the end, and in which a motion of the body begins and ends
FOOT_TIME, ALL_STAND = 1.25, 0.25  # [s] in which feet rise or come down, and in which all of them stand then


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
    part = PAUSE + WAVE_TIME + STEP_TIME
    time = np.arange(0.0, longest * part + PAUSE, PERIOD)
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
            begun = here[k] - PAUSE
            own[:, columns[k]] = _waves(begun, size, index) + _steps(begun - WAVE_TIME, index)
    return Exercise(time, poses[0] + _rise(here / (PAUSE - 0.5)).T @ np.diff(poses, axis=0) + own)


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
    # [rad] of a joint from its rest
    choices = itertools.product(*((-1.0, -0.5, 0.0, 0.5, 1.0) if one else (0.0,) for one in turning))
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
    shifted, every = time - 0.03 * index, 0.5  # [s]
    level = np.array([1.0, 0.0, -1.0, 0.0])[np.floor(shifted / every).astype(int) % 4]
    return np.where((shifted >= 0.0) & (shifted < STEP_TIME - every), STEP * level, 0.0)


# ---- standing ----------------------------------------------------------------------------------------------------


def standing_exercise(robot: Robot, seconds: float = 120.0) -> Exercise:
    """Return the exercise for a robot that stands on a level floor.

    It begins and ends at rest on all feet; the whole of it ends where it began. Raises
    IdentificationError for legs other than coxa, femur and tibia, feet out of reach, less than 12 s, and for a robot
    that one half of its legs (tripod_group) does not carry.
    """
    time = np.arange(0.0, seconds, PERIOD)
    parts = max(1, round((seconds - 2.0 * EASE) / 19.3))  # [s] on one half of the legs, about
    length = (seconds - 2.0 * EASE) / parts
    if length < 2.0 * (EASE + FOOT_TIME) + ALL_STAND:
        raise IdentificationError(f"standing exercise: {seconds:g} s given, at least 12 s needed")
    share = np.zeros(len(time))  # of the motion of the body
    # Neighbours of one half begin at different reaches: errors that all have in common show only as the body tilts.
    places = np.arange(len(robot.legs)) // 2 % 3 - 1
    farther = np.repeat(places[None].astype(float), len(time), axis=0)
    height = np.zeros((len(time), len(robot.legs)))
    for part in range(parts):
        begin = EASE + part * length
        end = begin + length - ALL_STAND
        share += _rise(np.minimum(time - begin - FOOT_TIME, end - FOOT_TIME - time) / EASE)
        over = _rise((time - begin - FOOT_TIME) / (length - ALL_STAND - 2.0 * FOOT_TIME))
        for k, leg in enumerate(robot.legs):
            if leg.tripod_group == 1 + part % 2:
                # 30 mm: servos sag by 5 mm, offsets of 2 degrees lower a foot by 8 mm.
                height[:, k] += 0.03 * _rise(np.minimum(time - begin, end - time) / FOOT_TIME)
                new = (places[k] + 2) % 3 - 1
                farther[:, k] += (new - places[k]) * over
                places[k] = new
    for group in (1, 2):
        _check_carried(robot, [leg for leg in robot.legs if leg.tripod_group == group])
    # The largest motions of the body: x, y, z [m], roll, pitch, yaw [rad]; their periods [s] have no common multiple,
    # so that all combinations occur.
    largest = np.array([0.020, 0.020, 0.018, 0.10, 0.10, 0.16])
    periods = np.array([11.0, 13.7, 17.3, 9.1, 7.9, 15.1])
    pose = share[:, None] * largest * np.sin(2.0 * np.pi * (time[:, None] - EASE) / periods)
    for size in (1.0, 0.75, 0.5):  # of all motions, the first that a robot's joints allow
        try:
            return Exercise(time, _targets(robot, size * pose, REACH + size * SPREAD * farther, height))
        except HexapodError as error:
            why = error
    raise IdentificationError(f"standing exercise: {why}")


def _targets(robot: Robot, pose: Array, reach: Array, height: Array) -> Array:
    """Targets (T, n) [rad] of a body moved by pose (T, 6) over feet at reach and height over the floor (T, legs)."""
    targets = np.empty((len(pose), robot.joint_count))
    turns = [rotation_rpy(*row[3:]) for row in pose]
    for k, leg in enumerate(robot.legs):
        kinematics = LegKinematics.of(robot, leg.name)
        first = robot.leg_joints(leg.name).start
        for t, row in enumerate(pose):
            foot = leg.mount_position + leg.mount_rotation @ np.array([reach[t, k], 0.0, -HEIGHT])
            foot[2] += height[t, k]
            targets[t, first : first + 3] = kinematics.inverse(kinematics.to_leg(turns[t].T @ (foot - row[:3])))
    return targets


def _check_carried(robot: Robot, legs: list[Leg]) -> None:
    """Raise IdentificationError unless the centre of the body is well inside of the feet of these legs."""
    nearest = [leg.mount_position + leg.mount_rotation @ np.array([REACH - SPREAD, 0.0, 0.0]) for leg in legs]
    feet = np.array([foot[:2] for foot in nearest]).reshape(-1, 2)
    if len(legs) < 3 or hull_margin(feet, len(feet), *np.asarray(robot.body.com)[:2]) < 0.04:  # [m]
        names = ", ".join(leg.name for leg in legs)
        raise IdentificationError(f"standing exercise: {robot.name} cannot stand on {names or 'no leg'} alone")


def _rise(x: Array) -> Array:
    """Smooth step from 0 at 0 to 1 at 1."""
    x = np.clip(x, 0.0, 1.0)
    return np.asarray(x * x * (3.0 - 2.0 * x), np.float64)
