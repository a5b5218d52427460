"""All of the robot's program in one process, wired as walk.launch.py wires the nodes, with the delays of topics."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.drivers.servos.health import BACK
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.estimation import DamageDetector
from hexapod_dynamics.gait.adaptive import AdaptiveGait
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.gait_kinds import ADAPTIVE, DEFAULTS, SWAYS, make
from hexapod_dynamics.onboard.damage_detection import DECLARE, REPORT, DamageDetection
from hexapod_dynamics.onboard.declarations import Declarations
from hexapod_dynamics.onboard.gait_control import GaitControl, GaitControlSettings, State
from hexapod_dynamics.onboard.imu import Imu
from hexapod_dynamics.onboard.inputs import ImuReading
from hexapod_dynamics.onboard.prediction import Prediction, PredictionSettings
from hexapod_dynamics.onboard.servos import READS_A_SECOND, Servos
from hexapod_dynamics.robot import Morphology, Robot

OFF = "off"
DETECT = (DECLARE, REPORT, OFF)
PERIOD = 0.02  # [s] between two commands
LOGGED = 1000  # messages that are kept
PREDICT = 0.01  # [s] between two predictions
DETECT_EVERY = 0.04  # [s] between two updates of the detector
STATE_EVERY, BUS_EVERY = 1.0, 0.1  # [s] between two reports of the gait, of the servo bus
WEIGH_EVERY = 0.05  # [s] between two checks for a full time window of the load
EARLY = 1e-6  # [s] by which a time counts as reached


class MadeDecision(NamedTuple):
    """A decision of the detector: time [s], action (declare, restore, suspect), values, one line for people."""

    time: float
    action: str
    values: dict[str, object]
    text: str


class Predicted(NamedTuple):
    """The predicted state: position (3,) [m] and rotation (3, 3) odom <- base_link, covariance (6, 6) of the pose
    [m^2, rad^2], joint angles (n,) [rad].
    """

    position: np.ndarray
    rotation: np.ndarray
    covariance: np.ndarray
    joints: np.ndarray


class Onboard:
    """The whole program of the robot; times are seconds on one clock that the caller chooses.

        o = Onboard(robot)
        o.command(t, vx, vy, wz)                                # cmd_vel
        o.imu(t, acceleration, angular_velocity)                # 100 a second
        for joint in o.reads(t):
            o.joint(t, joint, angle)                            # or o.silent(t, joint)
        set_points = o.step(t)                                  # 50 a second

    Args:
        robot: the Robot.
        detect: declare what the detector finds, report it, or off.
        get_up: after a fall: automatic, or asked (`get_up`).
        gait: a kind of `gait_kinds`, or a Gait that is not bound.
        morphology: the damage that is declared at the start.
        feedforward: shift set-points by torques of the model, as the parameter of `dynamics`.
        reads_a_second: requests that the servo bus has time for.

    Messages between what are nodes on the robot arrive with the next call: what is published in a step is used in the
    following one, except that the servos take a joint command at once.
    """

    def __init__(
        self,
        robot: Robot,
        detect: str = DECLARE,
        get_up: str = "automatic",
        gait: str | Gait = "auto",
        morphology: Morphology | None = None,
        *,
        detector: DamageDetector | None = None,
        feedforward: bool = True,
        reads_a_second: float = READS_A_SECOND,
    ) -> None:
        if detect not in DETECT:
            raise HexapodError(f"detect is {detect!r}: allowed are {', '.join(DETECT)}")
        self.robot, n = robot, robot.joint_count
        kind = gait if isinstance(gait, str) else "auto"
        settings = GaitControlSettings(kind=kind, values=DEFAULTS, period=PERIOD, get_up=get_up)
        self._gait = GaitControl(robot, settings, gait=_make_gait(gait), report=self._report)
        self._imu = Imu(robot, tell=lambda text: self._report("info", text))
        self._servos = Servos(robot, tell=lambda text: self._report("warn", text), reads_a_second=reads_a_second)
        self._prediction = Prediction(robot, PredictionSettings(command_period=PERIOD, feedforward=feedforward))
        self._detection: DamageDetection | None = None
        if detect != OFF:
            self._detection = DamageDetection(robot, detect, detector=detector)
        self._declarations = Declarations(robot)
        self.decisions: list[MadeDecision] = []
        self.log: deque[tuple[float, str, str]] = deque(maxlen=LOGGED)  # (time, level, text), as the nodes' logs
        self.torques = np.zeros(n)  # feed-forward (n,) [N m] that the servos have
        self._angles = np.full(n, np.nan)
        self._newest: ImuReading | None = None
        self._sent_torques: np.ndarray | None = None  # on its way to the servos
        self._sent_morphology: Morphology | None = None
        self._following = False
        self._time = self._next_prediction = self._next_detection = self._next_weighing = -math.inf
        self._next_state = self._next_bus = -math.inf
        self._doing = ""
        if morphology is not None:
            self.declare(morphology)
            self._deliver_morphology(0.0)

    # ---- in ----------------------------------------------------------------------------------------------------------

    def command(self, t: float, vx: float, vy: float, wz: float) -> None:
        """Walk with a twist [m/s, m/s, rad/s] of the body, as `cmd_vel`: repeated at least once a second."""
        self._gait.command(t, (vx, vy, wz))

    def imu(self, t: float, acceleration: Sequence[float], angular_velocity: Sequence[float]) -> None:
        """Process a sample (3,) [m/s^2], (3,) [rad/s] in chip axes, 100 a second."""
        reading = self._imu.sample(t, acceleration, angular_velocity)
        if reading is None:
            return
        self._newest = reading
        if reading.rotation is not None:
            self._prediction.imu(t, reading)
            if self._detection is not None:
                self._detection.imu(t, reading)
        self._predict(t)

    def reads(self, t: float) -> list[int]:
        """Return the joints (indices) that the servo bus asks next."""
        return self._servos.bus.reads(t)

    def joint(self, t: float, joint: int, angle: float) -> None:
        """Process the answer of a servo: its angle [rad], read at the time t [s]."""
        if not math.isfinite(angle):
            raise HexapodError(f"joint {self.robot.joint_names[joint]}: {angle} is no angle; call `silent` instead")
        if not self._servos.bus.answered(t, joint, angle):
            return
        self._angles[joint] = angle
        self._prediction.joint(t, joint, angle)
        if self._detection is not None:
            angles = np.full(self.robot.joint_count, np.nan)
            angles[joint] = angle
            self._detection.joints(t, angles)

    def silent(self, t: float, joint: int) -> None:
        """Process a request to a servo that was not answered."""
        self._servos.bus.unanswered(t, joint)
        if self._servos.bus.state.silent[joint]:
            self._angles[joint] = np.nan

    def declare(self, morphology: Morphology) -> None:
        """Declare the damage, as a person does by `set_morphology`; MorphologyError if that is impossible."""
        before = self._declarations.morphology.parameters()
        values = {name: value for name, value in morphology.parameters().items() if before[name] != value}
        if values:
            self._sent_morphology = self._declarations.change(self._time, values)

    def get_up(self) -> None:
        """Get up after a fall; HexapodError tells why not."""
        self._gait.ask_to_get_up(self._time)

    def emergency_stop(self, on: bool) -> None:
        """Freeze the pose at once until called with False."""
        self._servos.supervisor.emergency_stop(on)

    # ---- out ---------------------------------------------------------------------------------------------------------

    def step(self, t: float) -> np.ndarray:
        """Return the set-points (n,) [rad] for the next 20 ms; NaN: torque off, missing, or not measured yet."""
        self._time = t
        self._deliver_morphology(t)
        self._deliver_following()
        if self._newest is not None:
            self._gait.imu(t, self._newest)
            self._newest = None
        if self._gait.awaits_joints:
            self._gait.joints(t, self._angles)
        self._predict(t)
        self._command_joints(t)
        set_points = self._servos.step(t)
        self._report_gait(t)
        self._detect(t)
        if self._prediction.payload is not None and t >= self._next_weighing - EARLY:
            self._next_weighing = t + WEIGH_EVERY
            if self._prediction.payload.update(t):
                self._gait.set_payload(*self._prediction.payload.payload.expected)
        return set_points

    def _command_joints(self, t: float) -> None:
        command = self._gait.step(t)
        if command is None:
            return
        positions, rates = np.full(self.robot.joint_count, np.nan), np.zeros(self.robot.joint_count)
        positions[command.joints], rates[command.joints] = command.positions, command.velocities
        if self._sent_torques is not None:
            self.torques, self._sent_torques = np.nan_to_num(self._sent_torques), None
            if self._detection is not None:
                self._detection.set_torques(self.torques)
        self._servos.command(t, positions, self.torques)
        self._prediction.command(t, positions, rates)
        if self._detection is not None:
            self._detection.command(t, positions)

    def _predict(self, t: float) -> None:
        if t < self._next_prediction - EARLY:
            return
        self._next_prediction = max(self._next_prediction, t - PREDICT) + PREDICT
        _, torques = self._prediction.advance(t)
        if torques is not None:
            self._sent_torques = torques.copy()

    def _deliver_morphology(self, t: float) -> None:
        morphology, self._sent_morphology = self._sent_morphology, None
        if morphology is None:
            return
        self._gait.set_morphology(t, morphology)
        self._servos.bus.set_missing(~morphology.existing_mask)
        self._angles[~morphology.existing_mask] = np.nan
        self._prediction.set_morphology(morphology.parameters())
        if self._detection is not None:
            self._detection.set_morphology(morphology.parameters())

    def _deliver_following(self) -> None:
        following = self._servos.following
        if following != self._following:
            self._following = following
            self._gait.set_following(following)
            self._prediction.set_following(following)
            if self._detection is not None:
                self._detection.set_following(following)

    def _report_gait(self, t: float) -> None:
        if t < self._next_state - EARLY and self._gait.doing == self._doing:
            return
        self._next_state, self._doing = t + STATE_EVERY, self._gait.doing
        _, _, values = self._gait.state(t)
        if self._detection is not None:
            self._detection.gait(values)
        if self._prediction.payload is not None:
            sways = values.get(SWAYS)
            self._prediction.payload.set_sway_period(t, sways if isinstance(sways, float) else None)

    def _detect(self, t: float) -> None:
        known = np.isfinite(self._angles)
        names = self.robot.joint_names
        self._declarations.measure(t, {names[joint]: float(self._angles[joint]) for joint in np.flatnonzero(known)})
        if self._detection is None:
            return
        if t >= self._next_bus - EARLY:
            self._next_bus = t + BUS_EVERY
            state = self._servos.bus.state
            torque_off = np.zeros(len(names), bool) if state.torque else state.known
            self._detection.bus(t, state.silent & ~state.missing, torque_off, state.back >= BACK)
        if t < self._next_detection - EARLY:
            return
        self._next_detection = t + DETECT_EVERY
        outcome = self._detection.update(t)
        for decision in (*outcome.report, *outcome.declare):
            self.decisions.append(MadeDecision(t, decision.action, dict(decision.values), decision.text))
        for decision in outcome.declare:
            try:
                self._sent_morphology = self._declarations.change(t, decision.values)
            except HexapodError as error:
                self._report("error", f"{decision.name} is refused: {error}")
        if outcome.probe is not None:
            self._gait.probe_foot(outcome.probe)
        if outcome.trial is not None:
            self._gait.try_joint(t, outcome.trial)

    def _report(self, level: str, text: str) -> None:
        self.log.append((self._time, level, text))

    @property
    def standing_pose(self) -> np.ndarray:
        """The joint angles (n,) [rad] at which the gait stands or walks now; at the start, those it stands up to."""
        return self._gait.gait.position.copy()

    # ---- state -------------------------------------------------------------------------------------------------------

    @property
    def morphology(self) -> Morphology:
        """The declared damage."""
        return self._declarations.morphology

    @property
    def prediction(self) -> Predicted | None:
        """The predicted state; None before the first one, when not all joints have been measured."""
        observer = self._prediction.observer
        if not observer.started:
            return None
        return Predicted(
            observer.position.copy(), observer.rotation.copy(), observer.covariance.copy(), observer.q.copy()
        )

    @property
    def state(self) -> State:
        """Level (ok, warn, error), message and values: what the gait does and why, as `gait_state`."""
        return self._gait.state(self._time)

    @property
    def diagnostics(self) -> dict[str, State]:
        """The same of all parts, as /diagnostics."""
        found = {"gait": self.state, "dynamics": self._prediction.state(self._time, [])}
        if self._detection is not None:
            found["damage_detector"] = self._detection.state(self._time)
        level, words = self._servos.supervisor.doing()
        return found | {"servos": (level, "; ".join(words), {})}

    def close(self) -> None:
        """End the background work of the gait."""
        self._gait.close()


def _make_gait(gait: str | Gait) -> Gait:
    """Return the gait; plans of an adaptive one are made at once, because simulated time does not wait."""
    if not isinstance(gait, str):
        return gait
    if gait not in ADAPTIVE:
        return make(gait, DEFAULTS)
    height, body_height = (float(DEFAULTS[name]) for name in ("step_height", "body_height"))
    return AdaptiveGait(step_height=height, body_height=body_height, pattern=gait)
