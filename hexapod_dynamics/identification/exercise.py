"""The two exercises, and what their set-points say: which feet stand, how the body is accelerated over them, and which
part of a recording is which exercise.

Suspended: in each leg one joint moves at a time: slow waves (zone, play, gravity) and quick steps (latency, damping,
inertia). The leg is held so that gravity acts on that joint with a long lever: what a tibia that hangs straight down
pulls at its servo is not seen.

Standing: in turn on one half of the legs and on the other, the body moving over them. On three legs every foot carries
about a third of the robot, and is on the floor; of six feet, whose zero offsets pull them against each other, some hang
in the air. The load makes the servos' leads twice as large, too. The other feet come down nearer or farther each time,
all on the one level floor: their heights there tell zero offsets of femur and tibia apart.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hexapod_dynamics.core._core import hull_margin
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.dynamics.checks import require_robot
from hexapod_dynamics.errors import HexapodError, IdentificationError, require_positive
from hexapod_dynamics.estimation.foot_loads import compute_feet
from hexapod_dynamics.identification.recording import Bins, Recording
from hexapod_dynamics.kinematics import LegKinematics
from hexapod_dynamics.robot import Leg, Robot
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

# Analysis: [s] between the set-points that are looked at, and of which it is asked what exercise they belong to.
EVERY, WINDOW = 0.1, 2.0


@dataclasses.dataclass(frozen=True, eq=False)
class Exercise:
    """Targets (T, n) [rad] at times (T,) [s], PERIOD apart."""

    time: Array
    targets: Array


def suspended_exercise(robot: Robot) -> Exercise:
    """Return the exercise for a robot that hangs; from its pose of rest back to it.

    Raises IdentificationError if a joint's limits leave no room.
    """
    model = WholeBodyModel(robot)
    rest = np.array([_middle(leg, k) for leg in robot.legs for k in range(len(leg.joints))])
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
    share, sign = time / WAVE_TIME, 1.0 if index % 2 else -1.0  # neighbours move apart
    slow, quick = np.sin(2.0 * np.pi * share / 0.6), 0.4 * np.sin(2.0 * np.pi * (share - 0.6) / 0.2)
    wave = sign * size * np.where(share < 0.6, slow, quick)
    return np.where((share >= 0.0) & (share < 1.0), wave, 0.0)


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
    require_robot(robot)
    require_positive({"seconds": seconds})
    time = np.arange(0.0, seconds, PERIOD)
    parts = max(1, round((seconds - 2.0 * EASE) / 19.3))  # [s] on one half of the legs, about
    length = (seconds - 2.0 * EASE) / parts
    if length < 2.0 * (EASE + FOOT_TIME) + ALL_STAND:
        raise IdentificationError(f"standing exercise: {seconds:g} s given, at least 12 s needed")
    share = np.zeros(len(time))  # of the motion of the body
    # Neighbours of one half begin at different reaches: errors that all have in common show only as the body tilts.
    places, groups = np.arange(len(robot.legs)) // 2 % 3 - 1, np.array([leg.tripod_group for leg in robot.legs])
    farther, height = np.tile(1.0 * places, (len(time), 1)), np.zeros((len(time), len(places)))
    for part in range(parts):
        begin = EASE + part * length
        end = begin + length - ALL_STAND
        share += _rise(np.minimum(time - begin - FOOT_TIME, end - FOOT_TIME - time) / EASE)
        over = _rise((time - begin - FOOT_TIME) / (length - ALL_STAND - 2.0 * FOOT_TIME))
        lifted = groups == 1 + part % 2
        # 30 mm: servos sag by 5 mm, offsets of 2 degrees lower a foot by 8 mm.
        height += 0.03 * np.outer(_rise(np.minimum(time - begin, end - time) / FOOT_TIME), lifted)
        steps = np.where(lifted, (places + 2) % 3 - 1 - places, 0)
        farther += np.outer(over, steps)
        places = places + steps
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
    targets, turns = [], np.array([rotation_rpy(*row[3:]) for row in pose])
    for k, leg in enumerate(robot.legs):
        kinematics, mount = LegKinematics.from_robot(robot, leg.name), leg.mount_rotation
        feet = leg.mount_position - HEIGHT * mount[:, 2] + np.outer(reach[:, k], mount[:, 0]) - pose[:, :3]
        feet[:, 2] += height[:, k]
        in_body = np.einsum("tji,tj->ti", turns, feet)
        targets.append([kinematics.inverse(kinematics.to_leg(foot)) for foot in in_body])
    return np.concatenate(targets, axis=1)


def _check_carried(robot: Robot, legs: list[Leg]) -> None:
    """Raise IdentificationError unless the centre of the body is well inside of the feet of these legs."""
    nearest = [leg.mount_position + leg.mount_rotation @ np.array([REACH - SPREAD, 0.0, 0.0]) for leg in legs]
    feet = np.array([foot[:2] for foot in nearest]).reshape(-1, 2)
    if len(legs) < 3 or hull_margin(feet, *np.asarray(robot.body.com)[:2]) < 0.04:  # [m]
        names = ", ".join(leg.name for leg in legs)
        raise IdentificationError(f"standing exercise: {robot.name} cannot stand on {names or 'no leg'} alone")


def _rise(x: Array) -> Array:
    """Smooth step from 0 at 0 to 1 at 1."""
    x = np.clip(x, 0.0, 1.0)
    return np.asarray(x * x * (3.0 - 2.0 * x), np.float64)


# ---- what set-points say ---------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Footing:
    """The set-points of a standing robot EVERY seconds: time (T,), which feet stand (T, legs), and acceleration of the
    IMU (T, 3) [m/s^2] in base_link axes.
    """

    time: Array
    stands: NDArray[np.bool_]
    acceleration: Array

    @classmethod
    def from_recording(cls, robot: Robot, recording: Recording) -> Footing:
        """Return the Footing of a recording."""
        model = WholeBodyModel(robot)
        time = np.arange(recording.command_time[0], recording.command_time[-1], EVERY) + recording.command_period
        angles = np.stack([recording.setpoints(time, joint) for joint in range(robot.joint_count)], axis=1)
        feet = compute_feet(robot, model, angles)[0]
        stands = np.array([find_standing_feet(row) for row in feet]).reshape(len(feet), len(robot.legs))
        turns, places = compute_body_poses(feet, stands)
        imu = places + turns @ np.asarray(robot.imu.position)
        acceleration = np.zeros_like(imu)
        acceleration[1:-1] = (imu[2:] - 2.0 * imu[1:-1] + imu[:-2]) / EVERY**2
        return cls(time, stands, np.einsum("tji,tj->ti", turns, acceleration))

    def find_always_standing(self, edges: Array) -> NDArray[np.bool_]:
        """Return which feet (B, legs) stand during the whole of each bin between `edges` (B + 1,) [s], and during
        0.3 s before and after it, because latency, sag and dead zone shift lift-off and landing.
        """
        begin = np.searchsorted(self.time, edges[:-1] - 0.3)
        end = np.searchsorted(self.time, edges[1:] + 0.3)
        return np.array([self.stands[i : max(j, i + 1)].all(axis=0) for i, j in zip(begin, end, strict=True)])

    def remove_acceleration(self, means: Bins, delay: float) -> Bins:
        """Return the means with the specific force of a body at rest: the acceleration of the body, which follows the
        set-points with a `delay` [s], is subtracted. A shift of 20 mm in 11 s tilts the measured upward direction by
        0.7 mrad.
        """
        moved = [np.interp(means.time, self.time + delay, self.acceleration[:, k]) for k in range(3)]
        return dataclasses.replace(means, specific_force=means.specific_force - np.stack(moved, axis=1))


def find_standing_feet(feet: Array) -> NDArray[np.bool_]:
    """Return which of the feet (legs, 3) [m] in base_link stand on a level floor, (legs,). The floor is the plane
    through three feet that has no foot below it and the body's origin above their triangle. If there is no such plane,
    no foot stands.
    """
    best, on_floor = -np.inf, np.zeros(len(feet), bool)
    for three in itertools.combinations(range(len(feet)), 3):
        corner, *others = feet[list(three)]
        sides = np.array(others) - corner
        normal = np.cross(*sides)
        size = float(np.linalg.norm(normal))
        if size < 1e-9:
            continue
        heights = (feet - corner) @ normal * (np.sign(normal[2]) / size)
        if heights.min() < -1e-6:
            continue
        shares = np.linalg.lstsq(sides.T, -corner, rcond=None)[0]  # barycentric, of the origin's foot point
        inside = float(min(*shares, 1.0 - shares.sum()))
        if inside > best:
            best, on_floor = inside, heights < 2e-3  # [m]
    return on_floor if best >= 0.0 else np.zeros(len(feet), bool)


def compute_body_poses(feet: Array, stands: NDArray[np.bool_], first: Array | None = None) -> tuple[Array, Array]:
    """Return the rotations (T, 3, 3) and positions (T, 3) [m] of a body, from its feet (T, legs, 3) [m] in base_link
    and from which of them stand (T, legs): a standing foot does not move over the floor.

    A foot that comes down stays at the place of its landing. If fewer than three feet stand in two successive samples,
    the body keeps its pose. first (3, 3): the first rotation, identity by default; the first position is the origin.
    """
    turns, places = np.empty((len(feet), 3, 3)), np.zeros((len(feet), 3))
    turns[0] = np.eye(3) if first is None else first
    floor = feet[0] @ turns[0].T
    for t in range(1, len(feet)):
        stay = stands[t] & stands[t - 1]
        turns[t], places[t] = turns[t - 1], places[t - 1]
        if stay.sum() >= 3:
            middle, centre = feet[t][stay].mean(axis=0), floor[stay].mean(axis=0)
            turns[t] = Rotation.align_vectors(floor[stay] - centre, feet[t][stay] - middle)[0].as_matrix()
            places[t] = centre - turns[t] @ middle
        floor = np.where(stay[:, None], floor, feet[t] @ turns[t].T + places[t])
    return turns, places


def split_exercises(robot: Robot, recording: Recording) -> tuple[Recording | None, Recording | None]:
    """Return the suspended and the standing part, None for a part that does not exist.

    Suspended: in windows of WINDOW at most one joint of each leg moves, and feet move against each other. Standing: a
    joint moves, and the same feet, three or more, stand all the while and move against each other by no more than
    2 mm. Walking is neither.
    """
    times = recording.command_time
    if len(times) < 2:
        return None, None
    model = WholeBodyModel(robot)
    edges = np.arange(times[0], times[-1], WINDOW)
    kinds = np.array([_kind(robot, model, recording, begin) for begin in edges])
    parts: list[Recording | None] = []
    for kind in ("suspended", "standing"):
        found = edges[kinds == kind]
        if len(found) == 0:
            parts.append(None)
            continue
        groups = np.split(found, np.flatnonzero(np.diff(found) > 6.0) + 1)  # [s] of other windows within an exercise
        longest = max(groups, key=lambda group: group[-1] - group[0])
        parts.append(recording.select_between(longest[0] - 0.5 * WINDOW, longest[-1] + 1.5 * WINDOW))
    return parts[0], parts[1]


def _kind(robot: Robot, model: WholeBodyModel, recording: Recording, begin: float) -> str:
    """Return the kind of a window: suspended, standing, or other."""
    inside = (recording.command_time >= begin) & (recording.command_time < begin + WINDOW)
    rows = recording.commands[inside][::5]
    if len(rows) < 3:
        return ""
    moves = np.ptp(rows, axis=0) > 0.02  # [rad]
    if not moves.any():
        return ""
    feet = compute_feet(robot, model, rows)[0]
    stand = np.all([find_standing_feet(row) for row in feet], axis=0)
    some = feet[:, stand]
    distances = np.linalg.norm(some[:, :, None] - some[:, None], axis=-1)
    if stand.sum() >= 3 and np.ptp(distances, axis=0).max() <= 2e-3:
        return "standing"
    single = all(moves[list(robot.leg_joints(leg.name))].sum() <= 1 for leg in robot.legs)
    return "suspended" if single else ""
