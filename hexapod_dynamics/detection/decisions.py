"""Derives decisions from the evidence; declarations by a person have priority."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hexapod_dynamics.damage import KINDS
from hexapod_dynamics.detection.bus_evidence import BusEvidence, SilentChain
from hexapod_dynamics.detection.hypotheses import (
    Hypothesis,
    foot_group,
    groups_of,
    joint_of_group,
    leg_of_group,
    limp,
    locked,
    missing,
    of_foot,
    part_of,
)
from hexapod_dynamics.detection.lasting_evidence import LastingEvidence
from hexapod_dynamics.detection.leaning import Leaning
from hexapod_dynamics.detection.posterior import Posterior
from hexapod_dynamics.detection.settings import DetectorSettings
from hexapod_dynamics.robot import Morphology, Robot

ANGLE = "locked_at."  # beginning of the name of a value that is measured, not decided
# A decision is repeated while its evidence lasts; it has ended after this multiple of `repeat_after` without one.
ENDED = 1.5


@dataclass(frozen=True)
class Decision:
    """action: declare, restore or suspect; values: for `set_morphology`; text: one line for people; since [s]."""

    action: str
    name: str
    values: dict = field(hash=False)
    probability: float
    text: str
    since: float

    @property
    def key(self) -> tuple[tuple[str, Any], ...]:
        """What is decided, part and kind: without measured numbers, which change from reading to reading."""
        return decision_key(self.values)


def decision_key(values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return the part and kind of damage in {name: value} of `set_morphology`, without the angle of a lock."""
    return tuple(sorted(item for item in values.items() if not item[0].startswith(ANGLE)))


@dataclass(frozen=True)
class Finding:
    """A current hypothesis: name, probability, evidence in words, since [s], whether it has been declared.

    lasting: whether enough consecutive banks were sure of it to justify a warning. decided: whether there is a
    Decision on it that is repeated while its evidence lasts.
    """

    name: str
    probability: float
    evidence: str
    since: float
    declared: bool
    lasting: bool = False
    decided: bool = False


