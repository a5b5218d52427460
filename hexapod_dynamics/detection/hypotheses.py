"""Damage hypotheses, each a change of named values of the morphology."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from hexapod_dynamics.robot import Morphology, Robot

# Remaining fractions of a broken last link that are simulated: near its joint, in the middle, without its foot.
STUMPS = (0.05, 0.5, 0.85)


@dataclass(frozen=True)
class Hypothesis:
    """One explanation: `values` are what `set_morphology` would be given; `joints` are those it is about.

    kind: missing, short, limp, locked, or several. leg: the leg, or legs joined by +.
    """

    name: str
    leg: str
    kind: str
    values: dict = field(hash=False)
    joints: tuple = ()

    def applied(self, morphology: Morphology) -> Morphology:
        """Return `morphology` with this damage added."""
        return morphology.updated(self.values)


def missing(robot: Robot, leg: str, link: Any) -> Hypothesis:
    """The leg is missing from link `link` (index) outward."""
    names = robot.leg(leg).link_names
    joints = tuple(robot.leg_joints(leg))[link:]
    if link == 0:
        return Hypothesis(f"{leg} missing", leg, "missing", {f"legs.{leg}": False}, joints)
    part = f"{leg}.{names[link]}"
    return Hypothesis(f"{part} missing", leg, "missing", {f"links.{part}": False}, joints)


def short(robot: Robot, leg: str, fraction: Any) -> Hypothesis:
    """The last link of the leg is broken off at a fraction of its length, its servo still answers."""
    part = f"{leg}.{robot.leg(leg).link_names[-1]}"
    joint = tuple(robot.leg_joints(leg))[-1]
    name = f"{part} broken off, {fraction:.0%} left"
    return Hypothesis(name, leg, "short", {f"remaining.{part}": fraction}, (joint,))


def limp(robot: Robot, joint: int) -> Hypothesis:
    """The servo of the joint (index) gives no torque."""
    leg, part = part_of(robot, joint)
    return Hypothesis(f"{part} limp", leg, "limp", {f"limp.{part}": True}, (joint,))


def locked(robot: Robot, joint: int, angle: float) -> Hypothesis:
    """The joint (index) is stuck at an angle [rad]."""
    leg, part = part_of(robot, joint)
    values = {f"locked.{part}": True, f"locked_at.{part}": float(angle)}
    return Hypothesis(f"{part} locked at {angle:.2f} rad", leg, "locked", values, (joint,))


def both(one: Hypothesis, other: Hypothesis) -> Hypothesis:
    """Both damages together."""
    return Hypothesis(
        f"{one.name} and {other.name}",
        f"{one.leg}+{other.leg}",
        "several" if one.kind != other.kind else one.kind,
        one.values | other.values,
        one.joints + other.joints,
    )


_FOOT, _JOINT = " lost", "joint "


def foot_group(leg: str) -> str:
    """Name of the group of all hypotheses in which a leg (by name) has lost its foot."""
    return f"{leg}{_FOOT}"


def leg_of_group(group: str) -> str | None:
    """The leg of a `foot_group`, None for another group."""
    return group.removesuffix(_FOOT) if group.endswith(_FOOT) else None


def joint_of_group(group: str) -> int | None:
    """The joint of the hypotheses that a joint is limp or locked, None for another group."""
    return int(group.removeprefix(_JOINT)) if group.startswith(_JOINT) else None


def groups_of(hypothesis: Hypothesis) -> list[str]:
    """Names of the legs that lose their feet, or of the joint, or of the hypothesis."""
    if hypothesis.kind in ("missing", "short"):
        return [foot_group(leg) for leg in hypothesis.leg.split("+")]
    if hypothesis.kind in ("limp", "locked"):
        return [f"{_JOINT}{hypothesis.joints[0]}"]
    return [hypothesis.name]


def of_foot(hypothesis: Hypothesis) -> bool:
    """True if only the bank can show the hypothesis, not the readings of a joint."""
    return hypothesis.kind not in ("limp", "locked")


def part_of(robot: Robot, joint: Any) -> tuple[Any, str]:
    """Leg name and part ("RM.femur") of a joint index."""
    for leg in robot.legs:
        joints = robot.leg_joints(leg.name)
        if joint in joints:
            return leg.name, f"{leg.name}.{leg.link_names[joint - joints.start]}"
    raise IndexError(joint)


def singles(robot: Robot, morphology: Morphology) -> list[Hypothesis]:
    """All single damages that are still possible: 54 for an intact JetHexa, without locked joints."""
    found = []
    for leg in robot.legs:
        joints = robot.leg_joints(leg.name)
        for link, name in enumerate(leg.link_names):
            if not morphology.has_link(leg.name, name):
                break
            found.append(missing(robot, leg.name, link))
            if morphology.locked_angle(leg.name, name) is None and not morphology.is_limp(leg.name, name):
                found.append(limp(robot, joints[link]))
        last = leg.link_names[-1]
        if morphology.has_link(leg.name, last):
            found += [short(robot, leg.name, f) for f in STUMPS if f < morphology.remaining(leg.name, last)]
    return found


def pairs(candidates: Any, with_one_of: Any = None) -> list[Any]:
    """All pairs of hypotheses of different legs; with_one_of: only pairs that contain one of these."""
    chosen = None if with_one_of is None else {id(h) for h in with_one_of}
    return [
        both(a, b)
        for a, b in combinations(candidates, 2)
        if a.leg != b.leg and (chosen is None or id(a) in chosen or id(b) in chosen)
    ]


def of_answering_servos(robot: Robot, morphology: Morphology) -> list[Hypothesis]:
    """Damages that sag and tilt have to show, because all servos may answer: limp joints, broken last links, and pairs
    of these at their joints. 51 for a whole JetHexa.

    A missing link whose servo answers is left out: it moves and stands as a link that is broken off at its joint.
    """
    found = [one for one in singles(robot, morphology) if one.kind != "missing"]
    return found + pairs([one for one in found if one.kind == "short" and STUMPS[0] in one.values.values()])
