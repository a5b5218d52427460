"""Swing of a leg with least effort, or in least time, within the limits of its servos (Xiang et al. 2008).

A swing leads from the joints and rates at lift-off to those at touch-down; both follow from the stance. In between
the joint torques, speeds and ranges are bounded and the foot stays in a corridor; the remaining freedom minimises
the cost. The body is assumed to move uniformly, so that the leg has the same dynamics as on a mount at rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.interpolate import BSpline

from hexapod_dynamics.dynamics.chain.chain import Chain
from hexapod_dynamics.dynamics.chain.sensitivities import point_sensitivity
from hexapod_dynamics.dynamics.chain.trajectory_optimisation import (
    DEGREE,
    MotionProblem,
    PathConstraint,
    predict_motion,
)
from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Link, Morphology, Robot
from hexapod_dynamics.se3 import exp

CONTROL_POINTS = 12
# Shares of the servos' limits that a plan may use; the rest is reserved for tracking.
TORQUE_SHARE, SPEED_SHARE = 0.8, 0.8
# The corridor of the foot about the plain gait's swing: its height between these multiples of the plain one's, its
# place over the ground within this distance [m] at mid-swing, and equal to the plain swing's near the ends, where the
# foot may still touch the ground because servos and ground are compliant, and must not be dragged. The slack [m] keeps
# the fixed ends strictly inside the constraints. Tuned in simulation: a wider corridor reduces the planned effort, but
# increases the effort of ground contact.
LEAST_LIFT, MOST_LIFT, WIDTH, SLACK = 1.0, 1.3, 0.003, 1e-4


class Swing(NamedTuple):
    """Boundary conditions of the swing of a leg, for its moving joints: the swing of the plain gait, its rates at
    both ends, its duration [s].

    leg: its name; joints (K, n): samples of the plain swing at equal intervals of time; start_rate, end_rate (n,);
    duration [s].
    """

    leg: str
    joints: np.ndarray
    start_rate: np.ndarray
    end_rate: np.ndarray
    duration: float


class SwingPlan(NamedTuple):
    """Control points (m, n) of the moving joints over the swing, its time [s], peak torque [N m] and effort."""

    leg: str
    points: np.ndarray
    duration: float
    peak_torque: float
    effort: float


def plan_swing(robot: Robot, morphology: Morphology, swing: Swing, *, least: str = "effort") -> SwingPlan:
    """Return the swing of least effort with the duration swing.duration, or of least time with `least='time'`.

    Raises NotConvergedError if no optimum is found, HexapodError for ends outside the joints' ranges.
    """
    if least not in ("effort", "time"):
        raise HexapodError(f"least is {least!r}, allowed: 'effort', 'time'")
    chain = Chain.from_leg(robot, swing.leg, morphology=morphology)
    links = morphology.links(swing.leg)
    joints = [joint for joint in robot.leg(swing.leg).joints if joint.name in chain.names]
    foot = _foot(chain, robot, morphology, swing.leg, links)

    steps = np.linspace(0, 1, len(swing.joints))
    plain = point_sensitivity(chain, swing.joints, *foot)[0]
    ground = plain[[0, -1], 2].min()
    rows = np.array([[0, 0, 1], [0, 0, -1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])

    def within(s: np.ndarray, q: np.ndarray) -> np.ndarray:
        middle = np.stack([np.interp(s, steps, column) for column in plain.T], axis=1)
        height, width = middle[:, 2] - ground, WIDTH * np.sin(np.pi * s) ** 4
        room = SLACK + np.stack(((1 - LEAST_LIFT) * height, (MOST_LIFT - 1) * height, *[width] * 4), axis=1)
        return ((point_sensitivity(chain, q, *foot)[0] - middle) @ rows.T + room) / WIDTH

    def within_by_q(s: np.ndarray, q: np.ndarray) -> np.ndarray:
        return rows @ point_sensitivity(chain, q, *foot)[1] / WIDTH

    problem = MotionProblem(
        chain,
        swing.joints[0],
        swing.joints[-1],
        start_rate=swing.start_rate,
        end_rate=swing.end_rate,
        torque_bound=TORQUE_SHARE * robot.servo.torque_limit,
        speed_bound=SPEED_SHARE * robot.servo.speed_limit,
        position_bounds=tuple(zip(*(joint.planned_range for joint in joints), strict=True)),
        effort=1.0 if least == "effort" else 0.0,
        duration=swing.duration if least == "effort" else None,
        paths=(PathConstraint(within, within_by_q),),
        control_points=CONTROL_POINTS,
        sparse=True,
    )
    start = np.stack([np.interp(np.linspace(0, 1, CONTROL_POINTS), steps, column) for column in swing.joints.T], axis=1)
    motion = predict_motion(problem, (start, swing.duration), tolerance=1e-3)
    torques = motion.torques(np.linspace(0, motion.duration, 101))
    effort = float((torques**2).sum(axis=1).mean() * motion.duration)
    return SwingPlan(swing.leg, motion.points, motion.duration, float(np.abs(torques).max()), effort)


def _foot(
    chain: Chain, robot: Robot, morphology: Morphology, leg: str, links: Sequence[Link]
) -> tuple[int, np.ndarray]:
    """Return the body of the chain that carries the leg's end, and the position of that end in the body's frame."""
    body = len(chain) - 1
    still = np.zeros(len(chain))
    pose = chain.poses(still)[body]
    at = _end_at(robot, morphology, leg, links)
    return body, pose[:3, :3].T @ (at - pose[:3, 3])


def _end_at(robot: Robot, morphology: Morphology, name: str, links: Sequence[Link]) -> np.ndarray:
    """Return the end of the leg's last link in the base frame, with every moving joint at zero."""
    leg = robot.leg(name)
    motion = np.eye(4)
    for joint, link in zip(leg.joints, links, strict=False):
        angle = morphology.locked_angle(name, link.name)
        motion = motion @ exp(joint.screw * (angle or 0.0))
    end = motion @ np.append(leg.joints[len(links) - 1].origin + links[-1].tip, 1)
    return leg.mount_rotation @ end[:3] + leg.mount_position


