"""`LearnedDetector`: a DamageDetector that decides on feet and joints by a network; the bus is evaluated as there.

    commands --> model of the declared robot --+
    readings, attitudes -----------------------+--> FeatureExtractor --> Network --> Posterior --> Decisions

A step of model and network takes about a millisecond, every 80 ms; there is no bank, and no thread.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from hexapod_dynamics.detection import DamageDetector, DetectorSettings
from hexapod_dynamics.detection.decisions import Decision, Finding
from hexapod_dynamics.detection.hypotheses import Hypothesis, limp, locked, short
from hexapod_dynamics.learning.detector.features import STEP, FeatureExtractor, evidence, moves
from hexapod_dynamics.learning.detector.network import LIMP, LOCKED, LOST, Network, Weights
from hexapod_dynamics.learning.detector.posterior import Judgement, Posterior
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.se3 import euler_zyx

STUMP = 0.5  # of a last link whose end is lost: what is left is not known, and the gait does not stand on it
SETTLES = 2.5  # [s] after the model's start in which nothing is judged: the robot stands up, the IMU is calibrated
LAG = 0.06  # [s] of all joints behind the model, beyond what is learnt of these servos: the computer is late
PROBE_AFTER = 1.6  # [s] for which a leg is suspected before its foot is pressed down; it is ambiguous then
PROBE_PAUSE = 8.0  # [s] between two contact probes
RETURNING = 5.0  # [s] in which a part that came back need not follow


class Stepping(Protocol):
    """What computes probabilities step by step: a Network, or what records the features for the training."""

    def step(self, features: np.ndarray) -> np.ndarray:
        """Return the probability of each class (legs, CLASSES) after one more vector of features (legs, COUNT)."""

    def reset(self) -> None:
        """Forget what was before."""


class LearnedDetector(DamageDetector):
    """Finds damage of a Robot, with the calls of a DamageDetector; the thresholds are those of its weights.

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
        super().__init__(robot, settings)
        self.weights = weights or Weights.of(robot)
        legs = len(robot.legs)
        self._network = network or Network(self.weights, legs)
        self.features = FeatureExtractor(robot, self._commanded)
        self.odds = Posterior(legs, self.weights.thresholds, 0.0)
        self._latest: np.ndarray | None = None  # features of the last step
        self._next = self._judged_from = self._probed = -math.inf
        self._returns = np.full(legs, -math.inf)  # [s] until which a leg that came back need not follow
        self._braces = False

    # ---- inputs ------------------------------------------------------------------------------------------------------

    def measure_joints(self, time: float, angles: np.ndarray) -> None:
        """Add measured joint angles (n,) [rad], NaN for joints that were not read; `time` [s] of the readings."""
        super().measure_joints(time, angles)
        for joint in np.flatnonzero(np.isfinite(angles)).tolist():
            self.features.reading(time, joint, float(angles[joint]))

    def measure_attitude(self, time: float, rotation: np.ndarray) -> None:
        """Add the attitude of base_link: rotation (3, 3) world <- base_link of any yaw origin."""
        super().measure_attitude(time, rotation)
        yaw, pitch, roll = euler_zyx(rotation)
        self.features.attitude(time, roll, pitch, yaw)

    def set_morphology(self, morphology: Morphology) -> None:
        """Adopt the declared morphology; the model goes on with it."""
        if morphology == self.morphology:
            return
        self.decisions.follow(self.morphology, morphology)
        self._mended.watch(self.decisions.own_joints())
        returned = morphology.driven_mask & ~self.morphology.driven_mask
        for k, leg in enumerate(self.robot.leg_names):
            joints = self.robot.leg_joints(leg)
            if returned[joints.start : joints.stop].any():
                self._returns[k] = self.time + RETURNING
        self.bus_evidence.expect(self.time, morphology.existing_mask & ~self.morphology.existing_mask)
        self.morphology = morphology
        self.features.set_morphology(self.time, morphology)
        self.odds.hold()

    def restart(self) -> None:
        """Discard the model's state and all measurements; start again with the next ones."""
        super().restart()
        self.features.restart()
        self._network.reset()
        self.odds.forget()

    def braces(self, time: float) -> None:
        """Note that the robot braces against a push: what the body does then is no evidence."""
        self.features.braces(time)
        self._braces = True

    # ---- what follows ------------------------------------------------------------------------------------------------

    def update(self, time: float) -> list[Decision]:
        """Process all data up to `time` [s]; return the list of new Decisions."""
        self.time = time
        self.decisions.drop_ended(time)
        if self._timing.lateness.look(time):
            self._ignore_late(time)
        if self._timing.lateness.recent(time):  # the model does not start yet, because further data may be late, too
            self.features.restart()
            return self._from_bus(time)
        found = self._from_bus(time)
        if time < self._next:
            return found
        self._next = max(self._next + STEP, time + 0.5 * STEP)
        return found + self._step(time)

    def _step(self, time: float) -> list[Decision]:
        """Advance model and network; decide on feet and joints."""
        self._latest = features = self.features.step(time)
        braces, self._braces = self._braces, False
        if features is None:
            self._judged_from = time + SETTLES
            return []
        if self.features.lag > LAG:
            self._ignore_late(time)
            return []
        p, uneven = self._network.step(features), self.features.unevenness
        self.odds.update(time, p, moves(features), self._judged(time), uneven)
        if braces or self.disturbed or time < self._judged_from:
            self.odds.hold()
            return []
        found = self._take_back(time)
        for judgement in self.odds.decide(time, self._stands):
            what = self._hypothesis(judgement)
            text = self._sentence(what, judgement)
            sure, since = judgement.probability, judgement.since
            found += self.decisions.decide(time, "declare", what.name, what.values, sure, text, since)
        return found

    def _judged(self, time: float) -> np.ndarray:
        """Return which legs (legs,) can be judged: they are declared intact, and all their servos answer."""
        morphology, bus = self.morphology, self.bus_evidence
        expected = morphology.existing_mask & morphology.moving_mask
        mute = bus.silent(time, expected) | bus.overdue(time, expected)
        joints = [self.robot.leg_joints(name) for name in self.robot.leg_names]
        answers = np.array([not mute[part.start : part.stop].any() for part in joints])
        return (self.features.left == 1.0) & answers & (time >= self._returns)

    def _stands(self, leg: int, place: int, since: float) -> bool | None:
        joint = int(self.features.slots[leg, place])
        return self.features.stands(joint, since) if joint < self.robot.joint_count else None

    def _hypothesis(self, judgement: Judgement) -> Hypothesis:
        leg = self.robot.legs[judgement.leg]
        if judgement.kind == LOST:
            return short(self.robot, leg.name, STUMP)
        kind, place = divmod(judgement.kind - LIMP, LOCKED - LIMP)
        joint = int(self.features.slots[judgement.leg, place])
        return locked(self.robot, joint, float(self._angle[joint])) if kind else limp(self.robot, joint)

    def _sentence(self, what: Hypothesis, judgement: Judgement) -> str:
        why = "" if self._latest is None else evidence(self._latest, judgement.leg)
        return f"{what.name}: {why} (p = {min(judgement.probability, 0.9999):.3f})"

    # ---- what it asks for --------------------------------------------------------------------------------------------

    def cannot_tell(self, time: float) -> tuple[str, str] | None:
        """Return the leg that may be damaged at `time` [s], and why that is not decided; None if there is none."""
        waiting = [one for one in self.odds.suspected() if time - one.since >= PROBE_AFTER]
        if self.disturbed or not waiting:
            return None
        first, names = waiting[0], self.robot.leg_names
        why = f"suspected for {time - first.since:.1f} s, but not sure enough (p = {first.probability:.2f})"
        if len(waiting) > 1:
            why = f"{names[waiting[1].leg]} explains nearly as much (p = {waiting[1].probability:.2f})"
        return names[first.leg], why

    def press(self, time: float) -> str | None:
        """Return the leg whose foot the gait is to press down now (`Gait.contact_probe`), once for each probe; None:
        none.
        """
        found = self.cannot_tell(time) if self.following and time - self._probed >= PROBE_PAUSE else None
        if found is None:
            return None
        self._probed = time
        return found[0]

    def findings(self) -> list[Finding]:
        """Return the current Findings, declared ones first."""
        found = self.decisions.findings([], None)
        known = {one.name for one in found}
        for one in self.odds.suspected() if self._latest is not None else ():
            what = self._hypothesis(one)
            if what.name not in known:
                text, lasting = self._sentence(what, one), self.time - one.since >= PROBE_AFTER
                found.append(Finding(what.name, one.probability, text, one.since, False, lasting))
        return found
