"""`DamageDetector`: detects damage of a walking robot from its servo bus, its joints and its IMU.

    commands --> model of the declared robot --+
    readings, attitudes -----------------------+--> FeatureExtractor --> Network --> Posterior --+
    bus: silent servos, torque off ---------------> BusEvidence ---------------------------------+--> DecisionMaker

Time is an argument; there is no input or output, and no thread. A step of model and network takes about a millisecond,
every 80 ms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from hexapod_dynamics.array_checks import as_mask, as_numbers
from hexapod_dynamics.damage.kind import Value
from hexapod_dynamics.detection.bus_evidence import BusEvidence, SilentChain
from hexapod_dynamics.detection.decisions import Decision, DecisionMaker, Finding
from hexapod_dynamics.detection.features import STEP, FeatureExtractor, are_setpoints_moving, evidence
from hexapod_dynamics.detection.hypotheses import Hypothesis, limp, locked, short
from hexapod_dynamics.detection.network import LIMP, LOCKED, LOST, Network, Weights
from hexapod_dynamics.detection.posterior import Judgement, Posterior
from hexapod_dynamics.detection.recovered_joints import RecoveredJoints
from hexapod_dynamics.detection.settings import SLOWEST, DetectorSettings
from hexapod_dynamics.detection.simultaneous_loss import SimultaneousLegLoss
from hexapod_dynamics.detection.timing import Timing
from hexapod_dynamics.detection.trials import Trials, TriedFoot
from hexapod_dynamics.dynamics.checks import as_rotation, check_joint
from hexapod_dynamics.errors import require_finite, require_instance
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx

STUMP = 0.5  # of a last link whose end is lost: what is left is not known, and the gait does not stand on it
RETURNS = 5.0  # [s] for which a leg that came back is not judged: it is lifted into its place in the gait
SETTLES = 2.5  # [s] after the model's start in which nothing is judged: servos and model approach the commands
PROBE_AFTER = 1.6  # [s] for which a leg is suspected before its foot is pressed down; it is ambiguous then


class Stepping(Protocol):
    """What computes probabilities step by step: a Network, or what records the features for the training."""

    def step(self, features: np.ndarray) -> np.ndarray:
        """Return the probability of each class (legs, CLASSES) after one more vector of features (legs, COUNT)."""

    def reset(self) -> None:
        """Forget what was before."""


class DamageDetector:
    """Finds damage of a Robot; all times are seconds on one clock that the caller chooses.

    Call `command`, `measure_joint`, `measure_attitude` and `bus` with the data as they arrive, `update` 20 to 50 times
    a second, and `set_morphology` after every change of the declared morphology.

    Args:
        robot: Robot.
        settings: DetectorSettings.
        weights: of the network; by default those of the robot, else the packaged ones.
        network: instead of a Network with these weights.

    """

    def __init__(
        self,
        robot: Robot,
        settings: DetectorSettings | None = None,
        weights: Weights | None = None,
        network: Stepping | None = None,
    ) -> None:
        self.robot, self.morphology = robot, Morphology.whole(robot)
        self.settings = s = settings or DetectorSettings()
        require_instance("settings", s, DetectorSettings)
        self.weights = weights or Weights.load_for_robot(robot)
        legs = len(robot.legs)
        self._network = network or Network(self.weights, legs)
        self.features = FeatureExtractor(robot, s)
        joints = self.features.slots < robot.joint_count  # other legs than the network's have less, or none at a place
        self._possible = np.hstack([np.ones((legs, LIMP), bool), joints, joints])  # (legs, CLASSES)
        least, suspect = (math.log(p / (1.0 - p)) for p in (s.declare, s.suspect))
        self.posterior = Posterior(legs, np.maximum(self.weights.thresholds, least), suspect)
        self.bus_evidence = BusEvidence(robot, s.silent_after)
        self.decisions = DecisionMaker(robot)
        self._timing = Timing()
        self._leg_loss = SimultaneousLegLoss(self.features)
        self._lost_feet = {leg: short(robot, leg, STUMP) for leg in robot.leg_names}
        self._recovered, self._trials, self._tried_foot = RecoveredJoints(), Trials(), TriedFoot(robot)
        self._commanded = np.full(robot.joint_count, np.nan)  # last command of each joint [rad]
        self._angle = np.full(robot.joint_count, np.nan)
        self._latest: np.ndarray | None = None  # features of the last step
        self._next = self._judged_from = self._probed = self._last_attitude = self._last_command = -math.inf
        self._returns = np.full(legs, -math.inf)  # [s] until which a leg that came back is not judged
        self._off_its_feet = self._braces = False  # the robot, by the gait
        self._braced = False  # since the last step
        self.following = True  # the servos execute the commands
        self.probes = 0  # contact probes that were asked for
        self.time = -math.inf

    # ---- inputs ------------------------------------------------------------------------------------------------------

    def command(self, time: float, positions: np.ndarray, torques: np.ndarray | None = None) -> None:
        """Add a command: joint angles (n,) [rad], NaN: no command; torques (n,) [N m]: feed-forward."""
        require_finite(time=time)
        shape = self._commanded.shape
        positions = as_numbers("positions", positions, shape)
        torques = None if torques is None else as_numbers("torques", torques, shape)
        if self.following:
            self._timing.command(time)
            self._last_command = time
            given = np.isfinite(positions)
            self._commanded[given] = positions[given]
            self.features.command(time, positions, torques)

    def follow(self, following: bool) -> None:
        """Note whether the servos execute the commands: False after an emergency stop, while torque is off, and
        while the robot sits down. Meanwhile only the bus is evaluated; then the model starts again from the
        measured pose.
        """
        if following != self.following:
            self.following = following
            self.restart()

    def measure_joint(self, time: float, joint: int, angle: float) -> None:
        """Add the angle [rad] of a joint that was read at `time` [s]."""
        check_joint(self.robot, joint)
        require_finite(time=time, angle=angle)
        self._timing.add_reading(time)
        self.features.add_reading(time, joint, angle)
        self._angle[joint] = angle
        self.bus_evidence.add_reading(time, joint)
        command = float(self._commanded[joint])
        self._recovered.add_reading(time, joint, angle, command)
        self._tried_foot.add_reading(joint, angle, command)

    def measure_attitude(self, time: float, rotation: np.ndarray) -> None:
        """Add the attitude of base_link: rotation (3, 3) world <- base_link of any yaw origin."""
        require_finite(time=time)
        yaw, pitch, roll = euler_zyx(as_rotation("rotation", rotation))
        self._last_attitude = time
        self.features.add_attitude(time, roll, pitch, yaw)

    def bus(self, time: float, silent: np.ndarray, torque_off: np.ndarray, answering: np.ndarray | None = None) -> None:
        """Add a report of the servo bus, (n,) bool each: silent servos, servos that switched their torque off.

        answering: servos that answer although they are declared missing.
        """
        require_finite(time=time)
        n = self.robot.joint_count
        silent, torque_off = as_mask("silent", silent, n), as_mask("torque_off", torque_off, n)
        back = None if answering is None else as_mask("answering", answering, n)
        self.bus_evidence.report(time, silent, torque_off)
        # Its joints follow slowly at first when it answers again; an answer that was lost is no silence.
        mute = silent & self.bus_evidence.overdue(time, self.morphology.existing_mask)
        self._returns[self._have(mute)] = time + RETURNS
        if back is not None:
            self.bus_evidence.add_answers_of_missing(back)

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt the declared morphology; values that this detector declared, but that were changed since, are no
        longer its own.
        """
        Morphology.check(self.robot, morphology)
        if morphology == self.morphology:
            return
        self.decisions.follow(self.morphology, morphology)
        self._recovered.watch(self.decisions.find_own_joints())
        before = self.features.left
        self.bus_evidence.expect(self.time, morphology.existing_mask & ~self.morphology.existing_mask)
        self.morphology = morphology
        self.features.set_morphology(self.time, morphology)
        self._returns[self.features.left > before] = self.time + RETURNS
        self.posterior.hold()

    def restore_own(self, values: Mapping[str, Value]) -> None:
        """Restore `decisions.own` from before a restart, once the morphology is known: what is still declared of it is
        tested again, and taken back when it is intact.
        """
        self.decisions.restore_own(values, self.morphology)
        self._recovered.watch(self.decisions.find_own_joints())

    def restart(self) -> None:
        """Discard the model's state and all measurements; start again with the next ones."""
        self.features.restart()
        self._network.reset()
        self.posterior.forget()
        self._recovered.forget()
        self._tried_foot.forget()

    def note_gait(self, off_its_feet: bool, braces: bool) -> None:
        """Note what the gait does that makes evidence worthless.

        off_its_feet: the robot lies after a fall or is getting up; joints and body are ignored, also for some seconds
        after it. braces: against a push; the body's motion is ignored. The model continues, because the set-points of
        the brace are commands like all others.
        """
        self._off_its_feet, self._braces = off_its_feet, braces

    # ---- what follows ------------------------------------------------------------------------------------------------

    def update(self, time: float) -> list[Decision]:
        """Process all data up to `time` [s]; return the list of new Decisions.

        Raises HexapodError if the model is not finite; call `restart` then.
        """
        require_finite(time=time)
        self.time = time
        if self._off_its_feet:
            self._timing.ignore(time)
        if self._braces or self._off_its_feet:
            self._tried_foot.forget()
        if self._braces or self._tried_foot.moves:  # a foot that is put down lifts its corner of the body
            self.features.note_brace(time)
            self._braced = True
        self.decisions.drop_ended(time, self.following and self.posterior.is_walking and not self.disturbed)
        if (self._timing.update(time) or self._off_its_feet) and self.features.model.started:
            self.restart()
        # After late data the model does not start yet, further ones may be late, too; what it has kept is not needed.
        if not self.settings.comparable or self._timing.was_late_recently(time):
            self.features.restart()
            return self._from_bus(time)
        found = self._from_bus(time)
        if time < self._next:
            return found
        self._next = max(self._next + STEP, time + 0.5 * STEP)
        return found + self._step(time)

    def _step(self, time: float) -> list[Decision]:
        """Advance model and network; decide on feet and joints."""
        running = self.features.model.started
        self._latest = features = self.features.step(time)
        braced, self._braced = self._braced, False
        if features is None:
            self._judged_from = time + SETTLES
            return []
        if running and self._timing.check_lag(time, self.features.lag):
            self.restart()
            return []
        self._leg_loss.update(time)
        p, moving = self._network.step(features) * self._possible, are_setpoints_moving(features)
        intact = (self.features.left == 1.0) & (time >= self._returns)
        self.posterior.update(time, p, moving, intact, self._find_answering(time))
        if braced:
            self.posterior.hold()
        if self.disturbed or time < self._judged_from:
            self.posterior.hold()
            return []
        found = self._restore_recovered(time)
        for one in self.posterior.decide(time, self._is_still):
            what, text = self._explain(one)
            found += self.decisions.decide(time, "declare", what, one.probability, text, one.since)
        return found

    def _find_answering(self, time: float) -> np.ndarray:
        """Return of which legs (legs,) all servos answer."""
        morphology, bus = self.morphology, self.bus_evidence
        expected = morphology.existing_mask & morphology.moving_mask
        return ~self._have(bus.silent(time, expected) | bus.overdue(time, expected))

    def _have(self, joints: np.ndarray) -> np.ndarray:
        """Return which legs (legs,) have one of the joints (n,) bool."""
        return np.array([joints[self.robot.leg_joints(name)].any() for name in self.robot.leg_names])

    def _is_still(self, leg: int, place: int, since: float) -> bool | None:
        return self.features.is_still(int(self.features.slots[leg, place]), since)

    def _explain(self, judgement: Judgement) -> tuple[Hypothesis, str]:
        """Return what the network sees, and how the motion shows it."""
        leg = self.robot.legs[judgement.leg]
        if judgement.kind == LOST:
            what = self._lost_feet[leg.name]
        else:
            kind, place = divmod(judgement.kind - LIMP, LOCKED - LIMP)
            joint = int(self.features.slots[judgement.leg, place])
            what = locked(self.robot, joint, float(self._angle[joint])) if kind else limp(self.robot, joint)
        why = "" if self._latest is None else evidence(self._latest, judgement.leg)
        return what, f"{what.name}: {why}"

    def _restore_recovered(self, time: float) -> list[Decision]:
        """Restore what this detector has declared and is intact again: joints that were locked or limp, feet."""
        found, torque_off = [], self.bus_evidence.torque_off(time)
        if leg := self._tried_foot.find_standing(time):
            found += self.decisions.from_foot(time, leg, self._lost_feet[leg])
        for joint in self._recovered.find_recovered(time):
            if not torque_off[joint] and (decisions := self.decisions.from_recovered(time, joint)):
                self._recovered.note_restored(joint)
                found += decisions
        return found

    def _from_bus(self, time: float) -> list[Decision]:
        """Decide on silent servos unless the bus is slow; check whether commands or readings are late."""
        pace = self.bus_evidence.pace(time, self.morphology.existing_mask)
        if self._timing.check_bus(time, pace, self.features.model.late_at):
            return []
        timely = not self.disturbed

        def are_lost(silences: list[SilentChain]) -> bool:
            return self._leg_loss.are_lost(silences, self.bus_evidence, time, comparable=timely)

        found = self.decisions.from_bus(time, self.bus_evidence, self.morphology, self._angle, timely, are_lost)
        self._returns[self.decisions.returned] = time + RETURNS
        return found

    # ---- what it asks for --------------------------------------------------------------------------------------------

    def find_ambiguous(self, time: float) -> tuple[str, str] | None:
        """Return the leg that may be damaged at `time` [s], and why that is not decided; None if there is none."""
        waiting = [one for one in self.posterior.list_suspected() if time - one.since >= PROBE_AFTER]
        if self.disturbed or not waiting:
            return None
        first, names = waiting[0], self.robot.leg_names
        why = f"suspected for {time - first.since:.1f} s, but not sure enough (p = {first.probability:.2f})"
        if len(waiting) > 1:
            why = f"{names[waiting[1].leg]} explains nearly as much (p = {waiting[1].probability:.2f})"
        return names[first.leg], why

    def probe(self, time: float) -> str | None:
        """Return the leg whose foot the gait is to press down now, once for each probe; None: none.

        It is ambiguous (`Gait.contact_probe`, every 8 s at most), or its foot was declared lost here (`FootTrial`).
        """
        found = self.find_ambiguous(time) if self.following and time - self._probed >= 8.0 else None
        if found is not None:
            self._probed = time
            self.probes += 1
            return found[0]
        if self.disturbed or not self.following or time < self._judged_from or not self.posterior.is_walking:
            return None
        own = self.decisions.find_own_feet(self._lost_feet)
        if any(self.robot.leg_names[one.leg] not in own for one in self.posterior.list_suspected()):
            return None  # another leg is judged first
        leg = self._trials.choose(time, own)
        if leg is not None:
            self._tried_foot.begin(time, leg, int(self.features.slots[self.robot.leg_names.index(leg), 1]))
        return leg

    def retest(self, time: float) -> str | None:
        """Return the joint (`RF.femur`) that this detector declared locked and that the gait is to command beside its
        lock now (`JointTrial`), once for each trial; None: no joint.
        """
        if self.disturbed or not self.following or time < self._judged_from:
            return None
        joint = self._trials.choose(time, self._recovered.locked)
        return None if joint is None else self.robot.part_names[joint]

    def findings(self) -> list[Finding]:
        """Return the current Findings, declared ones first."""
        found = self.decisions.findings()
        for one in self.posterior.list_suspected() if self._latest is not None else ():
            what, why = self._explain(one)
            if not self.decisions.has_declared(what.values):
                lasting, text = self.time - one.since >= PROBE_AFTER, f"{why} (p = {one.probability:.3f})"
                found.append(Finding(what.name, one.probability, text, one.since, False, lasting))
        return found

    def missing_inputs(self, time: float) -> list[str]:
        """Return a description of the measurements that are missing at `time`; empty if none is missing."""
        missing = []
        if self.bus_evidence.is_bus_dead(time):
            missing.append("no joint is measured: damage cannot be detected")
        if not self.following:
            missing.append("the servos do not execute joint_commands: only silent servos can be found")
        elif time - self._last_command > 1.0:
            missing.append("no joint_commands: only silent servos and torque that is off can be found")
        elif not self.settings.comparable:
            missing.append(
                f"command_period is {self.settings.command_period:g} s: only silent servos and torque that is off can "
                f"be found; to find a lost foot, set it to {SLOWEST:g} s or less"
            )
        if time - self._last_attitude > 1.0:
            missing.append("no attitude from the IMU: a lost foot whose servos answer cannot be found")
        if self.disturbed and not missing:
            why, late = self._timing.why, "commands or readings arrive too late to check joints and the body"
            missing.append(f"readings come late: not judged ({why})" if why else late)
        return missing

    @property
    def disturbed(self) -> bool:
        """Whether commands or readings come too late to be compared with the model."""
        return self._timing.disturbed

    @property
    def suspicion(self) -> float:
        """Largest probability of a damage that is not declared."""
        odds = float(self.posterior.odds.max())
        return 1.0 / (1.0 + math.exp(-odds)) if odds > -700.0 else 0.0
