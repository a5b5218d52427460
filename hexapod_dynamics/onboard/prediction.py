"""What the node `dynamics` does: from commands and sensors to the present state, torques and the path ahead."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from hexapod_dynamics.control.feedforward import Feedforward
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.estimation.observer import Observer, ObserverSettings
from hexapod_dynamics.estimation.payload import PAYLOAD_HEIGHT, Payload, PayloadEstimator
from hexapod_dynamics.estimation.pose_uncertainty import PoseDrift
from hexapod_dynamics.onboard.inputs import Faults, ImuReading
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx

# An input that is missing for longer than this [s] is named in the diagnostics.
SILENT_AFTER = 0.5
COMMANDS, JOINTS, IMU = "joint_commands", "joint_states", "imu/data"
# Time [s] for which a `gait_state` holds: the gait publishes it once a second.
FRESH_FOR = 3.0


@dataclass(frozen=True)
class PredictionSettings(ObserverSettings):
    """As the parameters of the node `dynamics` of the same names."""

    imu_mounting_error: float = 1.0
    servo_angle_error: float = 1.0
    feedforward: bool = True
    feedforward_rates: bool = False
    payload: bool = True


class PayloadWeighing:
    """Weighs what the body carries, by a PayloadEstimator on the data of an Observer, whose model carries the result;
    times are seconds on one clock. payload: the present estimate.
    """

    def __init__(self, observer: Observer, command_delay: float, command_period: float) -> None:
        self._observer, self.load = observer, observer.load
        self.estimator = PayloadEstimator(
            observer.robot, command_delay=command_delay, command_period=command_period, tare_first=True
        )
        self.payload: Payload = self.estimator.estimate()
        self._sent: np.ndarray | None = None  # set-points that were processed last
        self._swaying: tuple[float, float] | None = None  # time of the last gait_state, period of the steps [s]

    def command(self, t: float) -> None:
        """Process the set-points that the Observer has just computed from a command, at the time t [s]."""
        setpoints = self._observer.commands.setpoints
        if setpoints is not None and setpoints is not self._sent:
            self._sent = setpoints
            self.estimator.command(t, setpoints)

    def set_sway_period(self, t: float, period: float | None) -> None:
        """Note the period of the steps [s] while the body sways (its commands do not repeat then); None: it does not
        sway.
        """
        self._swaying = None if period is None else (t, period)

    def set_following(self, following: bool) -> None:
        """Discard the measurements of a time in which the servos do not execute the commands."""
        if not following:
            self.estimator.restart()

    def restore(self, values: object) -> None:
        """Restore the load from before a crash: values (3,) of `get_stored`; else the load would be tared."""
        if isinstance(values, list) and len(values) == 3 and _are_numbers(values):
            self.estimator.resume(values)

    def get_stored(self) -> list[float] | None:
        """Return the load, to be stored for a restart."""
        return list(self.payload.expected) if self.estimator.tared else None

    def update(self, t: float) -> bool:
        """Process a full time window if the robot walks; return whether there is a new estimate, after a step cycle.

        The load is not estimated while the robot stands: friction holds joints that do not move, even if the load
        changes. The first and the last window of a cycle are checked for whether the robot walks.
        """
        windows = self.estimator.windows
        if not windows.due:
            return False
        if windows.at_edge:
            period = self._period(t)
            if period is None:
                windows.clear()
                return False
            self.estimator.set_period(period)
        if not self.estimator.update():
            return False
        self._adopt()
        return True

    def _period(self, t: float) -> float | None:
        """Return the period of the steps [s], None if the robot does not walk steadily."""
        if self._swaying is not None and t - self._swaying[0] < FRESH_FOR:
            return self._swaying[1]
        return self._observer.commands.find_period(t)

    def tare(self) -> str:
        """Count what the robot weighs now as nothing; return why that is impossible, else an empty text."""
        if not self.estimator.tare():
            return self.estimator.estimate().reason
        self._adopt()
        return ""

    def _adopt(self) -> None:
        self.payload = self.estimator.estimate()
        mass, x, y = self.payload.expected
        self.load.set(mass, (x, y, mass * PAYLOAD_HEIGHT))

    def assess(self) -> tuple[str, str]:
        """Return level and message."""
        payload = self.payload
        if payload.reason:
            return "ok", f"cannot tell: {payload.reason}"
        if abs(payload.mass) < 2.0 * payload.mass_deviation:
            return "ok", "nothing beyond what it weighed at the tare"
        return "ok", f"carries {payload.mass:.2f} +- {payload.mass_deviation:.2f} kg"

    def values(self) -> dict[str, object]:
        """Return the estimate as diagnostic values."""
        payload = self.payload
        return {
            "mass [kg]": payload.mass,
            "standard deviation of the mass [kg]": payload.mass_deviation,
            "x [mm]": 1e3 * payload.x,
            "y [mm]": 1e3 * payload.y,
            "standard deviation of x [mm]": 1e3 * payload.x_deviation,
            "standard deviation of y [mm]": 1e3 * payload.y_deviation,
            "mass to reckon with [kg]": payload.expected[0],
            "first moment x to reckon with [kg m]": payload.expected[1],
            "first moment y to reckon with [kg m]": payload.expected[2],
            "tared": payload.tared,
            "cannot tell": payload.reason,
        }


class Prediction:
    """Runs an Observer, with feed-forward torques and the weighing of a load; times are seconds on one clock.

    payload: None if it is not weighed, as where a leg does not have three joints.
    """

    def __init__(self, robot: Robot, settings: PredictionSettings | None = None, faults: Faults | None = None) -> None:
        self.robot, self.faults, n = robot, faults or Faults(), robot.joint_count
        self.settings = s = settings or PredictionSettings()
        spread = PoseDrift.from_robot(robot, math.radians(s.imu_mounting_error), math.radians(s.servo_angle_error))
        self.observer = Observer(robot, s, spread)
        self._feedforward = Feedforward(robot, model=self.observer.model)
        self._last_rates, self._accelerations = np.zeros(n), np.zeros(n)  # of the commanded joints
        self._commanded = self._advanced = -math.inf  # times of the last command and of the last prediction
        self.payload: PayloadWeighing | None = None
        if s.payload and all(len(leg.joints) == 3 for leg in robot.legs):
            self.payload = PayloadWeighing(self.observer, s.command_delay, s.command_period)
        self._received = dict.fromkeys((COMMANDS, JOINTS, IMU), -math.inf)  # times of the last ones

    # ---- in ----------------------------------------------------------------------------------------------------------

    def command(self, t: float, positions: np.ndarray, rates: np.ndarray, now: float | None = None) -> None:
        """Process a command (n,) [rad] with its rates (n,) [rad/s] of the time t [s], received at `now`."""
        self._received[COMMANDS] = t if now is None else now
        self._commanded = t
        self.observer.command(t, positions, rates)
        if self.payload is not None:
            self.payload.command(t)
        commanded = self.observer.commands.commanded_rate
        np.subtract(commanded, self._last_rates, out=self._accelerations)
        self._accelerations /= self.settings.command_period
        self._last_rates[:] = commanded

    def joint(self, t: float, joint: int, angle: float, now: float | None = None) -> None:
        """Process the angle [rad] of a joint that was measured at the time t [s]."""
        self._received[JOINTS] = t if now is None else now
        self.observer.measure_joint(t, joint, angle)
        if self.payload is not None:
            self.payload.estimator.measure_joint(t, joint, angle)

    def imu(self, t: float, reading: ImuReading, now: float | None = None) -> None:
        """Process a sample of the IMU of the time t [s]."""
        if reading.rotation is None:
            return
        self._received[IMU] = t if now is None else now
        self.observer.measure_attitude(t, reading.rotation)
        if reading.force is not None and reading.rate is not None:
            self.observer.measure_motion(t, list(reading.force), list(reading.rate))
        if self.payload is not None:
            self.payload.estimator.measure_up(reading.rotation[2])

    def set_morphology(self, morphology: Morphology) -> None:
        """Predict with the declared damage."""
        self.observer.set_morphology(morphology)
        if self.payload is not None:
            self.payload.estimator.set_morphology(morphology)

    def set_following(self, following: bool) -> None:
        """Note whether the servos execute commands."""
        self.observer.set_following(following)
        if self.payload is not None:
            self.payload.set_following(following)

    def restore(self, stored: Mapping[str, object]) -> str:
        """Continue at the position and with the load of `get_stored`; return why the position is invalid, else ""."""
        given = [stored.get(name) for name in ("x", "y", "yaw")]
        if self.payload is not None:
            self.payload.restore(stored.get("payload"))
        if not _are_numbers(given):
            return f"the stored position is invalid ({stored}): odom starts at zero"
        self.observer.set_start_pose(*given)
        return ""

    # ---- out ---------------------------------------------------------------------------------------------------------

    def advance(self, t: float) -> tuple[bool, np.ndarray | None]:
        """Predict the state at the time t [s]; return whether there is one, and the feed-forward torques (n,) [N m]
        for the commanded motion, from the last prediction before the next command; None: there are none now.
        """
        step, self._advanced = t - self._advanced, t
        try:
            if not self.observer.advance(t):
                return False, None
        except HexapodError as error:
            self.faults.add("model", str(error), t)
            self.observer.restart()
            return False, None
        try:
            return True, self._needed_torques(t, step)
        except HexapodError as error:  # the prediction continues without them
            self.faults.add("torques", f"no feed-forward torques: {error}", t)
            return True, None

    def _needed_torques(self, t: float, step: float) -> np.ndarray | None:
        """Return the torques of the commanded motion and pass them to the observer; None while a moving joint has no
        command, or if another prediction, `step` [s] later, comes before the next command.
        """
        observer, last = self.observer, self._received[COMMANDS]
        commands, moving = observer.commands, observer.morphology.moving_mask
        if not self.settings.feedforward or last == -math.inf or not np.isfinite(commands.commanded[moving]).all():
            return None
        if t - last > SILENT_AFTER:  # no commands arrive any more: the commanded motion is at rest
            self._accelerations[:] = self._last_rates[:] = commands.commanded_rate[:] = 0.0
        elif t + 1.25 * step < self._commanded + self.settings.command_period:
            return None
        joints, body = np.where(moving, commands.commanded, observer.q), observer.nu[:6]
        motion = joints, commands.commanded_rate, self._accelerations
        torques = self._feedforward.solve(observer.rotation, observer.model.height, body, *motion, observer.q)
        if self.settings.feedforward_rates:
            servo = self.robot.servo
            lead = commands.period - servo.damping / servo.stiffness
            torques += lead * self._feedforward.solve_rates(observer.rotation, body, *motion)
        observer.feed_forward(torques)
        return torques

    def predict_path(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return the path of the next horizon (see Observer.predict_path); None after an error."""
        try:
            return self.observer.predict_path(t)
        except HexapodError as error:
            self.faults.add("model", str(error), t)
            self.observer.restart()
            return None

    def get_stored(self) -> dict[str, object] | None:
        """Return position and load, to be stored for a restart; None before the first prediction."""
        observer = self.observer
        if not observer.started:
            return None
        x, y, _ = observer.position.tolist()
        stored: dict[str, object] = {"x": x, "y": y, "yaw": float(euler_zyx(observer.rotation)[0])}
        load = None if self.payload is None else self.payload.get_stored()
        return stored if load is None else stored | {"payload": load}

    def state(self, t: float, late: list[str]) -> tuple[str, str, dict[str, object]]:
        """Return level (ok, warn, error), message and values for diagnostics; late: texts about late predictions."""
        values = {"morphology": self.observer.morphology.describe()} | _values(self.observer) | self.faults.counts()
        if self.payload is not None:
            values["payload"] = self.payload.assess()[1]
        missing = [topic for topic, at in self._received.items() if t - at > SILENT_AFTER]
        return *self._assess(missing, late, self.faults.list_recent(t)), values

    def _assess(self, missing: list[str], late: list[str], faults: list[str]) -> tuple[str, str]:
        observer = self.observer
        if JOINTS in missing:
            return "error", "; ".join(["no joint_states: the prediction is paused", *late, *faults])
        if not observer.started:
            unknown = observer.morphology.existing_mask & ~np.isfinite(observer.joint_filter.latest)
            names = ", ".join(np.array(observer.robot.joint_names)[unknown]) or "the attitude"
            return "error", f"waiting for the first measurement of {names}"
        attitude = ["no imu/data: the attitude comes from the model alone"] if IMU in missing else []
        level, inconsistency = observer.confidence
        reasons = [*([inconsistency] if level != "ok" else []), *attitude, *late, *faults]
        if reasons:
            return "warn" if level == "ok" else level, "; ".join(reasons)
        return "ok", "predicting" if COMMANDS not in missing else "predicting, no commands"


