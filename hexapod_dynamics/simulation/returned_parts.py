"""Positions of the joints of restored parts: nobody can attach a leg whose foot is in the ground."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.robot.link_tree import LinkTree

_TRIES = 5  # number of angles of each joint that are tried, over its range
_CLEAR = 0.002  # [m] sufficient height over the ground
_STANDS = 0.003  # [m] depth in the ground up to which a foot of a longer leg counts as standing


def place_returned(
    robot: Robot,
    before: Morphology,
    after: Morphology,
    position: np.ndarray,
    rotation: np.ndarray,
    q: np.ndarray,
    height: Callable[[float, float], float],
    *,
    longer: bool = False,
) -> None:
    """Move the joints of parts that exist in `after` but not in `before`, in q (n,) [rad], so that they are out of
    the ground.

    longer: whether to move also legs that are longer than before, because a person who repairs a stump lifts the
    leg. position (3,) [m], rotation (3, 3): of base_link in the world. height(x, y) [m]: of the ground. A leg that
    is clear of the ground does not move; else it takes the nearest of several clear postures.
    """
    back = after.existing_mask & ~before.existing_mask
    if longer:
        free = after.existing_mask & after.moving_mask
        for leg in robot.legs:
            if any(0 < before.remaining(leg.name, link) < after.remaining(leg.name, link) for link in leg.link_names):
                longer_joints = robot.leg_joints(leg.name)
                back[longer_joints] = free[longer_joints]
    if not back.any():
        return
    tree = LinkTree(robot, after)

    def clearance(leg: str) -> float:
        poses = tree.base_poses(q)
        points = [position + rotation @ poses[b.child][:3, 3] for b in tree.branches if b.leg == leg]
        return min(float(p[2] - height(float(p[0]), float(p[1]))) for p in points)

    for leg in robot.legs:
        joints = np.arange(robot.joint_count)[robot.leg_joints(leg.name)]
        joints = joints[back[joints]]
        grown = joints.size and before.existing_mask[joints].all()
        if not joints.size or clearance(leg.name) > (-_STANDS if grown else 0.0):
            continue
        names = list(robot.joint_names)
        limits = {names[k]: joint for k, joint in zip(robot.leg_joints(leg.name), leg.joints, strict=True)}
        ranges = [
            np.linspace(max(limits[names[j]].lower, -2.0), min(limits[names[j]].upper, 2.0), _TRIES) for j in joints
        ]
        asked = q[joints].copy()
        found = []
        for angles in itertools.product(*ranges):
            q[joints] = angles
            clear = min(clearance(leg.name), _CLEAR)
            found.append((-clear, float(np.sum((np.array(angles) - asked) ** 2)), angles))
        q[joints] = min(found)[2]
