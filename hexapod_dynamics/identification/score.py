"""Scores the software on a robot: it processes a recorded walk with the robot's own program (onboard/).

Everything is given to it in the order of its time, as the nodes give it. A prediction is made every half a
second and compared with the measurements until the next; for comparison, the set-points themselves are evaluated as a
prediction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.detection.settings import SLOWEST, DetectorSettings
from hexapod_dynamics.errors import IdentificationError
from hexapod_dynamics.estimation.payload import Payload
from hexapod_dynamics.identification.recording import Recording
from hexapod_dynamics.onboard.damage_detection import DamageDetection
from hexapod_dynamics.onboard.inputs import ImuReading
from hexapod_dynamics.onboard.prediction import Prediction, PredictionSettings
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx

Array = NDArray[np.float64]
TICK = 0.01  # [s] of the model
AGES = ((0.05, 0.15), (0.4, 0.5))  # [s] ages of a prediction that are scored


@dataclass(frozen=True, eq=False)
class Score:
    """Root mean squares [rad] and findings.

    duration [s]; joints: of prediction errors at the two AGES; setpoints: of the set-points as a prediction; tilt: of
    predicted roll and pitch at the AGES, NaN without attitudes; lag (n,) [s]: of the readings behind those of a model
    whose servos feed the rate forward, NaN for joints that do not move; sag (n,): mean set-point less reading;
    declared: (time [s], text) of the damage detector, None if it did not run; payload: at the end, None for legs that
    are not of three joints.
    """

    duration: float
    joints: tuple[float, float]
    setpoints: float
    tilt: tuple[float, float]
    lag: Array
    sag: Array
    declared: list[tuple[float, str]] | None
    payload: Payload | None


def _rms_at_ages(errors: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the root mean squares of errors (age of the prediction [s], error) at the two AGES, NaN for none."""
    ages, values = np.array(errors).reshape(-1, 2).T
    found = [values[(low <= ages) & (ages <= high)] for low, high in AGES]
    first, last = (math.sqrt(np.mean(some**2)) if len(some) else math.nan for some in found)
    return first, last


class _Replay:
    """The robot's program, with a command every `period` [s]: its prediction, which weighs the load, and its damage
    detection. Its scores begin 3 s after `begin` [s].
    """

    def __init__(
        self, robot: Robot, begin: float, period: float, morphology: Morphology, detect: bool, command_delay: float
    ) -> None:
        self.begin, self.period = begin, period
        settings = PredictionSettings(
            command_period=period, command_delay=command_delay, timestep=2e-3, feedforward=False
        )
        self.prediction, self.detection = Prediction(robot, settings), None
        if detect:
            detector = DetectorSettings(command_period=min(period, 1.0), command_delay=command_delay)
            self.detection = DamageDetection(robot, settings=detector) if detector.comparable else None
        self.observer = self.prediction.observer
        self.programs: tuple[Prediction | DamageDetection, ...] = (self.prediction,)
        if self.detection is not None:
            self.programs += (self.detection,)
        for program in self.programs:
            program.set_morphology(morphology)
        n = robot.joint_count
        self.command = np.full(n, np.nan)
        self.declared: list[tuple[float, str]] = []
        self.joints: list[tuple[float, float]] = []  # age of the prediction [s], its error [rad]
        self.tilts: list[tuple[float, float]] = []
        self.readings: list[tuple[int, float, float, float]] = []  # joint, reading less model, rate, less set-point
        self._ticks = 0
        # The last prediction: when [s], the ages of its states [s], their joints and rotations.
        self._path: tuple[float, Array, Array, Array]
        self._path = -math.inf, np.zeros(1), np.full((1, n), np.nan), np.zeros((0, 3, 3))

    def forward(self, _time: float, torques: Array) -> None:
        """Process the feed-forward torques (n,) [N m] that the servos have from now on."""
        self.observer.feed_forward(np.nan_to_num(torques))
        if self.detection is not None:
            self.detection.set_torques(torques)

    def send(self, time: float, command: Array) -> None:
        """Process a command."""
        rates = np.nan_to_num(command - self.command) / self.period
        self.command = command
        self.prediction.command(time, command, rates)
        if self.detection is not None:
            self.detection.command(time, command)

    def read(self, time: float, reading: tuple[int, float]) -> None:
        """Process a reading of a joint."""
        observer, (joint, angle) = self.observer, reading
        if time - self.begin > 3.0 and observer.started:
            rate = observer.nu.item(6 + joint)
            expected = observer.q.item(joint) + rate * (time - observer.time)
            residual = observer.servo_lag.refer_to_feed_forward(angle - expected, rate)
            self.readings.append((joint, residual, rate, self.command.item(joint) - angle))
            begun, ages, joints, _ = self._path
            self.joints.append((time - begun, angle - float(np.interp(time - begun, ages, joints[:, joint]))))
        for program in self.programs:
            program.joint(time, joint, angle)

    def turn(self, time: float, rotation: Array) -> None:
        """Process an attitude."""
        begun, ages, _, rotations = self._path
        if time - self.begin > 3.0 and len(rotations):
            predicted = rotations[np.abs(ages - (time - begun)).argmin()]
            (_, pitch, roll), (_, predicted_pitch, predicted_roll) = euler_zyx(rotation), euler_zyx(predicted)
            self.tilts += [(time - begun, pitch - predicted_pitch), (time - begun, roll - predicted_roll)]
        for program in self.programs:
            program.imu(time, ImuReading(rotation, None, None, None, None))

    def tick(self, time: float) -> None:
        """Advance the model to `time` [s]."""
        if not self.prediction.advance(time)[0]:
            return
        self._ticks += 1
        if time - self._path[0] >= 0.5 and (path := self.prediction.predict_path(time)) is not None:
            _, rotations, joints = path
            ages = self.observer.model.horizon_period * np.arange(1.0, len(joints) + 1.0)
            self._path = time, ages, joints.copy(), rotations.copy()
        if self.prediction.payload is not None:
            self.prediction.payload.update(time)
        if self.detection is not None and self._ticks % 4 == 0:
            detector = self.detection.detector
            for decision in self.detection.update(time).declare:
                self.declared.append((time, decision.text))
                detector.set_morphology(detector.morphology.updated(decision.values))


