"""Scores the software on a robot: it processes a recorded walk with model, prediction, damage detector and load
estimator.

Everything is given to the package's classes in the order of its time, as the nodes give it. A prediction is made
every LOOK and compared with the measurements until the next; for comparison, the set-points themselves are
evaluated as a prediction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.detection import DamageDetector
from hexapod_dynamics.errors import HexapodError, IdentificationError
from hexapod_dynamics.estimation.observer import Observer, ObserverSettings
from hexapod_dynamics.estimation.payload import Payload, PayloadEstimator
from hexapod_dynamics.identification.recording import Recording
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx

Array = NDArray[np.float64]
# [s] tick of the model; time between two predictions; time at the start that is not scored
TICK, LOOK, SETTLING = 0.01, 0.5, 3.0
UPDATE = 4  # ticks between two updates of the detector
SLOWEST = 0.04  # [s] period of commands that the damage detector can use
AGES = ((0.05, 0.15), (0.4, 0.5))  # [s] ages of a prediction that are scored
MOVING = 0.1  # [rad/s] rate from which a reading shows the lag


@dataclass(frozen=True, eq=False)
class Log:
    """A Recording with attitudes: attitude_time (A,) [s], attitude (A, 3, 3) world <- base_link; and feed-forward
    torques: torque_time (F,) [s], torques (F, n) [N m], none by default.
    """

    recording: Recording
    attitude_time: Array
    attitude: Array
    torque_time: Array = field(default_factory=lambda: np.zeros(0))
    torques: Array = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True, eq=False)
class Score:
    """Root mean squares [rad] and findings.

    duration [s]; joints: of prediction errors at the two AGES; setpoints: of the set-points as a prediction; tilt: of
    predicted roll and pitch at the AGES, NaN without attitudes; lag (n,) [s]: of the readings behind those of a model
    whose servos feed the rate forward, NaN for joints that do not move; sag (n,): mean set-point less reading;
    declared: (time [s], text) of the damage detector, None if it did not run; payload: at the end.
    """

    duration: float
    joints: tuple[float, float]
    setpoints: float
    tilt: tuple[float, float]
    lag: Array
    sag: Array
    declared: list[tuple[float, str]] | None
    payload: Payload


class _Errors:
    """Sums of squares by the age of a prediction."""

    def __init__(self) -> None:
        self._sums, self._counts = [0.0, 0.0], [0, 0]

    def add(self, age: float, *errors: float) -> None:
        for k, (low, high) in enumerate(AGES):
            if low <= age <= high:
                self._sums[k] += sum(error * error for error in errors)
                self._counts[k] += len(errors)

    def rms(self) -> tuple[float, float]:
        one, other = (math.sqrt(s / n) if n else math.nan for s, n in zip(self._sums, self._counts, strict=True))
        return one, other


class _Replay:
    """The package's classes, as the nodes wire them, fed with a Log."""

    def __init__(self, robot: Robot, log: Log, morphology: Morphology, detect: bool, command_delay: float) -> None:
        period = log.recording.command_period
        self.robot, self.period = robot, period
        self.observer = Observer(
            robot, ObserverSettings(command_delay=command_delay, command_period=period, timestep=2e-3)
        )
        self.observer.set_morphology(morphology.parameters())
        self.payload = PayloadEstimator(robot, command_delay=command_delay, command_period=period, tare_first=True)
        self.payload.set_morphology(morphology)
        self.detector = DamageDetector(robot) if detect else None
        if self.detector is not None:
            self.detector.set_morphology(morphology)
        n = robot.joint_count
        self.rates, self.torques, self.command = np.zeros(n), np.zeros(n), np.full(n, np.nan)
        self.declared: list[tuple[float, str]] = []
        self.joints, self.tilts = _Errors(), _Errors()
        self.readings: list[tuple[int, float, float, float]] = []  # joint, reading less model, rate, less set-point
        self._ticks, self._path = 0, (-math.inf, np.zeros((0, n)), np.zeros((0, 3, 3)))
        self._angles = np.full(n, np.nan)

    def sent(self, time: float, command: Array) -> None:
        """Process a command."""
        self.rates[:] = np.nan_to_num(command - self.command) / self.period
        self.command[:] = command
        self.observer.command(time, command, self.rates)
        if self.observer.commands.setpoints is not None:
            self.payload.command(time, self.observer.commands.setpoints)
        if self.detector is not None:
            self.detector.command(time, command, self.torques)

    def read(self, time: float, joint: int, angle: float, scored: bool) -> None:
        """Process a reading."""
        observer = self.observer
        if scored and observer.started:
            rate = observer.nu.item(6 + joint)
            expected = observer.q.item(joint) + rate * (time - observer.time)
            residual = observer.servo_lag.behind_feed_forward(angle - expected, rate)
            self.readings.append((joint, residual, rate, self.command.item(joint) - angle))
            begun, joints, _ = self._path
            self.joints.add(time - begun, angle - self._ahead(joints[:, joint], time - begun))
        observer.measure_joint(time, joint, angle)
        self.payload.measure_joint(time, joint, angle)
        if self.detector is not None:
            self._angles[:] = np.nan
            self._angles[joint] = angle
            self.detector.measure_joints(time, self._angles)

    def _ahead(self, path: Array, age: float) -> float:
        """Value of a predicted path at an age [s]."""
        if not len(path):
            return math.nan
        place = min(max(age / self.observer.model.horizon_period - 1.0, 0.0), len(path) - 1.0)
        k = min(int(place), len(path) - 2)
        return float(path[k] + (place - k) * (path[k + 1] - path[k]))

    def turned(self, time: float, rotation: Array, scored: bool) -> None:
        """Process an attitude."""
        begun, _, rotations = self._path
        age = time - begun
        if scored and len(rotations):
            k = int(min(max(round(age / self.observer.model.horizon_period) - 1, 0), len(rotations) - 1))
            (_, pitch, roll), (_, predicted_pitch, predicted_roll) = euler_zyx(rotation), euler_zyx(rotations[k])
            self.tilts.add(age, pitch - predicted_pitch, roll - predicted_roll)
        self.observer.measure_attitude(time, rotation)
        self.payload.measure_up(rotation[2])
        if self.detector is not None:
            self.detector.measure_attitude(time, rotation)

    def tick(self, time: float) -> None:
        """Advance the model to `time` [s]."""
        observer = self.observer
        if not observer.advance(time):
            return
        self._ticks += 1
        if time - self._path[0] >= LOOK:
            _, rotations, joints = observer.predict_path(time)
            self._path = time, joints.copy(), rotations.copy()
        if self.payload.windows.due:
            self.payload.set_period(observer.commands.history.lag)
            self.payload.update()
        if self.detector is not None and self._ticks % UPDATE == 0:
            for decision in self.detector.update(time):
                if decision.action != "suspect":
                    self.declared.append((time, decision.text))
                    self.detector.set_morphology(self.detector.morphology.updated(decision.values))