class DecisionMaker:
    """Turns evidence into Decisions, each one once; `own`: the values that this detector declared."""

    def __init__(self, robot: Robot, settings: DetectorSettings) -> None:
        self.robot, self.settings = robot, settings
        self.own: dict[str, Any] = {}  # named values that this detector has declared and that still hold
        self._limits = settings.limits
        # Decisions that are not executed yet, with the times at which they were made last.
        self._asked: dict[tuple, tuple[float, Decision]] = {}
        self._found: dict[tuple, Decision] = {}  # declarations, until they are undone or their evidence ends
        self._lasting = LastingEvidence(settings)
        # [s] for which joints and banks must find the same damage; 0 unless the computer is often late.
        self.patience = 0.0
        self._said: dict[str, tuple[float, float]] = {}  # their findings: first time, and last time
        self.zone = 0.0  # [rad] dead zone of the servos, as identified
        self.suspect: tuple[str, float, float] | None = None  # (name, probability, since)
        # group of which consecutive banks are sure, their number, time of the first
        self._named: tuple[str, int, float] = ("", 0, -math.inf)
        self._lasts = False  # whether they last long enough for a warning

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
        self.suspect, self._lasts = None, False
        self._named = "", 0, -math.inf
        self._said.clear()
        self._lasting.clear()

    def decide(
        self, time: float, action: Any, name: str, values: Any, probability: float, text: str, since: float
    ) -> list[Any]:
        """Return a list with the Decision, or an empty one if the same Decision was made recently."""
        decision = Decision(action, name, values, probability, text, since)
        if time - self._asked.get(decision.key, (-math.inf,))[0] < self._limits.repeat_after:
            return []
        self._asked[decision.key] = time, decision
        if action == "declare":
            self._found[decision.key] = self._found.get(decision.key, decision)
        return [decision]

    def _is_own(self, key: tuple) -> bool:
        return all(self.own.get(name) == value for name, value in key)

    def drop_ended(self, time: float) -> None:
        """Drop the decisions that nobody executed and that are not repeated any more: their evidence has ended."""
        oldest = time - ENDED * self._limits.repeat_after
        self._asked = {key: one for key, one in self._asked.items() if one[0] > oldest}
        self._found = {key: one for key, one in self._found.items() if key in self._asked or self._is_own(key)}

    def _lasts_enough(self, time: float, what: str) -> bool:
        """Note that joints or a bank find this damage now; return whether they have found it for `patience` [s]."""
        since, last = self._said.get(what, (time, time))
        if time - last > self._limits.busy_pause:
            since = time
        self._said[what] = since, time
        return time - since >= self.patience

    def findings(self, hypotheses: list[Hypothesis], posterior: Posterior | None) -> list[Finding]:
        """Return the Findings: first the decided ones, then those that are suspected by the last bank (hypotheses
        and Posterior, or None).
        """
        found = [
            Finding(one.name, one.probability, one.text, one.since, self._is_own(key), decided=True)
            for key, one in self._found.items()
        ]
        if posterior is not None and self.suspect is not None:
            for k in np.argsort(-posterior.probability)[:5]:
                what, probability = hypotheses[k], float(posterior.probability[k])
                if probability > 0.02:
                    lasts = self._lasts and self.suspect[0] in groups_of(what)
                    found.append(
                        Finding(what.name, probability, _sentence(what, probability), self.suspect[2], False, lasts)
                    )
        return found

    # ---- the bus -----------------------------------------------------------------------------------------------------

    def from_bus(
        self,
        time: float,
        evidence: BusEvidence,
        morphology: Morphology,
        angles: np.ndarray,
        timely: bool,
        are_gone: Callable[[list[SilentChain]], bool] | None = None,
    ) -> list[Decision]:
        """Decide on silent chains, servos without torque and servos that answer again; timely: no data are late.

        Three silent legs are a fault of the bus, unless `are_gone(silent chains)`.
        """
        if evidence.dead(time):
            return []
        found = []
        expected = morphology.existing_mask & morphology.moving_mask
        silences = evidence.chains(evidence.silent(time, expected), expected)
        late = evidence.overdue(time, expected)
        if len(silences) >= self._limits.many:
            chains = [silence for silence in silences if len(silence.joints) > 1 and not silence.alone]
            silences = chains if are_gone is not None and are_gone(chains) else []
        if silences:
            for silence in silences:
                # The servos of one leg become silent one after another, in the order of their last readings.
                if late[list(self.robot.leg_joints(silence.leg))[: silence.link]].any():
                    continue
                if timely or len(silence.joints) > 1 and not silence.alone:
                    found += self._silent(time, silence, angles)
        limp = np.flatnonzero(evidence.let_go(time) & morphology.driven_mask)
        if len(limp) < self._limits.many:
            for joint in limp:
                _, part = part_of(self.robot, joint)
                text = f"{part} limp: its servo reports that its torque is off (p = 0.999)"
                found += self.decide(time, "declare", f"{part} limp", {f"limp.{part}": True}, 0.999, text, time)
        return found + self._returned(time, evidence)

    def _silent(self, time: float, silence: SilentChain, angles: np.ndarray) -> list[Decision]:
        leg, age = silence.leg, time - silence.since
        if silence.alone and age < self._limits.alone_silent:
            return []
        if silence.alone:
            joint = silence.joints[0]
            _, part = part_of(self.robot, joint)
            what = locked(self.robot, joint, angles[joint] if np.isfinite(angles[joint]) else 0.0)
            text = (
                f"{part} not to be used: no answer from its servo for {age:.1f} s, though servos further out "
                "answer (p = 0.950)"
            )
            return self.decide(time, "declare", what.name, what.values, 0.95, text, silence.since)
        what = missing(self.robot, leg, silence.link)
        count = ("its servo", "its two servos", "its three servos")[min(len(silence.joints), 3) - 1]
        probability = 0.99 if len(silence.joints) > 1 else 0.97
        text = f"{what.name}: no answer from {count} for {age:.1f} s (p = {probability:.3f})"
        return self.decide(time, "declare", what.name, what.values, probability, text, silence.since)

    def _returned(self, time: float, evidence: Any) -> list[Decision]:
        back = evidence.back()
        found = []
        for leg in self.robot.legs:
            joints = list(self.robot.leg_joints(leg.name))
            for link, name in enumerate(leg.link_names):
                key = f"legs.{leg.name}" if link == 0 else f"links.{leg.name}.{name}"
                if self.own.get(key) is False and back[joints[link:]].all():
                    values = {key: True}
                    if link:
                        values |= {f"links.{leg.name}.{outer}": True for outer in leg.link_names[link + 1 :]}
                    what = leg.name if link == 0 else f"{leg.name}.{name}"
                    text = f"{what} back: its servos answer again (p = 0.990)"
                    found += self.decide(time, "restore", f"{what} back", values, 0.99, text, time)
                    break
        return found

    # ---- joints ------------------------------------------------------------------------------------------------------

    def from_joints(self, time: float, news: Any, morphology: Morphology, let_go: np.ndarray) -> list[Decision]:
        """Decide on joints that do not follow their commands while other joints do."""
        stuck = [joint for joint, one in news.items() if one.state == "locked" and not let_go[joint]]
        many = self._limits.many
        if len(stuck) >= many or sum(one.state != "follows" for one in news.values()) > 2 * many:
            return []
        found = []
        for joint in stuck:
            one = news[joint]
            what = locked(self.robot, joint, one.angle)
            probability = 1.0 / (1.0 + math.exp(self.settings.prior * -1.0 - one.evidence))
            if probability < self.settings.declare or not self._lasts_enough(time, f"{joint} locked"):
                continue
            text = f"{what.name}: its reading stands still while its command moves (p = {probability:.3f})"
            found += self.decide(time, "declare", what.name, what.values, probability, text, time)
        return found

    def own_joints(self) -> dict[int, float | None]:
        """Return the joints that this detector has declared locked, with the angle [rad], or limp: None."""
        found: dict[int, float | None] = {}
        for joint in range(self.robot.joint_count):
            _, part = part_of(self.robot, joint)
            if self.own.get(f"locked.{part}") is True and f"locked_at.{part}" in self.own:
                found[joint] = float(self.own[f"locked_at.{part}"])
            elif self.own.get(f"limp.{part}") is True:
                found[joint] = None
        return found

    def from_mended(self, time: float, joints: list[int]) -> list[Decision]:
        """Restore joints that this detector declared and that are intact again."""
        found = []
        for joint in joints:
            _, part = part_of(self.robot, joint)
            kind = "limp" if self.own.get(f"limp.{part}") is True else "locked"
            text = f"{part} back: it stands where its command is again, and was {kind} (p = 0.990)"
            found += self.decide(time, "restore", f"{part} back", {f"{kind}.{part}": False}, 0.99, text, time)
        return found

    # ---- the bank ----------------------------------------------------------------------------------------------------

    def from_bank(
        self, time: float, hypotheses: Any, posterior: Any, news: Any, leaning: Leaning | None = None
    ) -> list[Decision]:
        """Decide on the leg or joint that the last banks agree on; leaning: how far the body leans."""
        found = self._lasting.look(time, hypotheses, posterior, leaning)
        self._note_suspected(time)
        if self._lasting.suspected is None:
            self.suspect = None
            return []
        group, probability = self._lasting.suspected
        since = self.suspect[2] if self.suspect and self.suspect[0] == group else time
        self.suspect = (group, probability, since)
        if found is None:
            return []
        what, probability = found
        if not of_foot(what):
            left = posterior.misfit[hypotheses.index(what)] / posterior.misfit_declared
            what = self._kind_of(what, news, bool(left < self._limits.explains_leg))
            if what is None:
                return []
        if not self._lasts_enough(time, group):
            return []
        return self.decide(time, "declare", what.name, what.values, probability, _sentence(what, probability), since)

    def _note_suspected(self, time: float) -> None:
        """Count the consecutive banks that are sure of the same leg or joint."""
        group, probability = self._lasting.suspected or ("", 0.0)
        limits = self._limits
        if probability < limits.warned:
            self._named, self._lasts = ("", 0, -math.inf), False
            return
        name, count, since = self._named
        self._named = (group, count + 1, since) if group == name else (group, 1, time)
        self._lasts = self._named[1] >= limits.warned_banks and time - self._named[2] >= limits.warned_after

    @property
    def suspected_joint(self) -> int | None:
        """Joint (index) that the last bank holds responsible; None if there is none."""
        if self.suspect is None or self.suspect[1] < self._limits.blamed:
            return None
        return joint_of_group(self.suspect[0])

    @property
    def to_press(self) -> tuple[str, float, float] | None:
        """`suspect`, if pressing its foot down can confirm it; None where roll and pitch contradict the loss: then the
        model fits this robot poorly, and would fit it no better while it presses the foot down.
        """
        return None if self.suspect is None or self._lasting.contradicted(self.suspect[0]) else self.suspect

    @property
    def undecided(self) -> str:
        """Group of which the last banks are sure, but which roll and pitch do not confirm; empty if none."""
        return self._lasting.undecided

    def cannot_tell(self, time: float) -> tuple[str, str] | None:
        """Return the group of a foot that may be lost at `time` [s], and why the banks cannot tell; None: none."""
        if self._lasting.undecided:
            return self._lasting.undecided, self._lasting.why
        if self.suspect is None or leg_of_group(self.suspect[0]) is None:
            return None
        group, probability, since = self.suspect
        if time - since < self._limits.probe_suspected:
            return None
        return group, f"suspected for {time - since:.1f} s (p = {probability:.2f}), but no two banks in a row are sure"

    @property
    def doubted(self) -> str | None:
        """Leg that may have lost its foot together with the leg that was declared last; None if there is none."""
        return self._lasting.doubted

    def pressed(self, time: float, leg: str) -> None:
        """Note that the foot of a leg is pressed down from `time` [s] on."""
        self._lasting.pressed(time, foot_group(leg))

    def _kind_of(self, hypothesis: Any, news: Any, explains: bool) -> Hypothesis | None:
        """Return the kind of damage of a joint that deviates from its model: limp if its readings move, else
        locked; None if it is not known yet.

        Sag and tilt cannot distinguish the two: a limp joint under little load hardly moves. If two joints of a
        leg do not follow, the leg is held from outside, as after a fall: neither is declared, unless the
        simulation of one `explains` the other, as a limp femur moves its tibia.
        """
        joint = hypothesis.joints[0]
        one = news.get(joint)
        held = not explains and len(news.keys() & set(self.robot.leg_joints(hypothesis.leg))) > 1
        if one is None or held or one.state == "follows" or not np.isfinite(one.spread):
            return None
        limits = self._limits
        if one.apart < limits.limp_follows * one.spread:  # its servo moves it as commanded
            return None
        # Play of the gears moves the readings of a locked joint, too.
        if one.spread > limits.limp_moves + limits.stuck_zones * self.zone:
            return limp(self.robot, joint)
        stands = one.state == "locked" or (one.count >= limits.stands_still and one.lasts >= limits.stands_still_for)
        return locked(self.robot, joint, one.angle) if stands else None


def _sentence(hypothesis: Any, probability: float) -> str:
    kind = KINDS.find(hypothesis.kind)  # None if there are several
    reason = kind.reason if kind is not None else "sag and tilt"
    return f"{hypothesis.name}: {reason} (p = {min(probability, 0.9999):.3f})"