class PlannedSwing:
    """A plan in a form for control loops: position and rate at a fraction of the swing, without allocation."""

    def __init__(self, plan: SwingPlan) -> None:
        m, self.joints = plan.points.shape
        knots = np.concatenate((np.zeros(DEGREE), np.linspace(0, 1, m - DEGREE + 1), np.ones(DEGREE)))
        fine = np.linspace(0, 1, 257)
        spline = BSpline(knots, plan.points, DEGREE)
        self._q, self._slope = spline(fine), spline(fine, 1)
        self._steps = len(fine) - 1

    def read(self, s: float, position: np.ndarray, rates: np.ndarray, duration: float) -> None:
        """Write joints and rates (n,) at the fraction s of a swing of `duration` [s]: cubics between samples."""
        at = min(max(s, 0.0), 1.0) * self._steps
        k = min(int(at), self._steps - 1)
        u, h = at - k, 1.0 / self._steps
        for j in range(self.joints):
            a, b = self._q[k, j], self._q[k + 1, j]
            da, db = h * self._slope[k, j], h * self._slope[k + 1, j]
            position[j] = a + u * (da + u * (3 * (b - a) - 2 * da - db + u * (2 * (a - b) + da + db)))
            rates[j] = (da + u * (2 * (3 * (b - a) - 2 * da - db) + 3 * u * (2 * (a - b) + da + db))) / (h * duration)


def plan_all(robot: Robot, morphology: Morphology, swings: Sequence[Swing]) -> tuple[list[SwingPlan], list[str]]:
    """Return the plans of all swings, and the reasons for those without a plan."""
    plans, reasons = [], []
    for swing in swings:
        try:
            plans.append(plan_swing(robot, morphology, swing))
        except HexapodError as error:  # NotConvergedError among them
            reasons.append(f"{swing.leg}: {error}")
    return plans, reasons
