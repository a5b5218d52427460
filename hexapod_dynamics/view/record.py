"""Data of a walk, from a bag or from a Simulator's Log, as arrays to draw."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hexapod_dynamics.control.support import FORCE_SCALE, LOADED
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.simulation.trajectory import Log

if TYPE_CHECKING:
    from hexapod_dynamics.identification.bag import Message

Array = NDArray[np.float64]
ADD = 0  # action of a visualization_msgs/Marker
LIFTED = 0.004  # [m] a foot at most this high over the lowest one stands


@dataclass(eq=False)
class Track:
    """The motion of the body: time (T,) [s], position (T, 3) [m], quaternion (T, 4) (x, y, z, w)."""

    time: Array
    position: Array
    quaternion: Array

    @property
    def tilt(self) -> Array:
        """Angle (T,) [deg] between the body's z axis and the vertical."""
        up = Rotation.from_quat(self.quaternion).as_matrix()[:, 2, 2]
        return np.degrees(np.arccos(np.clip(up, -1.0, 1.0)))


@dataclass(eq=False)
class Joints:
    """Joint angles: time (T,) [s], names, position (T, n) [rad or m], NaN if a joint has no value."""

    time: Array
    names: tuple[str, ...]
    position: Array


@dataclass(eq=False)
class Record:
    """A walk: `true` and `predicted` motion, `measured` and `commanded` joints; None if nothing was recorded.

    events: (time [s], text) in order: real damage ("broken: RM missing") and damage declared to the software
    ("declared: RM missing"). foot_forces: (legs, time (T,) [s], vertical force (T, legs) [N]); the true forces in
    a Log, the predicted ones in a bag (`forces_predicted`).
    """

    true: Track | None = None
    predicted: Track | None = None
    measured: Joints | None = None
    commanded: Joints | None = None
    events: list[tuple[float, str]] = field(default_factory=list)
    foot_forces: tuple[tuple[str, ...], Array, Array] | None = None
    forces_predicted: bool = False

    def standing(self, robot: Robot) -> tuple[tuple[str, ...], Array, NDArray[np.bool_]] | None:
        """Legs, times (T,) [s] and whether each foot stands (T, legs); None without the data.

        Computed from the true foot forces if there are any, else from the joints and the body's attitude: a foot
        at most 4 mm over the lowest one stands. A leg is considered lost if one of its joints has no value.
        """
        if self.foot_forces is not None and not self.forces_predicted:
            legs, time, forces = self.foot_forces
            return legs, time, forces > LOADED
        track, joints = self.true or self.predicted, self.measured
        if track is None or joints is None or len(track.time) == 0 or len(joints.time) == 0:
            return None
        nearest = np.clip(np.searchsorted(track.time, joints.time), 0, len(track.time) - 1)
        turns = Rotation.from_quat(track.quaternion[nearest]).as_matrix()
        tree, heights = LinkTree(robot), np.empty((len(joints.time), len(robot.legs)))
        for k, row in enumerate(joints.position):
            poses = tree.base_poses(np.nan_to_num(row))
            lost = [bool(np.isnan(row[list(robot.leg_joints(leg))]).any()) for leg in robot.leg_names]
            feet = [turns[k, 2] @ poses[f"foot_{leg}"][:3, 3] for leg in robot.leg_names]
            heights[k] = np.where(lost, np.inf, feet)
        return robot.leg_names, joints.time, heights - heights.min(axis=1, keepdims=True) < LIFTED


def from_log(log: Log, robot: Robot | None = None) -> Record:
    """Return the Record of a Log; robot: that of the log, by default the JetHexa. HexapodError if the joints do
    not fit.
    """
    robot = Robot.jethexa() if robot is None else robot
    if log.joint_positions.shape[1] != robot.joint_count:
        raise HexapodError(f"the log has {log.joint_positions.shape[1]} joints, {robot!r} has {robot.joint_count}")
    names = robot.joint_names
    return Record(
        true=Track(log.time, log.position, Rotation.from_matrix(log.rotation).as_quat()),
        measured=Joints(log.time, names, log.joint_positions),
        commanded=Joints(log.time, names, log.setpoints),
        foot_forces=(robot.leg_names, log.time, log.foot_forces[:, :, 2]),
    )


