"""Who decides: in `DecisionMaker.decide` alone evidence becomes a decision, by the servo bus, by the motion, or as a
joint moves again.

bus_evidence, posterior and recovered_joints tell what they see; `DamageDetector` asks while its data are not late;
onboard.damage_detection lets a decision be executed, or only reports it. Declarations by a person have priority.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from hexapod_dynamics.damage.kind import Value
from hexapod_dynamics.detection.bus_evidence import BusEvidence, SilentChain
from hexapod_dynamics.detection.hypotheses import Hypothesis, limp, locked, missing
from hexapod_dynamics.robot import Morphology, Robot

ANGLE = "locked_at."  # beginning of the name of a value that is measured, not decided
REPEAT_AFTER = 5.0  # [s] until a decision that was not executed is repeated
# A decision is repeated while its evidence lasts; it has ended after this multiple of REPEAT_AFTER without one.
ENDED = 1.5
MANY = 3  # legs at once, with silent servos or without torque, that are a fault of the bus
SETTLED = 0.3  # [s] within which the driver asks a servo that does not follow whether it has torque: one at a time


@dataclass(frozen=True)
class Decision:
    """action: declare or restore; values: for `set_morphology`; text: one line for people; since [s].

    servos: joints (indices) whose servos have shown it, as they do not answer or have no torque; empty: by the motion.
    """

    action: str
    name: str
    values: dict[str, Value] = field(hash=False)
    probability: float
    text: str
    since: float
    servos: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[tuple[str, Value], ...]:
        """What is decided, part and kind: without measured numbers, which change from reading to reading."""
        return decision_key(self.values)


def decision_key(values: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    """Return the part and kind of damage in {name: value} of `set_morphology`, without the angle of a lock."""
    return tuple(sorted(item for item in values.items() if not item[0].startswith(ANGLE)))


@dataclass(frozen=True)
class Finding:
    """A current hypothesis: name, probability, evidence in words, since [s], whether it has been declared.

    lasting: whether it has lasted long enough for a warning. decided: whether there is a Decision on it that is
    repeated while its evidence lasts.
    """

    name: str
    probability: float
    evidence: str
    since: float
    declared: bool
    lasting: bool = False
    decided: bool = False


class DecisionMaker:
    """Turns evidence into Decisions; the same one is returned at most every REPEAT_AFTER.

    own: named values that this detector has declared and that still hold. returned: legs (indices) whose servos answer
    again since the last call of `from_bus`, though nobody has declared them.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.own: dict[str, Value] = {}
        self.returned: list[int] = []
        # Decisions that are not executed yet, with the times at which they were made last.
        self._asked: dict[tuple, tuple[float, Decision]] = {}
        self._found: dict[tuple, Decision] = {}  # declarations, until they are undone or their evidence ends
        self._silences: dict[tuple, float] = {}  # [s] of the servos of each decision when it was made last
        self._limps: tuple[float, list[int]] = -math.inf, []  # since [s], joints without torque

    def follow(self, old: Morphology, new: Morphology) -> None:
        """Update `own` after a change of the declared Morphology: add executed decisions, remove those that were
        undone.
        """
        after, before = new.parameters(), old.parameters()
        for key, (_, decision) in list(self._asked.items()):
            if all(after.get(name, value) == value for name, value in key):
                changed = {name: after.get(name, value) for name, value in decision.values.items()}
                self.own |= {name: value for name, value in changed.items() if before.get(name, value) != value}
                del self._asked[key]
        self.own = {name: value for name, value in self.own.items() if after.get(name, value) == value}
        self._found = {key: one for key, one in self._found.items() if self._is_own(key)}

    def restore_own(self, values: Mapping[str, Value], morphology: Morphology) -> None:
        """Take those of the named values that are declared in the Morphology as declared by this detector."""
        declared = morphology.parameters()
        self.own |= {name: value for name, value in values.items() if declared.get(name) == value}

    def decide(
        self, time: float, action: str, what: Hypothesis, p: float, text: str, since: float, *servos: int
    ) -> list[Decision]:
        """Return a list with the Decision, or an empty one if the same Decision was made recently; text: the reason."""
        decision = Decision(action, what.name, what.values, p, f"{text} (p = {p:.3f})", since, servos)
        if time - self._asked.get(decision.key, (-math.inf,))[0] < REPEAT_AFTER:
            return []
        self._asked[decision.key] = time, decision
        if action == "declare":
            self._found[decision.key] = self._found.get(decision.key, decision)
        return [decision]

    def _is_own(self, key: tuple) -> bool:
        return all(self.own.get(name) == value for name, value in key)

    def drop_ended(self, time: float, judged: bool = True) -> None:
        """Drop the decisions that nobody executed and that are not repeated any more: their evidence has ended.

        judged: whether feet and joints are judged now; of a robot that stands nothing contradicts what they have shown.
        """
        if not judged:
            self._asked = {key: (at if one.servos else time, one) for key, (at, one) in self._asked.items()}
        oldest = time - ENDED * REPEAT_AFTER
        self._asked = {key: one for key, one in self._asked.items() if one[0] > oldest}
        self._found = {key: one for key, one in self._found.items() if key in self._asked or self._is_own(key)}

    def has_declared(self, values: Mapping[str, Value]) -> bool:
        """Return whether `findings` has a declaration of this part and kind of damage, a lock at any angle."""
        return decision_key(values) in self._found

    def findings(self) -> list[Finding]:
        """Return a Finding for each declaration that holds or whose evidence lasts."""
        return [
            Finding(one.name, one.probability, one.text, one.since, self._is_own(key), decided=True)
            for key, one in self._found.items()
        ]

    # ---- the bus -----------------------------------------------------------------------------------------------------

    def from_bus(
        self,
        time: float,
        evidence: BusEvidence,
        morphology: Morphology,
        angles: np.ndarray,
        timely: bool,
        are_lost: Callable[[list[SilentChain]], bool],
    ) -> list[Decision]:
        """Decide on silent chains, servos without torque and servos that answer again; timely: no data are late.

        Three legs without torque are a fault of the bus, as three silent ones are unless `are_lost(silent chains)`.
        """
        self.returned = []
        if evidence.is_bus_dead(time):
            return []
        self.returned = self._drop_refuted(time, evidence)
        found = []
        expected = morphology.existing_mask & morphology.moving_mask
        silences = evidence.chains(evidence.silent(time, expected), expected)
        if len(silences) >= MANY:
            chains = [silence for silence in silences if len(silence.joints) > 1 and not silence.alone]
            silences = chains if are_lost(chains) else []
        for silence in silences:
            # The servos of a leg become silent one after another: the inner ones have to have answered since.
            inner = [joint for joint in self.robot.leg_joints(silence.leg)[: silence.link] if expected[joint]]
            if any(2.0 * evidence.silence(time, [joint]) > evidence.silence(time, silence.joints) for joint in inner):
                continue
            if timely or len(silence.joints) > 1 and not silence.alone:
                found += self._silent(time, silence, angles)
        limps = np.flatnonzero(evidence.torque_off(time) & morphology.driven_mask).tolist()
        if limps != self._limps[1]:
            self._limps = time, limps
        legs = {self.robot.part_names[joint].partition(".")[0] for joint in limps}
        if len(legs) < MANY and time - self._limps[0] >= SETTLED:
            for joint in limps:
                what = limp(self.robot, joint)
                text = f"{what.name}: its servo reports that its torque is off"
                found += self.decide(time, "declare", what, 0.999, text, time, joint)
        self._silences |= {one.key: evidence.silence(time, one.servos) for one in found}
        return found + self._returned(time, evidence)

    def _drop_refuted(self, time: float, evidence: BusEvidence) -> list[int]:
        """Drop what servos have shown and nobody has declared once one of them has answered since, with torque; the
        others of its leg need time for their first answer. Return these legs (indices).
        """
        legs = []
        for key, (asked, one) in list(self._asked.items()):
            joints, silence = list(one.servos), self._silences.get(key, -math.inf)
            if not joints or key not in self._found:
                continue
            # Without an answer it has become longer.
            if evidence.silence(time, joints) < silence and not evidence.torque_off(time)[joints].any():
                del self._found[key]
                # It may be declared all the same: the request is under way.
                self._asked[key] = min(asked, time - REPEAT_AFTER), one
                leg = self.robot.part_names[joints[0]].partition(".")[0]
                mute = [joint for joint in self.robot.leg_joints(leg) if evidence.silence(time, [joint]) >= silence]
                evidence.expect(time, np.isin(np.arange(self.robot.joint_count), mute))
                legs.append(self.robot.leg_names.index(leg))
        return legs

    def _silent(self, time: float, silence: SilentChain, angles: np.ndarray) -> list[Decision]:
        leg, age = silence.leg, time - silence.since
        if silence.alone and age < 1.5:  # servos further out answer: it may be late by chance
            return []
        if silence.alone:
            joint = silence.joints[0]
            part = self.robot.part_names[joint]
            what = locked(self.robot, joint, angles[joint] if np.isfinite(angles[joint]) else 0.0)
            why = f"no answer from its servo for {age:.1f} s, though servos further out answer"
            text = f"{part} not to be used: {why}"
            return self.decide(time, "declare", what, 0.95, text, silence.since, *silence.joints)
        what = missing(self.robot, leg, silence.link)
        count = len(silence.joints)
        probability = 0.99 if count > 1 else 0.97
        servos = {1: "its servo", 2: "its two servos", 3: "its three servos"}.get(count, f"its {count} servos")
        text = f"{what.name}: no answer from {servos} for {age:.1f} s"
        return self.decide(time, "declare", what, probability, text, silence.since, *silence.joints)

    def _returned(self, time: float, evidence: BusEvidence) -> list[Decision]:
        back, found = evidence.find_answering_again(), []
        for leg in self.robot.legs:
            joints = list(self.robot.leg_joints(leg.name))
            for link, name in enumerate(leg.link_names):
                key = f"legs.{leg.name}" if link == 0 else f"links.{leg.name}.{name}"
                if self.own.get(key) is False and back[joints[link:]].all():
                    outer = leg.link_names[link + 1 :] if link else ()
                    values: dict[str, Value] = {key: True, **{f"links.{leg.name}.{each}": True for each in outer}}
                    what = Hypothesis(f"{leg.name}.{name} back" if link else f"{leg.name} back", values)
                    text = f"{what.name}: its servos answer again"
                    found += self.decide(time, "restore", what, 0.99, text, time)
                    break
        return found

    # ---- joints ------------------------------------------------------------------------------------------------------

    def find_own_joints(self) -> dict[int, float | None]:
        """Return the joints that this detector has declared locked, with the angle [rad], or limp: None."""
        found: dict[int, float | None] = {}
        for joint, part in enumerate(self.robot.part_names):
            if self.own.get(f"locked.{part}") is True and f"locked_at.{part}" in self.own:
                found[joint] = float(self.own[f"locked_at.{part}"])
            elif self.own.get(f"limp.{part}") is True:
                found[joint] = None
        return found

    def find_own_feet(self, lost: Mapping[str, Hypothesis]) -> list[str]:
        """Return the legs whose feet this detector has declared lost; lost: that Hypothesis of each leg."""
        return [leg for leg, what in lost.items() if what.values.items() <= self.own.items()]

    def from_foot(self, time: float, leg: str, lost: Hypothesis) -> list[Decision]:
        """Restore a leg whose foot this detector declared lost, and which has stood on it."""
        what = Hypothesis(f"{leg} back", dict.fromkeys(lost.values, 1.0))
        return self.decide(time, "restore", what, 0.99, f"{what.name}: put down, its foot carries", time)

    def from_recovered(self, time: float, joint: int) -> list[Decision]:
        """Restore a joint that this detector declared and that is intact again."""
        part = self.robot.part_names[joint]
        kind = "limp" if self.own.get(f"limp.{part}") is True else "locked"
        what = Hypothesis(f"{part} back", {f"{kind}.{part}": False})
        text = f"{what.name}: it stands where its command is again, and was {kind}"
        return self.decide(time, "restore", what, 0.99, text, time)
