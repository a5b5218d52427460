"""State observer: the whole-body model under the commands of the servos, corrected by measurements.

    commands --> guard --> counts --> servo set-points --+--> model step --> pose, twist, joints (predicted)
                                                          |        ^  speed factor: odometry
    measured joints --> JointFilter: set-point offsets ---+        |
                    --> DeadBandFilter: the servos' dead band -----+
                    --> ServoLag: the kind of the model's servos --+
    IMU attitude ----> AttitudeFilter: small turns of the body ----+
    IMU acceleration, rate, coxae ----> StrideMeasures: odometry --+

The model is the simulator's own step: the same servos, contacts and bodies. No sensor measures x and y: they are
open-loop; yaw comes from the model and the gyroscope.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.array_checks import as_numbers, check_vector
from hexapod_dynamics.control.pose_guard import GuardSettings
from hexapod_dynamics.dynamics.checks import as_rotation, check_joint, require_robot
from hexapod_dynamics.errors import HexapodError, require_finite, require_instance, require_positive
from hexapod_dynamics.estimation.filters import UNREAD_AFTER, AttitudeFilter, InnovationTest, JointFilter, TimedBuffer
from hexapod_dynamics.estimation.odometry import OdometryCorrection
from hexapod_dynamics.estimation.pose_uncertainty import PoseDrift
from hexapod_dynamics.estimation.servo_commands import ServoCommands
from hexapod_dynamics.estimation.servo_model import DeadBandFilter, ServoLag
from hexapod_dynamics.estimation.surroundings import EVEN, CarriedLoad, GroundSlope
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx, roll_pitch_yaw, rotation_from_vector, rotation_z
from hexapod_dynamics.simulation import Predictor
from hexapod_dynamics.simulation.world import place_returned

# A model that is late by more than this [s] skips the rest.
LONGEST_CATCH_UP = 0.5
HORIZON_PERIOD = 0.025  # [s] between two results of `predict_path`
# The model takes over the learnt dead band and kind of the servos, and the slope is stored, this often [s].
PERIOD = 1.0


@dataclass(frozen=True)
class ObserverSettings:
    """As the parameters of the node `dynamics` of the same names.

    joint_gain, tilt_gain, yaw_gain [1/s]: of the set-point offsets by the joints; of tilt and yaw by the IMU.
    command_period [s]: in which a servo moves to its target. command_delay [s]: from a command's arrival to the servos'
    start, mostly the bus' time for 18 moves. timestep [s]: of the model. horizon, horizon_timestep [s]: of
    `predict_path`. patience [s]: how long the start waits for joints and an attitude once something is measured.
    guard: of the servos, by which they bound the commands.
    """

    joint_gain: float = 2.0
    tilt_gain: float = 2.0
    yaw_gain: float = 2.0
    command_period: float = 0.02
    command_delay: float = 0.018
    timestep: float = 0.001
    horizon: float = 0.5
    horizon_timestep: float = 0.005
    patience: float = 5.0
    guard: GuardSettings | None = None

    def __post_init__(self) -> None:
        own = vars(self)
        from_zero = ("joint_gain", "tilt_gain", "yaw_gain", "command_delay", "patience")
        require_positive({name: own[name] for name in from_zero}, zero=True)
        require_positive({name: own[name] for name in ("command_period", "timestep", "horizon", "horizon_timestep")})


class Observer:
    """Estimates the state of the robot in real time; all times are seconds on one clock that the caller chooses.

    settings: ObserverSettings. spread: from which the covariance is computed, by default PoseDrift().

    The model's arrays `position`, `rotation`, `q`, `nu` may be read; they are undefined before `started`.
    """

    def __init__(self, robot: Robot, settings: ObserverSettings | None = None, spread: PoseDrift | None = None) -> None:
        self.settings = s = settings or ObserverSettings()
        require_instance("settings", s, ObserverSettings)
        self.robot, self.count = robot, require_robot(robot).joint_count
        self.steps_ahead = round(s.horizon / HORIZON_PERIOD)  # rows that `predict_path` returns
        self._ahead = np.arange(1, self.steps_ahead + 1) * HORIZON_PERIOD
        self.model = model = Predictor(
            robot,
            timestep=s.timestep,
            horizon_steps=self.steps_ahead,
            horizon_period=HORIZON_PERIOD,
            horizon_timestep=s.horizon_timestep,
        )
        self.position, self.rotation, self.q, self.nu = model.position, model.rotation, model.q, model.nu
        self.commands = ServoCommands(robot, delay=s.command_delay, period=s.command_period, guard=s.guard)
        self.joint_filter = JointFilter(self.count, gain=s.joint_gain)
        self.attitude_filter = AttitudeFilter(tilt_gain=s.tilt_gain, yaw_gain=s.yaw_gain)
        self.dead_band = DeadBandFilter.from_robot(robot)
        # Whether a joint's load is mostly weight: those that turn about a vertical axis push against each other only.
        self._bears = [joint.kind == "revolute" and abs(joint.axis[2]) < 0.5 for joint in robot.joints]
        self.load = CarriedLoad(model, robot.gravity)
        self.slope = GroundSlope(model, 0.5 * float(robot.body.box[2]))
        self.servo_lag = ServoLag.from_robot(robot)
        model.set_velocity_feed_forward(self.servo_lag.adopt_feed_forward())
        self.odometry = OdometryCorrection(model, robot, spread)
        self.consistency = InnovationTest(robot.joint_names)
        self.confidence = ("ok", "")  # "ok", "warn" or "error", and what is inconsistent
        self._store_morphology(Morphology.whole(robot))
        # Times [s]: of the state, of its first measured joint, of the last update of what is learnt.
        self.time = math.nan  # before the start
        self._first: float | None = None
        self._learnt_at = -np.inf
        self._origin = (np.zeros(2), 0.0)
        self.skipped = 0.0
        self.restarts = 0  # number of restarts because the model had tumbled
        # The history of the state, for measurements that are older than the state.
        self._rotations = TimedBuffer((3, 3))
        # Joints, set-points without learnt offsets, stretches of the servos [rad].
        self._joints = TimedBuffer((3, self.count))
        self._attitude: np.ndarray | None = None
        self._attitude_time = self._joints_time = -np.inf  # of the last measurements
        self._fits_at = np.inf  # time of the last attitude with which the model agreed
        self._targets = np.zeros(self.count)
        # the interval [s] of targets that are to be sent with the next step, None if there are none
        self._reach: float | None = None
        self.following = True  # the servos execute the commands
        self._trims = np.zeros(self.count)  # set-point offsets when the servos last executed commands
        self._returning: set[int] = set()  # restored joints that have not been measured yet

    @property
    def covariance(self) -> np.ndarray:
        """Covariance (6, 6) of x, y, z [m], roll, pitch, yaw [rad] in world axes."""
        return self.odometry.uncertainty.pose

    @property
    def started(self) -> bool:
        """True if there is a state; it starts from measured joints."""
        return not math.isnan(self.time)

    # ---- inputs -----------------------------------------------------------------------------------------------

    def command(self, time: float, positions: np.ndarray, rates: np.ndarray) -> None:
        """Process a command: joint angles (n,) [rad], NaN for joints without a command, and their rates (n,)
        [rad/s].
        """
        require_finite(time=time)
        shape = self.q.shape
        positions, rates = as_numbers("positions", positions, shape), as_numbers("rates", rates, shape)
        self.commands.note(positions, rates)
        if self.started and self.following:
            self.commands.accept(time, positions, without=self._returning)

    def set_following(self, following: bool) -> None:
        """Set whether the servos execute the commands: False after an emergency stop, while torque is off, and
        while the robot sits down.

        While they do not, the model's joints follow the measured ones, and nothing is inconsistent. Afterwards the
        servos continue from the measured pose at the guard's bounded speed, and so does the model.
        """
        if following == self.following:
            return
        self.following = following
        self.commands.clear()
        self.consistency.clear()
        if not following:
            self._trims[:] = self.joint_filter.offsets
            self._targets[:] = self.model.setpoints
        elif self.started:
            self.joint_filter.offsets[:] = self._trims
            self._synchronise(self._latest(self.q))

    def feed_forward(self, torques: np.ndarray) -> None:
        """Set the feed-forward torques (n,) [N m] of the servos from now on."""
        self.commands.torques[:] = as_numbers("torques", torques, self.q.shape)

    def measure_joints(self, time: float, angles: np.ndarray) -> None:
        """Process joint angles measured at `time`: (n,) [rad], NaN for joints not measured then."""
        angles = as_numbers("angles", angles, self.q.shape)
        for joint in np.flatnonzero(np.isfinite(angles)).tolist():
            self.measure_joint(time, joint, angles.item(joint))

    def measure_joint(self, time: float, joint: int, angle: float) -> None:
        """Process the angle [rad] of one joint measured at `time`: the servos are read one after the other."""
        check_joint(self.robot, joint)
        require_finite(time=time, angle=angle)
        compares = self.started and self._driven[joint]  # else the joint shows nothing of its servo's set-point
        modelled = self._joints.interpolate_element(time, 0, joint) if compares else angle
        rate, joints = self.nu.item(6 + joint), self.joint_filter
        if not joints.measure(time, joint, angle, modelled, rate):
            return
        self._joints_time = time
        if not compares:
            return
        if joint in self._returning:
            self._start_joint(joint, angle)
            return
        if not self.following:
            self.consistency.reset_joint(joint)
            self._targets[joint] = angle + joints.offsets.item(joint)  # the offset is the sag of the joint
            self._reach = self.commands.period
            return
        if self._learns:
            stretch = self._joints.interpolate_element(time, 2, joint)
            if self._bears[joint]:
                self.dead_band.measure(joint, self._joints.interpolate_element(time, 1, joint) - angle, stretch, rate)
            else:
                self.odometry.strides.read_coxa(angle - modelled, stretch)
            self.servo_lag.measure(angle - modelled, rate)
        self.consistency.check_joint(time, joint, angle - modelled, rate, joints.offsets.item(joint))

    def _start_joint(self, joint: int, angle: float) -> None:
        """Start a restored joint at its measured angle [rad]; its servo approaches the command slowly from there."""
        self._returning.discard(joint)
        self.q[joint] = self.model.setpoints[joint] = angle
        self.nu[6 + joint] = self.joint_filter.offsets[joint] = 0.0
        self._targets[joint], self._reach = angle, self.commands.period
        self.commands.synchronise(self.joint_filter.latest, joint)

    @property
    def _learns(self) -> bool:
        """True if the model's loads are reliable: the robot is intact and consistent with its model."""
        return self._intact and self.confidence[0] == "ok"

    def measure_attitude(self, time: float, rotation: np.ndarray) -> None:
        """Process the IMU's attitude: rotation (3, 3) world <- base_link, of any yaw origin. One that is not later than
        the previous one is ignored, as the reading of a joint is.
        """
        require_finite(time=time)
        rotation, since = as_rotation("rotation", rotation), time - self._attitude_time
        if not since > 0.0:
            return
        self._attitude, self._attitude_time = rotation, time
        if self.started:
            turn = rotation_from_vector(self.attitude_filter.measure(time, rotation, self._rotations.interpolate(time)))
            innovation = self.attitude_filter.innovation.tolist()
            if self.following:
                self.consistency.check_attitude(time, innovation, roll_pitch_yaw(self.rotation)[2])
            if math.hypot(innovation[0], innovation[1]) < 0.6:  # [rad]
                self._fits_at = time
            self.rotation[:] = turn @ self.rotation
            # Rotate about the point on the ground below the body, so that the correction does not move the feet.
            height = self.model.height
            self.position += turn[:, 2] * height
            self.position[2] -= height
            # A lasting tilt that the joints do not explain is the slope of the ground.
            self.slope.learn(time, since, innovation[:2], self.following)

    def measure_motion(self, time: float, acceleration: Sequence[float], rate: Sequence[float]) -> None:
        """Process what the IMU feels at `time`: specific force (3,) [m/s^2] and angular velocity (3,) [rad/s], in axes
        of base_link.
        """
        require_finite(time=time)
        check_vector("acceleration", acceleration)
        check_vector("rate", rate)
        if self.started:
            self.odometry.strides.add_acceleration(time, acceleration, rate, self.following and self._learns)

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt the declared damage."""
        Morphology.check(self.robot, morphology)
        latest = self._latest(self.q)
        back = morphology.existing_mask & ~self.morphology.existing_mask
        self.joint_filter.offsets[back] = 0.0
        self.q[back] = latest[back]
        if self.started:
            self._returning = {j for j in self._returning if morphology.existing_mask[j]}
            self._returning.update(np.flatnonzero(back).tolist())
            # if the joint is silent, its silence counts from now
            self.joint_filter.fresh_time[back] = self._joints_time
        place = self.position, self.rotation, self.q
        place_returned(self.robot, self.morphology, morphology, *place, self.model.ground_height)
        if morphology != self.morphology and self.started:
            self.slope.recall(self.time)
        self._store_morphology(morphology)
        self.model.set_morphology(morphology)
        self.consistency.clear()

    def _store_morphology(self, morphology: Morphology) -> None:
        """Store a morphology and those of its values that are used often."""
        self.morphology, self._intact = morphology, morphology.is_intact
        self._existing = np.flatnonzero(morphology.existing_mask).tolist()
        self._driven = morphology.driven_mask.tolist()

    def _latest(self, otherwise: np.ndarray) -> np.ndarray:
        """Return the measured joints (n,) [rad]; for joints that are not measured, the values of `otherwise`."""
        return np.where(np.isfinite(self.joint_filter.latest), self.joint_filter.latest, otherwise)

    # ---- state and prediction ---------------------------------------------------------------------------------

    def advance(self, time: float) -> bool:
        """Advance the state to `time`; return whether there is a state.

        The state starts with the first complete set of measured joints and an attitude, or after `patience` with the
        data available: a joint that is not measured (because its leg is lost but not declared missing) is assumed
        to be at its command. At the start the robot stands on its lowest feet at the origin, heading along x, with
        the tilt of the IMU.
        """
        require_finite(time=time)
        if self.started and self._attitude_time - self._fits_at > 0.5:
            # The model has tumbled although the robot has not (or the reverse): contacts hold it there against the
            # corrections, so it starts again from the measurements.
            self.restarts += 1
            self.restart()
        if not self.started:
            measured = np.isfinite(self.joint_filter.latest)
            if not measured.any():
                return False
            if self._first is None:
                self._first = time
            complete = measured[self.morphology.existing_mask].all() and self._attitude is not None
            if not complete and time - self._first < self.settings.patience:
                return False
            self._start(time)
        if time - self.time > LONGEST_CATCH_UP:
            self.skipped += time - self.time - LONGEST_CATCH_UP
            self.time = time - LONGEST_CATCH_UP
        velocity, since = self.nu[:2].tolist(), self.time
        while (command := self.commands.next_due(time)) is not None:
            due, setpoints, interval = command
            self._run(max(due, self.time))
            if due - self._joints_time < 0.4:  # [s]; else the servos do not execute the command
                np.add(setpoints, self.joint_filter.offsets, out=self._targets)
                held = ~np.isfinite(self._targets)
                self._targets[held] = self.model.setpoints[held]
                self._reach = max(interval, self.commands.period)
        self._run(time)
        if not math.isfinite(sum(self.q.tolist()) + sum(self.position.tolist())):
            raise HexapodError("the state of the model is not finite: the model restarts from the measured joints")
        self._rotations.add(time, self.rotation)
        stretches = self.model.joint_torques / self.robot.servo.stiffness
        self._joints.add(time, (self.q, self.model.setpoints - self.joint_filter.offsets, stretches))
        if time - self._learnt_at > PERIOD:
            passed = min(time - self._learnt_at, PERIOD)
            self.servo_lag.forget(passed)
            if self._learns:
                self.dead_band.forget(passed)
                self.model.set_dead_band(self.dead_band.certain_band)
                self.model.set_velocity_feed_forward(self.servo_lag.adopt_feed_forward())
            self.slope.store()
            self._learnt_at = time
        self.odometry.strides.note_model(time, velocity, self.nu, self.rotation[2], time - since)
        innovation = self.attitude_filter.innovation.tolist()
        turned = innovation[2] if time - self._attitude_time < EVEN else 0.0
        self.odometry.correct_length(time, turned, self._learns)
        self._assess(time)
        self.odometry.advance(time, roll_pitch_yaw(self.rotation)[2], self.confidence[0] != "ok", innovation)
        return True

    def _assess(self, time: float) -> None:
        """Test which joints are silent, and update `confidence`."""
        read_at, newest = self.joint_filter.fresh_time.tolist(), self._joints_time
        for joint in self._existing:
            if newest - read_at[joint] > UNREAD_AFTER:
                self.consistency.mark_unread(time, joint, newest - read_at[joint])
        self.confidence = self.consistency.level(time)

    def set_start_pose(self, x: float, y: float, yaw: float) -> None:
        """Set the position [m] and heading [rad] at which the state starts; to be called before it has started."""
        require_finite(x=x, y=y, yaw=yaw)
        self._origin = (np.array([x, y]), yaw)

    def restart(self) -> None:
        """Discard the state except for position and heading; it starts again with the next measured joints."""
        place, yaw = self.position[:2].copy(), euler_zyx(self.rotation)[0]
        known = np.isfinite(place).all() and np.isfinite(yaw)
        self._origin = (place, yaw) if known else (np.zeros(2), 0.0)
        self.time = math.nan
        for each in (self.commands, self._joints, self._rotations, self.slope):
            each.clear()
        self._attitude = self._first = None
        self.joint_filter.clear()
        self.attitude_filter.clear()
        self.odometry.clear()

    def predict_path(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predict the horizon from `time` on; returns positions (K, 3), rotations (K, 3, 3) and joints (K, n)."""
        require_finite(time=time)
        future = self.commands.forecast(time, self._ahead)
        if future is None:
            return self.model.roll_out(np.tile(self.model.setpoints, (self.steps_ahead, 1)))
        return self.model.roll_out(future + self.joint_filter.offsets)

    def _start(self, time: float) -> None:
        latest = np.nan_to_num(self._latest(self.commands.commanded))
        place, yaw = self._origin
        tilt = np.eye(3)
        if self._attitude is not None:
            tilt = rotation_z(-euler_zyx(self._attitude)[0]) @ self._attitude
        # The ground is level at the start; after a restart it has the same height below the robot as before.
        ground = self.model.ground_height(*self.position[:2])
        self.model.set_ground(np.zeros(2), place[0], place[1], ground if np.isfinite(ground) else 0.0)
        self.model.set_state(np.zeros(3), rotation_z(yaw) @ tilt, latest, np.zeros(6 + self.count))
        self.position[2] = self.model.resting_height()
        self.position[:2] = place
        self._synchronise(latest)
        self._targets[:] = latest
        self._reach = None
        self._fits_at = np.inf
        self.time = time
        self.odometry.begin(time)
        self.consistency.clear()

    def _synchronise(self, joints: np.ndarray) -> None:
        """Let the servos start from joint angles (n,) [rad]."""
        self._returning.clear()
        self.commands.synchronise(joints)

    def _run(self, until: float) -> None:
        """Advance the model; the targets go to its servos with the first step."""
        if until > self.time + 1e-6:
            self.load.apply()
            self.model.advance(until - self.time, None if self._reach is None else self._targets, self._reach)
            self.time, self._reach = until, None
