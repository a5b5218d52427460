"""Inverse and forward kinematics of one three-joint leg of a robot, intact or damaged."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import acos, atan2, cos, hypot, pi, remainder, sin, tau

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.array_checks import as_array, as_numbers
from hexapod_dynamics.core._core import place_foot
from hexapod_dynamics.errors import HexapodError, ReachError
from hexapod_dynamics.robot import Leg, Morphology, Robot

# A foot within this distance [m] of its target has reached it; an angle within this distance [rad] of its range is in
# the range.
TOLERANCE = 1e-9
JOINTS = ("coxa", "femur", "tibia")
# Of coxa, femur and tibia at zero, in the leg frame: the axes of their joints, the directions of their links.
AXES = np.array([[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [0.0, -1.0, 0.0]])
DIRECTIONS = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])


@dataclass(frozen=True, eq=False)
class LegKinematics:
    """Closed-form kinematics of a leg whose coxa turns about z and whose femur and tibia turn about -y.

    name: of the leg. mount_rotation (3, 3), mount_position (3,) [m]: leg frame in base_link.
    lengths (3,) [m]: present lengths of coxa, femur, tibia; a broken tibia is shorter. lower, upper (3,) [rad]:
    joint limits. free (3,) bool: False for a locked joint. held (3,) [rad]: angle at which it is locked.

    With all joints free, a target within reach and limits is met exactly. With a locked joint the foot reaches only a
    surface or a curve: `inverse` rejects other targets, `nearest` approaches them. A leg without its tibia has no
    foot, and no LegKinematics.
    """

    name: str
    mount_rotation: np.ndarray
    mount_position: np.ndarray
    lengths: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    free: np.ndarray
    held: np.ndarray

    @classmethod
    def from_robot(cls, robot: Robot, leg: str, morphology: Morphology | None = None) -> "LegKinematics":
        """Return the kinematics of the named leg of a Robot with this Morphology.

        Raises HexapodError for an unknown leg, for other joints than coxa, femur and tibia, for a lost link, and for
        another robot's Morphology.
        """
        description = robot.leg(leg)
        lengths = link_lengths(description)
        free, held = np.ones(3, bool), np.zeros(3)
        if morphology is not None:
            Morphology.check(robot, morphology)
            for k, link in enumerate(description.links):
                if not morphology.has_link(leg, link.name):
                    raise HexapodError(f"leg {leg} has lost its {link.name}: it has no foot to place")
                lengths[k] *= morphology.remaining(leg, link.name)
                angle = morphology.locked_angle(leg, link.name)
                if angle is not None:
                    free[k], held[k] = False, angle
        return cls(
            name=leg,
            mount_rotation=np.array(description.mount_rotation, float),
            mount_position=np.array(description.mount_position, float),
            lengths=lengths,
            lower=np.array([joint.lower for joint in description.joints], float),
            upper=np.array([joint.upper for joint in description.joints], float),
            free=free,
            held=held,
        )

    def to_leg(self, point: npt.ArrayLike) -> np.ndarray:
        """Return a point (3,) [m] of base_link in the leg frame."""
        return self.mount_rotation.T @ (np.asarray(point, float) - self.mount_position)

    def to_base(self, point: npt.ArrayLike) -> np.ndarray:
        """Convert a point (3,) [m] from the leg frame to base_link."""
        return self.mount_rotation @ np.asarray(point, float) + self.mount_position

    def forward(self, angles: npt.ArrayLike) -> np.ndarray:
        """Return the foot (3,) [m] in the leg frame, from the joint angles (3,) [rad]; a locked joint's entry is
        ignored.
        """
        q1, q2, q3 = np.where(self.free, as_numbers("angles", angles, (3,)), self.held).tolist()
        l1, l2, l3 = self.lengths.tolist()
        radius = l1 + l2 * cos(q2) + l3 * sin(q2 + q3)
        return np.array([radius * cos(q1), radius * sin(q1), l2 * sin(q2) - l3 * cos(q2 + q3)])

    def nearest(self, target: npt.ArrayLike) -> tuple[np.ndarray, float]:
        """Return the angles (3,) [rad] that bring the foot to the target (3,) [m, leg frame], and its distance [m] from
        it there.

        Knee up and foot outward, as near as possible within the limits of the knee; then each angle stops at its
        limits, so that another pose may be nearer to a target beyond those of coxa or femur, or behind the coxa.
        """
        target = self._check_target(target)
        knee = knee_cosines(self.lower[2], self.upper[2])
        angles = np.array(place_foot(target, (0.0, 0.0, 0.0), self.lengths, self.free, self.held, knee)[0])
        angles = np.where(self.free, np.clip(angles, self.lower, self.upper), self.held)
        return angles, float(np.linalg.norm(self.forward(angles) - target))

    def inverse(self, target: npt.ArrayLike, near: npt.ArrayLike | None = None) -> np.ndarray:
        """Return the angles (3,) [rad] that put the foot on the target (3,) [m, leg frame].

        Of the (up to four) solutions within the limits, the one nearest to `near` (3,) [rad]; by default the knee-up,
        foot-outward one comes first. Raises ReachError, which names the reachable range, if there is none.
        """
        target = self._check_target(target)
        wanted = np.zeros(3) if near is None else as_array("near", near, (3,), ignored=~self.free)
        within, beyond = [], []
        for angles in self._candidates(target):
            if np.linalg.norm(self.forward(angles) - target) <= TOLERANCE:
                clipped = np.where(self.free, np.clip(angles, self.lower, self.upper), angles)
                if np.abs(clipped - angles).max() > TOLERANCE:
                    beyond.append(angles)
                elif near is None:
                    return clipped
                else:
                    within.append(clipped)
        if within:
            return min(within, key=lambda a: np.abs(a - wanted)[self.free].max(initial=0.0))
        raise ReachError(self._refusal(target, beyond))

    def _candidates(self, target: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the angles of every branch, the usual (foot outward, knee up) first."""
        x, y, z = target
        l1, l2, l3 = self.lengths
        for backward, knee_down in product((False, True), repeat=2):
            if self.free[0]:
                q1 = remainder(atan2(y, x) + (pi if backward else 0.0), tau)
                radius = (-1.0 if backward else 1.0) * hypot(x, y) - l1
            elif backward:
                return
            else:
                q1, radius = self.held[0], x * cos(self.held[0]) + y * sin(self.held[0]) - l1
            if self.free[1] and self.free[2]:
                cosine = (radius**2 + z**2 - l2**2 - l3**2) / (2.0 * l2 * l3)
                knee = acos(min(1.0, max(-1.0, cosine))) * (-1.0 if knee_down else 1.0)
                q2 = atan2(z, radius) + atan2(l3 * sin(knee), l2 + l3 * cos(knee))
                yield np.array([q1, remainder(q2, tau), remainder(0.5 * pi - knee, tau)])
            elif not knee_down:
                # At most one joint is free in the leg's plane: there is one candidate, computed in that plane, turned
                # to x.
                ahead, still = (radius + l1, 0.0, z), (0.0, 0.0, 0.0)
                free, held = (False, *self.free[1:]), (0.0, *self.held[1:])
                _, q2, q3 = place_foot(ahead, still, self.lengths, free, held, (1.0, -1.0))[0]
                yield np.array([q1, q2, q3])

    def _refusal(self, target: np.ndarray, beyond: list[np.ndarray]) -> str:
        given = f"leg {self.name}: foot target ({target[0]:.4f}, {target[1]:.4f}, {target[2]:.4f}) m in the leg frame"
        if beyond:
            least = min(beyond, key=lambda a: np.max(self.free * np.maximum(self.lower - a, a - self.upper)))
            worst = [
                f"{JOINTS[k]} {least[k]:.3f} rad (allowed {self.lower[k]:.3f} to {self.upper[k]:.3f})"
                for k in range(3)
                if self.free[k] and not self.lower[k] <= least[k] <= self.upper[k]
            ]
            return f"{given} needs {', '.join(worst)}"
        l1, l2, l3 = self.lengths
        if self.free.all():
            distance = hypot(hypot(target[0], target[1]) - l1, target[2])
            return (
                f"{given} is {distance:.4f} m from the femur's joint; "
                f"reachable are {abs(l2 - l3):.4f} to {l2 + l3:.4f} m, choose a target nearer to that shell"
            )
        locked = ", ".join(f"{JOINTS[k]} at {self.held[k]:.3f} rad" for k in range(3) if not self.free[k])
        _, miss = self.nearest(target)
        return f"{given} is out of reach with {locked} locked; knee up and outward, the foot stays {miss:.4f} m away"

    def _check_target(self, target: npt.ArrayLike) -> np.ndarray:
        return as_array(f"leg {self.name}: foot target [m]", target, (3,), error=ReachError)


