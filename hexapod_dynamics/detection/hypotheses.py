"""Damage hypotheses, each a change of named values of the morphology."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from hexapod_dynamics.damage import KINDS, LIMP, LOCKED, MISSING, SHORT, Hypothesis
from hexapod_dynamics.damage.short import STUMPS
from hexapod_dynamics.robot import Morphology, Robot


def missing(robot: Robot, leg: str, link: Any) -> Hypothesis:
    """The leg is missing from link `link` (index) outward."""
    return MISSING.make_hypothesis(robot, robot.leg_names.index(leg), link)


def short(robot: Robot, leg: str, fraction: Any) -> Hypothesis:
    """The last link of the leg is broken off at a fraction of its length, its servo still answers."""
    return SHORT.make_hypothesis(robot, robot.leg_names.index(leg), fraction)


def limp(robot: Robot, joint: int) -> Hypothesis:
    """The servo of the joint (index) gives no torque."""
    return LIMP.make_hypothesis(robot, *place_of(robot, joint))


def locked(robot: Robot, joint: int, angle: float) -> Hypothesis:
    """The joint (index) is stuck at an angle [rad]."""
    return LOCKED.make_hypothesis(robot, *place_of(robot, joint), angle)


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
    """The joint of a group of hypotheses that a joint is limp or locked; None for another group."""
    return int(group.removeprefix(_JOINT)) if group.startswith(_JOINT) else None


def groups_of(hypothesis: Hypothesis) -> list[str]:
    """Names of the legs that lose their feet, or of the joint, or of the hypothesis."""
    if hypothesis.kind in KINDS.link_names:
        return [foot_group(leg) for leg in hypothesis.leg.split("+")]
    if hypothesis.kind in KINDS.joint_names:
        return [f"{_JOINT}{hypothesis.joints[0]}"]
    return [hypothesis.name]


def of_foot(hypothesis: Hypothesis) -> bool:
    """True if only the bank can confirm the hypothesis, not the readings of a joint."""
    return hypothesis.kind not in KINDS.joint_names


def place_of(robot: Robot, joint: Any) -> tuple[int, int]:
    """Index of the leg, and of the link in it, of a joint index."""
    for index, leg in enumerate(robot.legs):
        joints = robot.leg_joints(leg.name)
        if joint in joints:
            return index, joint - joints.start
    raise IndexError(joint)


def part_of(robot: Robot, joint: Any) -> tuple[Any, str]:
    """Leg name and part ("RM.femur") of a joint index."""
    index, link = place_of(robot, joint)
    leg = robot.legs[index]
    return leg.name, f"{leg.name}.{leg.link_names[link]}"


def singles(robot: Robot, morphology: Morphology) -> list[Hypothesis]:
    """All single damages that are still possible: 54 for an intact JetHexa, without locked joints."""
    found = []
    for i, leg in enumerate(robot.legs):
        for k in range(len(leg.links)):
            if morphology.remaining_at(i, k) == 0:
                break
            for kind in KINDS:
                found += kind.hypotheses(morphology, i, k)
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
    """Damages that only sag and tilt can show, because all servos may answer: limp joints, broken last links, and
    pairs of links broken at their joints; 51 for an intact JetHexa.

    A missing link whose servo answers is left out: it moves and stands as a link that is broken off at its joint.
    """
    found = [one for one in singles(robot, morphology) if one.kind != MISSING.name]
    return found + pairs([one for one in found if one.kind == SHORT.name and STUMPS[0] in one.values.values()])