def score(
    robot: Robot,
    log: Log,
    *,
    morphology: Morphology | None = None,
    command_delay: float = 0.017,
    detect: bool = True,
) -> Score:
    """Score the software on a Log of a robot with a morphology, by default intact.

    command_delay [s]: from a command to the servos' start. detect: whether the damage detector runs, which takes most
    of the time; it does not for commands that are too seldom. Raises IdentificationError for a log that is too short.
    """
    recording = log.recording
    recording.check(robot, "a walk")
    detect = detect and recording.command_period < SLOWEST
    replay = _Replay(robot, log, morphology or Morphology.whole(robot), detect, command_delay)
    begin = float(recording.command_time[0])
    events = [(t, 0, k) for k, t in enumerate(log.torque_time.tolist())]
    events += [(t, 1, k) for k, t in enumerate(recording.command_time.tolist())]
    events += [(t, 2, k) for k, t in enumerate(recording.reading_time.tolist())]
    events += [(t, 3, k) for k, t in enumerate(log.attitude_time.tolist())]
    events.sort()
    now = begin
    for time, kind, k in events:
        while now + TICK <= time:
            now += TICK
            try:
                replay.tick(now)
            except HexapodError:  # the model is not finite: it starts again, as in the node
                replay.observer.restart()
        scored = time - begin > SETTLING
        if kind == 0:
            replay.torques[:] = np.nan_to_num(log.torques[k])
            replay.observer.feed_forward(replay.torques)
        elif kind == 1:
            replay.sent(time, recording.commands[k])
        elif kind == 2:
            replay.read(time, int(recording.reading_joint[k]), recording.readings.item(k), scored)
        else:
            replay.turned(time, log.attitude[k], scored)
    if not replay.readings:
        raise IdentificationError("a walk: nothing is left to score after the model has started; record longer")
    joint, residual, rate, lead = (np.array(column) for column in zip(*replay.readings, strict=True))
    n = robot.joint_count
    lag, sag = np.full(n, np.nan), np.full(n, np.nan)
    for j in range(n):
        mine = joint == j
        if mine.any():
            sag[j] = np.nanmean(lead[mine])
        moving = mine & (np.abs(rate) > MOVING)
        if moving.sum() > 20:
            # The reading lags by T: reading less model = -T rate + offset.
            lag[j] = -np.polyfit(rate[moving], residual[moving], 1)[0]
    return Score(
        duration=float(events[-1][0] - begin),
        joints=replay.joints.rms(),
        setpoints=float(np.sqrt(np.nanmean(lead**2))),
        tilt=replay.tilts.rms(),
        lag=lag,
        sag=sag,
        declared=replay.declared if detect else None,
        payload=replay.payload.estimate(),
    )


def page(robot: Robot, result: Score, source: str) -> str:
    """Return a Score as a page of text; source: name of the recording."""
    degrees = [math.degrees(value) for value in (*result.joints, result.setpoints, *result.tilt)]
    lags, sags = 1e3 * result.lag, np.degrees(result.sag)
    lines = [
        f"# {source}: {result.duration:.0f} s of {robot.name}",
        "",
        "| | after 0.1 s | after 0.5 s | by the set-points alone |",
        "|---|---|---|---|",
        f"| joints, predicted less measured, rms [deg] | {degrees[0]:.2f} | {degrees[1]:.2f} | {degrees[2]:.2f} |",
        f"| roll and pitch [deg] | {degrees[3]:.2f} | {degrees[4]:.2f} | |",
        "",
        "| joint | lag behind the model [ms] | set-point less reading, mean [deg] |",
        "|---|---|---|",
    ]
    lines += [f"| {name} | {a:.0f} | {b:.2f} |" for name, a, b in zip(robot.joint_names, lags, sags, strict=True)]
    lines += ["", "## Damage detector", ""]
    if result.declared is None:
        lines.append(f"Not run. It needs a command every {1e3 * SLOWEST:.0f} ms or more often.")
    elif not result.declared:
        lines.append("It declared nothing. On an intact robot: no false alarm.")
    else:
        lines.append("On an intact robot each of these is a false alarm:")
        lines += [f"- {time:.1f} s: {text}" for time, text in result.declared]
    payload = result.payload
    lines += ["", "## Load", ""]
    lines.append(
        f"Cannot tell: {payload.reason}."
        if payload.reason
        else f"At the end {payload.mass:.2f} +- {payload.mass_deviation:.2f} kg more than in the first seconds."
    )
    return "\n".join(lines) + "\n"
