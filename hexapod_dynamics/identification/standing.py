"""The exercise of a robot that stands: in turn on one half of its legs and on the other, its body moving over them.

On three legs every foot carries about a third of the robot, and is on the floor; of six feet, whose zero offsets pull
them against each other, some hang in the air. The load makes the servos' leads twice as large, too. The other feet come
down nearer or farther each time, all on the one level floor: their heights there tell zero offsets of femur and tibia
apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.errors import HexapodError, IdentificationError
from hexapod_dynamics.identification.exercise import PERIOD, Exercise
from hexapod_dynamics.kinematics.leg_kinematics import LegKinematics
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.leg import Leg
from hexapod_dynamics.se3 import rotation_rpy

Array = NDArray[np.float64]
# Where feet stand [m] in the leg's axes: reach and height. From step to step each is a SPREAD nearer or farther.
REACH, HEIGHT, SPREAD = 0.135, 0.110, 0.025
LIFT = 0.03  # [m] of the feet in the air: servos sag by 5 mm, offsets of 2 degrees lower a foot by 8 mm
# The largest motions of the body: x, y, z [m], roll, pitch, yaw [rad]; their periods [s] have no common multiple, so
# that all combinations occur.
LARGEST = np.array([0.020, 0.020, 0.018, 0.10, 0.10, 0.16])
PERIODS = np.array([11.0, 13.7, 17.3, 9.1, 7.9, 15.1])
EASE = 2.0  # [s] at rest at the beginning and the end, and in which a motion of the body begins and ends
STEP, SETTLE = 1.25, 0.25  # [s] in which feet rise or come down, and in which all of them stand then
PART = 19.3  # [s] on one half of the legs, about
SIZES = 1.0, 0.75, 0.5  # of all motions, the first that a robot's joints allow
LEAST_MARGIN = 0.04  # [m] from the centre of the body to the edge of the polygon of standing feet


def standing_exercise(robot: Robot, seconds: float = 120.0) -> Exercise:
    """Return the exercise for a robot that stands on a level floor.

    It begins and ends at rest on all feet; the whole of it ends where it began. Raises
    IdentificationError for legs other than coxa, femur and tibia, feet out of reach, less than 12 s, and for a robot
    that one half of its legs (tripod_group) does not carry.
    """
    time = np.arange(0.0, seconds, PERIOD)
    parts = max(1, round((seconds - 2.0 * EASE) / PART))
    length = (seconds - 2.0 * EASE) / parts
    if length < 2.0 * (EASE + STEP) + SETTLE:
        raise IdentificationError(f"standing exercise: {seconds:g} s given, at least 12 s needed")
    share = np.zeros(len(time))  # of the motion of the body
    # Neighbours of one half begin at different reaches: errors that all have in common show only as the body tilts.
    places = np.arange(len(robot.legs)) // 2 % 3 - 1
    farther = np.repeat(places[None].astype(float), len(time), axis=0)
    height = np.zeros((len(time), len(robot.legs)))
    for part in range(parts):
        begin = EASE + part * length
        end = begin + length - SETTLE
        share += _rise(np.minimum(time - begin - STEP, end - STEP - time) / EASE)
        over = _rise((time - begin - STEP) / (length - SETTLE - 2.0 * STEP))
        for k, leg in enumerate(robot.legs):
            if leg.tripod_group == 1 + part % 2:
                height[:, k] += LIFT * _rise(np.minimum(time - begin, end - time) / STEP)
                new = (places[k] + 2) % 3 - 1
                farther[:, k] += (new - places[k]) * over
                places[k] = new
    for group in (1, 2):
        _check_carried(robot, [leg for leg in robot.legs if leg.tripod_group == group])
    pose = share[:, None] * LARGEST * np.sin(2.0 * np.pi * (time[:, None] - EASE) / PERIODS)
    for size in SIZES:
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
    feet = np.array([foot[:2] for foot in nearest]).reshape(-1, 2) - np.asarray(robot.body.com)[:2]
    order = np.argsort(np.arctan2(feet[:, 1], feet[:, 0]))
    here, ahead = feet[order], np.roll(feet[order], -1, axis=0)
    side = ahead - here
    far = (here[:, 0] * ahead[:, 1] - here[:, 1] * ahead[:, 0]) / np.maximum(np.hypot(*side.T), 1e-9)
    if len(legs) < 3 or far.min() < LEAST_MARGIN:
        names = ", ".join(leg.name for leg in legs)
        raise IdentificationError(f"standing exercise: {robot.name} cannot stand on {names or 'no leg'} alone")


def _rise(x: Array) -> Array:
    """Smooth step from 0 at 0 to 1 at 1."""
    x = np.clip(x, 0.0, 1.0)
    return np.asarray(x * x * (3.0 - 2.0 * x), np.float64)