def knee_cosines(lower: float, upper: float) -> tuple[float, float]:
    """Return the cosines of the smallest and the largest knee angle for a tibia's limits [rad]."""
    return cos(max(0.0, 0.5 * pi - upper)), cos(min(pi, 0.5 * pi - lower))


def link_lengths(description: Leg) -> np.ndarray:
    """Return the lengths (3,) [m] of a leg's links after checking that it is a coxa, femur and tibia laid out as
    expected.

    Raises HexapodError naming the leg for any other build.
    """
    lengths = np.array([link.length for link in description.links], float)
    kinds, axes = [joint.kind for joint in description.joints], [joint.axis for joint in description.joints]
    fits = kinds == ["revolute"] * 3
    if fits:
        along = lengths[:, None] * DIRECTIONS
        found = axes, [link.tip for link in description.links], [joint.origin for joint in description.joints]
        fits = lengths.min() > 0.0 and np.allclose(found, [AXES, along, np.cumsum(along, axis=0) - along], atol=1e-12)
    if not fits:
        raise HexapodError(
            f"leg {description.name}: closed-form kinematics need 3 revolute joints about z, -y, -y with links along "
            f"x, x, -z; given {', '.join(f'{k} about {a.tolist()}' for k, a in zip(kinds, axes, strict=True))}"
        )
    return lengths
