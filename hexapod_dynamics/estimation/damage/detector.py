"""`DamageDetector`: detects damage of a walking robot from its servo bus, its joints and its IMU.

    commands --> guard --> RunningModel (declared robot) --+--> residuals by slice --> Baseline (learnt while healthy)
    readings, attitudes -----------------------------------+            |
    bus: silent servos, torque off                                      v suspicion
                                                     HypothesisBank: hypotheses and ensemble under the same commands
                                                                        |
                                     Decisions <-- rules of DecisionMaker <-- posterior

Order in which evidence arrives: silent servos, torque off, a joint that does not follow, sag and tilt. Time is an
argument; there is no input or output. The bank runs on an executor (threads, because the compiled model releases the
interpreter lock); `update` only collects finished results.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np

from hexapod_dynamics.control.pose_guard import PoseGuard
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.estimation.damage import joint_evidence
from hexapod_dynamics.estimation.damage.bank import HypothesisBank
from hexapod_dynamics.estimation.damage.baseline import Baseline
from hexapod_dynamics.estimation.damage.bus_evidence import BusEvidence
from hexapod_dynamics.estimation.damage.decisions import Decision, DecisionMaker, Finding
from hexapod_dynamics.estimation.damage.hypotheses import Hypothesis, locked, pairs, singles
from hexapod_dynamics.estimation.damage.posterior import covariance, posterior_of
from hexapod_dynamics.estimation.damage.running_model import RunningModel
from hexapod_dynamics.estimation.damage.settings import DetectorSettings
from hexapod_dynamics.estimation.damage.window import TILTS, MeasurementWindow
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx

_SUSPICIOUS = 4.0  # mean square of the largest normalised residuals above which the bank is simulated
# A bank that has found nothing is valid for this long [s], unless suspicion grows by this factor meanwhile.
_CALM, _GROWS, _NOTHING = 2.0, 1.3, 0.9
_ANSWERS = -3.0  # log odds of a missing link whose servo answers, against a broken link
_FORGIVEN = 5  # slices after which a joint that follows again is no longer suspected
_MOVED = 0.02  # [rad] spread of the readings of a joint that moves
_GAP, _SLOW = 0.15, 0.45  # [s] between commands, of a polling round of the bus: above it evidence is ignored ...
_DISTURBED = 2.5  # [s] ... for this time
# [s] after a change of the declared morphology in which only the bus is evaluated: the robot may sit down, move its
# feet in the air and stand up, and its contacts are not those of the model.
_SETTLING = 8.0
_PAUSE = 0.1  # [s] without commands after which the servos hold


class DamageDetector:
    """Finds damage of a Robot; all times are seconds on one clock that the caller chooses.

    Call `command`, `measure_joints`, `measure_attitude` and `bus` with the data as they arrive, `update` 20 to 50 times
    a second, and `set_morphology` after every change of the declared morphology.

    Args:
        robot: Robot.
        settings: DetectorSettings.
        executor: of the bank's simulations, concurrent.futures; None: they run within `update`.

    """

    def __init__(self, robot: Robot, settings: Any = None, executor: Any = None) -> None:
        self.robot = robot
        self.settings = s = settings or DetectorSettings()
        self.executor = executor
        self.morphology = Morphology.whole(robot)
        joints = [joint for leg in robot.legs for joint in leg.joints]
        n = robot.joint_count
        self._guard = PoseGuard([j.lower for j in joints], [j.upper for j in joints], robot.servo.stiffness)
        self.model = RunningModel(robot, s.command_period, s.timestep, s.slice_ticks)
        self.window = MeasurementWindow(self.model, n)
        self.baseline = Baseline(n, TILTS)
        self.bus_evidence = BusEvidence(robot, s.silent_after)
        self.decisions = DecisionMaker(robot, s)
        self._bank = HypothesisBank(robot, s.command_period, s.bank_timestep, (s.window + 1) * s.slice_ticks, s.members)
        self._torques = np.zeros(n)
        self._angle = np.full(n, np.nan)
        self._commands: deque[tuple] = deque()
        self._readings: deque[tuple] = deque()
        self._attitudes: deque[tuple] = deque(maxlen=400)
        self._generation = np.zeros(n, np.int64)
        self._last_command = self._last_attitude = -math.inf
        self._slice = 0  # the next slice to evaluate
        self._first_slice = 0  # the first slice measured with the present morphology
        self._job: Any = None
        self._astray_since, self._astray_last = np.full(n, np.inf), np.full(n, -np.inf)  # [ticks]
        self.news: dict[int, Any] = {}  # joint: JointCondition of those that do not follow
        self.suspicion = 0.0
        self._calm_until, self._calm_suspicion = -math.inf, 0.0  # validity of the last bank that found nothing
        self._slow_until = -math.inf  # the bus is too slow to detect silent servos
        # Commands or readings come too late to compare with the model.
        self.disturbed, self._disturbed_until = False, -math.inf
        self._settled_at = -math.inf  # when joints and attitude are evaluated again after a change of the morphology
        self.posterior: Any = None  # (hypotheses, Posterior) of the last bank
        self.banks, self.bank_time = 0, 0.0  # number of simulated banks, duration of the last one [s]
        self.time = -math.inf

    def warm_up(self) -> None:
        """Compile all kernels that the detector uses; done later, it would delay the measurements by seconds."""
        at_rest = np.zeros(self.robot.joint_count)
        self.model.start(0.0, at_rest, self.morphology)
        tasks = self._bank.tasks(self.model.model.snapshot(), self.morphology, np.zeros((2, len(at_rest))), [])
        for task in (tasks[0], tasks[1], tasks[-1]):  # the model, a smooth and a rough ground
            task()
        self.model.started = False

    # ---- what is heard -----------------------------------------------------------------------------------------------

    def command(self, time: float, positions: np.ndarray, torques: np.ndarray | None = None) -> None:
        """Take a command: joint angles (n,) [rad], NaN where nothing is asked; torques (n,) [N m]: feed-forward."""
        if torques is not None:
            self._torques[:] = torques
        self._commands.append((time, np.array(positions, float)))
        self._last_command = time

    def measure_joints(self, time: float, angles: np.ndarray) -> None:
        """Take measured joint angles (n,) [rad], NaN where none was read; `time` [s]: of the readings."""
        for joint in np.flatnonzero(np.isfinite(angles)):
            self._readings.append((time, int(joint), float(angles[joint])))
            self._angle[joint] = angles[joint]
            self.bus_evidence.measured(time, joint)

    def measure_attitude(self, time: float, rotation: np.ndarray) -> None:
        """Take the attitude of base_link: rotation (3, 3) world <- base_link of any yaw origin."""
        yaw, pitch, roll = euler_zyx(rotation)
        if not np.isfinite([yaw, pitch, roll]).all():
            raise HexapodError(f"rotation: {np.asarray(rotation).tolist()} is not finite")
        self._attitudes.append((time, roll, pitch, yaw))
        self._last_attitude = time

    def bus(self, time: float, silent: np.ndarray, let_go: np.ndarray, answering: np.ndarray | None = None) -> None:
        """Take what the servo bus reports, (n,) bool each: silent servos, servos whose torque went off by itself.

        answering: servos that answer although they are declared missing.
        """
        self.bus_evidence.told(time, np.asarray(silent, bool), np.asarray(let_go, bool))
        if answering is not None:
            self.bus_evidence.answered(np.asarray(answering, bool))

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt the declared morphology; values that this detector declared and that were changed are no longer its
        own.
        """
        if morphology == self.morphology:
            return
        self.decisions.follow(self.morphology, morphology)
        self._settled_at = self.time + _SETTLING
        self.bus_evidence.expect(self.time, morphology.existing_mask & ~self.morphology.existing_mask)
        self.morphology = morphology
        self._job = None
        self.posterior = None
        self.baseline.forget_waiting()
        self.window.clear()
        self._astray_since[:] = np.inf
        if self.model.started:
            self.model.set_morphology(morphology)
            self._first_slice = self._slice = self.model.tick // self.settings.slice_ticks + 1
            self.model.restart_at(self._slice)

    def restart(self) -> None:
        """Discard the model's state and all measurements; start again with the next ones."""
        self.model.started = False
        self.window.clear()
        self._job = self.posterior = None
        self._slice = self._first_slice = 0
        self.suspicion = 0.0
        self.news = {}
        self._astray_since[:] = np.inf
        self._commands.clear()
        self._readings.clear()
        self._attitudes.clear()

    def disturb(self, time: float) -> None:
        """Restart, and ignore the evidence for a while: the caller was late, so the times of its data are wrong."""
        self.restart()
        self.disturbed, self._disturbed_until = True, time + _DISTURBED

    # ---- what follows ------------------------------------------------------------------------------------------------

    def update(self, time: float) -> list[Decision]:
        """Process all data up to `time` [s]; return the list of new Decisions."""
        self.time = time
        if not self._advance(time):
            return []
        self._take_measurements()
        if self.bus_evidence.pace(time, self.morphology.existing_mask) > _SLOW:
            self._slow_until = self._disturbed_until = time + _DISTURBED
        self.disturbed = time < self._disturbed_until
        found = []
        if time >= self._slow_until:
            found = self.decisions.from_bus(time, self.bus_evidence, self.morphology, self._angle, not self.disturbed)
        while self._slice_complete():
            self._look_at(self._slice)
            self._slice += 1
        if self._job is not None:
            found += self._collect(time)
        if self.disturbed or time < self._settled_at:
            return found
        return found + self.decisions.from_joints(time, self.news, self.morphology, self.bus_evidence.let_go(time))

    def findings(self) -> list[Finding]:
        """Return the current Findings, declared ones first."""
        return self.decisions.findings(*(self.posterior or ([], None)))

    def cannot_know(self, time: float) -> list[str]:
        """Description of the measurements that are missing at `time`, for people; empty if none is."""
        lacking = []
        if self.bus_evidence.dead(time):
            lacking.append("no joint is measured: damage cannot be detected")
        if time - self._last_command > 1.0:
            lacking.append("no joint_commands: only silent servos and torque that is off can be found")
        if time - self._last_attitude > 1.0:
            lacking.append("no attitude from the IMU: only joints are evaluated for legs and links whose servos answer")
        if self.disturbed and not lacking:
            lacking.append("commands or readings arrive too late to check sag, tilt and single servos")
        return lacking

    def _advance(self, time: float) -> bool:
        s = self.settings
        if not self.model.started:
            ready = np.isfinite(self._angle) | ~self.morphology.existing_mask
            if not self._commands or not ready.mean() > 0.8:
                while len(self._commands) > 5:
                    self._commands.popleft()
                return False
            begin, positions = self._commands[-1]
            start = np.where(np.isfinite(self._angle), self._angle, np.nan_to_num(positions))
            self._generation += 1
            self._guard.meet(self._generation, start, np.ones(len(start), bool))
            self.model.start(begin + s.command_delay + s.command_period, start, self.morphology)
            self._commands.clear()
            self._readings.clear()
            self._attitudes.clear()
            self._tick_time = begin
            return True
        while self._commands and self._commands[0][0] <= time - s.command_delay:
            at, positions = self._commands.popleft()
            if at - self._tick_time > _GAP:
                self._disturbed_until = time + _DISTURBED
            while at - self._tick_time > 2.5 * s.command_period:
                self._hold(self._tick_time + s.command_period)
            interval = min(max(at - self._tick_time, 0.5 * s.command_period), 2.0 * s.command_period)
            setpoints = self._guard.update(positions, self._torques, interval)
            self._tick(at, setpoints)
        while time - self._tick_time > _PAUSE + s.command_delay:
            self._hold(self._tick_time + s.command_period)
        return True

    def _hold(self, at: Any) -> None:
        self._tick(at, np.full(self.robot.joint_count, np.nan))

    def _tick(self, at: Any, setpoints: np.ndarray) -> None:
        s = self.settings
        self._tick_time = at
        resolution = self.robot.servo.resolution
        self.model.step(at + s.command_delay + s.command_period, np.round(setpoints / resolution) * resolution)
        position = self.model.model.position
        if not np.isfinite(position).all():
            raise HexapodError("the detector's model is not finite: it starts again")

    def _take_measurements(self) -> None:
        last = self.model.time[self.model.row(self.model.tick - 1)]
        while self._readings and self._readings[0][0] <= last:
            self.window.add_joint(*self._readings.popleft())
        while self._attitudes and self._attitudes[0][0] <= last:
            self.window.add_attitude(*self._attitudes.popleft())

    def _slice_complete(self) -> bool:
        # A reading arrives a little later than the state that it measures.
        return self.model.tick >= (self._slice + 1) * self.settings.slice_ticks + 3

    def _look_at(self, piece: int) -> None:
        """Evaluate a complete slice: joints that do not follow, suspicion, baseline, and the bank if it is needed."""
        view = self.window.view(piece, 1)
        residual, load = view.residual[0], view.load[0]
        x = np.concatenate([residual - self.baseline.predict(load), view.tilt[0] - self.baseline.tilt])
        self._look_at_joints(load)
        joints = len(residual)
        scale = np.concatenate([np.full(joints, 8e-3), [0.012, 0.012, 0.06]])
        square = np.nan_to_num((x / scale) ** 2)
        self.suspicion = 0.7 * self.suspicion + float(np.sort(square)[-6:].mean())
        if self.suspicion < 8.0 and not self.news:
            self.baseline.offer(residual, load, view.tilt[0])
        elif self.suspicion > 30.0:
            self.baseline.forget_waiting()
        begin = piece - self.settings.window
        calm = self.time < self._calm_until and self.suspicion < _GROWS * self._calm_suspicion
        suspicious = self.suspicion > _SUSPICIOUS and not calm
        suspicious = not self.disturbed and bool(suspicious or self.news or self.decisions.suspect)
        ready = begin >= self._first_slice and begin in self.model.snapshots
        if suspicious and ready and self._job is None and np.isfinite(residual).any():
            self._start_bank(begin)

    def _look_at_joints(self, load: Any) -> None:
        """Find joints that do not follow; without commands no joint counts as stuck."""
        self.news = {}
        driven = np.flatnonzero(self.morphology.driven_mask)
        expected = np.nan_to_num(self.baseline.predict(load))
        moved = 0
        for joint in driven:
            places, angles, residuals = self.window.recent(joint, 9)
            if self.model.tick - self._astray_last[joint] > _FORGIVEN * self.settings.slice_ticks:
                self._astray_since[joint] = np.inf
            news = joint_evidence.look(places, angles, residuals, expected[joint], self._astray_since[joint])
            moved += len(angles) > 3 and np.ptp(angles) > _MOVED
            if news.state != "follows":
                self.news[int(joint)] = news
                self._astray_last[joint] = self.model.tick
                # Only the last reading surely belongs to the present state of the joint.
                self._astray_since[joint] = min(self._astray_since[joint], places[-1])
            elif np.isfinite(self._astray_since[joint]):
                self.news[int(joint)] = news
        if moved < 0.3 * len(driven):
            self.news = {joint: one for joint, one in self.news.items() if one.state != "locked"}

    def candidates(self) -> list[Hypothesis]:
        """Return the hypotheses that the bank simulates now."""
        silent = self.bus_evidence.silent(self.time, self.morphology.existing_mask)
        found = [h for h in singles(self.robot, self.morphology) if not silent[list(h.joints)].any()]
        for joint, news in self.news.items():
            if news.state != "follows" and not silent[joint]:
                found.append(locked(self.robot, joint, news.angle))
        return found

    def _start_bank(self, begin: Any) -> None:
        s = self.settings
        ticks = np.arange(begin * s.slice_ticks, (begin + s.window + 1) * s.slice_ticks)
        rows = self.model.row(ticks)
        view = self.window.view(begin + 1, s.window)
        hypotheses = self.candidates()
        tasks = self._bank.tasks(
            self.model.snapshots[begin], self.morphology, self.model.targets[rows].copy(), hypotheses
        )
        if self.executor is None:
            results = [task() for task in tasks]
        else:
            results = [self.executor.submit(task) for task in tasks]
        self._job = (view, hypotheses, results, self.time, self.suspicion)

    def _collect(self, time: float) -> list[Decision]:
        view, hypotheses, results, begun, suspicion = self._job
        if self.executor is not None:
            if not all(future.done() for future in results):
                return []
            results = [future.result() for future in results]
        self._job = None
        self.banks, self.bank_time = self.banks + 1, time - begun
        ticks = self.settings.slice_ticks
        (q0, tilt0), *results = results
        features = np.array([view.features(q[ticks:], tilt[ticks:], q0[ticks:], tilt0[ticks:]) for q, tilt in results])
        count, members = len(hypotheses), self.settings.members
        residual = view.residual - self.baseline.predict(view.load)
        x = np.nan_to_num(np.concatenate([residual, view.tilt - self.baseline.tilt], axis=1))
        known = np.concatenate([np.maximum(self.baseline.known, 0.3), np.full(TILTS, 0.5)])
        static, rough = features[count : count + members], features[count + members :]
        cov = covariance(static, rough, view.noise, known, self.robot.joint_count)
        self.last = x, view.noise, cov, features[:count]
        prior = self.settings.prior + np.array([_ANSWERS if h.kind == "missing" else 0.0 for h in hypotheses])
        posterior = posterior_of(x, view.noise, cov, features[:count], prior)
        self.posterior = hypotheses, posterior
        if posterior.declared > _NOTHING:
            self._calm_until, self._calm_suspicion = time + _CALM, suspicion
        if self.disturbed or time < self._settled_at:
            return []
        return self.decisions.from_bank(time, hypotheses, posterior, self.news)


__all__ = ["DamageDetector", "pairs"]
