"""Data of a walk, from a bag or from a Simulator's Log, as arrays to draw."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hexapod_dynamics.control.support import FORCE_SCALE, STANDING_LOAD
from hexapod_dynamics.errors import HexapodError, RecordingWarning
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree
from hexapod_dynamics.simulation.trajectory import Log

if TYPE_CHECKING:
    from hexapod_dynamics.identification.bag import Message

Array = NDArray[np.float64]
MORPHOLOGIES = {"simulator/damage": "broken", "morphology": "declared"}  # topics, and what an event of them is called
TOPICS = {  # and their types
    **dict.fromkeys(("simulator/odom", "predicted_state"), "nav_msgs/msg/Odometry"),
    **dict.fromkeys(("joint_states", "joint_commands"), "sensor_msgs/msg/JointState"),
    "support": "visualization_msgs/msg/MarkerArray",
    **dict.fromkeys(MORPHOLOGIES, "rcl_interfaces/msg/ParameterEvent"),
}


class Series(NamedTuple):
    """Values over time: time (T,) [s], values (T, n) of joints or legs in the robot's order, NaN without a value."""

    time: Array
    values: Array


class Track(NamedTuple):
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
class Record:
    """A walk: `true` and `predicted` motion, `measured` and `commanded` joints; None if nothing was recorded.

    events: (time [s], text) in order: real damage ("broken: RM missing") and damage declared to the software
    ("declared: RM missing"). foot_forces: vertical [N]; the true forces in a Log, the predicted ones in a bag
    (`forces_predicted`).
    """

    robot: Robot
    true: Track | None = None
    predicted: Track | None = None
    measured: Series | None = None
    commanded: Series | None = None
    events: list[tuple[float, str]] = field(default_factory=list)
    foot_forces: Series | None = None
    forces_predicted: bool = False

    def __repr__(self) -> str:
        """Tell what is in it, not its numbers."""
        parts = {name: getattr(self, name) for name in ("true", "predicted", "measured", "commanded", "foot_forces")}
        counts = [f"{name} {len(part.time)}" for name, part in parts.items() if part is not None]
        return f"Record({self.robot!r}, {', '.join([*counts, f'events {len(self.events)}'])})"

    def find_standing(self) -> tuple[Array, NDArray[np.bool_]] | None:
        """Times (T,) [s] and whether each foot stands (T, legs); None without the data.

        Computed from the true foot forces if there are any, else from the joints and the body's attitude: a foot
        at most 4 mm over the lowest one stands. A leg is considered lost if one of its joints has no value.
        """
        if self.foot_forces is not None and not self.forces_predicted:
            return self.foot_forces.time, self.foot_forces.values > STANDING_LOAD
        track, joints, legs = self.true or self.predicted, self.measured, self.robot.leg_names
        if track is None or joints is None or len(track.time) == 0 or len(joints.time) == 0:
            return None
        nearest = np.clip(np.searchsorted(track.time, joints.time), 0, len(track.time) - 1)
        turns = Rotation.from_quat(track.quaternion[nearest]).as_matrix()
        tree, heights = LinkTree(self.robot), np.empty((len(joints.time), len(legs)))
        for k, row in enumerate(joints.values):
            poses = tree.base_poses(np.nan_to_num(row))
            lost = [bool(np.isnan(row[list(self.robot.leg_joints(leg))]).any()) for leg in legs]
            heights[k] = np.where(lost, np.inf, [turns[k, 2] @ poses[f"foot_{leg}"][:3, 3] for leg in legs])
        return joints.time, heights < heights.min(axis=1, keepdims=True) + 0.004


def from_log(log: Log, robot: Robot | None = None) -> Record:
    """Return the Record of a Log of this robot, by default the JetHexa. HexapodError if the joints do not fit."""
    robot = Robot.jethexa() if robot is None else robot
    if log.joint_positions.shape[1] != robot.joint_count:
        raise HexapodError(f"the log has {log.joint_positions.shape[1]} joints, {robot!r} has {robot.joint_count}")
    return Record(
        robot,
        true=Track(log.time, log.position, Rotation.from_matrix(log.rotation).as_quat()),
        measured=Series(log.time, log.joint_positions),
        commanded=Series(log.time, log.setpoints),
        foot_forces=Series(log.time, log.foot_forces[:, :, 2]),
    )


def from_bag(path: Path, robot: Robot | None = None) -> Record:
    """Return the Record of a rosbag2 folder with topics of this package. HexapodError if there is none, or no bag."""
    from hexapod_dynamics.identification.bag import read_topics

    robot = Robot.jethexa() if robot is None else robot
    found = read_topics(path, TOPICS, needed=(TOPICS,), latched=MORPHOLOGIES, convert=partial(_values, robot))

    def series(topic: str) -> Series | None:
        rows = [row for row in found[topic] if not np.isnan(row[1]).all()]
        if empty := len(found[topic]) - len(rows):
            lacking = f"joint of {robot.name}" if topic.startswith("joint_") else "attitude"
            said = f"{empty} of {len(found[topic])} messages of {topic} have no {lacking}: they are left out"
            warnings.warn(f"{path.name}: {said}", RecordingWarning, stacklevel=3)
        return Series(*map(np.array, zip(*rows, strict=True))) if rows else None

    def track(topic: str) -> Track | None:
        moved = series(topic)
        return None if moved is None else Track(moved.time, moved.values[:, :3], moved.values[:, 3:])

    return Record(
        robot,
        true=track("simulator/odom"),
        predicted=track("predicted_state"),
        measured=series("joint_states"),
        commanded=series("joint_commands"),
        events=_events(robot, found),
        foot_forces=series("support"),
        forces_predicted=True,
    )


def _values(robot: Robot, topic: str, message: Message) -> list[float] | dict[str, bool | float]:
    """Return the contents of a message: a pose, angles of the joints, forces of the legs, or values of a morphology."""
    if topic in MORPHOLOGIES:
        named = ((p.name, p.value) for p in message.new_parameters)
        return {name: value.bool_value if value.type == 1 else value.double_value for name, value in named}
    if topic == "support":
        arrows = [m for m in message.markers if m.ns == "foot_forces" and m.action == 0]  # ADD
        forces = {m.id: (m.points[1].z - m.points[0].z) / FORCE_SCALE for m in arrows}
        return [forces.get(k, 0.0) for k in range(len(robot.legs))]
    if topic.startswith("joint_"):
        angles = dict(zip(message.name, message.position, strict=False))
        return [angles.get(name, np.nan) for name in robot.joint_names]
    p, o = message.pose.pose.position, message.pose.pose.orientation
    pose = [p.x, p.y, p.z, o.x, o.y, o.z, o.w]
    return pose if np.isfinite(pose).all() and any(pose[3:]) else [np.nan] * len(pose)  # no attitude


def _events(robot: Robot, found: Mapping[str, list[tuple[float, dict[str, bool | float]]]]) -> list[tuple[float, str]]:
    """Return the changes of the morphologies as (time [s], text) in order."""
    events = []
    for topic, what in MORPHOLOGIES.items():
        before = Morphology.whole(robot)
        for time, values in found[topic]:
            morphology = Morphology.from_parameters(robot, values)
            if morphology != before:
                events.append((max(time, 0.0), f"{what}: {morphology.describe()}"))
            before = morphology
    return sorted(events)
