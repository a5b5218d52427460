"""All of the robot's program in one process, wired as walk.launch.py wires the nodes, with the delays of topics."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hexapod_dynamics.array_checks import as_numbers
from hexapod_dynamics.detection import DamageDetector
from hexapod_dynamics.drivers.imu.attitude import CalibratedImu
from hexapod_dynamics.drivers.servos.health import RECONNECTED
from hexapod_dynamics.dynamics.checks import check_joint
from hexapod_dynamics.errors import HexapodError, MorphologyError, is_finite, require_instance, require_positive
from hexapod_dynamics.gait.adaptive import AdaptiveGait
from hexapod_dynamics.gait.interface import Gait
from hexapod_dynamics.gait_kinds import ADAPTIVE, DEFAULTS, SWAY_PERIOD, make_gait
from hexapod_dynamics.onboard.damage_detection import DECLARE, REPORT, DamageDetection
from hexapod_dynamics.onboard.declarations import Declarations
from hexapod_dynamics.onboard.gait_control import GaitControl, GaitControlSettings, State
from hexapod_dynamics.onboard.inputs import OLDEST_READING, Faults, ImuInput, ImuReading, JointInput
from hexapod_dynamics.onboard.prediction import Prediction, PredictionSettings
from hexapod_dynamics.onboard.servos import READS_A_SECOND, Servos
from hexapod_dynamics.robot import Morphology, Robot

OFF = "off"
DETECT = (DECLARE, REPORT, OFF)
GET_UP = ("automatic", "asked")
# [s] between two predictions, updates of the detector, reports of the gait and of the servo bus, checks of the load, as
# the nodes have them by default.
PERIODS = {"prediction": 0.01, "detection": 0.04, "gait": 1.0, "bus": 0.1, "payload": 0.05}


class MadeDecision(NamedTuple):
    """A decision of the detector: time [s], action (declare, restore), values, one line for people."""

    time: float
    action: str
    values: dict[str, object]
    text: str


class PredictedState(NamedTuple):
    """The predicted state: position (3,) [m] and rotation (3, 3) odom <- base_link, covariance (6, 6) of the pose
    [m^2, rad^2], joint angles (n,) [rad].
    """

    position: np.ndarray
    rotation: np.ndarray
    covariance: np.ndarray
    joints: np.ndarray


class Imu:
    """What the node `imu` does: calibrates samples in chip axes, `rate` a second, and estimates the attitude.

    The gyroscope is calibrated once the robot has rested for a second; before that there is no attitude.
    """

    def __init__(self, robot: Robot, rate: float = 100.0, tell: Callable[[str], None] = lambda text: None) -> None:
        self.faults, mounting = Faults(), robot.imu.rotation
        self.calibrated = CalibratedImu(rate, mounting, 3.0, True, None, tell)  # [s], as the node has it by default
        self._raw, self._data = ImuInput(mounting, self.faults, "imu/data_raw"), ImuInput(mounting, self.faults)
        self.check_clock = self._raw.check_clock

    def sample(self, t: float, acceleration: Sequence[float], angular_velocity: Sequence[float]) -> ImuReading | None:
        """Return what a sample (3,) [m/s^2], (3,) [rad/s] of the time t [s] tells; None if it is not used."""
        raw = self._raw.read(t, None, acceleration, angular_velocity)
        if raw.chip_force is None or raw.chip_rate is None:
            return None
        force, rate, quaternion = self.calibrated.accept(raw.chip_force, raw.chip_rate, t)
        return self._data.read(t, quaternion if self.calibrated.calibrated else None, force, rate)


@dataclass
class ProgramParts:
    """What each node does, by its name; Onboard passes on what the nodes publish."""

    imu: Imu
    servos: Servos
    gait: GaitControl
    prediction: Prediction
    detection: DamageDetection | None
    declarations: Declarations


class Onboard:
    """The whole program of the robot; times are seconds on one clock that the caller chooses.

    The times of `step` never decrease; those of other calls may be up to a second late, and in any order.

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
        detector: instead of a DamageDetector with its default settings.
        prediction: PredictionSettings, by default those of the node `dynamics`.
        braces: a pushed robot lies down, as the parameter `brace` of the node `gait`.
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
        prediction: PredictionSettings | None = None,
        braces: bool = True,
        reads_a_second: float = READS_A_SECOND,
    ) -> None:
        for name, given, allowed in (("detect", detect, DETECT), ("get_up", get_up, GET_UP)):
            if given not in allowed:
                raise HexapodError(f"{name} is {given!r}: allowed are {', '.join(allowed)}")
        require_instance("robot", robot, Robot)
        if not isinstance(gait, str):
            require_instance("gait", gait, Gait)
        for name, part, kind in (
            ("detector", detector, DamageDetector),
            ("prediction", prediction, PredictionSettings),
        ):
            if part is not None:
                require_instance(name, part, kind)
        require_positive({"reads_a_second": reads_a_second})
        self.robot, n = robot, robot.joint_count
        self._joint_input = JointInput(robot, Faults())
        settings = GaitControlSettings(gait if isinstance(gait, str) else "auto", DEFAULTS, brace=braces, get_up=get_up)
        self.parts = ProgramParts(
            Imu(robot, tell=lambda text: self._report("info", text)),
            Servos(robot, tell=lambda text: self._report("warn", text), reads_a_second=reads_a_second),
            GaitControl(robot, settings, gait=_make_gait(gait), report=self._report),
            Prediction(robot, prediction or PredictionSettings()),
            None if detect == OFF else DamageDetection(robot, detect, detector=detector),
            Declarations(robot),
        )
        # The parts that watch what happens.
        self._observers: list[Prediction | DamageDetection] = [
            part for part in (self.parts.prediction, self.parts.detection) if part is not None
        ]
        self.decisions: list[MadeDecision] = []
        self.log: deque[tuple[float, str, str]] = deque(maxlen=1000)  # (time, level, text), as the nodes' logs
        self.torques = np.zeros(n)  # feed-forward (n,) [N m] that the servos have
        self._angles = np.full(n, np.nan)
        self._newest: ImuReading | None = None
        self._sent_torques: np.ndarray | None = None  # on its way to the servos
        self._sent_morphology: Morphology | None = None
        self._following = False
        self._time = self._latest = -math.inf  # of the last step; the latest of all calls
        self._next: dict[str, float] = {}  # times at which what PERIODS names is due
        self._doing = ""
        if morphology is not None:
            self.declare(morphology)
            self._deliver(0.0)

    # ---- in ----------------------------------------------------------------------------------------------------------

    def command(self, t: float, vx: float, vy: float, wz: float) -> None:
        """Walk with a twist [m/s, m/s, rad/s] of the body, as `cmd_vel`: repeated at least once a second.

        A twist that is not finite is a fault that `state` names; the last valid one is followed until it is too old.
        """
        self._check_time(t)
        self.parts.gait.command(t, (vx, vy, wz))

    def imu(self, t: float, acceleration: Sequence[float], angular_velocity: Sequence[float]) -> None:
        """Process a sample (3,) [m/s^2], (3,) [rad/s] in chip axes, 100 a second."""
        given = (("acceleration", acceleration), ("angular_velocity", angular_velocity))
        force, rate = (as_numbers(name, values, (3,)).tolist() for name, values in given)
        self._check_time(t)
        if math.isfinite(self._time):
            self.parts.imu.check_clock(self._time, self._time - t)
        reading = self.parts.imu.sample(t, force, rate)
        if reading is None:
            return
        self._newest = reading
        for each in self._observers:
            each.imu(t, reading)
        self._predict(t)

    def reads(self, t: float) -> list[int]:
        """Return the joints (indices) that the servo bus asks next."""
        self._check_time(t)
        return self.parts.servos.bus.reads(t)

    def joint(self, t: float, joint: int, angle: float) -> None:
        """Process the answer of a servo: its angle [rad], read at the time t [s]. HexapodError for what is no angle."""
        check_joint(self.robot, joint)
        if refusal := self._joint_input.refusal(joint, angle):
            raise HexapodError(f"{refusal}; call `silent` instead")
        self._check_time(t)
        if not self.parts.servos.bus.process_answer(t, joint, angle):
            return
        self._angles[joint] = angle
        for each in self._observers:
            each.joint(t, joint, angle)

    def silent(self, t: float, joint: int) -> None:
        """Process a request to a servo that was not answered."""
        check_joint(self.robot, joint)
        self._check_time(t)
        self.parts.servos.bus.process_silence(t, joint)
        if self.parts.servos.bus.state.silent[joint]:
            self._angles[joint] = np.nan

    def declare(self, morphology: Morphology) -> None:
        """Declare the damage, as a person does by `set_morphology`; MorphologyError if that is impossible."""
        if not isinstance(morphology, Morphology) or morphology.robot != self.robot:
            raise MorphologyError(f"morphology: {morphology!r} given, a Morphology of {self.robot!r} needed")
        before = self.parts.declarations.morphology.parameters()
        values = {name: value for name, value in morphology.parameters().items() if before[name] != value}
        if values:
            self._sent_morphology = self.parts.declarations.change(self._time, values)

    def get_up(self) -> None:
        """Get up after a fall; HexapodError tells why not."""
        self.parts.gait.ask_to_get_up(self._time)

    def emergency_stop(self, on: bool) -> None:
        """Freeze the pose at once (True), until called with False.

        Any other value freezes it, too, and raises HexapodError.
        """
        is_known = isinstance(on, bool | np.bool_)
        self.parts.servos.supervisor.emergency_stop(not is_known or bool(on))
        if not is_known:
            raise HexapodError(f"on: {on!r} given, True or False needed; the pose is frozen")

    # ---- out ---------------------------------------------------------------------------------------------------------

    def step(self, t: float) -> np.ndarray:
        """Return the set-points (n,) [rad] for the next 20 ms; NaN: torque off, missing, or not measured yet."""
        self._check_time(t, self._time)
        self._time, payload = t, self.parts.prediction.payload
        self._deliver(t)
        if self._newest is not None:
            self.parts.gait.imu(t, self._newest)
            self._newest = None
        if self.parts.gait.awaits_joints:
            self.parts.gait.joints(t, self._angles)
        self._predict(t)
        self._command_joints(t)
        set_points = self.parts.servos.step(t)
        self._report_gait(t)
        self.parts.declarations.measure(t, self._angles)
        if self.parts.detection is not None:
            self._detect(t, self.parts.detection)
        if payload is not None and self._due("payload", t) and payload.update(t):
            self.parts.gait.set_payload(*payload.payload.expected)
        return set_points

    def _check_time(self, t: float, earliest: float = -math.inf) -> None:
        """Raise HexapodError for a time that is not finite, before `earliest` or a second behind the latest call: what
        follows it would never be due.
        """
        if not is_finite(t):
            raise HexapodError(f"t: {t!r} given, seconds on one clock needed")
        earliest = max(earliest, self._latest - OLDEST_READING)
        if t < earliest:
            remedy = "make a new Onboard where a simulation begins again"
            raise HexapodError(f"t: {t:.6g} s given, at least {earliest:.6g} needed: time runs forward; {remedy}")
        self._latest = max(self._latest, t)

    def _due(self, what: str, t: float) -> bool:
        """Whether what PERIODS names is due at the time t [s]; then it is due again after its period."""
        due, every = self._next.get(what, t), PERIODS[what]
        if t < due - 1e-6:
            return False
        self._next[what] = max(due, t - every) + every
        return True

    def _command_joints(self, t: float) -> None:
        command = self.parts.gait.step(t)
        if command is None:
            return
        positions, rates = np.full(self.robot.joint_count, np.nan), np.zeros(self.robot.joint_count)
        positions[command.joints], rates[command.joints] = command.positions, command.velocities
        detection = self.parts.detection
        if self._sent_torques is not None:
            self.torques, self._sent_torques = np.nan_to_num(self._sent_torques), None
            if detection is not None:
                detection.set_torques(self.torques)
        self.parts.servos.command(t, positions, self.torques)
        self.parts.prediction.command(t, positions, rates)
        if detection is not None:
            detection.command(t, positions)

    def _predict(self, t: float) -> None:
        if self._due("prediction", t):
            _, torques = self.parts.prediction.advance(t)
            if torques is not None:
                self._sent_torques = torques.copy()

    def _deliver(self, t: float) -> None:
        """Pass on the latched topics `morphology` and `servos/following` where they have changed."""
        morphology, self._sent_morphology = self._sent_morphology, None
        if morphology is not None:
            self.parts.gait.set_morphology(t, morphology)
            self.parts.servos.bus.set_missing(~morphology.existing_mask)
            self._angles[~morphology.existing_mask] = np.nan
            for each in self._observers:
                each.set_morphology(morphology)
        following = self.parts.servos.supervisor.is_executing
        if following != self._following:
            self._following = following
            for part in (self.parts.gait, *self._observers):
                part.set_following(following)

    def _report_gait(self, t: float) -> None:
        gait, payload = self.parts.gait, self.parts.prediction.payload
        if not self._due("gait", t) and gait.doing == self._doing:
            return
        self._doing = gait.doing
        _, _, values = gait.state(t)
        if self.parts.detection is not None:
            self.parts.detection.gait(values)
        if payload is not None:
            sways = values.get(SWAY_PERIOD)
            payload.set_sway_period(t, sways if isinstance(sways, float) else None)

    def _detect(self, t: float, detection: DamageDetection) -> None:
        if self._due("bus", t):
            state = self.parts.servos.bus.state
            detection.bus(t, state.silent & ~state.missing, state.limp, state.back >= RECONNECTED)
        if not self._due("detection", t):
            return
        outcome = detection.update(t)
        for decision in (*outcome.report, *outcome.declare):
            self.decisions.append(MadeDecision(t, decision.action, dict(decision.values), decision.text))
        for decision in outcome.declare:
            try:
                self._sent_morphology = self.parts.declarations.change(t, decision.values)
            except HexapodError as error:
                self._report("error", f"{decision.name} is refused: {error}")
        if outcome.probe is not None:
            self.parts.gait.probe_foot(outcome.probe)
        if outcome.trial is not None:
            self.parts.gait.try_joint(t, outcome.trial)

    def _report(self, level: str, text: str) -> None:
        self.log.append((self._time, level, text))

    @property
    def standing_pose(self) -> np.ndarray:
        """The joint angles (n,) [rad] at which the gait stands or walks now; at the start, those it stands up to."""
        return self.parts.gait.gait.position.copy()

    # ---- state -------------------------------------------------------------------------------------------------------

    @property
    def morphology(self) -> Morphology:
        """The declared damage."""
        return self.parts.declarations.morphology

    @property
    def prediction(self) -> PredictedState | None:
        """The predicted state; None before the first one, when not all joints have been measured."""
        observer = self.parts.prediction.observer
        if not observer.started:
            return None
        return PredictedState(
            observer.position.copy(), observer.rotation.copy(), observer.covariance.copy(), observer.q.copy()
        )

    @property
    def state(self) -> State:
        """Level (ok, warn, error), message and values: what the gait does and why, as `gait_state`."""
        return self.parts.gait.state(self._time)

    @property
    def diagnostics(self) -> dict[str, State]:
        """The same of all parts, as /diagnostics."""
        found = {"gait": self.state, "dynamics": self.parts.prediction.state(self._time, [])}
        faults = self.parts.imu.faults.list_recent(self._time)
        counts: dict[str, object] = {**self.parts.imu.faults.counts()}
        found["imu"] = "warn" if faults else "ok", "; ".join(faults) or "measuring", counts
        if self.parts.detection is not None:
            found["damage_detector"] = self.parts.detection.state(self._time)
        level, words = self.parts.servos.supervisor.doing()
        return found | {"servos": (level, "; ".join(words), {})}

    def close(self) -> None:
        """End the background work of the gait."""
        self.parts.gait.close()


def _make_gait(gait: str | Gait) -> Gait:
    """Return the gait; plans of an adaptive one are made at once, because simulated time does not wait."""
    if not isinstance(gait, str):
        return gait
    if gait not in ADAPTIVE:
        return make_gait(gait, DEFAULTS)
    height, body_height = (float(DEFAULTS[name]) for name in ("step_height", "body_height"))
    return AdaptiveGait(step_height=height, body_height=body_height, pattern=gait)
