"""State observer: the whole-body model under the commands of the servos, corrected by measurements.

    commands --> guard --> counts --> servo set-points --+--> model step --> pose, twist, joints (predicted)
                                                          |        ^  speed factor: way, by dead band and yaw
    measured joints --> JointFilter: set-point offsets ---+        |
                    --> DeadBandFilter: the servos' dead band -----+
    IMU attitude ----> AttitudeFilter: small turns of the body ----+

The model is the simulator's own step: the same servos, contacts and bodies. No sensor measures x and y: they are
open-loop; yaw comes from the model and the gyroscope.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hexapod_dynamics.control.pose_guard import COMMAND_TIMEOUT, PoseGuard
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.estimation.commands import CommandHistory
from hexapod_dynamics.estimation.dead_band import DeadBandFilter
from hexapod_dynamics.estimation.filters import AttitudeFilter, JointFilter, TimedBuffer
from hexapod_dynamics.estimation.innovation_check import InnovationTest
from hexapod_dynamics.estimation.pose_uncertainty import PoseUncertainty, Spread
from hexapod_dynamics.estimation.speed_factor import SpeedFactor
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.servo_counts import ServoCounts
from hexapod_dynamics.se3 import euler_zyx, roll_pitch_yaw, rotation_from_vector, rotation_z
from hexapod_dynamics.simulation import Predictor
from hexapod_dynamics.simulation.returned_parts import place_returned

# A model that is late by more than this [s] skips the rest.
LONGEST_CATCH_UP = 0.5
# A model whose tilt differs by more than this [rad] from the IMU's for so long [s] has tumbled where the robot has not
# (or the reverse): contacts hold it there against the corrections, so it starts again from what is measured.
LOST_TILT, LOST_FOR = 0.6, 0.5
# Attitudes further apart than this [s] come from a stall, after which model and robot differ by what was missed: no
# slope is learnt from that.
EVEN = 0.05
# Mean tilts up to this [rad] have other reasons: the IMU's mounting and offsets, joints that play.
PLAY = 0.005
# The slope turns no faster than STEEPENING [rad/s]. A change of the morphology is declared late, and what the body did
# between its loss and its declaration is no slope: the ground turns back, at RECALLING [rad/s], to the slope of
# SLOPES_KEPT periods before.
STEEPENING, RECALLING, SLOPES_KEPT = 0.0175, 0.1, 4
# On its belly (the body's underside nearer to the ground than BELLY [m]), and for a while [s] after it, the body's tilt
# is not that of a slope under the feet; neither is it for as long after a change of the morphology.
BELLY, STANDING_UP = 0.03, 4.0
# The model takes over the learnt dead band, and the slope is remembered, this often [s]. The band is at most so many
# counts of the servos.
PERIOD, WIDEST_BAND = 1.0, 4.0


@dataclass(frozen=True)
class Gains:
    """Gains of the corrections [1/s]: of the set-point offsets by the joints; of tilt, yaw and the slope of the ground
    by the IMU.
    """

    joint: float = 2.0
    tilt: float = 2.0
    yaw: float = 2.0
    slope: float = 1.0


class Observer:
    """Estimates the state of the robot in real time; all times are seconds on one clock that the caller chooses.

    Args:
        robot: Robot.
        gains: Gains.
        command_delay: from a command's arrival to the servos' start, mostly the bus' time for 18 moves [s].
        command_period: time in which a servo goes to its target [s].
        guard: GuardSettings of the servos, by which they bound the commands.
        patience: how long the start waits for joints and an attitude once something is measured [s].
        silence: time [s] without joint measurements after which commands are not executed: the model holds its joints.
        pause: time [s] without commands after which the servos approach the next ones slowly.
        timestep: of the model [s].
        horizon, horizon_period, horizon_timestep: how far `look_ahead` looks, in which pieces, at which step [s].
        spread: standard deviations of which the covariance is made, a Spread by default.

    The model's arrays `position`, `rotation`, `q`, `nu` may be read; they are undefined before `started`.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        gains: Any = None,
        command_delay: float = 0.017,
        command_period: float = 0.02,
        guard: Any = None,
        patience: float = 5.0,
        silence: float = 0.4,
        pause: float = COMMAND_TIMEOUT,
        timestep: float = 1e-3,
        horizon: float = 0.5,
        horizon_period: float = 0.02,
        horizon_timestep: float = 5e-3,
        spread: Spread | None = None,
    ) -> None:
        gains = self.gains = gains or Gains()
        joints = [joint for leg in robot.legs for joint in leg.joints]
        self.robot, self.count = robot, robot.joint_count
        self.delay, self.period, self.patience, self.silence = command_delay, command_period, patience, silence
        self.pause = pause
        self.model = Predictor(
            robot,
            timestep=timestep,
            horizon_steps=round(horizon / horizon_period),
            horizon_period=horizon_period,
            horizon_timestep=horizon_timestep,
        )
        self.position, self.rotation, self.q, self.nu = (
            self.model.position,
            self.model.rotation,
            self.model.q,
            self.model.nu,
        )
        self.guard = PoseGuard([j.lower for j in joints], [j.upper for j in joints], robot.servo.stiffness, guard)
        self.servos = ServoCounts.from_robot(robot) if all(j.servo_id is not None for j in joints) else None
        self.history = CommandHistory(self.count, period=command_period)
        self.joint_filter = JointFilter(self.count, gain=gains.joint)
        self.attitude_filter = AttitudeFilter(tilt_gain=gains.tilt, yaw_gain=gains.yaw)
        self.dead_band = DeadBandFilter(self.count, WIDEST_BAND * robot.servo.resolution)
        # Joints whose load is mostly weight: those that turn about a vertical axis push against each other only.
        self._bears = [j.kind == "revolute" and abs(j.axis[2]) < 0.5 for j in joints]
        self._slopes: deque[np.ndarray] = deque(maxlen=SLOPES_KEPT)
        self._recalled: np.ndarray | None = None  # the slope to which the ground turns back
        self._learnt_at = -np.inf  # of the last such period
        self._adopt(Morphology.whole(robot))
        self.commanded = np.full(self.count, np.nan)
        self.commanded_rate = np.zeros(self.count)
        self.skipped = 0.0
        self._ahead = np.arange(1, round(horizon / horizon_period) + 1) * horizon_period
        self._future = np.zeros((self._ahead.size, self.count))
        self._joints, self._rotations = TimedBuffer((self.count,)), TimedBuffer((3, 3))
        self._springs = TimedBuffer(
            (2, self.count)
        )  # set-points without learnt offsets, stretches of the springs [rad]
        self._pending: deque[tuple] = deque()
        self._targets = np.zeros(self.count)
        self._reach: float | None = None  # the targets are to be sent with the next step
        self._torques = np.zeros(self.count)
        self._generation = np.zeros(self.count, np.int64)
        self.following = True  # the servos execute the commands
        self._trims = np.zeros(self.count)  # set-point offsets when they last did
        self._returning: set[int] = set()  # joints that came back and have not been measured since
        self._attitude: np.ndarray | None = None
        self._attitude_time = -np.inf
        self._command_time = self._joints_time = -np.inf
        self._origin = (np.zeros(2), 0.0)
        self._first: float | None = None  # time at which the first joint was known
        self.time: float | None = None
        self.speed_factor, self._band = SpeedFactor(), 0.0  # learnt dead band [rad]
        self.uncertainty = PoseUncertainty(spread)
        self.doubts = InnovationTest(robot.joint_names)
        self.confidence = ("ok", "")  # "ok", "warn" or "error", and what is in doubt
        self._low, self._low_at = 0.5 * float(robot.body.box[2]) + BELLY, -np.inf
        self._fits_at = np.inf  # time of the last attitude that the model agreed with
        self.restarts = 0  # because the model had tumbled
        self._before: tuple[list[float], float] = ([0.0, 0.0], 0.0)  # position and time of the last covariance

    @property
    def covariance(self) -> np.ndarray:
        """Covariance (6, 6) of x, y, z [m], roll, pitch, yaw [rad] in world axes."""
        return self.uncertainty.pose

    @property
    def started(self) -> bool:
        """True if there is a state, which begins with measured joints."""
        return self.time is not None

    @property
    def steps_ahead(self) -> int:
        """Number of rows that `look_ahead` returns."""
        return self._ahead.size

    def warm_up(self) -> None:
        """Run every kernel once, so that none is compiled or loaded later."""
        self.model.warm_up()

    # ---- inputs -----------------------------------------------------------------------------------------------

    def command(self, time: float, positions: np.ndarray, rates: np.ndarray) -> None:
        """Process a command: joint angles (n,) [rad], NaN for joints without a command, and their rates (n,)
        [rad/s].
        """
        asked = np.isfinite(positions)
        self.commanded[asked] = positions[asked]
        self.commanded_rate[:] = np.where(asked & np.isfinite(rates), rates, 0.0)
        if not (self.started and self.following):
            return
        interval = self.period
        if time - self._command_time > self.pause:
            self.guard.pause()
        elif np.isfinite(self._command_time):
            interval = min(max(time - self._command_time, 0.5 * self.period), 2.0 * self.period)
        self._command_time = time
        if self._returning:
            positions = positions.copy()
            positions[list(self._returning)] = np.nan
        setpoints = self.guard.update(positions, self._torques, interval)
        if self.servos is not None:
            setpoints = self.servos.angles(self.servos.counts(setpoints))
        self.history.append(time, setpoints)
        self._pending.append((time + self.delay, setpoints, interval))

    def follow(self, following: bool) -> None:
        """Note whether the servos execute the commands: not after an emergency stop, while torque is off, while they
        sit down.

        Meanwhile the model's joints are led by the measured ones, and nothing is in doubt. Then the servos go on from
        the measured pose at the guard's bounded speed, and so does the model.
        """
        if following == self.following:
            return
        self.following = following
        self._pending.clear()
        self.history.clear()
        self.doubts.clear()
        if not following:
            self._trims[:] = self.joint_filter.offsets
            self._targets[:] = self.model.setpoints
        elif self.started:
            self.joint_filter.offsets[:] = self._trims
            self._meet(np.where(np.isfinite(self.joint_filter.latest), self.joint_filter.latest, self.q))

    def feed_forward(self, torques: np.ndarray) -> None:
        """Set the feed-forward torques (n,) [N m] of the servos from now on."""
        self._torques[:] = torques

    def measure_joints(self, time: float, angles: np.ndarray) -> None:
        """Process joint angles measured at `time`: (n,) [rad], NaN for joints not measured then."""
        for joint in np.flatnonzero(np.isfinite(angles)).tolist():
            self.measure_joint(time, joint, angles.item(joint))

    def measure_joint(self, time: float, joint: int, angle: float) -> None:
        """Process the angle [rad] of one joint measured at `time`: the servos are read one after the other."""
        modelled = self._joints.element_at(time, joint) if self.started else angle
        rate, joints = self.nu.item(6 + joint), self.joint_filter
        if not joints.measure(time, joint, angle, modelled, rate):
            return
        self._joints_time = time
        if not (self.started and self._driven[joint]):
            return
        if joint in self._returning:
            self._begin(joint, angle)
            return
        if not self.following:
            self.doubts.heard(joint)
            self._targets[joint] = angle + joints.offsets.item(joint)  # the offset: how far the joint sags
            self._reach = self.period
            return
        if self._bears[joint] and self._learns:
            # The reading is compared with set-point and load of then.
            lag = self._springs.element_at(time, 0, joint) - angle
            self.dead_band.measure(joint, lag, self._springs.element_at(time, 1, joint), rate)
        self.doubts.joint(time, joint, angle - modelled, rate, joints.offsets.item(joint))

    def _begin(self, joint: int, angle: float) -> None:
        """Start a restored joint at its measured angle [rad]; its servo approaches the command slowly from there."""
        self._returning.discard(joint)
        self.q[joint] = self.model.setpoints[joint] = angle
        self.nu[6 + joint] = self.joint_filter.offsets[joint] = 0.0
        for _, setpoints, _ in self._pending:
            setpoints[joint] = angle
        self._targets[joint], self._reach = angle, self.period
        self._generation[joint] += 1
        self.guard.meet(self._generation, self.joint_filter.latest, np.arange(self.count) == joint)

    @property
    def _learns(self) -> bool:
        """True if the model's loads are reliable: the robot is intact and consistent with its model."""
        return self._whole and self.confidence[0] == "ok"

    def measure_attitude(self, time: float, rotation: np.ndarray) -> None:
        """Process the IMU's attitude: rotation (3, 3) world <- base_link, of any yaw origin."""
        self._attitude = rotation
        if self.started:
            turn = rotation_from_vector(self.attitude_filter.measure(time, rotation, self._rotations.at(time)))
            innovation = self.attitude_filter.innovation.tolist()
            if self.following:
                self.doubts.attitude(time, innovation, roll_pitch_yaw(self.rotation)[2])
            if math.hypot(innovation[0], innovation[1]) < LOST_TILT:
                self._fits_at = time
            self.rotation[:] = turn @ self.rotation
            # Rotate about the point on the ground below the body, so that the correction does not move the feet.
            height = self.model.height
            self.position += turn[:, 2] * height
            self.position[2] -= height
            # A lasting tilt that the joints do not explain is the slope of the ground.
            dt = time - self._attitude_time
            if self.model.height < self._low or not self.following:
                self._low_at = time
            if self._recalled is not None and 0.0 < dt < EVEN:
                way = self._recalled - self.model.slope
                self.model.tilt_ground_to(
                    self.model.slope + np.minimum(np.maximum(way, -RECALLING * dt), RECALLING * dt)
                )
                if np.abs(way).max() < RECALLING * dt:
                    self._recalled = None
            if 0.0 < dt < EVEN and time - self._low_at > STANDING_UP:
                unexplained = [tilt - _bounded(tilt, PLAY) for tilt in innovation[:2]]
                self.model.tilt_ground([dt * _bounded(self.gains.slope * tilt, STEEPENING) for tilt in unexplained])
            self._attitude_time = time

    def set_morphology(self, named_values: Mapping[str, Any]) -> None:
        """Adopt the whole set of named values, including the angle of each locked joint (`locked_at`).

        Raises MorphologyError; then nothing changes.
        """
        morphology = Morphology.from_parameters(self.robot, named_values)
        latest = np.where(np.isfinite(self.joint_filter.latest), self.joint_filter.latest, self.q)
        back = morphology.existing_mask & ~self.morphology.existing_mask
        self.joint_filter.offsets[back] = 0.0
        self.q[back] = latest[back]
        if self.started:
            self._returning = {j for j in self._returning if morphology.existing_mask[j]}
            self._returning.update(np.flatnonzero(back).tolist())
            self.joint_filter.fresh_time[back] = self._joints_time  # silent from now on, if it is
        place = self.position, self.rotation, self.q
        place_returned(self.robot, self.morphology, morphology, *place, self.model.ground_height)
        if morphology != self.morphology and self.started:
            self._recalled = self._slopes[0] if self._slopes else None
            self._low_at = self.time
        self._adopt(morphology)
        self.model.set_morphology(morphology)
        self.doubts.clear()

    def _adopt(self, morphology: Morphology) -> None:
        """Store a morphology and the values of it that are used often."""
        self.morphology, self._whole = morphology, morphology.is_whole
        self._existing = np.flatnonzero(morphology.existing_mask).tolist()
        self._driven = morphology.driven_mask.tolist()

    # ---- state and prediction
    # ------------------------------------------------------------------------------------------------

    def advance(self, time: float) -> bool:
        """Advance the state to `time`; return whether there is a state.

        The state starts with the first complete set of measured joints and an attitude, or after `patience` with the
        data available: a joint that is not measured (of a lost leg that is not declared missing) is assumed at its
        command. At the start the robot stands on its lowest feet at the origin, heading along x, with the tilt of the
        IMU.
        """
        if self.started and self._attitude_time - self._fits_at > LOST_FOR:
            self.restarts += 1
            self.restart()
        if not self.started:
            measured = np.isfinite(self.joint_filter.latest)
            if not measured.any():
                return False
            if self._first is None:
                self._first = time
            complete = measured[self.morphology.existing_mask].all() and self._attitude is not None
            if not complete and time - self._first < self.patience:
                return False
            self._start(time)
        if time - self.time > LONGEST_CATCH_UP:
            self.skipped += time - self.time - LONGEST_CATCH_UP
            self.time = time - LONGEST_CATCH_UP
        while self._pending and self._pending[0][0] <= time:
            due, setpoints, interval = self._pending.popleft()
            self._run(max(due, self.time))
            if due - self._joints_time < self.silence:  # else the servos do not execute it
                np.add(setpoints, self.joint_filter.offsets, out=self._targets)
                held = ~np.isfinite(self._targets)
                self._targets[held] = self.model.setpoints[held]
                self._reach = max(interval, self.period)
        self._run(time)
        if not math.isfinite(sum(self.q.tolist()) + sum(self.position.tolist())):
            raise HexapodError("the state of the model is not finite: the model restarts from the measured joints")
        self._joints.add(time, self.q)
        self._rotations.add(time, self.rotation)
        stretches = self.model.joint_torques / self.robot.servo.stiffness
        self._springs.add(time, (self.model.setpoints - self.joint_filter.offsets, stretches))
        if time - self._learnt_at > PERIOD:
            if self._learns:
                self.dead_band.forget(min(time - self._learnt_at, PERIOD))
                self._band = self.dead_band.band
                self.model.set_dead_band(self._band)
            self._slopes.append(self.model.slope.copy())
            self._learnt_at = time
        self._lengthen_way(time)
        self._assess(time)
        return True

    def _lengthen_way(self, time: float) -> None:
        """Correct the position along the ground by the speed factor's share of the modelled way since then."""
        (x, y), then = self._before
        turned = self.attitude_filter.innovation.item(2) if time - self._attitude_time < EVEN else 0.0
        share = self.speed_factor.update(self._band, turned, time - then)
        if not self._learns:
            return
        dx, dy = share * (self.position.item(0) - x), share * (self.position.item(1) - y)
        slope = self.model.slope
        self.position[0] += dx
        self.position[1] += dy
        self.position[2] += slope.item(0) * dx + slope.item(1) * dy

    def _assess(self, time: float) -> None:
        """Advance covariance and innovation test to `time`."""
        read_at, newest = self.joint_filter.fresh_time.tolist(), self._joints_time
        for joint in self._existing:
            if self.doubts.limits.silence < newest - read_at[joint] < math.inf:
                self.doubts.silent(time, joint, newest - read_at[joint])
        self.confidence = self.doubts.level(time)
        (x, y), then = self._before
        yaw = roll_pitch_yaw(self.rotation)[2]
        dx, dy = float(self.position[0]) - x, float(self.position[1]) - y
        cos, sin = math.cos(yaw), math.sin(yaw)
        roll, pitch, turn = self.attitude_filter.innovation.tolist()
        doubted, step = self.confidence[0] != "ok", (cos * dx + sin * dy, cos * dy - sin * dx, time - then)
        self.uncertainty.advance(step, yaw, doubted, math.hypot(roll, pitch), turn)
        self._before = (self.position[:2].tolist(), time)

    def begin_at(self, x: float, y: float, yaw: float) -> None:
        """Set the position [m] and heading [rad] at which the state starts; to be called before it has started."""
        self._origin = (np.array([x, y]), yaw)

    def restart(self) -> None:
        """Discard the state except for position and heading; it starts again with the next measured joints."""
        place, yaw = self.position[:2].copy(), euler_zyx(self.rotation)[0]
        known = np.isfinite(place).all() and np.isfinite(yaw)
        self._origin = (place, yaw) if known else (np.zeros(2), 0.0)
        self.time = None
        self._pending.clear()
        self.history.clear()
        self._joints.clear()
        self._rotations.clear()
        self._springs.clear()
        self._slopes.clear()
        self._recalled = None
        self._attitude = self._first = None
        self.joint_filter.clear()
        self.attitude_filter.clear()
        self.speed_factor.clear()

    def look_ahead(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predict the horizon from `time` on; returns positions (K, 3), rotations (K, 3, 3) and joints (K, n)."""
        if self.history.count:
            # A command reaches the servos after the delay and is executed within a period.
            lag = time - self._command_time - self.delay - self.period
            self.history.forecast(np.maximum(self._ahead + lag, 0.0), out=self._future)
            self._future += self.joint_filter.offsets
        else:
            self._future[:] = self.model.setpoints
        return self.model.roll_out(self._future)

    def _start(self, time: float) -> None:
        latest = np.where(np.isfinite(self.joint_filter.latest), self.joint_filter.latest, self.commanded)
        latest = np.nan_to_num(latest)
        place, yaw = self._origin
        tilt = np.eye(3)
        if self._attitude is not None:
            tilt = rotation_z(-euler_zyx(self._attitude)[0]) @ self._attitude
        # Level at the start; after a restart, as high as it was below the robot.
        ground = self.model.ground_height(*self.position[:2])
        self.model.lay_ground(np.zeros(2), place[0], place[1], ground if np.isfinite(ground) else 0.0)
        self.model.set_state(np.zeros(3), rotation_z(yaw) @ tilt, latest, np.zeros(6 + self.count))
        self.position[2] = self.model.resting_height()
        self.position[:2] = place
        self._meet(latest)
        self._targets[:] = latest
        self._reach = None
        self._fits_at = np.inf
        self.time = time
        self._before = (self.position[:2].tolist(), time)
        self.doubts.clear()

    def _meet(self, joints: np.ndarray) -> None:
        """Start the command history at joint angles (n,) [rad]."""
        self._returning.clear()
        self._generation += 1
        self.guard.meet(self._generation, joints, np.ones(self.count, bool))

    def _run(self, until: Any) -> None:
        if until > self.time + 1e-6:
            self.model.advance(until - self.time, None if self._reach is None else self._targets, self._reach)
            self.time, self._reach = until, None


def _bounded(value: float, most: float) -> float:
    """Value within -most..most."""
    return max(-most, min(most, value))
