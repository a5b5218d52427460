"""Input of identification and score: what was commanded and measured during one motion, as arrays with their times."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binned_statistic

from hexapod_dynamics.array_checks import as_floats
from hexapod_dynamics.errors import IdentificationError, require_positive
from hexapod_dynamics.estimation.foot_loads import turn_upright
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.servo_map import ServoMap

Array = NDArray[np.float64]
# The arrays of a Recording that have the same times, which are the first of them.
GROUPS = {
    "command": ("command_time", "commands"),
    "reading": ("reading_time", "reading_joint", "readings"),
    "imu": ("imu_time", "specific_force", "angular_rate"),
    "attitude": ("attitude_time", "attitude"),
    "torque": ("torque_time", "torques"),
}
# Sizes of each sample, by name; n: any. Those of the others are numbers.
SIZES: dict[str, tuple[int | str, ...]] = {
    "commands": ("n",),
    "specific_force": (3,),
    "angular_rate": (3,),
    "attitude": (3, 3),
    "torques": ("n",),
}


@dataclass(frozen=True, eq=False)
class Recording:
    """A motion; all times are seconds on one clock.

    command_time (C,), commands (C, n) [rad]: targets as they were sent, each reached `command_period` [s] later;
    reading_time (M,), reading_joint (M,) and readings (M,) [rad]: every single reading of a servo; imu_time (I,),
    specific_force (I, 3) [m/s^2] and angular_rate (I, 3) [rad/s] in base_link axes as the robot file mounts the IMU.
    For `score`: attitude_time (A,), attitude (A, 3, 3) world <- base_link, torque_time (F,) and torques (F, n) [N m],
    fed forward. IMU, attitudes and torques: none by default. Raises IdentificationError for arrays that do not fit.
    """

    command_time: Array
    commands: Array
    reading_time: Array
    reading_joint: NDArray[np.intp]
    readings: Array
    imu_time: Array = field(default_factory=lambda: np.zeros(0))
    specific_force: Array = field(default_factory=lambda: np.zeros((0, 3)))
    angular_rate: Array = field(default_factory=lambda: np.zeros((0, 3)))
    command_period: float = 0.02
    attitude_time: Array = field(default_factory=lambda: np.zeros(0))
    attitude: Array = field(default_factory=lambda: np.zeros((0, 3, 3)))
    torque_time: Array = field(default_factory=lambda: np.zeros(0))
    torques: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def __repr__(self) -> str:
        """Tell the size of the motion, not its numbers."""
        sizes = (f"{group} {len(getattr(self, times))}" for group, (times, *_) in GROUPS.items())
        return f"Recording({', '.join(sizes)})"

    def __post_init__(self) -> None:
        require_positive({"command_period": self.command_period}, IdentificationError, zero=True)
        for group, names in GROUPS.items():
            times, *others = (self._convert(name) for name in names)
            if any(len(other) != len(times) for other in others):
                raise IdentificationError(f"{group}: as many values as times needed, {len(times)} times given")
            if not all(np.isfinite(values).all() for values in (times, *others)):
                raise IdentificationError(f"{group}: a value is not finite; leave such samples out")
            if np.any(np.diff(times) < 0.0):
                raise IdentificationError(f"{group}: times go back; sort the samples by time")
        object.__setattr__(self, "reading_joint", self.reading_joint.astype(np.intp))

    def _convert(self, name: str) -> Array:
        """Store the values of this name as an array of its shape, and return them."""
        sizes = SIZES.get(name, ())
        needed = f"({', '.join(map(str, ('N', *sizes)))}) needed"
        values = as_floats(name, getattr(self, name), f"{{value}} given, numbers of shape {needed}")
        given = values.shape[1:]
        if len(given) != len(sizes) or any(size not in ("n", has) for size, has in zip(sizes, given, strict=True)):
            raise IdentificationError(f"{name}: shape {values.shape} given, {needed}")
        object.__setattr__(self, name, values)
        return values

    def check(self, robot: Robot, what: str) -> None:
        """Raise IdentificationError unless this is `what` ("a suspended exercise") of the robot, long enough."""
        if self.commands.shape[1] != robot.joint_count:
            raise IdentificationError(
                f"commands: shape {self.commands.shape} given, {robot.name} has {robot.joint_count} joints"
            )
        if ((self.reading_joint < 0) | (self.reading_joint >= robot.joint_count)).any():
            raise IdentificationError(f"reading_joint: indices of 0 to {robot.joint_count - 1} needed")
        for name, times in (("commands", self.command_time), ("joint readings", self.reading_time)):
            length = float(times[-1] - times[0]) if len(times) else 0.0
            if length < 10.0:
                raise IdentificationError(f"{what}: {length:.1f} s of {name}, at least 10 s needed")

    def with_quantised_commands(self, robot: Robot) -> Recording:
        """The recording with the commands as the servos get them, in whole counts; as it is if the robot file has no
        servo ids.
        """
        if any(joint.servo_id is None for joint in robot.joints):
            return self
        return replace(self, commands=ServoMap.from_robot(robot).quantise(self.commands))

    def select_between(self, begin: float, end: float) -> Recording:
        """The part of the recording within these times [s]."""
        groups = list(GROUPS.values())  # each begins with its times
        parts = [slice(*np.searchsorted(getattr(self, names[0]), (begin, end))) for names in groups]
        kept = [(name, part) for names, part in zip(groups, parts, strict=True) for name in names]
        return replace(self, **{name: getattr(self, name)[part] for name, part in kept})

    def mean_attitude(self) -> Array:
        """Rotation (3, 3) world <- base_link, without yaw, that the mean specific force shows; level without an IMU."""
        return turn_upright(self.specific_force.mean(axis=0)) if len(self.imu_time) else np.eye(3)

    def setpoints(self, times: Array, joint: int) -> Array:
        """Set-points (T,) [rad] of a joint at times (T,), without latency: each target is reached uniformly."""
        return np.interp(times, self.command_time + self.command_period, self.commands[:, joint])

    def find_own_motion(self, robot: Robot, joint: int) -> NDArray[np.intp]:
        """Return the indices (K,) of the commands after which this joint moves, in its longest motion during which no
        other joint of its leg moves; empty if there is none.
        """
        moves = np.abs(np.diff(self.commands, axis=0)) > 1e-6  # [rad] which no joint that stands does
        leg = next(robot.leg_joints(leg.name) for leg in robot.legs if joint in robot.leg_joints(leg.name))
        others = moves[:, [other for other in leg if other != joint]].any(axis=1)
        own = np.flatnonzero(moves[:, joint] & ~others)
        parts = np.split(own, np.flatnonzero(np.diff(np.cumsum(others)[own])) + 1)
        return max(parts, key=lambda part: float(np.abs(np.diff(self.commands[:, joint]))[part].sum()))

    def compute_means(self, edges: Array, delay: Array, play: Array) -> Bins:
        """Means over the bins between `edges` (B + 1,) [s]; delay (n,) [s]: latency of each joint's set-point; play
        (n,) [rad]: how far a joint leads its encoder.
        """
        middle, span = 0.5 * (edges[1:] + edges[:-1]), 0.02  # [s] over which a set-point's rate is taken
        bins, n = len(edges) - 1, self.commands.shape[1]
        angle, lead, rate = np.full((3, bins, n), np.nan)
        count, force = np.zeros((bins, n)), np.full((bins, 3), np.nan)
        for joint in np.unique(self.reading_joint).tolist():
            mine = self.reading_joint == joint
            times, values = self.reading_time[mine], self.readings[mine]
            wanted = self.setpoints(times - delay[joint], joint)
            before = self.setpoints(times - delay[joint] - span, joint)
            # Readings are not evenly spread over a bin, in which the joint moves by up to 0.1 rad; its lag is even.
            lag = wanted - values - play[joint] * find_side_of_play(times, values)
            means = binned_statistic(times, [wanted - values, (wanted - before) / span, lag], "mean", edges).statistic
            lead[:, joint], rate[:, joint], behind = means
            angle[:, joint] = self.setpoints(middle - delay[joint], joint) - behind
            count[:, joint] = np.histogram(times, edges)[0]
        if len(self.imu_time):
            force = binned_statistic(self.imu_time, self.specific_force.T, "mean", edges).statistic.T
        return Bins(middle, angle, lead, rate, count, force)


@dataclass(frozen=True, eq=False)
class Bins:
    """Means over B bins: time (B,), the joints' angle in the middle of the bin, its play included, set-point less
    reading, set-point's rate and number of readings (B, n), specific_force (B, 3); NaN if a bin has none.
    """

    time: Array
    angle: Array
    lead: Array
    rate: Array
    count: Array
    specific_force: Array

    def find_complete(self) -> NDArray[np.bool_]:
        """Bins (B,) in which every joint and the IMU were read."""
        return np.asarray((self.count > 0).all(axis=1) & np.isfinite(self.specific_force).all(axis=1), np.bool_)

    def select(self, chosen: NDArray[np.bool_]) -> Bins:
        """The bins that are chosen (B,)."""
        return Bins(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def find_side_of_play(times: Array, readings: Array) -> Array:
    """On which side of its play a joint is (M,), from -1 to 1, at its readings (M,), which follow it with that play.

    While a reading rises, the joint is a play above it; before it falls, the joint crosses the play, unseen: evenly.
    """
    moves = np.flatnonzero(np.diff(readings))
    if len(moves) == 0:
        return np.zeros(len(readings))
    return np.interp(times, 0.5 * (times[moves] + times[moves + 1]), np.sign(readings[moves + 1] - readings[moves]))
