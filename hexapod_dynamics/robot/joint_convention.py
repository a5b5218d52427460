"""The gaits' convention of joint angles: a coxa about z, a femur and a tibia about -y; at zero the femur is level.

Robot files have many conventions: a femur that turns down with a positive angle, a tibia that is straight at zero.
The closed-form kinematics, and with them the gaits, have only one: x of the leg's frame points outward, z up; at
zero coxa and femur point along x and the tibia straight down. `with_gait_joints` returns the same robot in this
convention, and the map between the two conventions.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.errors import RobotError
from hexapod_dynamics.robot.leg import Leg
from hexapod_dynamics.robot.parts import Joint, Link
from hexapod_dynamics.se3 import rotation_from_vector

if TYPE_CHECKING:
    from hexapod_dynamics.robot.description import Robot

# Axes of the joints and directions of the links at zero, in the leg's frame.
AXES = np.array([[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [0.0, -1.0, 0.0]])
ALONG = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
NEAR = 1e-6  # largest error of axes and directions


@dataclass(frozen=True)
class JointMap:
    """Map between the conventions of a file and of the gaits: file = sign * gait + offset, each (n,), [rad]."""

    sign: np.ndarray
    offset: np.ndarray

    def to_file(self, angles: npt.ArrayLike) -> np.ndarray:
        """Convert angles (n,) [rad] of the gait to the convention of the robot's file."""
        return self.sign * np.asarray(angles, float) + self.offset

    def to_gait(self, angles: npt.ArrayLike) -> np.ndarray:
        """Convert angles (n,) [rad] of the file to the convention of the gait."""
        return self.sign * (np.asarray(angles, float) - self.offset)


def with_gait_joints(robot: Robot) -> tuple[Robot, JointMap]:
    """Return the same Robot in the convention of the gaits, and the map between the two conventions.

    Raises RobotError, which names the leg, if a leg does not consist of a coxa with a vertical axis and a femur
    and a tibia in one plane.
    """
    legs, signs, offsets = [], [], []
    for leg in robot.legs:
        made, sign, offset = _leg(leg)
        legs.append(made)
        signs.append(sign)
        offsets.append(offset)
    return dataclasses.replace(robot, legs=tuple(legs)), JointMap(np.concatenate(signs), np.concatenate(offsets))


def _leg(leg: Leg) -> tuple[Leg, np.ndarray, np.ndarray]:
    axes = np.array([joint.axis for joint in leg.joints])
    up = leg.mount_rotation.T[:, 2]
    if len(leg.joints) != 3 or any(joint.kind != "revolute" for joint in leg.joints):
        raise RobotError(
            f"leg {leg.name}: {len(leg.joints)} joints; a gait needs a coxa, a femur and a tibia that turn"
        )
    if abs(axes[0] @ up) < 1.0 - NEAR or abs(axes[1] @ up) > NEAR or abs(axes[1] @ axes[2]) < 1.0 - NEAR:
        raise RobotError(
            f"leg {leg.name}: axes {axes.round(4).tolist()}; a gait needs a coxa about the vertical and a femur and a "
            "tibia about one level axis"
        )
    outward = np.cross(axes[1], up)  # outward direction in the femur's plane, at the coxa's zero
    reach = sum((link.tip for link in leg.links), np.zeros(3))
    outward *= math.copysign(1.0, outward @ reach)
    frame = np.column_stack([outward, np.cross(up, outward), up])  # mount frame of the file <- that of the gait
    sign = np.array([math.copysign(1.0, axis @ (frame @ wanted)) for axis, wanted in zip(axes, AXES, strict=True)])
    origins = [joint.origin for joint in leg.joints]
    coxa = leg.joints[1].origin - leg.joints[0].origin
    radius = float(coxa @ outward)
    if np.linalg.norm(coxa - radius * outward) > NEAR or radius <= 0.0:
        raise RobotError(
            f"leg {leg.name}: the femur's joint is at {coxa.round(4).tolist()} from the coxa's, not outward"
        )
    directions = [None, leg.joints[2].origin - leg.joints[1].origin, leg.links[2].tip]
    offset, turned = np.zeros(3), 0.0
    for k in (1, 2):
        way = frame.T @ np.asarray(directions[k])
        if abs(way[1]) > NEAR:
            raise RobotError(f"leg {leg.name}: {leg.links[k].name} is {way[1]:.4f} m beside the plane of the leg")
        # Angles about -y of the link at the zero of the file, and at the zero of the gait.
        angle, zero = math.atan2(way[2], way[0]), math.atan2(ALONG[k][2], ALONG[k][0])
        # About -y, in the gait's direction: angle of this joint alone, without that of the previous joint.
        own = zero - angle - turned
        own = math.remainder(own, 2.0 * math.pi)
        turned += own
        offset[k] = sign[k] * own
    lengths = [radius, *(float(np.linalg.norm(directions[k])) for k in (1, 2))]
    joints, links, start, turn = [], [], np.zeros(3), np.eye(3)
    for k, (joint, link) in enumerate(zip(leg.joints, leg.links, strict=True)):
        turn = turn @ rotation_from_vector(joint.axis * offset[k])
        joints.append(_joint(joint, AXES[k], start, sign[k], offset[k]))
        links.append(_link(link, k, lengths[k], frame.T @ turn))
        start = start + lengths[k] * ALONG[k]
    made = dataclasses.replace(
        leg,
        mount_rotation=leg.mount_rotation @ frame,
        mount_position=leg.mount_position + leg.mount_rotation @ origins[0],
        joints=tuple(joints),
        links=tuple(links),
        module=f"{leg.module} gait joints",
    )
    return made, sign, offset


def _joint(joint: Joint, axis: np.ndarray, origin: np.ndarray, sign: float, offset: float) -> Joint:
    ends = sorted((sign * (joint.lower - offset), sign * (joint.upper - offset)))
    return dataclasses.replace(joint, axis=axis, origin=origin, lower=ends[0], upper=ends[1])


def _link(link: Link, index: int, length: float, turn: np.ndarray) -> Link:
    """Return a link along its direction at the gait's zero; turn: the gait's leg frame <- file's mount frame at
    zero.
    """
    x = ALONG[index]
    axes = np.column_stack([x, np.array([0.0, 1.0, 0.0]), np.cross(x, [0.0, 1.0, 0.0])])
    ours = axes.T @ turn  # link axes of the gait <- mount frame of the file, turned to the gait's zero
    inertia = ours @ link.inertia_in_leg @ ours.T
    return dataclasses.replace(
        link, length=length, com=ours @ link.com_in_leg, inertia=0.5 * (inertia + inertia.T), rotation=axes
    )