def from_bag(path: Path, robot: Robot | None = None) -> Record:
    """Return the Record of a rosbag2 folder with topics of this package. HexapodError if it is no bag, or has none
    of them.
    """
    from hexapod_dynamics.identification.bag import read_messages

    robot = Robot.jethexa() if robot is None else robot
    rows = _Rows()
    if not read_messages(path, TOPICS, rows.add):
        raise HexapodError(f"{path}: none of {', '.join(TOPICS)} is in this bag")
    return rows.record(robot)


MORPHOLOGIES = {"simulator/damage": "broken", "morphology": "declared"}
TOPICS = ("simulator/odom", "predicted_state", "joint_states", "joint_commands", "support", *MORPHOLOGIES)


def _time(message: Message, received: int) -> float:
    """Time [s] of a message: its stamp, or its arrival [ns] if it has no stamp."""
    head = message if hasattr(message, "stamp") else getattr(message, "header", None)
    if head is None and getattr(message, "markers", None):
        head = message.markers[0].header
    if head is None or head.stamp.sec == 0:
        return received * 1e-9
    return head.stamp.sec + 1e-9 * head.stamp.nanosec


class _Rows:
    """Rows by topic while a bag is read."""

    def __init__(self) -> None:
        self._rows: dict[str, list] = {kind: [] for kind in TOPICS}

    def add(self, kind: str, received: int, message: Message) -> None:
        t = _time(message, received)
        if kind in ("simulator/odom", "predicted_state"):
            p, o = message.pose.pose.position, message.pose.pose.orientation
            self._rows[kind].append((t, p.x, p.y, p.z, o.x, o.y, o.z, o.w))
        elif kind in ("joint_states", "joint_commands"):
            self._rows[kind].append((t, dict(zip(message.name, message.position, strict=False))))
        elif kind == "support":
            arrows = [m for m in message.markers if m.ns == "foot_forces" and m.action == ADD]
            self._rows[kind].append((t, {m.id: (m.points[1].z - m.points[0].z) / FORCE_SCALE for m in arrows}))
        else:
            values = {
                p.name: p.value.bool_value if p.value.type == 1 else p.value.double_value
                for p in message.new_parameters
            }
            self._rows[kind].append((t, values))

    def record(self, robot: Robot) -> Record:
        times = [row[0] for rows in self._rows.values() for row in rows]
        if not times:
            raise HexapodError("the bag has no messages")
        moving = [row[0] for kind, rows in self._rows.items() if kind not in MORPHOLOGIES for row in rows]
        start = min(moving or times)  # a latched morphology is older than the bag
        return Record(
            true=self._track("simulator/odom", start),
            predicted=self._track("predicted_state", start),
            measured=self._joints("joint_states", start, robot),
            commanded=self._joints("joint_commands", start, robot),
            events=self._events(start, robot),
            foot_forces=self._forces(start, robot),
            forces_predicted=True,
        )

    def _track(self, kind: str, start: float) -> Track | None:
        rows = np.array(self._rows[kind])
        return Track(rows[:, 0] - start, rows[:, 1:4], rows[:, 4:]) if len(rows) else None

    def _joints(self, kind: str, start: float, robot: Robot) -> Joints | None:
        rows = self._rows[kind]
        if not rows:
            return None
        position = np.array([[values.get(name, np.nan) for name in robot.joint_names] for _, values in rows])
        return Joints(np.array([t for t, _ in rows]) - start, robot.joint_names, position)

    def _forces(self, start: float, robot: Robot) -> tuple[tuple[str, ...], Array, Array] | None:
        rows = self._rows["support"]
        if not rows:
            return None
        forces = np.array([[values.get(k, 0.0) for k in range(len(robot.legs))] for _, values in rows])
        return robot.leg_names, np.array([t for t, _ in rows]) - start, forces

    def _events(self, start: float, robot: Robot) -> list[tuple[float, str]]:
        events = []
        for topic, what in MORPHOLOGIES.items():
            before = Morphology.whole(robot)
            for t, values in self._rows[topic]:
                morphology = Morphology.from_parameters(robot, values)
                if morphology != before:
                    events.append((max(t - start, 0.0), f"{what}: {morphology.describe()}"))
                before = morphology
        return sorted(events)
