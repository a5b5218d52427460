"""The tree of the frames of a robot with its morphology: the pose of each link's frame in its parent, for any
joint angles.

Frames: `base_link`; for each link `LINK_link_LEG` with its origin at its joint and x along the link; `foot_LEG` at the
end of a leg's last link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hexapod_dynamics.damage import JointDamage
from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.morphology import Morphology
from hexapod_dynamics.robot.parts import Joint, Link
from hexapod_dynamics.se3 import exp, pose, skew

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot


@dataclass(frozen=True, eq=False)
class Branch:
    """One joint of the tree and the link behind it.

    parent, child: frames. at_zero (4, 4): parent <- child at joint position zero, or at the position at which the joint
    is locked. axis (3,): of the joint, in the child's axes. joint, link: None for a foot, which is fixed to the last
    link. index: of the joint among all joints of the robot, -1 for a foot. damage: of the joint, None if it works.
    intact: whether the link has its full length. last: whether no link follows in the undamaged leg.
    """

    leg: str
    parent: str
    child: str
    at_zero: NDArray[np.float64]
    axis: NDArray[np.float64]
    joint: Joint | None = None
    link: Link | None = None
    index: int = -1
    damage: JointDamage | None = None
    intact: bool = True
    last: bool = False

    @property
    def moving(self) -> Joint | None:
        """The joint if it moves; None for a foot and for a joint that is locked."""
        return self.joint if self.damage is None or self.damage.lock is None else None

    @property
    def screw(self) -> NDArray[np.float64]:
        """Twist (6,) of the child by its joint, linear first, in the child's axes; zero for a foot."""
        return np.zeros(6) if self.joint is None else self.joint.twist(np.zeros(3), self.axis)


def list_branches(robot: Robot, morphology: Morphology | None = None) -> list[Branch]:
    """All joints from the body outward, leg by leg; morphology None: intact. RobotError if it is another robot's."""
    morphology = Morphology.whole(robot) if morphology is None else morphology
    if not isinstance(morphology, Morphology):
        raise RobotError(f"morphology: {morphology!r} given, a Morphology or None needed")
    if morphology.robot != robot:
        raise RobotError(f"morphology: of robot {morphology.robot.name!r} given, one of {robot.name!r} needed")
    tree = []
    for leg in robot.legs:
        links, parent = morphology.links(leg.name), "base_link"
        rotation, start = leg.mount_rotation.T, -leg.mount_rotation.T @ leg.mount_position
        for joint, link, index in zip(leg.joints, links, robot.leg_joints(leg.name), strict=False):
            at_zero = pose(rotation.T @ link.rotation, rotation.T @ (joint.origin - start))
            axis, damage = link.rotation.T @ joint.axis, morphology.joint_damage(leg.name, link.name)
            if damage is not None and damage.lock is not None:
                at_zero = at_zero @ exp(damage.lock * joint.twist(np.zeros(3), axis))
            intact, last = morphology.remaining(leg.name, link.name) == 1.0, link.name == leg.links[-1].name
            frame = f"{link.name}_link_{leg.name}"
            tree.append(Branch(leg.name, parent, frame, at_zero, axis, joint, link, index, damage, intact, last))
            parent, rotation, start = frame, link.rotation, joint.origin
        if links:
            end = pose(np.eye(3), [links[-1].length, 0.0, 0.0])
            tree.append(Branch(leg.name, parent, f"foot_{leg.name}", end, np.zeros(3)))
    return tree


class LinkTree:
    """Poses of all frames in their parents, as arrays: for tf and viewers."""

    def __init__(self, robot: Robot, morphology: Morphology | None = None) -> None:
        """Read the tree once; `parents` and `children`, m names each, are its frames."""
        self.branches = list_branches(robot, morphology)
        self.parents = [branch.parent for branch in self.branches]
        self.children = [branch.child for branch in self.branches]
        self._at_zero = np.array([branch.at_zero for branch in self.branches]).reshape(-1, 4, 4)
        moving = [(k, b, joint) for k, b in enumerate(self.branches) if (joint := b.moving) is not None]
        turning = [(k, b) for k, b, joint in moving if joint.kind == "revolute"]
        self._turning = np.array([k for k, _ in turning], int)
        self._joints = np.array([b.index for _, b in turning], int)
        self._skew = np.array([skew(b.axis) for _, b in turning]).reshape(-1, 3, 3)
        self._skew2 = self._skew @ self._skew
        self._others = [(k, b.screw, b.index) for k, b, joint in moving if joint.kind != "revolute"]

    def poses(self, q: np.ndarray) -> NDArray[np.float64]:
        """Poses (m, 4, 4) parent <- child for the positions q (n,) of all joints; entries of locked joints are
        ignored.

        Revolute joints by Rodrigues' formula, all at once: R = I + sin(q) [a] + (1 - cos(q)) [a]^2.
        """
        out = self._at_zero.copy()
        angles = np.asarray(q, float)[self._joints][:, None, None]
        turns = np.eye(3) + np.sin(angles) * self._skew + (1.0 - np.cos(angles)) * self._skew2
        out[self._turning, :3, :3] = self._at_zero[self._turning, :3, :3] @ turns
        for k, screw, index in self._others:
            out[k] = self._at_zero[k] @ exp(screw * q[index])
        return out

    def base_poses(self, q: np.ndarray) -> dict[str, NDArray[np.float64]]:
        """Poses {frame: (4, 4)} of all frames in base_link."""
        return self.chain(self.poses(q))

    def chain(self, poses: np.ndarray) -> dict[str, NDArray[np.float64]]:
        """Poses {frame: (4, 4)} in base_link of the frames whose `poses` in their parents are (m, 4, 4)."""
        done = {"base_link": np.eye(4)}
        for branch, in_parent in zip(self.branches, poses, strict=True):
            done[branch.child] = done[branch.parent] @ in_parent
        return done