def _are_numbers(values: list[object]) -> TypeGuard[list[float]]:
    return all(isinstance(value, float) and math.isfinite(value) for value in values)


def _values(observer: Observer) -> dict[str, object]:
    """Return the diagnostic values of an Observer."""
    offsets = observer.joint_filter.offsets
    worst = int(np.argmax(np.abs(offsets)))
    covariance = observer.covariance
    return {
        "skipped time [s]": observer.skipped,
        "restarts of a tumbled model": observer.restarts,
        "largest set-point offset [rad]": float(offsets[worst]),
        "of": observer.robot.joint_names[worst],
        "attitude, IMU less model [rad]": float(np.linalg.norm(observer.attitude_filter.innovation)),
        "estimated slope [deg]": float(np.degrees(np.arctan(np.hypot(*observer.model.slope)))),
        "learnt dead band of the servos [deg]": float(np.degrees(observer.dead_band.certain_band)),
        "learnt lag of the servos [ms]": 1e3 * observer.servo_lag.seconds,
        "stride, true less modelled [%]": 1e2 * observer.odometry.speed_factor.share,
        "standard deviation of x, y [m]": float(np.sqrt(np.trace(covariance[:2, :2]))),
        "standard deviation of yaw [deg]": float(np.degrees(np.sqrt(covariance[5, 5]))),
        "inconsistent": " ".join(observer.consistency.suspected),
        "yaw alignments": observer.attitude_filter.alignments,
        "period of the commands [s]": observer.commands.find_period(observer.time) or 0.0,
    }
