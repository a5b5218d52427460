"""`DamageDetector`: detects damage of a walking robot from its servo bus, its joints and its IMU.

    commands --> CommandedModel (declared robot) --+--> residuals by slice --> Baseline (learnt while healthy)
    readings, attitudes ---------------------------+            |         `--> JointWatch: joints that do not follow
    bus: silent servos, torque off                              v suspicion         (SliceEvaluation keeps these)
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
from hexapod_dynamics.detection.bus_evidence import BusEvidence, SilentChain
from hexapod_dynamics.detection.commanded_model import CommandedModel
from hexapod_dynamics.detection.decisions import Decision, DecisionMaker, Finding
from hexapod_dynamics.detection.disturbance import Disturbance
from hexapod_dynamics.detection.hypotheses import (
    Hypothesis,
    leg_of_group,
    locked,
    of_answering_servos,
    of_foot,
    part_of,
)
from hexapod_dynamics.detection.joint_evidence import JointCondition
from hexapod_dynamics.detection.leaning import Leaning
from hexapod_dynamics.detection.mended_joints import MendedJoints
from hexapod_dynamics.detection.posterior import Posterior
from hexapod_dynamics.detection.probe import Probe
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.detection.slice_evaluation import Outcome, SliceEvaluation
from hexapod_dynamics.detection.torn_legs import TornLegs
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
        self._slices = SliceEvaluation(robot, s, self._commanded)
        self.window, self.baseline, self.servos = self._slices.window, self._slices.baseline, self._slices.servos
        self.bus_evidence = BusEvidence(robot, s.silent_after, s.limits)
        self.decisions = DecisionMaker(robot, s)
        self._bank = BankRun(robot, s, executor, self.model)
        self._probe = Probe(s.limits)
        self._mended = MendedJoints(s.limits)
        self._asked = np.full(n, np.nan)  # last command of each joint [rad]
        self._angle = np.full(n, np.nan)
        # Any contact moves a limp joint: its angle contains no information about the rest of the robot.
        self._limp = np.zeros(n, bool)
        self._readings: deque[tuple] = deque(maxlen=100 * n)  # waiting for the next update
        self._attitudes: deque[tuple] = deque(maxlen=400)
        self.leaning = Leaning(s.limits)
        self._torn = TornLegs(self.model, s)
        self._lean = 0.0  # larger of |roll| and |pitch| [rad] in the last attitude
        self._usual_misfit = s.limits.as_usual  # chi-square per feature of banks that have found nothing
        self._timing = Disturbance(s.limits)
        self._braced = self._brace_began = -math.inf  # time of the last tick of a brace, and of its first
        # Of a lost foot that a bank has decided on: its values, and the slice in which it was lost.
        self._onsets: list[tuple[dict, int]] = []
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
            self._timing.lateness.command(time)
            given = np.isfinite(positions)
            self._asked[given] = np.asarray(positions, float)[given]
            self._commanded.command(time, positions, torques)

    def follow(self, following: bool) -> None:
        """Note whether the servos execute the commands: False after an emergency stop, while torque is off, and
        while the robot sits down. Meanwhile only the bus is evaluated; then the model starts again from the
        measured pose.
        """
        if following != self.following:
            self.following = following
            self.restart()

    def measure_joints(self, time: float, angles: np.ndarray) -> None:
        """Add measured joint angles (n,) [rad], NaN for joints that were not read; `time` [s] of the readings."""
        joints = np.flatnonzero(np.isfinite(angles))
        if joints.size:
            self._timing.lateness.reading(time)
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
        self._lean = max(abs(roll), abs(pitch))
        apart = self._torn.measure_attitude(time, roll, pitch)
        # A push leans the body, and so does a gait that changes to other legs: neither tells about the ground.
        pushed = time - self._brace_began <= self.settings.limits.push_for
        if apart is not None and not pushed and self._slices.settling.settled(time):
            self.leaning.note(time, apart)

    def bus(self, time: float, silent: np.ndarray, let_go: np.ndarray, answering: np.ndarray | None = None) -> None:
        """Add a report of the servo bus, (n,) bool each: silent servos, servos that switched their torque off.

        answering: servos that answer although they are declared missing.
        """
        self.bus_evidence.told(time, np.asarray(silent, bool), np.asarray(let_go, bool))
        if answering is not None:
            self.bus_evidence.answered(np.asarray(answering, bool))

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt the declared morphology; values that this detector declared, but that were changed since, are no
        longer its own.
        """
        if morphology == self.morphology:
            return
        doubted, suspect = self.decisions.doubted, self.decisions.suspect
        self.decisions.follow(self.morphology, morphology)
        self._mended.watch(self.decisions.own_joints())
        onset = next((at for values, at in self._onsets if self.morphology.updated(values) == morphology), None)
        self._onsets.clear()
        self._slices.follows_from[morphology.driven_mask & ~self.morphology.driven_mask] = (
            self.time + self.settings.limits.returning
        )
        self.bus_evidence.expect(self.time, morphology.existing_mask & ~self.morphology.existing_mask)
        self.morphology = morphology
        self._limp = morphology.moving_mask & ~morphology.driven_mask
        self._bank.cancel()
        self.posterior = None
        self._slices.watch.forget()
        goes_on = onset is not None and self._slices.go_on_from(onset, self.time, morphology)
        self.leaning.discard_since(self.time if suspect is None else suspect[2])
        self.baseline.change_robot(unknown=goes_on)
        self._probe.doubt(self.time, doubted if goes_on else None)
        if not goes_on:
            self._slices.start_again(self.time, morphology)

    def restart(self) -> None:
        """Discard the model's state and all measurements; start again with the next ones."""
        self._commanded.clear()
        self._slices.restart()
        self._bank.cancel()
        self.posterior = None
        self._onsets.clear()
        self._mended.forget()
        self._readings.clear()
        self._attitudes.clear()

    def disturb(self, time: float) -> None:
        """Restart and ignore evidence for some seconds, because a late caller made the times of its data wrong."""
        self.restart()
        self._timing.begin(time)

    def off_its_feet(self, time: float) -> None:
        """Ignore sag, tilt and single servos for some seconds: the robot lies after a fall, or is getting up."""
        self.leaning.clear()  # its lean then tells nothing about the ground
        self._ignore_late(time)

    def braces(self, time: float) -> None:
        """Note that the robot braces against a push: while the push moves the body, joints and tilt are no
        evidence.

        The brace's set-points are commands like all others, so the model continues, and a loss is detected right
        after the brace.
        """
        limits = self.settings.limits
        if time - self._braced > limits.push_for:
            self._brace_began = time
        self._braced, lasted = time, time - self._brace_began
        if self.model.started and (lasted < limits.push_for or lasted > limits.push_long):
            self._slices.disregard(limits.push_before)

    def thrown_back(self, time: float) -> None:
        """Note that an obstacle throws the body back: the ground is uneven, and the feet do not move to other
        places.
        """
        self.leaning.note_obstacle(time)

    # ---- what follows ------------------------------------------------------------------------------------------------

    def update(self, time: float) -> list[Decision]:
        """Process all data up to `time` [s]; return the list of new Decisions."""
        self.time = time
        self.decisions.drop_ended(time)
        limits = self.settings.limits
        busy = self._timing.busy(time)
        self.decisions.patience = limits.busy_patience if busy else 0.0
        self.window.timing = limits.busy_timing if busy else limits.window_timing
        if self._timing.lateness.look(time):
            self._ignore_late(time)
        if self._timing.lateness.recent(time):  # the model does not start yet, because further data may be late, too
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
        while self._slices.complete():
            lag = self._slices.lag() - (0.0 if self.servos.identified else limits.slow_servos)
            if self._timing.lateness.lags(time, lag):
                self._ignore_late(time)
                self._timing.begin(time)
                return found
            self._evaluate_slice()
        found += self._collect(time)
        if self.disturbed or not self._slices.settling.settled(time):
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
        """Return the leg for a contact probe now (`Gait.contact_probe`), once for each probe; None if there is none."""
        return None if self.disturbed or not self.following else self._ask_probe(time)

    def _ask_probe(self, time: float) -> str | None:
        rough = self.leaning.is_rough(time)  # a foot over a hole does not carry when it is pressed down, either
        return self._probe.asks(time, None if rough else self.decisions.to_press, None if rough else self.undecided)

    @property
    def undecided(self) -> str | None:
        """Leg for which the last banks cannot decide whether it has lost its foot; None if there is none."""
        return leg_of_group(self.decisions.undecided)

    def cannot_tell(self, time: float) -> tuple[str, str] | None:
        """Return the leg that may have lost its foot at `time` [s], and why the banks cannot decide; None if there
        is none.
        """
        found = self.decisions.cannot_tell(time)
        leg = None if found is None else leg_of_group(found[0])
        return None if found is None or leg is None else (leg, found[1])

    def tries(self, time: float) -> str | None:
        """Return the joint (`RF.femur`) that this detector declared locked and that the gait is to command beside its
        lock now (`JointTrial`), once for each trial; None: no joint.
        """
        if self.disturbed or not self.following or not self._slices.settling.settled(time):
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
        """Return a description of the measurements that are missing at `time`; empty if none is missing."""
        lacking = []
        if self.bus_evidence.dead(time):
            lacking.append("no joint is measured: damage cannot be detected")
        if not self.following:
            lacking.append("the servos do not execute joint_commands: only silent servos can be found")
        elif time - self._commanded.last_command > 1.0:
            lacking.append("no joint_commands: only silent servos and torque that is off can be found")
        if time - self._torn.last_attitude > 1.0:
            lacking.append("no attitude from the IMU: a lost foot whose servos answer cannot be found")
        if self.disturbed and not lacking and self._timing.lateness.why:
            lacking.append(f"readings come late: not judged ({self._timing.lateness.why})")
        elif self.disturbed and not lacking:
            lacking.append("commands or readings arrive too late to check sag, tilt and single servos")
        return lacking

    def _from_bus(self, time: float) -> list[Decision]:
        """Decide on silent servos unless the bus is slow; check whether commands or readings are late."""
        pace = self.bus_evidence.pace(time, self.morphology.existing_mask)
        if self._timing.check(time, pace, self._commanded.late_at):
            return []
        timely = not self.disturbed

        def are_gone(silences: list[SilentChain]) -> bool:
            return self._torn.are_gone(silences, self.bus_evidence, time, self.suspicion, comparable=timely)

        return self.decisions.from_bus(time, self.bus_evidence, self.morphology, self._angle, timely, are_gone)

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
        self._timing.ignore(time)

    def _evaluate_slice(self) -> None:
        """Evaluate the next slice, and start the bank if it is needed."""
        slices = self._slices
        outcome = slices.evaluate(self.time, self._lean, self.morphology, bool(self.decisions.suspect))
        if outcome is Outcome.SERVOS_IDENTIFIED:
            self.decisions.zone = self.servos.zone
            self._bank.cancel()
        if outcome is not Outcome.COMPARED or self.disturbed or self._bank.busy:
            return
        if slices.suspicion.asks(self.time) or self.news or self.decisions.suspect:
            compared = slices.for_bank()
            if compared is not None:
                pieces, moved = compared
                hypotheses = self.candidates()
                self._bank.start(pieces, self.window, moved, self.morphology, hypotheses, self.time, self.suspicion)

    @property
    def disturbed(self) -> bool:
        """Whether commands or readings come too late to be compared with the model."""
        return self._timing.disturbed

    @property
    def suspicion(self) -> float:
        """Suspicion of the last slices (1 is the limit above which the bank is simulated)."""
        return self._slices.suspicion.value

    @property
    def news(self) -> dict[int, JointCondition]:
        """{joint: JointCondition} of the joints that do not follow."""
        return self._slices.watch.news

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
        """Note that a bank has found nothing, if its chi-square is usual for this robot."""
        misfit, limits = result.posterior.misfit_declared, self.settings.limits
        if misfit < max(limits.as_usual, limits.usual_misfit * self._usual_misfit):
            self._slices.suspicion.found_nothing(time, result.suspicion)
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
        if self.disturbed or not self._slices.settling.settled(time):
            return []
        found = self.decisions.from_bank(time, result.hypotheses, result.posterior, self.news, self.leaning)
        joint = self.decisions.suspected_joint
        if joint is not None:
            self._slices.watch.suspect(joint, self.model.tick)
        for decision in found:
            self._onsets = [
                (one.values, result.first + int(onset))
                for one, onset in zip(result.hypotheses, result.posterior.onset, strict=True)
                if one.values == decision.values and of_foot(one)
            ]
        return found