def score(
    robot: Robot,
    recording: Recording,
    *,
    morphology: Morphology | None = None,
    command_delay: float = 0.017,
    detect: bool = True,
) -> Score:
    """Score the software on a Recording of a robot with a morphology, by default intact.

    command_delay [s]: from a command to the servos' start. detect: whether the damage detector runs, which takes most
    of the time; it does not for commands that are too seldom. Raises IdentificationError for one that is too short.
    """
    recording.check(robot, "a walk")
    now = float(recording.command_time[0])
    morphology = Morphology.whole(robot) if morphology is None else morphology
    replay = _Replay(robot, now, recording.command_period, morphology, detect, command_delay)
    readings = list(zip(recording.reading_joint.tolist(), recording.readings.tolist(), strict=True))
    inputs: tuple[tuple[Callable[[float, Any], None], Array, Any], ...] = (
        (replay.forward, recording.torque_time, recording.torques),
        (replay.send, recording.command_time, recording.commands),
        (replay.read, recording.reading_time, readings),
        (replay.turn, recording.attitude_time, recording.attitude),
    )
    events = sorted((t, kind, k) for kind, (_, times, _) in enumerate(inputs) for k, t in enumerate(times.tolist()))
    for time, kind, k in events:
        while now + TICK <= time:
            now += TICK
            replay.tick(now)
        process, _, values = inputs[kind]
        process(time, values[k])
    if not replay.readings:
        raise IdentificationError("a walk: nothing is left to score after the model has started; record longer")
    joint, residual, rate, lead = (np.array(column) for column in zip(*replay.readings, strict=True))
    lag, sag = np.full((2, robot.joint_count), np.nan)
    for j in np.unique(joint):
        mine = joint == j
        sag[j] = np.nanmean(lead[mine])
        moving = mine & (np.abs(rate) > 0.1)  # [rad/s] from which a reading shows the lag
        if moving.sum() > 20:
            # The reading lags by T: reading less model = -T rate + offset.
            lag[j] = -np.polyfit(rate[moving], residual[moving], 1)[0]
    return Score(
        duration=float(events[-1][0] - recording.command_time[0]),
        joints=_rms_at_ages(replay.joints),
        setpoints=float(np.sqrt(np.nanmean(lead**2))),
        tilt=_rms_at_ages(replay.tilts),
        lag=lag,
        sag=sag,
        declared=None if replay.detection is None else replay.declared,
        payload=None if replay.prediction.payload is None else replay.prediction.payload.estimator.estimate(),
    )


def write_page(robot: Robot, result: Score, source: str) -> str:
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
    reason = payload.reason if payload else "only legs of three joints weigh a load"
    lines += ["", "## Load", "", f"Cannot tell: {reason}."]
    if payload and not reason:
        lines[-1] = f"At the end {payload.mass:.2f} +- {payload.mass_deviation:.2f} kg more than in the first seconds."
    return "\n".join(lines) + "\n"
