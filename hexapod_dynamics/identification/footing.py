"""What the set-points alone say: which feet stand, how the body is accelerated over them, and which part of a recording
is a suspended or a standing exercise.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.estimation.foot_loads import feet_and_jacobians
from hexapod_dynamics.identification.recording import Means, Recording
from hexapod_dynamics.robot import Robot

Array = NDArray[np.float64]
EVERY = 0.1  # [s] between the set-points that are looked at
WINDOW = 2.0  # [s] of which it is asked what exercise it belongs to


@dataclasses.dataclass(frozen=True, eq=False)
class Footing:
    """The set-points of a standing robot EVERY seconds: time (T,), which feet stand (T, legs), and acceleration of the
    IMU (T, 3) [m/s^2] in base_link axes.
    """

    time: Array
    stands: NDArray[np.bool_]
    acceleration: Array

    @classmethod
    def of(cls, robot: Robot, recording: Recording) -> Footing:
        """Return the Footing of a recording."""
        model = WholeBodyModel(robot)
        time = np.arange(recording.command_time[0], recording.command_time[-1], EVERY) + recording.command_period
        angles = np.stack([recording.setpoints(time, joint) for joint in range(robot.joint_count)], axis=1)
        feet = feet_and_jacobians(robot, model, angles)[0]
        stands = np.array([standing_feet(row) for row in feet]).reshape(len(feet), len(robot.legs))
        turns, places = body_over_feet(feet, stands)
        imu = places + turns @ np.asarray(robot.imu.position)
        acceleration = np.zeros_like(imu)
        acceleration[1:-1] = (imu[2:] - 2.0 * imu[1:-1] + imu[:-2]) / EVERY**2
        return cls(time, stands, np.einsum("tji,tj->ti", turns, acceleration))

    def all_the_while(self, edges: Array) -> NDArray[np.bool_]:
        """Return which feet (B, legs) stand during the whole of each bin between `edges` (B + 1,) [s], and during
        0.3 s before and after it, because latency, sag and dead zone shift lift-off and landing.
        """
        begin = np.searchsorted(self.time, edges[:-1] - 0.3)
        end = np.searchsorted(self.time, edges[1:] + 0.3)
        return np.array([self.stands[i : max(j, i + 1)].all(axis=0) for i, j in zip(begin, end, strict=True)])

    def at_rest(self, means: Means, delay: float) -> Means:
        """Return the means with the specific force of a body at rest: the acceleration of the body, which follows the
        set-points with a `delay` [s], is subtracted. A shift of 20 mm in 11 s tilts the measured upward direction by
        0.7 mrad.
        """
        moved = [np.interp(means.time, self.time + delay, self.acceleration[:, k]) for k in range(3)]
        return dataclasses.replace(means, specific_force=means.specific_force - np.stack(moved, axis=1))


def standing_feet(feet: Array) -> NDArray[np.bool_]:
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


def body_over_feet(feet: Array, stands: NDArray[np.bool_], first: Array | None = None) -> tuple[Array, Array]:
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


def split(robot: Robot, recording: Recording) -> tuple[Recording | None, Recording | None]:
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
        parts.append(recording.between(longest[0] - 0.5 * WINDOW, longest[-1] + 1.5 * WINDOW))
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
    feet = feet_and_jacobians(robot, model, rows)[0]
    stand = np.all([standing_feet(row) for row in feet], axis=0)
    some = feet[:, stand]
    distances = np.linalg.norm(some[:, :, None] - some[:, None], axis=-1)
    if stand.sum() >= 3 and np.ptp(distances, axis=0).max() <= 2e-3:
        return "standing"
    single = all(moves[list(robot.leg_joints(leg.name))].sum() <= 1 for leg in robot.legs)
    return "suspended" if single else ""
