"""What carries the robot: foot forces, support polygon, centre of mass and zero-moment point (ZMP), of a model's state.

The ground's wrench on the robot is the inverse dynamics without contact, h = ID(R, q, nu, nudot): force F and moment M
about base_link's origin p. The ZMP z is the point of the ground plane about which M has no part along the plane:

    z = p + (n x M + d F) / (n . F)          n: unit normal of the plane, d = n . (p0 - p) with p0 a point of the plane

(Vukobratovic and Borovac 2004; Sardain and Bessonnet 2004 for its identity with the centre of pressure on one plane).
It uses the motion and the masses only, not the contact forces.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hexapod_dynamics.core import _core
from hexapod_dynamics.robot import Robot

FORCE_SCALE = 0.01  # [m/N] length of the arrow that shows a foot force
STANDING_LOAD = 0.5  # [N] a foot with a larger load stands


def support_polygon(feet: np.ndarray, forces: np.ndarray, least: float = STANDING_LOAD) -> np.ndarray:
    """Corners (k, 3) [m] of the convex hull, seen from above, of the feet that carry more than `least` [N].

    feet, forces: (n, 3) in world axes [m], [N]. Counterclockwise; feet on one line give its two ends. Andrew 1979.
    """
    feet, forces = np.asarray(feet, float).reshape(-1, 3), np.asarray(forces, float).reshape(-1, 3)
    standing = sorted(feet[forces[:, 2] > least].tolist())
    if len(standing) < 3:
        return np.array(standing).reshape(-1, 3)
    return np.array(_half_hull(standing)[:-1] + _half_hull(standing[::-1])[:-1])


def _half_hull(points: Sequence[list[float]]) -> list[list[float]]:
    """Lower half of the hull of sorted points, in the plane of x and y."""
    hull: list[list[float]] = []
    for point in points:
        while len(hull) > 1:
            (ax, ay, _), (bx, by, _) = hull[-2:]
            if (bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax) > 0.0:
                break
            hull.pop()
        hull.append(point)
    return hull


def zero_moment_point(
    force: np.ndarray, moment: np.ndarray, position: np.ndarray, slope: np.ndarray, level: float = 0.0
) -> np.ndarray | None:
    """Zero-moment point (3,) [m] on the plane z = level + slope . (x, y); None if the ground does not push the
    robot.

    force, moment (3,): of the ground on the robot, about `position` (3,), all in world axes [N], [N m], [m].
    """
    normal = np.array([-slope[0], -slope[1], 1.0]) / np.sqrt(1.0 + slope @ slope)
    push = float(normal @ force)
    if push <= 0.0:
        return None
    over_ground = normal @ position - normal[2] * level
    return position + (np.cross(normal, moment) - over_ground * force) / push


class Support:
    """Computes feet, centre of mass and zero moment point of a robot; the arrays are those of the last `update`.

    feet (legs, 3): ends of the legs in world axes [m]; of a missing leg the origin of the body. center_of_mass (3,)
    [m]. zero_moment_point (3,) [m], or None in the air.
    """

    def __init__(self, robot: Robot) -> None:
        legs, joints = len(robot.legs), robot.joint_count
        self.feet, self.center_of_mass = np.zeros((legs, 3)), np.zeros(3)
        self.zero_moment_point: np.ndarray | None = None
        self._tips, self._columns = np.zeros((legs, 3)), np.zeros((joints, 3))
        self._still = np.zeros(6 + joints)
        self._out = np.zeros(6 + joints)
        self._turns = np.array([np.eye(3), [[0, 0, -1], [0, 1, 0], [1, 0, 0]]], float)  # base_link's z up, its x up

    def update(
        self,
        model: _core.Simulation,
        position: np.ndarray,
        rotation: np.ndarray,
        q: np.ndarray,
        nu: np.ndarray,
        nudot: np.ndarray,
        slope: np.ndarray,
        level: float = 0.0,
    ) -> None:
        """Compute everything for a state and its acceleration; notation and frames of WholeBodyModel.

        model: of the robot with its morphology, whose state does not matter. position (3,), rotation (3, 3),
        q (n,), nu and nudot (6 + n,). slope (2,), rise over run, level [m]: the ground is z = level + slope . (x, y).
        """
        # The moment of the weight at rest is c x m g up: two directions of "up" give the centre of mass c.
        upright = self._wrench(model, self._turns[0], q, self._still, self._still)
        weight, x, y = upright[2], -upright[4] / upright[2], upright[3] / upright[2]
        z = self._wrench(model, self._turns[1], q, self._still, self._still)[4] / weight
        self.center_of_mass[:] = position + rotation @ (x, y, z)
        wrench = self._wrench(model, rotation, q, nu, nudot)
        force, moment = rotation @ wrench[:3], rotation @ wrench[3:6]
        carried = force[2] > 0.05 * weight  # else the robot is in the air
        self.zero_moment_point = zero_moment_point(force, moment, position, slope, level) if carried else None
        np.matmul(self._tips, rotation.T, out=self.feet)
        self.feet += position

    def _wrench(
        self, model: _core.Simulation, rotation: np.ndarray, q: np.ndarray, nu: np.ndarray, nudot: np.ndarray
    ) -> np.ndarray:
        """Wrench (6,) on the body that the motion needs without contact, body axes."""
        rotation, q, nu, nudot = (np.ascontiguousarray(each, float) for each in (rotation, q, nu, nudot))
        model.needs(rotation, q, nu, nudot, self._tips, self._columns, self._out)
        return self._out[:6]
