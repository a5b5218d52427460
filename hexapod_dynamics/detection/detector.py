"""`DamageDetector`: detects damage of a walking robot from its servo bus, its joints and its IMU.

    commands --> CommandedModel (declared robot) --+--> residuals by slice --> Baseline (learnt while healthy)
    readings, attitudes ---------------------------+            |         `--> JointWatch: joints that do not follow
    bus: silent servos, torque off                              v suspicion
                                                     BankRun: hypotheses and ensemble under the same commands
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

from hexapod_dynamics.detection.bank_run import BankResult, BankRun
from hexapod_dynamics.detection.baseline import Baseline
from hexapod_dynamics.detection.bus_evidence import BusEvidence, SilentChain
from hexapod_dynamics.detection.commanded_model import CommandedModel
from hexapod_dynamics.detection.decisions import Decision, DecisionMaker, Finding
from hexapod_dynamics.detection.hypotheses import (
    Hypothesis,
    leg_of_group,
    locked,
    of_answering_servos,
    of_foot,
    part_of,
)
from hexapod_dynamics.detection.joint_evidence import JointCondition
from hexapod_dynamics.detection.joint_watch import JointWatch
from hexapod_dynamics.detection.lateness import Lateness
from hexapod_dynamics.detection.leaning import Leaning
from hexapod_dynamics.detection.learnt_servos import LearntServos
from hexapod_dynamics.detection.mended_joints import MendedJoints
from hexapod_dynamics.detection.posterior import Posterior
from hexapod_dynamics.detection.probe import Probe
from hexapod_dynamics.detection.scatter import kinds_of
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.detection.settling import Settling
from hexapod_dynamics.detection.suspicion import Suspicion
from hexapod_dynamics.detection.window import TILTS, MeasurementWindow
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx


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
        n = robot.joint_count
        self._commanded = CommandedModel(robot, s)
        self.model = self._commanded.model
        self.window = MeasurementWindow(self.model, n, s.limits)
        self.baseline = Baseline(kinds_of(robot), s.limits)
        self.servos = LearntServos(s.limits, n, s.slice)
        self.bus_evidence = BusEvidence(robot, s.silent_after, s.limits)
        self.decisions = DecisionMaker(robot, s)
        self._bank = BankRun(robot, s, executor, self.model)
        self._watch = JointWatch(n, s.slice_ticks, s.limits)
        self._probe = Probe(s.limits)
        self._mended = MendedJoints(s.limits)
        self._asked = np.full(n, np.nan)  # last command of each joint [rad]
        self._angle = np.full(n, np.nan)
        # A limp joint is moved by whatever touches its leg: its angle says nothing of the rest of the robot.
        self._limp = np.zeros(n, bool)
        self._readings: deque[tuple] = deque()
        self._attitudes: deque[tuple] = deque(maxlen=400)
        self._last_attitude = -math.inf
        self._usual_lean: tuple[float, ...] = (0.0, 0.0)  # roll, pitch [rad] beyond the model's
        self._leaning = Leaning(s.limits)
        self._leant = -math.inf  # time of the last attitude that was not the model's
        self._lean = 0.0  # larger one of |roll| and |pitch| [rad] in the last attitude
        self._slice = 0  # the next slice to evaluate
        self._first_slice = 0  # the first slice measured with the present morphology
        self._suspicion = Suspicion(n, s.limits)
        self._usual_misfit = s.limits.as_usual  # chi-square per feature of banks that have found nothing
        # Commands or readings come too late to compare with the model.
        self.disturbed, self._disturbed_until = False, -math.inf
        self._lateness = Lateness(s.limits)
        self._seldom_read = -math.inf  # time at which a polling round took long
        self._settling = Settling(s.slice, s.limits)
        # Of a lost foot that a bank has decided on: its values, and the slice in which it was lost.
        self._onsets: list[tuple[dict, int]] = []
        self._moved: dict[int, np.ndarray] = {}  # slice: how far that loss has moved the model's features
        self._follows_from = np.full(n, -math.inf)  # joints that came back are watched from then on
        self.following = True  # the servos execute the commands
        self.posterior: tuple[list[Hypothesis], Posterior] | None = None  # of the last bank
        self.time = -math.inf

    def warm_up(self) -> None:
        """Compile all kernels that the detector uses; done later, it would delay the measurements by seconds."""
        at_rest = np.zeros(self.robot.joint_count)
        self.model.model.warm_up()
        self.model.start(0.0, at_rest, self.morphology)
        self._bank.warm_up(self.morphology)
        self.model.started = False

    # ---- inputs ------------------------------------------------------------------------------------------------------

    def command(self, time: float, positions: np.ndarray, torques: np.ndarray | None = None) -> None:
        """Add a command: joint angles (n,) [rad], NaN: no command; torques (n,) [N m]: feed-forward."""
        if self.following:
            self._lateness.command(time)
            given = np.isfinite(positions)
            self._asked[given] = np.asarray(positions, float)[given]
            self._commanded.command(time, positions, torques)

    def follow(self, following: bool) -> None:
        """Note whether the servos execute the commands: not after an emergency stop, while torque is off, while they
        sit down. Meanwhile only the bus is evaluated; then the model starts again from the measured pose.
        """
        if following != self.following:
            self.following = following
            self.restart()

    def measure_joints(self, time: float, angles: np.ndarray) -> None:
        """Add measured joint angles (n,) [rad], NaN for joints that were not read; `time` [s] of the readings."""
        joints = np.flatnonzero(np.isfinite(angles))
        if joints.size:
            self._lateness.reading(time)
        for joint in joints:
            self._readings.append((time, int(joint), float(angles[joint])))
            self._angle[joint] = angles[joint]
            self.bus_evidence.measured(time, joint)
            self._mended.reading(time, int(joint), float(angles[joint]), float(self._asked[joint]))

    def measure_attitude(self, time: float, rotation: np.ndarray) -> None:
        """Add the attitude of base_link: rotation (3, 3) world <- base_link of any yaw origin."""
        yaw, pitch, roll = euler_zyx(rotation)
        if not np.isfinite([yaw, pitch, roll]).all():
            raise HexapodError(f"rotation: {np.asarray(rotation).tolist()} is not finite")
        self._attitudes.append((time, roll, pitch, yaw))
        self._last_attitude, self._lean = time, max(abs(roll), abs(pitch))
        self._note_lean(time, roll, pitch)

    def bus(self, time: float, silent: np.ndarray, let_go: np.ndarray, answering: np.ndarray | None = None) -> None:
        """Add a report of the servo bus, (n,) bool each: silent servos, servos that switched their torque off.

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
        doubted = self.decisions.doubted
        self.decisions.follow(self.morphology, morphology)
        self._mended.watch(self.decisions.own_joints())
        onset = next((at for values, at in self._onsets if self.morphology.updated(values) == morphology), None)
        self._onsets.clear()
        self._follows_from[morphology.driven_mask & ~self.morphology.driven_mask] = (
            self.time + self.settings.limits.returning
        )
        self.bus_evidence.expect(self.time, morphology.existing_mask & ~self.morphology.existing_mask)
        self.morphology = morphology
        self._limp = morphology.moving_mask & ~morphology.driven_mask
        self._bank.cancel()
        self.posterior = None
        self._watch.forget()
        goes_on = onset is not None and self._go_on_from(onset)
        self._leaning.clear()
        self.baseline.change_robot(unknown=goes_on)
        self._probe.doubt(self.time, doubted if goes_on else None)
        if not goes_on:
            self._start_again()

    def _go_on_from(self, onset: int) -> bool:
        """Let the model go on as if the morphology had been the declared one since slice `onset`: it has fallen as the
        robot has, and what was measured since counts. False: the onset is too long ago.
        """
        slices = range(onset, self._slice)
        before = self.window.view(onset, len(slices)).residual
        if not self.model.started or not self.model.repeat(onset, self.morphology):
            return False
        self.window.compare_again(onset)
        moved = np.nan_to_num(self.window.view(onset, len(slices)).residual - before)
        self._moved = dict(zip(slices, moved, strict=True))
        self._first_slice = onset
        self._settling.go_on(self.time)
        return True

    def _start_again(self) -> None:
        """Discard the measurements, and let the model go on from where it is with the declared morphology."""
        self._settling.change(self.time)
        self.window.clear()
        self._moved.clear()
        if self.model.started:
            self.model.set_morphology(self.morphology)
            self._first_slice = self._slice = self.model.tick // self.settings.slice_ticks + 1
            self.model.restart_at(self._slice)

    def restart(self) -> None:
        """Discard the model's state and all measurements; start again with the next ones."""
        self._commanded.clear()
        self.window.clear()
        self._bank.cancel()
        self.posterior = None
        self._slice = self._first_slice = 0
        self._moved.clear()
        self._onsets.clear()
        self._suspicion.restart()
        self.baseline.forget_waiting()
        self._watch.clear()
        self._mended.forget()
        self._readings.clear()
        self._attitudes.clear()

    def disturb(self, time: float) -> None:
        """Restart and ignore evidence for some seconds, because a late caller made the times of its data wrong."""
        self.restart()
        self.disturbed, self._disturbed_until = True, time + self.settings.limits.disturbed_for

    def off_its_feet(self, time: float) -> None:
        """Ignore sag, tilt and single servos for some seconds: the robot lies after a fall, or is getting up."""
        self._leaning.clear()  # how far it leant then says nothing of the ground
        self._ignore_late(time)

    def thrown_back(self, time: float) -> None:
        """Note that an obstacle throws the body back: the ground is uneven, and the feet stay where they are."""
        self._leaning.note_obstacle(time)

    # ---- what follows ------------------------------------------------------------------------------------------------

    def update(self, time: float) -> list[Decision]:
        """Process all data up to `time` [s]; return the list of new Decisions."""
        self.time = time
        limits = self.settings.limits
        busy = self._lateness.often(time) or time - self._seldom_read < limits.seldom_for
        self.decisions.patience = limits.busy_patience if busy else 0.0
        self.window.timing = limits.busy_timing if busy else limits.window_timing
        if self._lateness.look(time):
            self._ignore_late(time)
        if self._lateness.recent(time):  # the model does not start yet: what comes may be late, too
            self._commanded.clear()
            self._readings.clear()
            self._attitudes.clear()
            return self._from_bus(time)
        if not self.model.started:
            self.model.set_dead_zone(self.servos.zone)
            if self._commanded.start(self._angle, self.morphology):
                self._readings.clear()
                self._attitudes.clear()
            else:
                return self._from_bus(time)  # a robot that starts with two legs less is never measured completely
        else:
            self._commanded.advance(time)
        self._take_measurements()
        found = self._from_bus(time)
        while self._slice_complete():
            lag = self.window.lag(2 * self.settings.slice_ticks)
            if self._lateness.lags(time, lag if self.servos.identified else lag - self.settings.limits.slow_servos):
                self._ignore_late(time)
                self.disturbed = True
                return found
            self._look_at(self._slice)
            self._slice += 1
        found += self._collect(time)
        if self.disturbed or not self._settling.settled(time):
            return found
        found += self._take_back(time)
        return found + self.decisions.from_joints(time, self.news, self.morphology, self.bus_evidence.let_go(time))

    def _take_back(self, time: float) -> list[Decision]:
        """Restore joints that this detector has declared locked or limp and that are intact again."""
        let_go = self.bus_evidence.let_go(time)
        found = self.decisions.from_mended(time, [j for j in self._mended.mended(time) if not let_go[j]])
        for decision in found:
            for joint in range(self.robot.joint_count):
                if part_of(self.robot, joint)[1] == decision.name.removesuffix(" back"):
                    self._mended.taken_back(joint)
        return found

    def press(self, time: float) -> str | None:
        """Return the leg for a contact probe now (`Gait.press`), once for each probe; None: no leg."""
        return None if self.disturbed or not self.following else self._ask_probe(time)

    def _ask_probe(self, time: float) -> str | None:
        rough = self._leaning.is_rough(time)  # a foot over a hole does not carry when it is pressed down, either
        return self._probe.asks(time, None if rough else self.decisions.suspect, None if rough else self.undecided)

    @property
    def undecided(self) -> str | None:
        """Leg of which the last banks cannot tell whether it has lost its foot; None: no leg."""
        return leg_of_group(self.decisions.undecided)

    def cannot_tell(self, time: float) -> tuple[str, str] | None:
        """Return the leg that may have lost its foot at `time` [s], and why the banks cannot tell; None: none."""
        found = self.decisions.cannot_tell(time)
        leg = None if found is None else leg_of_group(found[0])
        return None if found is None or leg is None else (leg, found[1])

    def tries(self, time: float) -> str | None:
        """Return the joint (`RF.femur`) that this detector declared locked and that the gait is to command beside its
        lock now (`JointTrial`), once for each trial; None: no joint.
        """
        if self.disturbed or not self.following or not self._settling.settled(time):
            return None
        joint = self._mended.tries(time)
        return None if joint is None else part_of(self.robot, joint)[1]

    def pressed(self, time: float, leg: str) -> None:
        """Note that the contact probe of a leg begins at `time` [s]."""
        self.decisions.pressed(time, leg)

    def findings(self) -> list[Finding]:
        """Return the current Findings, declared ones first."""
        return self.decisions.findings(*(self.posterior or ([], None)))

    def cannot_know(self, time: float) -> list[str]:
        """Description of the measurements that are missing at `time`, as text; empty if none is missing."""
        lacking = []
        if self.bus_evidence.dead(time):
            lacking.append("no joint is measured: damage cannot be detected")
        if not self.following:
            lacking.append("the servos do not execute joint_commands: only silent servos can be found")
        elif time - self._commanded.last_command > 1.0:
            lacking.append("no joint_commands: only silent servos and torque that is off can be found")
        if time - self._last_attitude > 1.0:
            lacking.append("no attitude from the IMU: a lost foot whose servos answer cannot be found")
        if self.disturbed and not lacking and self._lateness.why:
            lacking.append(f"readings come late: not judged ({self._lateness.why})")
        elif self.disturbed and not lacking:
            lacking.append("commands or readings arrive too late to check sag, tilt and single servos")
        return lacking

    def _from_bus(self, time: float) -> list[Decision]:
        """Decide on silent servos unless the bus is slow; check whether commands or readings are late."""
        limits = self.settings.limits
        pace = self.bus_evidence.pace(time, self.morphology.existing_mask)
        slow = pace > limits.slow_bus
        if pace > limits.late_round:  # a few late readings of one joint would be all that there is of it
            self._seldom_read = time
        if slow:
            self._disturbed_until = time + limits.disturbed_for
        self.disturbed = time < max(self._disturbed_until, self._commanded.late_at + limits.disturbed_for)
        if slow:
            return []
        timely = not self.disturbed
        return self.decisions.from_bus(time, self.bus_evidence, self.morphology, self._angle, timely, self._are_gone)

    def _note_lean(self, time: float, roll: float, pitch: float) -> None:
        """Note when the body leans otherwise than the model, beyond what it usually does by ground and payload."""
        if not self.model.started:
            return
        modelled = self.model.tilt[self.model.row(self.model.tick - 1)]
        apart = roll - modelled.item(0) - self._usual_lean[0], pitch - modelled.item(1) - self._usual_lean[1]
        self._leaning.note(time, math.hypot(*apart))
        if max(abs(apart[0]), abs(apart[1])) > self.settings.limits.torn_lean:
            self._leant = time
        else:
            self._usual_lean = tuple(
                u + self.settings.limits.lean_gain * a for u, a in zip(self._usual_lean, apart, strict=True)
            )

    def _are_gone(self, silences: list[SilentChain]) -> bool:
        """Whether three silent legs or more are gone: the body moves otherwise than the model, or the robot has walked
        for `torn_walking` seconds without an answer of any of their servos. A body may lie level on the ground
        without them, as if they were there.
        """
        if self._moves_otherwise():
            return True
        joints = [joint for silence in silences for joint in silence.joints]
        whole = bool(silences) and all(silence.link == 0 for silence in silences)
        if not whole or self.disturbed or not self._walks():
            return False
        return self.bus_evidence.silence(self.time, joints) > self.settings.limits.torn_walking

    def _walks(self) -> bool:
        """Whether set-points have moved in both halves of the last `torn_walking` seconds."""
        half = round(0.5 * self.settings.limits.torn_walking / self.settings.command_period)
        if not self.model.started or self.model.tick < 2 * half:
            return False
        ticks = np.arange(self.model.tick - 2 * half, self.model.tick).reshape(2, half)
        moved = np.ptp(self.model.targets[self.model.row(ticks)], axis=1).max(axis=1)
        return bool((moved > self.settings.limits.watch_moved).all())

    def _moves_otherwise(self) -> bool:
        """Whether the body has leant otherwise than the model a moment ago (a robot that sat down is level again), or
        the other joints are loaded otherwise: three legs that are left may hold it level.
        """
        leant = self._last_attitude - self._leant < self.settings.limits.torn_for
        return leant or self._suspicion.value > self.settings.limits.torn_suspicion

    def _take_measurements(self) -> None:
        last = self.model.time[self.model.row(self.model.tick - 1)]
        while self._readings and self._readings[0][0] <= last:
            reading = self._readings.popleft()
            if not self._limp[reading[1]]:
                self.window.add_joint(*reading)
        while self._attitudes and self._attitudes[0][0] <= last:
            self.window.add_attitude(*self._attitudes.popleft())

    def _ignore_late(self, time: float) -> None:
        """Discard the residuals; ignore sag, tilt and single servos for some seconds."""
        if self.model.started:
            self.restart()
        self._disturbed_until = time + self.settings.limits.disturbed_for

    def _slice_complete(self) -> bool:
        # A reading arrives a little later than the state that it measures.
        return self.model.tick >= (self._slice + 1) * self.settings.slice_ticks + 3

    def _look_at(self, piece: int) -> None:
        """Evaluate a complete slice: joints that do not follow, suspicion, baseline, and the bank if it is needed."""
        view = self.window.view(piece, 1)
        residual, load, yaw = view.residual[0], view.load[0], view.yaw[0]
        ticks = self.settings.slice_ticks
        on_feet = self.model.on_feet[self.model.row(np.arange(piece * ticks, (piece + 1) * ticks))].mean()
        if self._settling.skips(self.time, on_feet, self._lean, residual[-TILTS:][:2]):
            self._first_slice = piece + 1
            self._watch.forget()
        motion = view.motion[0]
        expected = self.baseline.predict(load, yaw, motion)[: len(load)]
        watched = np.flatnonzero(self.morphology.driven_mask & (self._follows_from <= self.time))
        valid = max(self._commanded.in_step_from, self._first_slice * ticks)
        self._watch.look(self.window, self.model.tick, watched, np.nan_to_num(expected), valid)
        if piece < self.settings.limits.falling_windows:
            return
        self._suspicion.look(residual, load, yaw, view.noise[0], self.baseline, motion)
        starting = self.servos.learns_start(self._suspicion.deviation)
        if starting or (self._suspicion.learnable and not self.news and not self.decisions.suspect):
            self.baseline.offer(residual, load, yaw, view.noise[0], motion)
            self._suspicion.is_usual()
        elif self._suspicion.wrong:
            self.baseline.forget_waiting()
        if self.servos.measure(self.window.readings(piece)):
            self._change_servos(piece)
            return
        begin = piece - self.settings.window
        if self._moved:  # after a loss, what has been measured since it is looked at as soon as it says anything
            begin = max(begin, self._first_slice)
        suspicious = not self.disturbed and bool(self._suspicion.asks(self.time) or self.news or self.decisions.suspect)
        ready = (
            begin >= self._first_slice
            and piece - begin >= self.settings.limits.bank_windows
            and begin in self.model.snapshots
        )
        if suspicious and ready and not self._bank.busy and np.isfinite(load).any():
            slices = range(begin, piece)
            moved = np.array([self._moved.get(k + 1, np.zeros_like(residual)) for k in slices])
            self._bank.start(slices, self.window, moved, self.morphology, self.candidates(), self.time, self.suspicion)

    def _change_servos(self, piece: int) -> None:
        """Let the model have had the identified servos in all slices since the first that a bank may compare."""
        first = max(self._first_slice, piece - self.settings.window)
        self.decisions.zone = self.servos.zone
        self._commanded.set_servos(self.settings.command_delay + self.servos.lag, self.servos.zone)
        self.baseline.change_servos()
        self._bank.cancel()
        if self.model.repeat(first, self.morphology):
            self.window.compare_again(first, retimed=True)
            self._first_slice = max(self._first_slice, first)
        else:
            self.window.clear()
            self._first_slice = piece + 1

    @property
    def suspicion(self) -> float:
        """Suspicion of the last slices (1 is the limit above which the bank is simulated)."""
        return self._suspicion.value

    @property
    def news(self) -> dict[int, JointCondition]:
        """{joint: JointCondition} of the joints that do not follow."""
        return self._watch.news

    @property
    def probes(self) -> int:
        """Number of contact probes that were requested."""
        return self._probe.count

    @property
    def banks(self) -> int:
        """Number of banks that have been simulated."""
        return self._bank.count

    @property
    def diverged(self) -> dict[str, int]:
        """{hypothesis: number of times that its simulation has diverged and was left out}."""
        return dict(self._bank.diverged)

    @property
    def bank_time(self) -> float:
        """Duration of the last simulated bank [s]."""
        return self._bank.duration

    def candidates(self) -> list[Hypothesis]:
        """Return the hypotheses that the bank simulates now."""
        silent = self.bus_evidence.silent(self.time, self.morphology.existing_mask)
        found = [h for h in of_answering_servos(self.robot, self.morphology) if not silent[list(h.joints)].any()]
        for joint, news in self.news.items():
            if news.state != "follows" and not silent[joint]:
                found.append(locked(self.robot, joint, news.angle))
        return found

    def _found_nothing(self, time: float, result: BankResult) -> None:
        """Note that a bank has found nothing, if what it leaves is usual for this robot."""
        misfit, limits = result.posterior.misfit_declared, self.settings.limits
        if misfit < max(limits.as_usual, limits.usual_misfit * self._usual_misfit):
            self._suspicion.found_nothing(time, result.suspicion)
        most = 2.0 * self._usual_misfit + limits.as_usual
        self._usual_misfit += limits.misfit_gain * (min(misfit, most) - self._usual_misfit)

    def _collect(self, time: float) -> list[Decision]:
        """Decide by the posterior of a bank that has been simulated completely."""
        result = self._bank.collect(time, self.baseline)
        if result is None:
            return []
        self.posterior = result.hypotheses, result.posterior
        if result.posterior.declared > self.settings.limits.nothing:
            self._found_nothing(time, result)
        if self.disturbed or not self._settling.settled(time):
            return []
        found = self.decisions.from_bank(time, result.hypotheses, result.posterior, self.news, self._leaning)
        joint = self.decisions.suspected_joint
        if joint is not None:
            self._watch.suspect(joint, self.model.tick)
        for decision in found:
            self._onsets = [
                (one.values, result.first + int(onset))
                for one, onset in zip(result.hypotheses, result.posterior.onset, strict=True)
                if one.values == decision.values and of_foot(one)
            ]
        return found
